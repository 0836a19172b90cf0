//! Which schedule of a stream errs least.

use super::{Planned, ordered};
use crate::error::Result;
use crate::window::nodes_of_windows;
use crate::window::{BlockNoise, Keep, Schedule, StreamConfig, WindowMechanism};
use dp_core::SquaredNorm;
use dp_core::mechanism::Mechanism;

/// The error of a full window in Frobenius norm for each schedule with Gaussian noise, best first: a tree, blocks, and, for a
/// stream of at most `horizon` blocks, correlated noise. What the configuration says of schedules is not asked.
///
/// A tree's error is that of the mean number of nodes over the places of a window; its range goes from the fewest nodes of a
/// window to the most.
///
/// # Errors
/// As [`WindowMechanism::calibrate`].
pub fn plan_window(config: &StreamConfig, horizon: Option<u64>) -> Result<Vec<Planned<Schedule>>> {
    let noise = BlockNoise::SymmetricGaussian;
    let known = horizon.map(|horizon| Schedule::Factorised { horizon });
    let schedules = [Schedule::Tree { noise }, Schedule::Block { noise, keep: Keep::Blocks }];
    let d = config.dim as f64;
    let plans = schedules.into_iter().chain(known).map(|schedule| {
        let mechanism = WindowMechanism::calibrate(StreamConfig { schedule, ..*config })?;
        // No Gaussian noise asks for the rows.
        let error = mechanism.predict(SquaredNorm::new(1.0)?)?.root_mean_square;
        let plan = Planned::of_normals(schedule, error, 0.5 * d * (d + 1.0));
        Ok(match schedule {
            Schedule::Tree { .. } => {
                let (least, mean, most) = nodes_of_windows(config.window_blocks()?);
                let share = |nodes: f64| (nodes / mean).sqrt();
                Planned { low: plan.low * share(least), high: plan.high * share(most), ..plan }
            }
            _ => plan,
        })
    });
    Ok(ordered(plans.collect::<Result<Vec<_>>>()?))
}
