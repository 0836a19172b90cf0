//! Private covariance: `A^T A` of rows with a public norm bound, released once.
//!
//! Three mechanisms behind one trait: [`GaussianCovariance`] (least error), [`WishartCovariance`] (noise that keeps the
//! matrix positive definite) and [`JlCovariance`] (a sketch whose error is relative, for data of small rank).
//!
//! Rows longer than the bound are **scaled to it, and not counted**: how many there were is private.
//! Certificates say so. Whoever would rather stop at such a row must look for it before the
//! release (and tell nobody what was found).

mod clip;
mod codec;
mod gaussian;
mod gram;
mod jl;
mod mechanism;
mod noisy_power;
mod release;
mod wishart;

pub use clip::RowClip;
pub(crate) use clip::{longer_rows, row_change};
pub(crate) use codec::{CovarianceFacts, put_covariance};
pub use gaussian::GaussianCovariance;
pub(crate) use gram::ExactGram;
pub use jl::JlCovariance;
pub use mechanism::{CovarianceMechanism, CovarianceStream};
pub use noisy_power::{NoisyPower, PowerDirections};
pub(crate) use release::jl_error_share;
pub use release::{CovarianceNoise, JlSketch, PrivateCovariance};
pub use wishart::{WishartCovariance, WishartShape};
