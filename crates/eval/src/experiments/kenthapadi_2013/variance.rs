//! Theorem 2: bias and variance of distances from private projections, by simulation.

use crate::error::Result;
use crate::framework::sabotage::{self, ANSWERS, NOISE, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use dp_core::NoiseScale;
use dp_core::authority;
use dp_core::noise::{AdditiveNoise, Grid};
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
fn simulate(context: &Context<'_>, k: usize, repetitions: u64) -> Result<Simulated> {
    let sigma = NoiseScale::new(sabotage::scale(SIGMA))?;
    let noise = authority!().gaussian(sigma, Grid::new(-30)?)?;
    // x - y and zero: linear, so the distance of a pair is that of its difference.
    let mut rows = vec![0.0; (1 + DISTANCES.len()) * D];
    let mut first = 0;
    for (row, r2) in rows.chunks_exact_mut(D).skip(1).zip(DISTANCES) {
        row[first..first + r2].fill(1.0);
        first += r2;
    }
    let rows = sabotage::data(rows);
    let samples = (0..repetitions)
        .into_par_iter()
        .map(|repetition| {
            let part = format!("k = {k}");
            let seed = context.public_seed(&part, repetition);
            let family = sabotage::family(Family::Gaussian);
            let p = ProjectionSpec::new(family, D, k, seed)?.build();
            let mut z = project(&*p, RowsView::f64(1 + DISTANCES.len(), D, &rows)?)?;
            noise.add_to(&mut context.noise(&part, repetition), &mut z)?;
            let mut entries = vec![0.0; k];
            p.row(0, &mut entries);
            let fourth = entries.iter().map(|x| x.powi(4)).sum::<f64>() * k as f64;
            let distances = [1, 2, 3].map(|i| {
                let sum: f64 = (0..k).map(|j| (z[j] - z[i * k + j]).powi(2)).sum();
                let found = sum - 2.0 * k as f64 * SIGMA * SIGMA;
                sabotage::answer(found, 200.0, "distance", repetition)
            });
            Ok((distances, fourth))
        })
        .collect::<Result<Vec<([f64; 3], f64)>>>()?;
    let bounds = [0, 1, 2].map(|i| tail_bound(DISTANCES[i] as f64, k as f64));
    let beyond = (0..3)
        .map(|i| {
            let far = |s: &&([f64; 3], f64)| {
                bounds[i].is_some_and(|b| (s.0[i] - DISTANCES[i] as f64).abs() > b)
            };
            samples.iter().filter(far).count()
        })
        .sum();
    Ok(Simulated {
        moments: [0, 1, 2].map(|i| moments(samples.iter().map(|s| s.0[i]), DISTANCES[i] as f64)),
        beyond,
        judged: bounds.iter().flatten().count() * samples.len(),
        fourth: samples.iter().map(|s| s.1).sum::<f64>() / samples.len() as f64,
    })
}

/// What one size gave.
struct Simulated {
    /// By distance.
    moments: [[f64; 3]; 3],
    /// Estimates beyond the bound (4), of those that it speaks of.
    beyond: usize,
    judged: usize,
    /// Mean of `k^2 p^4` over the entries of a row: 3 for Gaussian ones.
    fourth: f64,
}

/// Failure probability of each of the three parts of bound (4).
const FAILURE: f64 = 0.02;

/// Bound (4) of theorem 2, typed in from the paper; none where `lambda_JL` would be 1/2 or more.
fn tail_bound(r2: f64, k: f64) -> Option<f64> {
    let jl = (6.0 * (2.0 / FAILURE).ln() / k).sqrt();
    let chi = (2.0f64 / FAILURE).ln().sqrt();
    // exp(-l^2) / (l sqrt pi) <= FAILURE.
    let mut normal = 1.0f64;
    while (-normal * normal).exp() / (normal * core::f64::consts::PI.sqrt()) > FAILURE {
        normal += 1e-3;
    }
    let s = SIGMA;
    (jl < 0.5).then(|| {
        jl * r2
            + 4.0 * s * s * k.sqrt() * chi
            + 4.0 * s * s * chi * chi
            + 4.0 * s * (1.0 + jl) * normal * r2.sqrt()
    })
}

fn run(context: &Context<'_>) -> Result<Report> {
    let repetitions = context.pick(200, 500);
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
            let [mean, variance, error] = found.moments[i];
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
    report
        .claim(
            "estimates are unbiased (every mean within 5 standard errors)",
            bias < 5.0,
            format!("largest deviation {bias:.2} standard errors"),
        )
        .of("theorem 2, part 1")
        .catches(&NOISE)
        .catches(&ANSWERS);
    report.claim(
        "the variance is 2 r^4/k + 8 sigma^2 r^2 + 8 sigma^4 k (every one within 6 standard errors)",
        ratio < 6.0,
        format!("largest deviation {ratio:.2} standard errors"),
    )
    .of("theorem 2, part 2")
    .catches(&NOISE)
    .catches(&ANSWERS);
    let (beyond, judged) = found.iter().fold((0, 0), |(b, j), s| (b + s.beyond, j + s.judged));
    report
        .claim(
            format!(
                "at most a share {:.2} of the estimates lies beyond bound (4) with all three failure probabilities {FAILURE}",
                3.0 * FAILURE
            ),
            judged > 0 && beyond as f64 <= 3.0 * FAILURE * judged as f64,
            format!("{beyond} of {judged}, where lambda_JL < 1/2"),
        )
        .of("theorem 2, part 3")
        .catches(&NOISE);
    let fourth = found.iter().map(|s| s.fourth).sum::<f64>() / found.len() as f64;
    report
        .claim(
            "the entries of P have the fourth moment 3/k^2 of N(0, 1/k) (within 10 per cent)",
            (fourth / 3.0 - 1.0).abs() < 0.1,
            format!("{fourth:.3} / k^2"),
        )
        .of("theorem 2: P from N(0, 1/k)")
        .catches(&[Sabotage::OtherFamily]);
    report.claim(
        "the error is least at k near r^2/(2 sigma^2) (within a factor 4 on sizes a factor 2 apart)",
        near_best,
        best_texts.join("; "),
    )
    .of("section 3.2.2")
    .catches(&[Sabotage::NoNoise]);
    let r2 = 600.0;
    let at_best = projection_variance(r2, optimal_k(r2, sigma, D)?, sigma);
    let rule = 16.0 * SIGMA * SIGMA * r2;
    report
        .claim(
            "at the best k the variance is 16 sigma^2 r^2 (within 1 %)",
            (at_best / rule - 1.0).abs() < 0.01,
            format!("{at_best:.1} against {rule:.1} at r^2 = 600"),
        )
        .formula();
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
