//! Exact nearest-neighbour search over releases: post-processing, it reads no data
//! and draws no randomness.

mod asymmetric;
mod bounded;
mod counts;
mod denoise;
mod dense;
mod hamming;
mod hits;
mod in_pieces;
mod queries;
mod set_index;
mod sets;
mod simd;
mod sketches;
mod units;

pub use bounded::BoundedIndex;
pub use counts::CountIndex;
pub use dense::SearchScalar;
pub use hamming::HammingIndex;
pub use hits::{Hit, Neighbours, Score};
pub use queries::{Queries, Searchable};
pub use set_index::SetIndex;
pub use sets::{Ranking, best_rows, nearest, nearest_noisy};
pub use sketches::SketchIndex;
pub use units::UnitIndex;
