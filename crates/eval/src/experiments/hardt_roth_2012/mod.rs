//! Hardt and Roth (2012): beating randomized response on incoherent matrices.

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub fn all() -> Vec<Box<dyn Experiment>> {
    vec![]
}
