//! Private low-rank approximation, covariance and sliding-window matrix analysis.

pub mod analysis;
pub mod coherence;
pub mod covariance;
pub mod dense;
pub mod error;
pub mod low_rank;
pub mod noisy_power;
mod pipeline;
pub mod release_file;
pub mod window;

pub use error::{Error, Result};
