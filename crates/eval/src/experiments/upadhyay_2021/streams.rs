//! Streams and schedules that the experiments of this module share.

use crate::error::Result;
use crate::framework::sabotage::{self, ANSWERS, NOISE};
use crate::framework::{Claim, Context, Curve, Origin, Point, Report, Seeds, Setting};
use crate::metrics::mean_and_error;
use dp_core::{Adjacency, Budget, NormBound};
use faer::{Mat, MatRef};
use linalg_dp::covariance::GaussianCovariance;
use linalg_dp::window::{
    BlockNoise, Keep, Pace, PruneRule, Schedule, StreamConfig, WindowCovariance, WindowMechanism,
};
use rand_core::Rng;

/// Delta of every experiment here.
pub(super) const DELTA: f64 = 1e-6;

/// Distortion of the histograms of private blocks.
pub(super) const RHO: f64 = 0.2;

/// Rows of norm at most one: a low-rank signal that turns slowly, plus noise.
/// Row-major, `rows x d`; equal seeds give equal streams.
pub(super) fn turning(rows: usize, d: usize, rank: usize, seed: u64) -> Vec<f64> {
    let mut generator = dp_core::PublicSeed::new(seed).generator(0);
    let mut uniform = move || (generator.next_u64() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
    let mut data = Vec::with_capacity(rows * d);
    for t in 0..rows {
        let angle = t as f64 / rows as f64 * core::f64::consts::FRAC_PI_2;
        let mut row: Vec<f64> = (0..d).map(|_| 0.15 * uniform()).collect();
        for r in 0..rank {
            let strength = uniform() / (1.0 + r as f64).sqrt();
            row[(2 * r) % d] += strength * angle.cos();
            row[(2 * r + 1) % d] += strength * angle.sin();
        }
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(1.0);
        data.extend(row.iter().map(|x| x / norm));
    }
    data
}

/// A schedule with its name in figures.
pub(super) struct Named {
    pub(super) label: &'static str,
    pub(super) schedule: Schedule,
}

/// The schedules compared, for a stream of at most `horizon` blocks.
pub(super) fn schedules(horizon: u64) -> Vec<Named> {
    let histogram = Keep::Histogram { rho: RHO, rule: PruneRule::UpdateApprox };
    let block = |noise, keep| Schedule::Block { noise, keep };
    vec![
        Named {
            label: "Block, symmetric Gaussian",
            schedule: block(BlockNoise::SymmetricGaussian, Keep::Blocks),
        },
        Named {
            label: "Block, symmetric Gaussian, histogram",
            schedule: block(BlockNoise::SymmetricGaussian, histogram),
        },
        Named { label: "Tree", schedule: Schedule::Tree { noise: BlockNoise::SymmetricGaussian } },
        Named { label: "Factorised", schedule: Schedule::Factorised { horizon } },
    ]
}

/// The configuration of a stream of rows of norm at most one, with the budget that it spends.
pub(super) fn config(
    d: usize,
    window: u64,
    block: u64,
    epsilon: f64,
    schedule: Schedule,
) -> Result<StreamConfig> {
    let asked = nominal(d, window, block, epsilon, schedule)?;
    let histogram = matches!(schedule, Schedule::Block { keep: Keep::Histogram { .. }, .. });
    let window = if histogram { sabotage::covered(window) } else { window };
    Ok(StreamConfig { window, budget: sabotage::spent(asked.budget)?, ..asked })
}

/// The same with the budget that was asked for: for what a claim expects.
pub(super) fn nominal(
    d: usize,
    window: u64,
    block: u64,
    epsilon: f64,
    schedule: Schedule,
) -> Result<StreamConfig> {
    Ok(StreamConfig {
        dim: d,
        window,
        block,
        pace: Pace::Rows,
        adjacency: Adjacency::ZeroRow { bound: NormBound::new(1.0)? },
        budget: Budget::new(epsilon, DELTA)?,
        schedule,
    })
}

/// Feeds a whole stream and returns its last release.
pub(super) fn last_release(
    config: StreamConfig,
    data: &[f64],
    context: &Context<'_>,
    part: &str,
    repetition: u64,
) -> Result<WindowCovariance> {
    let mut rng = context.noise(part, repetition);
    let mut stream = WindowMechanism::calibrate(config)?.stream(&mut rng);
    stream.push(&sabotage::data(data.to_vec()))?;
    Ok(stream.release()?.into_parts().0)
}

/// Deviation of a diagonal entry of a sum of `blocks` private blocks, by the exact calibration of the budget
/// asked for.
pub(super) fn block_deviation(d: usize, epsilon: f64, blocks: u64) -> Result<f64> {
    let adjacency = Adjacency::ZeroRow { bound: NormBound::new(1.0)? };
    let one = GaussianCovariance::calibrate(d, adjacency, Budget::new(epsilon, DELTA)?)?;
    Ok(one.sigma().get() * (blocks as f64).sqrt())
}

/// Squares of the diagonal of `release - truth` over the deviation it should have.
pub(super) fn residuals(
    release: MatRef<'_, f64>,
    truth: MatRef<'_, f64>,
    deviation: f64,
) -> Vec<f64> {
    (0..truth.nrows()).map(|i| ((release[(i, i)] - truth[(i, i)]) / deviation).powi(2)).collect()
}

/// Claims that the noise seen in releases is the one that the budget asks for.
pub(super) fn claim_noise<'r>(
    report: &'r mut Report,
    what: &str,
    squares: &[f64],
) -> &'r mut Claim {
    let mean = mean_and_error(squares).0;
    let allowed = 5.0 * (2.0 / squares.len() as f64).sqrt();
    report
        .claim(
            format!(
                "{what}: the diagonal of release minus truth has the deviation that the budget asks for (mean square within \
                 five standard errors, {allowed:.2}, of 1)"
            ),
            (mean - 1.0).abs() < allowed.min(0.7),
            format!("mean square {mean:.3} over {} entries", squares.len()),
        )
        .catches(&NOISE)
        .catches(&ANSWERS[2..])
}

/// `A^T A` of rows `first..end`.
pub(super) fn gram(data: &[f64], d: usize, first: usize, end: usize) -> Mat<f64> {
    let rows = faer::MatRef::from_row_major_slice(&data[first * d..end * d], end - first, d);
    let mut out = Mat::zeros(d, d);
    faer::linalg::matmul::matmul(
        out.as_mut(),
        faer::Accum::Replace,
        rows.transpose(),
        rows,
        1.0,
        faer::Par::Seq,
    );
    out
}

/// How a curve over epsilon was made.
pub(super) fn origin(
    context: &Context<'_>,
    mechanism: &str,
    data: &str,
    repetitions: usize,
) -> Origin {
    Origin {
        mechanism: mechanism.to_owned(),
        k: Setting::None,
        epsilon: Setting::AxisX,
        delta: Setting::Fixed(DELTA),
        sigma: Setting::None,
        seeds: Seeds::Derived(context.seed),
        data: data.to_owned(),
        repetitions,
    }
}

/// A curve of means.
pub(super) fn curve(label: &str, samples: &[(f64, Vec<f64>)], origin: Origin) -> Curve {
    let points = samples.iter().map(|(x, s)| Point::mean(*x, s)).collect();
    Curve { label: label.to_owned(), points, origin }
}
