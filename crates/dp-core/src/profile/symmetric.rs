//! Symmetric Gaussian noise on second moments. Proof: `docs/proofs/symmetric-gaussian.md`.

use super::gaussian::ln_gaussian;
use super::kind::{Kind, ROW, ratio};
use super::kinds::{Profile, RowChange, covariance_sensitivity};
use super::pld::Merged;
use super::rule::{on_grid, scale};
use super::solve::{least_scale_from, refuse_pure, rough_mu};
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::Result;
use crate::noise::NoiseLaw;
use crate::quantity::{NoiseScale, NormBound};

/// [`Profile::SymmetricGaussian`].
pub(super) struct Symmetric {
    pub(super) bound: NormBound,
    pub(super) sigma: NoiseScale,
    pub(super) change: RowChange,
}

impl Symmetric {
    fn sensitivity(&self) -> f64 {
        covariance_sensitivity(self.bound, self.change)
    }
}

impl Kind for Symmetric {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        ln_gaussian(self.sensitivity() / self.sigma.get(), epsilon)
    }

    fn check_limits(&self) -> Result<()> {
        // The sensitivity is more than this product where the square of the bound underflows.
        let moved = 0.5 * self.sensitivity() / self.sigma.get();
        ratio(ROW, (self.bound.get() * (self.bound.get() / self.sigma.get())).max(moved))
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        all.gaussian(self.sensitivity() / self.sigma.get(), runs as f64);
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        let NoiseLaw::SymmetricGaussian { sigma, grid } = noise else { return Ok(false) };
        scale("noise.sigma", *sigma, self.sigma)?;
        on_grid(self.sensitivity(), *grid)?;
        Ok(true)
    }
}

/// The least standard deviation on the diagonal of symmetric Gaussian noise on `A^T A`.
///
/// # Errors
/// [`crate::Error::Calibration`] when delta is zero.
pub fn symmetric_gaussian(
    budget: Budget,
    bound: NormBound,
    change: RowChange,
) -> Result<NoiseScale> {
    refuse_pure("symmetric gaussian", budget)?;
    let guess = covariance_sensitivity(bound, change) / rough_mu(budget);
    least_scale_from("symmetric gaussian", budget, guess, |sigma| Profile::SymmetricGaussian {
        bound,
        sigma,
        change,
    })
}
