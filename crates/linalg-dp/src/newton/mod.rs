//! Linear regression by noisy Newton steps: the rows are needed at analysis time.
//!
//! [`PrivateNewton`] is for one question, asked once. Whoever wants to publish a matrix that answers many releases a
//! covariance and asks [`crate::analysis::Regression`].

mod codec;
mod mechanism;
mod predict;
mod release;
mod step;
mod sums;
mod system;

pub use mechanism::{NewtonConfig, PrivateNewton};
pub(crate) use mechanism::{TIMES, moves, paid_gradient};
pub(crate) use predict::Line;
pub use release::NewtonRegression;
pub use step::NewtonStep;
