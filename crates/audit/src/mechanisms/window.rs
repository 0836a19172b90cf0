//! Private streams: every release of the stream is seen.

use super::common::{bound, gaussian_budget, gaussian_noise};
use crate::subject::{Draw, Side, Subject};
use crate::tester::{Training, separation};
use dp_core::{Adjacency, Budget, NoiseRng, Profile};
use eval::{Error, Result};
use linalg_dp::window::{
    BlockNoise, Keep, Pace, PruneRule, Schedule, StreamConfig, WindowMechanism,
};

/// Family name in the table.
pub(crate) const FAMILY: &str = "sliding window";

/// Blocks of a stream.
const BLOCKS: usize = 6;
/// Pilot runs of each input at each time.
const PILOT: u64 = 200;
/// Rows of a block.
pub(crate) const BLOCK: usize = 2;

/// A stream of numbers (d = 1) in blocks of `block` rows, windows of three blocks.
///
/// # Errors
/// Never: the bound is positive.
pub(crate) fn config(schedule: Schedule, block: usize, budget: Budget) -> Result<StreamConfig> {
    Ok(StreamConfig {
        dim: 1,
        window: 3 * block as u64,
        block: block as u64,
        pace: Pace::Rows,
        adjacency: Adjacency::ZeroRow { bound: bound(1.0)? },
        budget,
        schedule,
    })
}

/// All releases of a stream calibrated like this one, one at every block end.
///
/// # Errors
/// Whatever the stream refuses.
pub(crate) fn releases(
    calibrated: &WindowMechanism,
    rows: &[f64],
    rng: &mut NoiseRng,
    out: &mut Vec<f64>,
) -> Result<()> {
    let mut stream = calibrated.stream(rng);
    for row in rows {
        if stream.push(&[*row])? == 1 {
            out.push(stream.release()?.payload().covariance().raw()[(0, 0)]);
        }
    }
    Ok(())
}

/// A stream without and with one row, among rows and at the time where it shows most, by pilot
/// runs: every other row is one, or every other row is zero.
///
/// # Errors
/// Whatever the stream refuses.
pub(crate) fn sides(calibrated: &WindowMechanism) -> Result<[Vec<f64>; 2]> {
    let block = calibrated.config().block as usize;
    // The same noise on both sides: what the row moves shows without it.
    let pilot = |rows: &[f64]| -> Result<Vec<f64>> {
        let mut seen = vec![];
        for run in 0..PILOT {
            releases(calibrated, rows, &mut NoiseRng::deterministic_not_private(run), &mut seen)?;
        }
        Ok(seen)
    };
    let mut best = ([vec![], vec![]], -1.0);
    for other in [1.0, 0.0] {
        // The stream in which that row is like the others is one at all times.
        let alike = vec![other; BLOCKS * block];
        let seen_alike = pilot(&alike)?;
        for at in (0..BLOCKS).map(|b| b * block) {
            let mut rows = alike.clone();
            rows[at] = 1.0 - other;
            let mut pair = [(alike.clone(), seen_alike.clone()), (rows.clone(), pilot(&rows)?)];
            if other == 1.0 {
                pair.reverse();
            }
            let [(left, seen_left), (right, seen_right)] = pair;
            let found = separation(&Training { width: BLOCKS, left: seen_left, right: seen_right });
            if found > best.1 {
                best = ([left, right], found);
            }
        }
    }
    Ok(best.0)
}

