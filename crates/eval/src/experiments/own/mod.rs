//! Comparisons of our own.

mod attacks;
mod averaged_calibration;
mod bounded;
mod covariance;
mod exact_vs_published;
mod group_counts;
mod laws;
mod peers;
mod plan;
mod private_groups;
mod regression;
mod sets;

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub(crate) fn all() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(exact_vs_published::STUDY),
        Box::new(averaged_calibration::STUDY),
        Box::new(bounded::STUDY),
        Box::new(private_groups::STUDY),
        Box::new(covariance::STUDY),
        Box::new(regression::STUDY),
        Box::new(sets::STUDY),
        Box::new(group_counts::STUDY),
        Box::new(attacks::STUDY),
        Box::new(plan::STUDY),
    ]
}
