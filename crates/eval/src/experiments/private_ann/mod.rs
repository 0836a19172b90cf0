//! Private nearest neighbours: what every mechanism finds, whatever it protects.

mod choice;
mod kinds;
mod measure;
mod one_attribute;
mod row_shift;
mod show;
mod spaces;
mod text;
mod users;
mod ways;
mod whole_rows;

use crate::framework::Experiment;

/// The experiments of this module.
#[must_use]
pub(crate) fn all() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(whole_rows::STUDY),
        Box::new(users::STUDY),
        Box::new(row_shift::STUDY),
        Box::new(one_attribute::STUDY),
        Box::new(choice::STUDY),
    ]
}