/// The audit of a schedule.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subject(
    name: &str,
    schedule: Schedule,
    block: usize,
    budget: Budget,
) -> Result<Subject> {
    let calibrated = WindowMechanism::calibrate(config(schedule, block, budget)?)?;
    let guarantee = calibrated.guarantee().clone();
    let sides = sides(&calibrated)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        releases(&calibrated, side.of(&sides[0], &sides[1]), &mut draw.noise(), out)
    };
    let pair =
        "one row of the stream, its time and the other rows by pilot runs; all releases are seen";
    // The centroid in whitened coordinates is the likelihood ratio of Gaussian releases.
    Ok(Subject::new(name, FAMILY, guarantee.budget(), pair, BLOCKS, sample)
        .under(&guarantee)?
        .with_runs(10_000)
        // Times are seen too: a slot whose block has not ended repeats what was released before.
        .score("slots without a release", |x| {
            let repeated = x.windows(2).filter(|w| w[0] == w[1]).count();
            (repeated + usize::from(x[0] == 0.0)) as f64
        }))
}

/// Blocks with symmetric Gaussian noise: the healthy original of the private checkpoints.
#[must_use]
pub(crate) fn gaussian_blocks() -> Schedule {
    Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep: Keep::Blocks }
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let claim = gaussian_budget()?;
    let histogram = Keep::Histogram { rho: 0.5, rule: PruneRule::Update };
    let gaussian = BlockNoise::SymmetricGaussian;
    let sketches = BlockNoise::JohnsonLindenstrauss { rows: SKETCH };
    let cut = Schedule::Block { noise: gaussian, keep: histogram };
    let tree = Schedule::Tree { noise: gaussian };
    let mut all = Vec::new();
    let mut keep = |name, schedule, block| -> Result<()> {
        let noise = move |budget| noise_of(schedule, budget);
        let build = move |budget| subject(name, schedule, block, budget);
        let full = if matches!(schedule, Schedule::Tree { .. }) { 16 } else { 8 };
        // Sketches with less lift lose far more than they claim: fewer runs tell. Of the others' twins the quick form has one of blocks.
        let runs = if sketched(schedule) { 20_000 } else { 60_000 };
        let built = Subject::built(claim, noise, build)?.in_full(full).twin_with_runs(runs);
        let like_blocks = schedule == cut || schedule == tree;
        all.push(if like_blocks { built.twin_only_in_full() } else { built });
        Ok(())
    };
    keep("blocks, symmetric Gaussian", gaussian_blocks(), BLOCK)?;
    keep(
        "blocks, Johnson-Lindenstrauss",
        Schedule::Block { noise: sketches, keep: Keep::Blocks },
        BLOCK,
    )?;
    // Blocks of a histogram are cut at zero: longer ones stay above it.
    keep("blocks, Gaussian, histogram", cut, 4 * BLOCK)?;
    keep("tree, symmetric Gaussian", tree, BLOCK)?;
    keep("tree, Johnson-Lindenstrauss", Schedule::Tree { noise: sketches }, BLOCK)?;
    keep("factorised", Schedule::Factorised { horizon: BLOCKS as u64 }, BLOCK)?;
    keep("decayed", Schedule::Decayed { decay: 0.5, horizon: BLOCKS as u64 }, BLOCK)?;
    Ok(all)
}

/// Rows of a sketch.
const SKETCH: u64 = 4;

/// Whether blocks are released as sketches.
fn sketched(schedule: Schedule) -> bool {
    let sketches = BlockNoise::JohnsonLindenstrauss { rows: SKETCH };
    matches!(schedule, Schedule::Block { noise, .. } | Schedule::Tree { noise } if noise == sketches)
}

/// What the noise of a schedule is in proportion to: a Gaussian's, or the lift of its sketches as
/// their profile states it.
fn noise_of(schedule: Schedule, budget: Budget) -> Result<f64> {
    if sketched(schedule) {
        let stream = WindowMechanism::calibrate(config(schedule, BLOCK, budget)?)?;
        return lift(stream.guarantee().profile());
    }
    gaussian_noise(budget)
}

fn lift(profile: Option<&Profile>) -> Result<f64> {
    match profile {
        Some(Profile::JlMechanism { lift, .. }) => Ok(lift.get()),
        Some(Profile::Repeated { profile, .. }) => self::lift(Some(profile)),
        _ => Err(Error::Malformed { what: "profile of a stream".into(), reason: "no lift".into() }),
    }
}
