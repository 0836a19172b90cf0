//! The mechanisms under audit, one file a family.

pub mod averaged;
pub(crate) mod common;
pub mod covariance;
pub mod individual;
pub mod low_rank;
pub mod minhash;
pub mod pairwise;
pub mod power;
pub mod projection;
pub mod published;
pub mod signs;
pub mod structure;
pub mod window;

use crate::subject::Subject;
use eval::Result;

/// Every mechanism, family by family.
///
/// # Errors
/// A calibration that fails.
pub fn all() -> Result<Vec<Subject>> {
    let families = [
        projection::subjects()?,
        averaged::subjects()?,
        pairwise::subjects()?,
        signs::subjects()?,
        minhash::subjects()?,
        low_rank::subjects()?,
        covariance::subjects()?,
        power::subjects()?,
        window::subjects()?,
        individual::subjects()?,
        structure::subjects()?,
        published::subjects()?,
    ];
    Ok(families.into_iter().flatten().collect())
}
