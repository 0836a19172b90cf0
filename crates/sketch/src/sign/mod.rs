//! Private sign sketches (Li & Li 2023, sections 4 and 6).

mod bits;
pub mod changes;
mod codes;
mod estimate;
mod flip;
mod fresh;
mod individual;
mod level;
mod mechanism;
mod stream;

pub use bits::PackedBits;
pub(crate) use codes::sign_parameters;
pub use codes::{SignCodes, SignRelease, SignSketch};
pub use estimate::{SignPairs, cosine_to_public_row};
pub use flip::{FlipRule, FlipTable};
pub use fresh::{FreshConfig, FreshSigns, NormFloor};
pub use individual::{IndividualNoise, IndividualRelease, IndividualSigns};
pub use mechanism::PrivateSigns;
pub use stream::OpenSigns;
