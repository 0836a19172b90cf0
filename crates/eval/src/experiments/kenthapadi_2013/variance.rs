//! Theorem 2: bias and variance of distances from private projections, by simulation.

use crate::error::Result;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use dp_core::NoiseScale;
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid};
use rayon::prelude::*;
use sketch::RowsView;
use sketch::plan::{optimal_k, projection_variance};
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

/// Mean and variance of the estimates of a distance, and the relative standard error of that
/// variance.
fn moments(samples: impl ExactSizeIterator<Item = f64> + Clone, r2: f64) -> [f64; 3] {
    let n = samples.len() as f64;
    let about =
        |center: f64, power| samples.clone().map(|x| (x - center).powi(power)).sum::<f64>() / n;
    let (second, fourth) = (about(r2, 2), about(r2, 4));
    [about(0.0, 1), second, ((fourth - second * second) / n).sqrt() / second]
}

/// [`moments`] of the estimates of every squared distance of two bit vectors.
///
/// One projection serves all distances: its rows are independent, and the pairs differ in
/// disjoint sets of features.
fn simulate(context: &Context<'_>, k: usize, repetitions: u64) -> Result<[[f64; 3]; 3]> {
    let sigma = NoiseScale::new(SIGMA)?;
    let noise = GaussianNoise::new(sigma, Grid::new(-30)?)?;
    // x - y and zero: linear, so the distance of a pair is that of its difference.
    let mut rows = vec![0.0; (1 + DISTANCES.len()) * D];
    let mut first = 0;
    for (row, r2) in rows.chunks_exact_mut(D).skip(1).zip(DISTANCES) {
        row[first..first + r2].fill(1.0);
        first += r2;
    }
    let samples = (0..repetitions)
        .into_par_iter()
        .map(|repetition| {
            let part = format!("k = {k}");
            let seed = context.public_seed(&part, repetition);
            let p = ProjectionSpec::new(Family::Gaussian, D, k, seed)?.build();
            let mut z = project(&*p, RowsView::f64(1 + DISTANCES.len(), D, &rows)?)?;
            noise.add_to(&mut context.noise(&part, repetition), &mut z)?;
            Ok([1, 2, 3].map(|i| {
                let sum: f64 = (0..k).map(|j| (z[j] - z[i * k + j]).powi(2)).sum();
                sum - 2.0 * k as f64 * SIGMA * SIGMA
            }))
        })
        .collect::<Result<Vec<[f64; 3]>>>()?;
    Ok([0, 1, 2].map(|i| moments(samples.iter().map(|s| s[i]), DISTANCES[i] as f64)))
}

fn run(context: &Context<'_>) -> Result<Report> {
    let repetitions = context.pick(300, 4000);
    context.progress.begin(SIZES.len() as u64);
    let mut report = Report::default();
    let sigma = NoiseScale::new(SIGMA)?;
    let (mut curves, mut bias, mut ratio) = (Vec::new(), 0.0f64, 0.0f64);
    let mut best_texts = Vec::new();
    let mut near_best = true;
    let mut found = Vec::new();
    for k in SIZES {
        found.push(simulate(context, k, repetitions)?);
        context.progress.step();
    }
    for (i, r2) in DISTANCES.into_iter().enumerate() {
        let (mut simulated, mut formula) = (Vec::new(), Vec::new());
        for (k, found) in SIZES.into_iter().zip(&found) {
            let [mean, variance, error] = found[i];
            let stated = projection_variance(r2 as f64, k, sigma);
            bias = bias.max((mean - r2 as f64).abs() / (stated / repetitions as f64).sqrt());
            ratio = ratio.max((variance / stated - 1.0).abs() / (error * variance / stated));
            simulated.push(Point {
                x: k as f64,
                y: variance.sqrt(),
                error: Some(0.5 * error * variance.sqrt()),
            });
            formula.push(Point::exact(k as f64, stated.sqrt()));
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
