//! What releases are, measured: a small data set is released in the way of a method, and compared with the exact
//! projection or the exact signs of the family that the method names.

use super::classify;
use super::projections::Projections;
use super::retrieval;
use crate::data::{Points, Split};
use crate::error::Result;
use crate::framework::sabotage::{self, NOISE, Sabotage};
use crate::framework::{Context, Report};
use dp_core::{Budget, L2Sensitivity, PublicSeed, calibrate};
use rand_core::Rng;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec, project};
use sketch::signs::SignSketch;

const N: usize = 400;
const D: usize = 256;
const K: usize = 64;
/// The budget of real-valued releases and of responses, and of individual signs (of which few are in reach).
const EPSILON: f64 = 5.0;
const INDIVIDUAL: f64 = 8.0;
const DELTA: f64 = 1e-6;

/// What a release should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Law {
    /// The rows with exact Gaussian noise.
    Raw,
    /// A projection with exact Gaussian noise for rows of norm one.
    Gaussian(Family),
    /// A Gaussian projection with the noise of theorem 3.1.
    Theorem31,
    /// Signs of t OPORPs, each turned with probability `1/(1 + e^(epsilon/t))`.
    Response(usize),
    /// The same with `1/(1 + e^(L epsilon/t))` at level L.
    Smooth(usize),
    /// The same with `e^(-(L - 1) epsilon/t)/(1 + e^(epsilon/t))`.
    Optimal(usize),
    /// Signs of a Rademacher projection, N in reach of a row turned with `1/(1 + e^(epsilon/N))`.
    Individual,
}

impl Law {
    fn epsilon(self) -> f64 {
        match self {
            Self::Individual => INDIVIDUAL,
            // One a sign: there the rules differ most.
            Self::Smooth(t) | Self::Optimal(t) => t as f64,
            _ => EPSILON,
        }
    }

    /// Whether a value is counted: where rules differ beyond the first level, only what lies there.
    fn counts(self, value: f64) -> bool {
        !matches!(self, Self::Smooth(_) | Self::Optimal(_)) || value.abs() > 1.0
    }
}

/// Rows of numbers in `[0.3, 1]`.
fn rows(context: &Context<'_>) -> Vec<f64> {
    let mut rng = PublicSeed::new(context.data_seed("probe", 0)).generator(0);
    (0..N * D).map(|_| 0.3 + 0.7 * (rng.next_u64() >> 11) as f64 * 2f64.powi(-53)).collect()
}

/// Probes methods of search.
pub(super) fn searches(
    context: &Context<'_>,
    report: &mut Report,
    methods: &[(&retrieval::Method, Law)],
) -> Result<()> {
    let values = rows(context);
    let database = Points::new("probe", D, values.clone(), None)?;
    let queries = Points::new("probe", D, values[..D * 4].to_vec(), None)?;
    let split = Split { queries, database };
    for &(method, law) in methods {
        let trial = retrieval::Trial {
            context,
            projections: &Projections::of(&[]),
            split: &split,
            k: K,
            budget: Budget::new(law.epsilon(), DELTA)?,
            repetition: 0,
            noise: format!("probe of {}", method.label),
        };
        let found = (method.search)(&trial)?;
        judge(context, report, method.label, law, &found.released, &values)?;
    }
    Ok(())
}

/// Probes methods of classification.
pub(super) fn classifiers(
    context: &Context<'_>,
    report: &mut Report,
    methods: &[(&classify::Method, Law)],
) -> Result<()> {
    let values = rows(context);
    let labels: Vec<i32> = (0..N).map(|i| if i.is_multiple_of(2) { 1 } else { -1 }).collect();
    for &(method, law) in methods {
        let trial = classify::Trial {
            context,
            projections: &Projections::of(&[]),
            rows: RowsView::f64(N, D, &values)?,
            labels: &labels,
            k: K,
            budget: Budget::new(law.epsilon(), DELTA)?,
            repetition: 0,
            noise: format!("probe of {}", method.label),
        };
        let found = (method.judge)(&trial)?;
        judge(context, report, method.label, law, &found.released, &values)?;
    }
    Ok(())
}

