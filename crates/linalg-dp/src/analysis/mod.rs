//! Questions to a released second-moment matrix. All of it is post-processing: nothing
//! here sees data or draws noise.

mod cuts;
mod nonnegative_pca;
mod pca;
mod quadratic;
mod regression;
mod sparse_pca;
mod square;

pub use cuts::{Cut, edge_row};
pub use nonnegative_pca::nonnegative_pca;
pub use pca::{PrivatePca, pca, subspace_distance};
pub use quadratic::{best_projection, directional_variance, projection_cost, spectral_distance};
pub use regression::{Ridge, regression};
pub use sparse_pca::sparse_pca;
