//! Values of a declared range, one by one: each is cut into letters at a random offset and answered by a randomised response.

mod codec;
mod estimate;
mod law;
mod mechanism;
mod queries;
mod release;
mod shares;
mod writer;

pub(crate) use codec::BoundedFacts;
pub use estimate::BoundedPairs;
pub use law::BoundedLaw;
pub use mechanism::{BoundedConfig, PrivateBounded};
pub use queries::BoundedQueries;
pub use release::BoundedValues;
pub use shares::CategoryCounts;
