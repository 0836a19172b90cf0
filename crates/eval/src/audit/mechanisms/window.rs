//! Private streams: every release of the stream is seen.

use super::{bound, gaussian_budget};
use crate::audit::subject::{Draw, Side, Subject};
use crate::audit::tester::Training;
use crate::error::Result;
use dp_core::{Adjacency, NoiseRng};
use linalg_dp::window::{BlockNoise, Keep, Pace, PrivateStream, PruneRule, Schedule, StreamConfig};

/// Family name in the table.
pub const FAMILY: &str = "sliding window";

/// Rows of a stream.
const ROWS: usize = 12;
/// Pilot runs of each input at each time.
const PILOT: u64 = 50;
/// Rows of a block.
pub(crate) const BLOCK: usize = 2;

/// A stream of numbers (d = 1), windows of three blocks.
///
/// # Errors
/// Never: the bound is positive.
pub fn config(schedule: Schedule, replace: bool) -> Result<StreamConfig> {
    let bound = bound(1.0)?;
    let adjacency =
        if replace { Adjacency::ReplaceRow { bound } } else { Adjacency::ZeroRow { bound } };
    Ok(StreamConfig {
        dim: 1,
        window: 6,
        block: BLOCK as u64,
        pace: Pace::Rows,
        adjacency,
        budget: gaussian_budget()?,
        schedule,
    })
}

/// All releases of a stream, one at every block end.
///
/// # Errors
/// Whatever the stream refuses.
pub fn releases(
    config: StreamConfig,
    rows: &[f64],
    rng: &mut NoiseRng,
    out: &mut Vec<f64>,
) -> Result<()> {
    let mut stream = PrivateStream::new(config)?;
    for row in rows {
        if stream.push(&[*row], rng)? == 1 {
            out.push(stream.release()?.payload().covariance().raw()[(0, 0)]);
        }
    }
    Ok(())
}

/// Ones everywhere, but a zero at `at`.
fn without(at: usize) -> Vec<f64> {
    let mut rows = vec![1.0; ROWS];
    rows[at] = 0.0;
    rows
}

/// A stream without and with one row, at the time where it shows most, by pilot runs.
///
/// # Errors
/// A calibration that fails.
pub fn sides(schedule: Schedule) -> Result<[Vec<f64>; 2]> {
    let (config, width) = (config(schedule, false)?, ROWS / BLOCK);
    let whole = vec![1.0; ROWS];
    let mut best = (0, -1.0);
    for at in (0..ROWS).step_by(2 * BLOCK) {
        let (missing, mut left, mut right) = (without(at), Vec::new(), Vec::new());
        for run in 0..PILOT {
            let rng = |side: u64| NoiseRng::deterministic_not_private(run * 2 + side);
            releases(config, &missing, &mut rng(0), &mut left)?;
            releases(config, &whole, &mut rng(1), &mut right)?;
        }
        let found = crate::audit::tester::separation(&Training { width, left, right });
        if found > best.1 {
            best = (at, found);
        }
    }
    Ok([without(best.0), whole])
}

/// The audit of a schedule.
///
/// # Errors
/// A calibration that fails.
pub fn subject(name: &str, schedule: Schedule, runs: usize) -> Result<Subject> {
    let config = config(schedule, false)?;
    let sides = sides(schedule)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        releases(config, side.of(&sides[0], &sides[1]), &mut draw.noise(), out)
    };
    let pair = "one row of the stream, its time by pilot runs; all releases are seen";
    // The centroid in whitened coordinates is the likelihood ratio of Gaussian releases.
    Ok(Subject::new(name, FAMILY, config.budget, pair, ROWS / BLOCK, sample)
        .with_runs(runs)
        // Times are seen too: a slot whose block has not ended repeats what was released before.
        .score("slots without a release", |x| {
            let repeated = x.windows(2).filter(|w| w[0] == w[1]).count();
            (repeated + usize::from(x[0] == 0.0)) as f64
        }))
}

/// Blocks with symmetric Gaussian noise: the healthy original of the private checkpoints.
#[must_use]
pub fn gaussian_blocks() -> Schedule {
    Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep: Keep::Blocks }
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub fn subjects() -> Result<Vec<Subject>> {
    let histogram = Keep::Histogram { rho: 0.5, rule: PruneRule::Update };
    Ok(vec![
        subject("blocks, symmetric Gaussian", gaussian_blocks(), 5_000)?,
        subject(
            "blocks, Gaussian, histogram",
            Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep: histogram },
            2_000,
        )?,
        subject(
            "blocks, Wishart",
            Schedule::Block { noise: BlockNoise::Wishart, keep: Keep::Blocks },
            250,
        )?,
        subject(
            "blocks, Johnson-Lindenstrauss",
            Schedule::Block {
                noise: BlockNoise::JohnsonLindenstrauss { rows: 4 },
                keep: Keep::Blocks,
            },
            600,
        )?,
        subject("tree", Schedule::Tree { noise: BlockNoise::SymmetricGaussian }, 5_000)?,
        subject("factorised", Schedule::Factorised { horizon: 6 }, 5_000)?,
        subject("decayed", Schedule::Decayed { decay: 0.5, horizon: 6 }, 5_000)?,
    ])
}
