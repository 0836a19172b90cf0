//! Hardt and Roth (2012): beating randomized response on incoherent matrices.

mod bounds;
mod distance;
mod matrices;
mod prototype;
mod ratings;
mod sweep;
mod synthetic;

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub(crate) fn all() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(prototype::STUDY),
        Box::new(synthetic::BY_SIZE),
        Box::new(synthetic::BY_K),
        Box::new(synthetic::BY_COHERENCE),
        Box::new(synthetic::BY_EPSILON),
        Box::new(ratings::STUDY),
    ]
}
