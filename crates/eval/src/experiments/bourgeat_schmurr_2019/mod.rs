//! Bourgeat and Schmurr (2019): locally private similarity search.

mod error;
mod formulas;
mod recall;
mod sweep;

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub(crate) fn all() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(formulas::BUDGET),
        Box::new(formulas::OUTPUT),
        Box::new(formulas::SENSITIVITY),
        Box::new(error::STUDY),
        Box::new(recall::STUDY),
    ]
}