fn judge(
    context: &Context<'_>,
    report: &mut Report,
    label: &str,
    law: Law,
    released: &[f64],
    rows: &[f64],
) -> Result<()> {
    let seed = context.public_seed("projection", 0);
    let view = RowsView::f64(N, D, rows)?;
    let unit = || L2Sensitivity::new(1.0);
    let sigma = calibrate::gaussian(Budget::new(EPSILON, DELTA)?, unit()?)?.get();
    let spec = |family| ProjectionSpec::new(family, D, K, seed);
    let mut real = |exact: &[f64], sigma: f64| {
        let square = released.iter().zip(exact).map(|(a, b)| ((a - b) / sigma).powi(2));
        let mean = square.sum::<f64>() / exact.len() as f64;
        let allowed = 5.0 * (2.0 / exact.len() as f64).sqrt() + 0.002;
        report
            .claim(
                format!(
                    "{label}: release minus the exact projection of the named family has the deviation {sigma:.4} that \
                     epsilon {EPSILON} and delta {DELTA:e} ask for (mean square within {allowed:.3} of 1)"
                ),
                (mean - 1.0).abs() < allowed && released.len() == exact.len(),
                format!("mean square {mean:.4} over {} numbers", exact.len()),
            )
            .catches(&NOISE)
            .catches(&[Sabotage::DataIgnored])
            .catches(match law {
                Law::Gaussian(_) => &[Sabotage::OtherFamily],
                Law::Theorem31 => &[Sabotage::PublishedDoubled],
                _ => &[],
            });
    };
    match law {
        Law::Raw => real(rows, sigma),
        Law::Gaussian(family) => real(&project(&*spec(family)?.build(), view)?, sigma),
        Law::Theorem31 => {
            let projection = spec(Family::Gaussian)?.build();
            // Typed in from the paper: w sqrt(2 (ln(1/(2 delta)) + epsilon)) / epsilon.
            let factor = (2.0 * ((0.5 / DELTA).ln() + EPSILON)).sqrt() / EPSILON;
            real(&project(&*projection, view)?, projection.max_row_l2() * factor);
        }
        Law::Response(t) | Law::Smooth(t) | Law::Optimal(t) => {
            let e = law.epsilon() / t as f64;
            let sketch = SignSketch::repeated(Family::Oporp, D, K, t, seed)?;
            let signs = signs(sketch.simhash(view)?.payload().bits());
            let parts = sketch.parts().iter().map(|p| Ok(project(&**p, view)?));
            let parts: Vec<Vec<f64>> = parts.collect::<Result<_>>()?;
            // As in a code: the parts of a row one after the other.
            let part = |i: usize| parts.iter().flat_map(move |p| &p[i * K / t..(i + 1) * K / t]);
            let values: Vec<f64> = (0..N).flat_map(part).copied().collect();
            let turned = |x: f64| {
                let level = x.abs().ceil();
                match law {
                    _ if x == 0.0 => 0.5,
                    Law::Smooth(_) => 1.0 / (1.0 + (level * e).exp()),
                    Law::Optimal(_) => (-(level - 1.0) * e).exp() / (1.0 + e.exp()),
                    _ => 1.0 / (1.0 + e.exp()),
                }
            };
            let chances: Vec<f64> = values.iter().map(|&x| turned(x)).collect();
            let counted: Vec<bool> = values.iter().map(|&x| law.counts(x)).collect();
            flips(report, label, (released, &signs), &chances, &counted, law);
        }
        Law::Individual => {
            let values = project(&*spec(Family::Rademacher)?.build(), view)?;
            let signs: Vec<f64> = values.iter().map(|x| x.signum()).collect();
            let reach = 1.0 / (K as f64).sqrt();
            let turned = |row: &[f64]| -> Vec<f64> {
                let near = row.iter().filter(|x| x.abs() <= reach).count() as f64;
                let chance = 1.0 / (1.0 + (INDIVIDUAL / near).exp());
                row.iter().map(|x| if x.abs() <= reach { chance } else { 0.0 }).collect()
            };
            let chances: Vec<f64> = values.chunks_exact(K).flat_map(turned).collect();
            flips(report, label, (released, &signs), &chances, &vec![true; chances.len()], law);
        }
    }
    Ok(())
}

pub(super) fn signs(bits: &sketch::signs::PackedBits) -> Vec<f64> {
    let mut values = vec![0.0; bits.n() * bits.bits()];
    values.chunks_exact_mut(bits.bits()).enumerate().for_each(|(i, row)| bits.signs(i, row));
    values
}

/// Claims that as many of the counted signs are turned as their chances say.
fn flips(
    report: &mut Report,
    label: &str,
    (released, exact): (&[f64], &[f64]),
    chances: &[f64],
    counted: &[bool],
    law: Law,
) {
    let pairs = released.iter().zip(exact).zip(counted);
    let turned = pairs.filter(|((a, b), counts)| a != b && **counts).count() as f64;
    let of: Vec<f64> = chances.iter().zip(counted).filter(|p| *p.1).map(|p| *p.0).collect();
    let expected = of.iter().sum::<f64>();
    let allowed = 5.0 * of.iter().map(|p| p * (1.0 - p)).sum::<f64>().sqrt() + 1.0;
    let (epsilon, which) = match law {
        Law::Smooth(_) | Law::Optimal(_) => (law.epsilon(), "signs beyond the first level"),
        _ => (law.epsilon(), "signs"),
    };
    report
        .claim(
            format!(
                "{label}: as many {which} are turned as the paper's probabilities say at epsilon {epsilon} (within five \
                 standard errors, {allowed:.0})"
            ),
            (turned - expected).abs() < allowed && released.len() == exact.len(),
            format!("{turned} of {}, expected {expected:.1}", of.len()),
        )
        .of("algorithms 8 and 11")
        .catches(&NOISE)
        .catches(&[Sabotage::OtherFamily, Sabotage::DataIgnored])
        .catches(match law {
            Law::Smooth(_) => &[Sabotage::PublishedDoubled],
            Law::Optimal(_) => &[Sabotage::OptimalAsPublished],
            _ => &[],
        });
}

/// The budget of a named system.
///
/// # Errors
/// Those of a calibration.
pub(super) fn spent(system: sketch::vectors::System, budget: Budget) -> Result<Budget> {
    use sketch::vectors::System;
    match system {
        System::DpRpG | System::AnalyticDpRpG => sabotage::published(sabotage::spent(budget)?),
        _ => sabotage::spent(budget),
    }
}
