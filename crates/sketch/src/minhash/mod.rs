//! Set similarity: MinHash and its relatives, their private releases, estimators and search.

mod bins;
mod classic;
mod estimate;
mod fast;
mod hash;
mod items;
mod neighbours;
mod noisy;
mod one_permutation;
pub(crate) mod packed;
mod plan;
mod privmin;
mod response;
mod response_family;
mod search;
mod secure;
mod signature;
mod symbols;

pub use bins::BinLaw;
pub use classic::MinHash;
pub use estimate::{CollisionLaw, published_bucket};
pub use fast::FastSimilarity;
pub use hash::HashFamily;
pub use items::{ItemSet, WordHash};
pub use neighbours::SetNeighbours;
pub(crate) use noisy::{NOISY, noisy_profile};
pub use noisy::{NoisyBits, NoisySecureMinHash, TrueDelta, published_sensitivity};
pub use one_permutation::{DenseOnePermutation, EMPTY_BIN, OnePermutation, bin_similarity};
pub use plan::{Aim, Plan, Planned, SearchGoal, plan};
pub use privmin::PrivMin;
pub use response::{BinResponse, BucketPrivMin, MixtureResponse, SymbolRelease};
pub(crate) use response::{HASH_MODEL, hash_model, symbol_profile};
pub use search::{Ranking, best_rows, nearest, nearest_noisy};
pub use secure::{SecureMinHash, SymbolShape};
pub use signature::{Scheme, Scratch, SetSketch, SignatureMatrix, matches};
pub use symbols::{Coding, PrivateSymbols, SymbolFacts};

#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod estimate_tests;
#[cfg(test)]
mod profile_tests;
#[cfg(test)]
mod release_tests;
#[cfg(test)]
mod several_tests;
#[cfg(test)]
mod sketch_tests;
#[cfg(test)]
mod structure_tests;
