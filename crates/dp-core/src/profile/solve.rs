//! The least noise for a budget, of any family of profiles.

use super::kinds::{PrivacyProfile, Profile};
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::numeric::root;
use crate::quantity::{NoiseScale, Probability};

/// The least scale at which `family(scale)` meets the budget; delta must fall as
/// the scale grows. Safe side: the returned scale meets it.
///
/// # Errors
/// [`Error::Calibration`] when no scale in `[1e-250, 1e250]` does.
pub fn least_scale(
    name: &'static str,
    budget: Budget,
    family: impl Fn(NoiseScale) -> Profile,
) -> Result<NoiseScale> {
    least_scale_from(name, budget, 1.0, family)
}

pub(crate) fn least_scale_from(
    name: &'static str,
    budget: Budget,
    guess: f64,
    family: impl Fn(NoiseScale) -> Profile,
) -> Result<NoiseScale> {
    let ln_delta =
        |s: f64| NoiseScale::new(s).map_or(0.0, |s| family(s).log_delta(budget.epsilon).get());
    NoiseScale::new(root::least(name, budget, guess, ln_delta)?)
}

/// Unbounded losses cannot meet a delta of zero.
pub(crate) fn refuse_pure(name: &'static str, budget: Budget) -> Result<()> {
    if budget.delta.get() > 0.0 {
        return Ok(());
    }
    let reason = "its privacy loss is unbounded: delta must be above zero".into();
    Err(Error::Calibration { family: name, budget, reason })
}

/// About the largest mu of a Gaussian that meets the budget: a starting point.
pub(crate) fn rough_mu(budget: Budget) -> f64 {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    // The tail Phi(-z) = delta, z from its logarithm; then mu^2/2 + z mu = epsilon.
    let y = -2.0 * delta.ln();
    let z = if y > 3.0 { (y - (y + 1.0).ln() - 1.0).max(0.1).sqrt() } else { 0.1 };
    let mu = 2.0 * epsilon / (z + (z * z + 2.0 * epsilon).sqrt());
    mu.max(2.0 * delta)
}

pub(crate) fn solver_failed<T>(family: &'static str, budget: Budget) -> Result<T> {
    Err(Error::Calibration { family, budget, reason: "the solver did not converge".into() })
}

pub(crate) fn positive(name: &'static str, value: u64) -> Result<()> {
    if value > 0 { Ok(()) } else { Err(Error::invalid(name, value, "[1, inf)")) }
}

/// The largest `f64` above `1/alphabet` at which the family meets the budget.
pub(crate) fn largest_keep(
    name: &'static str,
    budget: Budget,
    alphabet: u64,
    family: impl Fn(Probability) -> Profile,
) -> Result<Probability> {
    if alphabet < 2 {
        return Err(Error::invalid("alphabet", alphabet, "[2, inf)"));
    }
    let delta = budget.delta.ln();
    let ln_delta =
        |p: f64| Probability::new(p).map_or(0.0, |p| family(p).log_delta(budget.epsilon).get());
    // The noise is one over the loss of a letter.
    let others = (alphabet - 1) as f64;
    let keep = |noise: f64| 1.0 / (1.0 + others * (-1.0 / noise).exp());
    let guess = 1.0 / budget.epsilon.get().clamp(1e-6, 30.0);
    let noise = root::least(name, budget, guess, |noise| ln_delta(keep(noise)))?;
    let mut p = keep(noise);
    for _ in 0..64 {
        if ln_delta(p) <= delta.get() {
            return Probability::new(p);
        }
        p = p.next_down();
    }
    solver_failed(name, budget)
}

#[cfg(test)]
mod tests {
    use super::super::gaussian::ln_gaussian;
    use super::*;

    /// The rough mu meets the budget, and of large epsilons a tenth more does not.
    #[test]
    fn the_rough_mu_is_a_little_below_the_largest() {
        for epsilon in [0.1, 1.0, 10.0, 30.0, 100.0, 300.0] {
            for delta in [0.1, 1e-2, 1e-4, 1e-6, 1e-9, 1e-12] {
                let budget = Budget::new(epsilon, delta).unwrap();
                let ln = |by: f64| ln_gaussian(by * rough_mu(budget), epsilon) - delta.ln();
                assert!(ln(1.0) <= 0.0, "{epsilon} {delta}");
                assert!(epsilon < 10.0 || ln(1.1) > 0.0, "{epsilon} {delta}");
            }
        }
    }
}
