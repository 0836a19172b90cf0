//! Shared pieces of the benches, and the comparison with other libraries.

pub mod comparison;
