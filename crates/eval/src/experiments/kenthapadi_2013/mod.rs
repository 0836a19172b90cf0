//! Kenthapadi, Korolova, Mironov, Mishra (2013): privacy via the Johnson-Lindenstrauss transform.

mod fig1;

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub fn all() -> Vec<Box<dyn Experiment>> {
    vec![Box::new(fig1::STUDY)]
}
