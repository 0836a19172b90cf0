//! Set similarity: MinHash and its relatives, their private releases, estimators and search.

mod classic;
mod error;
mod estimate;
mod fast;
mod hash;
mod items;
mod neighbours;
mod one_permutation;
mod secure;
mod signature;

pub use classic::MinHash;
pub use error::{Error, Result};
pub use estimate::{CollisionLaw, Similarity, published_bucket};
pub use fast::FastSimilarity;
pub use hash::HashFamily;
pub use items::{ItemSet, WordHash};
pub use neighbours::SetNeighbours;
pub use one_permutation::{DenseOnePermutation, EMPTY_BIN, OnePermutation};
pub use secure::{SecureMinHash, SymbolShape};
pub use signature::{Scheme, SetSketch, SignatureMatrix, matches};

#[cfg(test)]
mod estimate_tests;
#[cfg(test)]
mod sketch_tests;
