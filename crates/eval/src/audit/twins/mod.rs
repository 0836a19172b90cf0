//! The zoo of broken twins: each is a healthy mechanism with exactly one defect, audited with the
//! pair and the testers of its original. One that is not caught means that the audit is blind.

pub mod certificate;
mod letters;
mod matrix;
mod noise;

use super::subject::Subject;
use crate::error::Result;

/// Every twin that is sampled; [`certificate::edit_all`] is the one that is not.
///
/// # Errors
/// A calibration that fails.
pub fn all() -> Result<Vec<Subject>> {
    Ok([noise::twins()?, letters::twins()?, matrix::twins()?].into_iter().flatten().collect())
}
