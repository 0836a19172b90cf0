//! Private projections (papers 1 and 2): mechanism, release, estimators.

mod estimate;
mod mechanism;
mod noise;
mod normal;
mod sketch;

pub use estimate::{Estimate, Interval, Pairs};
pub use mechanism::{BLOCK_ROWS, PrivateProjection};
pub use noise::SketchNoise;
pub use sketch::{PrivateSketch, SketchRelease};
