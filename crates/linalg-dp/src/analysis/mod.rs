//! Analysis of releases: post-processing only, no data and no noise.

mod pca;

pub use pca::{PrivatePca, pca, subspace_distance};
