//! Theorem 2: bias and variance of distances from private projections, by simulation.

use crate::error::Result;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use dp_core::NoiseScale;
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid};
use rayon::prelude::*;
use sketch::RowsView;
use sketch::private::{optimal_k, projection_variance};
use sketch::projection::{Family, ProjectionSpec, project};

pub(super) const STUDY: Study = Study {
    id: "kenthapadi-2013/variance-and-best-k",
    title: "Variance of estimated distances against theorem 2, and the sketch size of least error",
    reference: "Kenthapadi et al. 2013, theorem 2 and section 3.2.2 (optimal projection dimension)",
    run,
};

const D: usize = 1024;
const SIGMA: f64 = 1.5;
const SIZES: [usize; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];
const DISTANCES: [usize; 3] = [50, 200, 600];

/// Mean and variance of the estimates of a squared distance `r2` of two bit vectors, and the
/// relative standard error of that variance.
fn simulate(context: &Context<'_>, r2: usize, k: usize, repetitions: u64) -> Result<[f64; 3]> {
    let sigma = NoiseScale::new(SIGMA)?;
    let noise = GaussianNoise::new(sigma, Grid::new(-30)?);
    let mut difference = vec![0.0; D];
    difference[..r2].fill(1.0);
    let samples = (0..repetitions)
        .into_par_iter()
        .map(|repetition| {
            let part = format!("r2 = {r2}, k = {k}");
            let seed = context.public_seed(&part, repetition);
            let p = ProjectionSpec::new(Family::Gaussian, D, k, seed)?.build();
            // x - y and zero: linear, so the distance of the pair is that of its difference.
            let zero_and_difference = [vec![0.0; D], difference.clone()].concat();
            let mut z = project(&*p, RowsView::f64(2, D, &zero_and_difference)?)?;
            noise.add_to(&mut context.noise(&part, repetition), &mut z);
            let sum: f64 = (0..k).map(|j| (z[j] - z[k + j]).powi(2)).sum();
            Ok(sum - 2.0 * k as f64 * SIGMA * SIGMA)
        })
        .collect::<Result<Vec<f64>>>()?;
    let n = repetitions as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let second = samples.iter().map(|x| (x - r2 as f64).powi(2)).sum::<f64>() / n;
    let fourth = samples.iter().map(|x| (x - r2 as f64).powi(4)).sum::<f64>() / n;
    Ok([mean, second, ((fourth - second * second) / n).sqrt() / second])
}

fn run(context: &Context<'_>) -> Result<Report> {
    let repetitions = context.pick(300, 4000);
    context.progress.begin((DISTANCES.len() * SIZES.len()) as u64);
    let mut report = Report::default();
    let sigma = NoiseScale::new(SIGMA)?;
    let (mut curves, mut bias, mut ratio) = (Vec::new(), 0.0f64, 0.0f64);
    let mut best_texts = Vec::new();
    let mut near_best = true;
    for r2 in DISTANCES {
        let (mut simulated, mut formula) = (Vec::new(), Vec::new());
        for k in SIZES {
            let [mean, variance, error] = simulate(context, r2, k, repetitions)?;
            let stated = projection_variance(r2 as f64, k, sigma);
            bias = bias.max((mean - r2 as f64).abs() / (stated / repetitions as f64).sqrt());
            ratio = ratio.max((variance / stated - 1.0).abs() / (error * variance / stated));
            simulated.push(Point {
                x: k as f64,
                y: variance.sqrt(),
                error: Some(0.5 * error * variance.sqrt()),
            });
            formula.push(Point::exact(k as f64, stated.sqrt()));
            context.progress.step();
        }
        let best = optimal_k(r2 as f64, sigma, D)?;
        let least = simulated.iter().min_by(|a, b| a.y.total_cmp(&b.y)).expect("sizes").x;
        // Sizes are a factor two apart: the best of them is at most two steps away.
        near_best &= least / best as f64 <= 4.0 && best as f64 / least <= 4.0;
        best_texts.push(format!("r^2 = {r2}: formula {best}, simulation {least}"));
        let origin = |what: &str, repetitions| Origin {
            k: Setting::AxisX,
            sigma: Setting::Fixed(SIGMA),
            repetitions,
            ..Origin::formula(what)
        };
        let label = |what: &str| format!("r^2 = {r2}, {what}");
        let measured = Origin {
            seeds: Seeds::Derived(context.seed),
            data: format!("two bit vectors, d = {D}"),
            ..origin("private projection, Gaussian P", repetitions as usize)
        };
        curves.push(Curve { label: label("simulated"), points: simulated, origin: measured });
        curves.push(Curve {
            label: label("theorem 2"),
            points: formula,
            origin: origin("theorem 2", 1),
        });
    }
    report.claim(
        "estimates are unbiased (every mean within 5 standard errors)",
        bias < 5.0,
        format!("largest deviation {bias:.2} standard errors"),
    );
    report.claim(
        "the variance is 2 r^4/k + 8 sigma^2 r^2 + 8 sigma^4 k (every one within 6 standard errors)",
        ratio < 6.0,
        format!("largest deviation {ratio:.2} standard errors"),
    );
    report.claim(
        "the error is least at k near r^2/(2 sigma^2) (within a factor 4 on sizes a factor 2 apart)",
        near_best,
        best_texts.join("; "),
    );
    let r2 = 600.0;
    let at_best = projection_variance(r2, optimal_k(r2, sigma, D)?, sigma);
    let rule = 16.0 * SIGMA * SIGMA * r2;
    report.claim(
        "at the best k the variance is 16 sigma^2 r^2 (within 1 %)",
        (at_best / rule - 1.0).abs() < 0.01,
        format!("{at_best:.1} against {rule:.1} at r^2 = 600"),
    );
    report.figures.push(Figure {
        name: "variance".into(),
        caption: format!(
            "Standard error of an estimated squared distance r^2 against the sketch size; sigma = {SIGMA}."
        ),
        panels: vec![Panel {
            title: "error against sketch size".into(),
            x: Axis::log("k"),
            y: Axis::log("standard error"),
            curves,
        }],
        columns: 1,
    });
    Ok(report)
}
