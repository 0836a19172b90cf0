//! Set similarity: MinHash and its relatives, their private releases, files and estimators.

mod bin_response;
mod bins;
mod buckets;
mod classic;
mod codec;
mod counts;
mod estimate;
mod fast;
mod fresh_bins;
mod hash;
mod item_groups;
mod item_sample;
mod items;
mod likelihood;
mod mixture;
mod neighbours;
mod noisy;
mod noisy_counts;
mod occupancy;
mod one_permutation;
mod packed;
mod privmin;
mod response;
mod response_family;
mod secure;
mod signature;
mod similarity;
mod symbols;
mod writer;

pub use bin_response::BinResponse;
pub use bins::BinLaw;
pub(crate) use bins::outcomes;
pub use buckets::BucketPrivMin;
pub use classic::MinHash;
pub use counts::GroupCounts;
pub use estimate::{CollisionLaw, published_bucket};
pub use fast::FastSimilarity;
pub use fresh_bins::FreshBinResponse;
pub use item_groups::ItemGroups;
pub use items::ItemSet;
pub use mixture::MixtureResponse;
pub use neighbours::SetNeighbours;
pub(crate) use noisy::NoisyFacts;
pub use noisy::{NoisyBits, NoisySecureMinHash, published_sensitivity};
pub(crate) use noisy_counts::CountFacts;
pub use noisy_counts::NoisyCounts;
pub use one_permutation::{DenseOnePermutation, EMPTY_BIN, OnePermutation, bin_similarity};
pub use privmin::PrivMin;
pub use response::SetFacts;
pub use secure::{SecureMinHash, SymbolShape};
pub(crate) use signature::matches;
pub use signature::{Scheme, SetSketch, SignatureMatrix};
pub use similarity::SetPairs;
pub use symbols::PrivateSymbols;
pub(crate) use symbols::{Coding, SymbolFacts};
pub use writer::SetWriter;

#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod estimate_tests;
#[cfg(test)]
mod occupancy_tests;
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
