//! Private projections (papers 1 and 2): mechanism, release, estimators.

mod averaged;
mod bounds;
mod estimate;
mod interval;
mod mechanism;
mod multi_scale;
mod noise;
mod normal;
mod planner;
mod rules;
mod sketch;
mod systems;

pub use averaged::AveragedProjection;
pub use bounds::{
    optimal_k, optimal_k_tail, projection_tail_bound, projection_variance, response_tail_bound,
};
pub use estimate::{Estimate, Pairs};
pub use interval::Interval;
pub(crate) use mechanism::pass_rows;
pub use mechanism::{PrivateProjection, block_rows};
pub use multi_scale::{
    MultiScale, MultiScaleRelease, multi_scale_squared_distance,
    multi_scale_squared_distance_interval,
};
pub use noise::SketchNoise;
pub use planner::{Method, Prediction, Task, plan};
pub use sketch::{PrivateSketch, SketchRelease};
pub use systems::{System, dp_rp_g_opt_averaged};
