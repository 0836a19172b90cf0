//! The Laplace mechanism. Proof: `docs/proofs/laplace.md`.

use super::kind::{Kind, SHIFT, ratio};
use super::kinds::{PrivacyProfile, Profile};
use super::pld::{LEAST, LossLaw, Merged};
use super::rule::{on_grid, scale};
use super::solve::solver_failed;
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::Result;
use crate::noise::NoiseLaw;
use crate::numeric::{above, ln_one_minus_exp};
use crate::quantity::{L1Sensitivity, LaplaceScale};

/// ln(1 - e^((eps - mu)/2)), mu an ulp or two larger than given.
pub(super) fn ln_laplace(mu: f64, epsilon: f64) -> f64 {
    let mu = mu * (1.0 + 4.0 * f64::EPSILON);
    if epsilon >= mu { f64::NEG_INFINITY } else { above(ln_one_minus_exp(0.5 * (epsilon - mu))) }
}

/// [`Profile::Laplace`].
pub(super) struct Laplace {
    pub(super) sensitivity: L1Sensitivity,
    pub(super) scale: LaplaceScale,
}

impl Laplace {
    fn mu(&self) -> f64 {
        self.sensitivity.get() / self.scale.get()
    }
}

impl Kind for Laplace {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        ln_laplace(self.mu(), epsilon)
    }

    fn check_limits(&self) -> Result<()> {
        ratio(SHIFT, self.mu())
    }

    /// Exact in one coordinate; which it is, the profile does not say.
    fn compose(&self, runs: u64, all: &mut Merged) {
        let mu = self.mu().max(LEAST);
        all.only_from_above();
        all.law(LossLaw::Laplace { mu }, runs.into(), mu);
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        let NoiseLaw::RoundedLaplace { scale: stated, grid } = noise else { return Ok(false) };
        scale("noise.scale", *stated, self.scale)?;
        on_grid(self.sensitivity.get(), *grid)?;
        Ok(true)
    }
}

/// The least scale of the Laplace mechanism: `D/epsilon` for delta zero, else
/// `D / (epsilon - 2 ln(1 - delta))`.
///
/// # Errors
/// [`crate::Error::InvalidParameter`] when the scale leaves the range of `f64`.
pub fn laplace(budget: Budget, sensitivity: L1Sensitivity) -> Result<LaplaceScale> {
    let mu = budget.epsilon.get() - 2.0 * (-budget.delta.get()).ln_1p();
    let holds = |scale: LaplaceScale| {
        Profile::Laplace { sensitivity, scale }.log_delta(budget.epsilon) <= budget.delta.ln()
    };
    // A few parts in 1e14, then checked.
    let mut scale = sensitivity.get() / mu;
    for _ in 0..60 {
        let candidate = LaplaceScale::new(scale)?;
        if holds(candidate) {
            return Ok(candidate);
        }
        scale *= 1.0 + 2e-12;
    }
    solver_failed("laplace", budget)
}
