//! Private low-rank approximation, covariance and sliding-window matrix analysis.
//!
//! | to | see |
//! | --- | --- |
//! | release `A^T A` once | [`covariance`] (rows over the bound are scaled to it, not refused) |
//! | ask it: principal components, regression, cuts | [`analysis`] |
//! | regress one target on the rows, by noisy Newton steps | [`newton`] |
//! | approximate a matrix whose rows may shift | [`low_rank`] |
//! | release the top directions alone | [`covariance::NoisyPower`] |
//! | search rows of which one value is protected, by groups of columns that are paid for | [`groups`] |
//! | follow a stream in sliding windows | [`window`] |
//! | choose among them from public facts | [`plan`] |
//! | check a release that somebody gave you | [`verify()`]; of a file of any kind, [`any::AnyRelease`] |
//! | measure coherence | [`low_rank::c_coherence`], [`low_rank::mu0_exact`] |
//!
//! ```
//! use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
//! use linalg_dp::analysis::pca;
//! use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance};
//!
//! // Rows of norm at most 1, one of which may be replaced.
//! let adjacency = Adjacency::ReplaceRow { bound: NormBound::new(1.0)? };
//! let mechanism = GaussianCovariance::calibrate(2, adjacency, Budget::new(1.0, 1e-6)?)?;
//! let rows = [0.9, 0.1].repeat(1000);
//! let release = mechanism.release(&rows, &mut NoiseRng::from_os()?)?;
//! let components = pca(&release, 1)?;
//! let direction = components.payload().directions();
//! assert!(direction[(0, 0)].abs() > direction[(1, 0)].abs());
//! # Ok::<(), linalg_dp::Error>(())
//! ```

pub mod analysis;
pub mod any;
mod author;
pub mod covariance;
pub mod dense;
pub mod error;
pub mod groups;
pub mod low_rank;
pub mod newton;
pub mod parts;
pub mod plan;
mod products;
mod sizes;
pub mod verify;
pub mod window;

pub use error::{Error, Result};
pub use verify::verify;
