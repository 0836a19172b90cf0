//! The mechanisms under audit, one file a family.

pub(crate) mod averaged;
pub(crate) mod bounded;
pub(crate) mod common;
pub(crate) mod covariance;
pub(crate) mod groups;
pub(crate) mod individual;
pub(crate) mod low_rank;
pub(crate) mod minhash;
pub(crate) mod moments;
pub(crate) mod newton;
pub(crate) mod pairwise;
pub(crate) mod power;
pub(crate) mod projection;
pub(crate) mod published;
pub(crate) mod quantile;
pub(crate) mod signs;
pub(crate) mod structure;
pub(crate) mod units;
pub(crate) mod vector;
pub(crate) mod window;

use crate::subject::Subject;
use eval::Result;

/// Every mechanism, family by family.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn all() -> Result<Vec<Subject>> {
    let families = [
        projection::subjects()?,
        averaged::subjects()?,
        pairwise::subjects()?,
        signs::subjects()?,
        minhash::subjects()?,
        low_rank::subjects()?,
        covariance::subjects()?,
        moments::subjects()?,
        quantile::subjects()?,
        power::subjects()?,
        newton::subjects()?,
        groups::subjects()?,
        window::subjects()?,
        individual::subjects()?,
        structure::subjects()?,
        units::subjects()?,
        bounded::subjects()?,
        vector::subjects()?,
        published::subjects()?,
    ];
    Ok(families.into_iter().flatten().collect())
}
