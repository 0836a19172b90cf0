//! Questions to a released second-moment matrix. All of it is post-processing: nothing
//! here sees data or draws noise.
//!
//! [`denoised`] is the matrix to ask: it takes the noise out of the eigenvalues. [`pca`] does so by itself;
//! what takes a matrix is given [`DenoisedCovariance::matrix`].

mod cuts;
mod denoise;
mod moments;
mod nonnegative_pca;
mod normal;
mod pca;
mod quadratic;
mod regression;
mod sparse_pca;
mod square;

pub use cuts::{Cut, edge_row};
pub use denoise::{DenoisedCovariance, Denoising, denoised};
pub use moments::{Moments, pca_centred};
pub use nonnegative_pca::nonnegative_pca;
pub(crate) use normal::{checked, upper_quantile};
pub use pca::{PrivatePca, pca, subspace_distance};
pub use quadratic::{best_projection, directional_variance, projection_cost, spectral_distance};
pub use regression::{Regression, Ridge, regression};
pub use sparse_pca::sparse_pca;
