//! The mechanisms under audit, one file a family.

pub mod averaged;
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

use super::subject::Subject;
use dp_core::{Bound, Budget, L2Sensitivity, Probability, PublicGenerator, PublicSeed, calibrate};
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

/// The budget at which Gaussian mechanisms are audited: a delta that counting can reach.
pub(super) fn gaussian_budget() -> Result<Budget> {
    Ok(Budget::new(1.0, 1e-2)?)
}

/// The budget at which pure mechanisms are audited.
pub(super) fn pure_budget() -> Result<Budget> {
    Ok(Budget::new(1.0, 0.0)?)
}

/// Gaussian noise for a sensitivity of one: in proportion to it stands every noise whose profile is
/// that of one Gaussian.
pub(super) fn gaussian_noise(budget: Budget) -> Result<f64> {
    Ok(calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?.get())
}

/// What stands for the noise of responses: the inverse of their epsilon, as for Laplace noise.
pub(super) fn pure_noise(budget: Budget) -> Result<f64> {
    Ok(1.0 / budget.epsilon.get())
}

/// The same for one response of an alphabet, given its probability of keeping.
pub(super) fn response_noise(keep: Probability, alphabet: u32) -> f64 {
    1.0 / (keep.get() * f64::from(alphabet - 1) / (1.0 - keep.get())).ln()
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
