//! Public random projections x -> x P, with P of shape d x k.
//!
//! Every projection here but [`Groups`] and [`PublicMatrix`] has E[P P^T] = I, so inner products and squared distances
//! are unbiased; [`Moments`] states their variance. P is public: its seed is published.

mod apply;
mod build;
mod cost;
mod dense;
mod dimension;
mod generator;
mod groups;
mod identity;
mod lanes;
mod learn;
mod matrix;
mod normals;
mod norms;
mod oporp;
mod sparse_signs;
mod spec;
mod srht;
mod tables;

pub use apply::{OutputRange, Projection, SharedProjection, project};
pub(crate) use apply::{Rooms, few_together, output_len, project_checked};
pub(crate) use cost::Cost;
pub use dimension::min_dimension;
pub(crate) use generator::Gaussian;
pub use groups::Groups;
pub use learn::PublicMoments;
pub(crate) use learn::{cut, not_positive, sizes};
pub use matrix::PublicMatrix;
pub use spec::{Family, Moments, ProjectionSpec, Sampling};

#[cfg(test)]
mod unit_tests;
