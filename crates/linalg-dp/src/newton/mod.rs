//! Linear regression by noisy Newton steps: the rows are needed at analysis time.
//!
//! [`PrivateNewton`] is for one question, asked once. Whoever wants to publish a matrix that answers many releases a
//! covariance and asks [`crate::analysis::Regression`].

mod mechanism;
mod sums;

pub use mechanism::{NewtonConfig, NewtonRegression, NewtonStep, PrivateNewton};
