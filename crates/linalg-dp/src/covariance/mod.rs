//! Private covariance: `A^T A` of rows with a public norm bound, released once.
//!
//! Three mechanisms behind one trait: [`GaussianCovariance`] (least error), [`WishartCovariance`] (noise that keeps the
//! matrix positive definite) and [`JlCovariance`] (a sketch whose error is relative, for data of small rank). Where nobody
//! knows how long rows are, [`QuantileCovariance`] finds out first.
//!
//! ```
//! use dp_core::{Adjacency, Budget, NoiseRng, NormBound, PublicSeed};
//! use linalg_dp::covariance::{
//!     CovarianceMechanism, JlCovariance, NoisyPower, WishartCovariance, WishartShape,
//! };
//!
//! // A row of norm at most 1 may come or go.
//! let row = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
//! let (budget, rng) = (Budget::new(2.0, 1e-6)?, &mut NoiseRng::from_os()?);
//! let rows = [0.6, 0.8, 0.8, 0.6];
//!
//! let sketched = JlCovariance::calibrate(2, 50, row, budget)?.release(&rows, rng)?;
//! assert_eq!(sketched.payload().dim(), 2);
//! let shape = WishartShape::LeastSpectralNorm;
//! let definite = WishartCovariance::calibrate(2, row, budget, shape)?.release(&rows, rng)?;
//! definite.certificate().verify()?;
//! // The leading direction alone, in three products, from a public start.
//! let power = NoisyPower::calibrate(2, 1, 3, row, budget)?;
//! let leading = power.release(&rows, PublicSeed::new(1), rng)?;
//! assert_eq!(leading.payload().directions().ncols(), 1);
//! # Ok::<(), linalg_dp::Error>(())
//! ```
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
mod names;
mod noisy_power;
mod quantile;
mod release;
mod wishart;

pub use clip::RowClip;
pub(crate) use clip::{answerable, leaves_rows_public, longer_rows, row_change, unit_change};
pub(crate) use codec::{CovarianceFacts, put_covariance};
pub use gaussian::GaussianCovariance;
pub(crate) use gram::{ExactGram, MAX_SHIFT, OpenGram, noise_grid, rescale};
pub use jl::JlCovariance;
pub(crate) use mechanism::stated;
pub use mechanism::{CovarianceMechanism, CovarianceStream};
pub use names::column_names;
pub(crate) use names::{check_features, name_features};
pub use noisy_power::{NoisyPower, PowerDirections};
pub(crate) use quantile::moved_counts;
pub use quantile::{NormStream, QuantileConfig, QuantileCovariance};
pub(crate) use release::{CHOSEN, CONSTANT, Centre, ROWS, jl_error_share};
pub use release::{CovarianceNoise, JlSketch, PrivateCovariance, Sums};
pub use wishart::{WishartCovariance, WishartShape};
