//! The least noise for a budget.

use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::profile::{PrivacyProfile, Profile};
use crate::quantity::{L2Sensitivity, NoiseScale};

/// The least scale at which `family(scale)` meets the budget; delta must fall as
/// the scale grows. Safe side: the returned scale meets it.
///
/// # Errors
/// [`Error::Calibration`] when no scale in `[1e-12, 1e15]` does.
pub fn least_scale(
    name: &'static str,
    budget: Budget,
    family: impl Fn(NoiseScale) -> Profile,
) -> Result<NoiseScale> {
    let target = budget.delta.ln();
    let fails = |reason: &str| Error::Calibration { family: name, budget, reason: reason.into() };
    let holds = |s: f64| NoiseScale::new(s).map(|s| family(s).log_delta(budget.epsilon) <= target);
    let (mut low, mut high) = (1e-12, 1e-12);
    while !holds(high)? {
        low = high;
        high *= 2.0;
        if high > 1e15 {
            return Err(fails("no scale up to 1e15 meets it"));
        }
    }
    for _ in 0..200 {
        let mid = 0.5 * (low + high);
        if mid <= low || mid >= high {
            break;
        }
        if holds(mid)? { high = mid } else { low = mid }
    }
    NoiseScale::new(high)
}

/// The least sigma of the Gaussian mechanism (exact, Balle & Wang 2018).
///
/// # Errors
/// [`Error::Calibration`] when delta is zero.
pub fn gaussian(budget: Budget, sensitivity: L2Sensitivity) -> Result<NoiseScale> {
    least_scale("gaussian", budget, |sigma| Profile::Gaussian { sensitivity, sigma })
}
