//! Random projections, sign and set sketches, and their private releases.

pub mod error;
pub mod minhash;
pub mod private;
pub mod projection;
pub mod rows;
pub mod search;
pub mod sign;

pub use error::{Error, Result};
pub use rows::RowsView;
