//! Bourgeat and Schmurr (2019): locally private similarity search.

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub fn all() -> Vec<Box<dyn Experiment>> {
    vec![]
}
