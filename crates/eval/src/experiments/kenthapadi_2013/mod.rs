//! Kenthapadi, Korolova, Mironov, Mishra (2013): privacy via the Johnson-Lindenstrauss transform.

mod comparison;
mod fig1;
mod segmentation;
mod variance;

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub(crate) fn all() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(fig1::STUDY),
        Box::new(variance::STUDY),
        Box::new(comparison::STUDY),
        Box::new(segmentation::STUDY),
    ]
}
