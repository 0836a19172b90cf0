//! The mechanisms under audit, one file a family.

pub mod averaged;
pub mod covariance;
pub mod individual;
pub mod low_rank;
pub mod minhash;
pub mod pairwise;
pub mod projection;
pub mod published;
pub mod signs;
pub mod window;

use super::subject::Subject;
use crate::error::Result;
use dp_core::{Bound, Budget, PublicGenerator, PublicSeed};

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
        window::subjects()?,
        individual::subjects()?,
        published::subjects()?,
    ];
    Ok(families.into_iter().flatten().collect())
}

/// The budget at which Gaussian mechanisms are audited: a delta that counting can reach.
pub(super) fn gaussian_budget() -> Result<Budget> {
    Ok(Budget::new(1.0, 1e-2)?)
}

/// The budget at which pure mechanisms are audited.
pub(super) fn pure_budget() -> Result<Budget> {
    Ok(Budget::new(1.0, 0.0)?)
}

pub(super) fn bound(value: f64) -> Result<Bound> {
    Ok(Bound::new(value)?)
}

/// Public randomness of a search.
pub(super) fn search_rng(purpose: u64) -> PublicGenerator {
    PublicSeed::new(0x5ea6c4).generator(purpose)
}

/// The same row `n` times.
pub(super) fn repeated(row: &[f64], n: usize) -> Vec<f64> {
    row.repeat(n)
}
