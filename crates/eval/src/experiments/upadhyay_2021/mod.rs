//! Upadhyay and Upadhyay (2021): private matrix analysis in the sliding window model.

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub fn all() -> Vec<Box<dyn Experiment>> {
    vec![]
}
