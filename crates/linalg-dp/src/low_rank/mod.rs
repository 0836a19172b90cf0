//! Private low-rank approximation of an m x n matrix whose rows may shift (Hardt & Roth 2012).
//!
//! [`Pfp`] is the mechanism to use; [`RangeFinder`] and [`BasisProjection`] are its two steps
//! on their own, [`PublishedPfp`] the paper's version with the delta it really gives.

mod baseline;
mod codec;
mod coherence;
mod factors;
mod pfp;
mod project;
mod published;
mod range;
mod setting;
mod shape;
mod shrink;

pub use baseline::{InputPerturbation, randomized_svd, singular_values, truncated_svd};
pub use coherence::{c_coherence, largest_row_norm, mu0_exact, mu0_from_sketch, mu0_of_basis};
pub use factors::LowRank;
pub use pfp::{Kept, Pfp, PfpOptions, Pruning, Split};
pub use project::{BasisProjection, PrivateLowRank, PublicBasis, Spread};
pub use published::PublishedPfp;
pub use range::{Range, RangeFinder};
pub use setting::Setting;
pub use shape::{NoiseShape, ShapeTarget, isotropic_shape, optimal_shape};
pub use shrink::shrink_value;
