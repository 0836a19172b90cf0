//! Random projections, sign and set sketches, and their private releases.
pub mod minhash;
