//! Random projections, sign and set sketches, and their private releases.

pub mod error;
pub mod minhash;
pub mod pairwise;
pub mod private;
pub mod projection;
pub mod release_file;
pub mod rows;
pub mod search;
pub mod sign;

pub use error::{Error, Result};
pub use rows::RowsView;
