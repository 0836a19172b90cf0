//! Private sign sketches.

mod bits;
mod flip;

pub use bits::PackedBits;
pub use flip::{FlipRule, FlipTable};
