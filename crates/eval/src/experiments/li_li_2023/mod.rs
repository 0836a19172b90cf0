//! Li and Li (2023): differential privacy with random projections and sign random projections.

mod fig3;

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub fn all() -> Vec<Box<dyn Experiment>> {
    vec![Box::new(fig3::STUDY)]
}
