//! Private sign sketches (Li & Li 2023, sections 4 and 6): mechanisms, releases, their files, estimators.

mod accepted;
mod bits;
pub mod changes;
mod codec;
mod codes;
mod flip;
mod fresh;
mod individual;
mod level;
mod mechanism;
mod pairs;
mod public_rows;
mod queries;
mod stream;
mod weighted;

pub use bits::PackedBits;
pub(crate) use codes::same_projections;
pub use codes::{SignCodes, SignSketch};
pub use flip::{FlipRule, FlipTable};
pub use fresh::{FreshConfig, FreshSigns, NormFloor};
pub use individual::{IndividualNoise, IndividualSigns};
pub use mechanism::PrivateSigns;
pub use pairs::SignPairs;
pub use public_rows::{SmoothCosine, cosine_to_public_row, smooth_to_public_row};
pub use queries::SignQueries;
pub use stream::OpenSigns;
