//! Unit vectors: whole rows by their directions, under pure differential privacy for any two rows.

mod codec;
mod direction;
mod estimate;
mod mechanism;
mod moments;
mod queries;
mod release;
mod writer;

pub use estimate::UnitPairs;
pub(crate) use mechanism::variance_at;
pub use mechanism::{PrivateUnits, UnitsConfig};
pub use queries::UnitQueries;
pub use release::UnitVectors;
