//! Li and Li (2023): differential privacy with random projections and sign random projections.

mod fig1;
mod fig10;
mod fig2;
mod fig3;
mod retrieval;

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub fn all() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(fig1::STUDY),
        Box::new(fig2::STUDY),
        Box::new(fig3::STUDY),
        Box::new(fig10::STUDY),
    ]
}
