//! The symmetric Gaussian mechanism ("Analyze Gauss", Frobenius-isotropic form).

use super::clip::{RowClip, longer_rows, row_change};
use super::gram::{ExactGram, noise_grid};
use super::mechanism::{CovarianceMechanism, Privatises};
use super::release::{CovarianceNoise, PrivateCovariance};
use crate::error::Result;
use crate::products::check_grid;
use dp_core::certificate::Statement;
use dp_core::noise::{Grid, SymmetricGaussian};
use dp_core::{
    Adjacency, Bound, Budget, Certificate, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Profile,
    PublicValue, Release, calibrate,
};

const NAME: &str = "symmetric Gaussian covariance";

/// Releases `A^T A + N`, N symmetric, isotropic in the Frobenius geometry: standard
/// deviation sigma on the diagonal and `sigma / sqrt 2` off it.
///
/// # Privacy
/// The Frobenius sensitivity is `B^2` when a row of norm at most B is added or removed and
/// `sqrt 2 B^2` when it is replaced: a Gaussian mechanism of exactly that sensitivity.
///
/// # References
/// Dwork, Talwar, Thakurta, Zhang 2014 (Algorithm 1); it uses sigma off the diagonal
/// too, twice the variance for nothing. Proof: `docs/proofs/covariance.md`.
#[derive(Debug, Clone)]
pub struct GaussianCovariance {
    clip: RowClip,
    sigma: NoiseScale,
    grid: Grid,
    guarantee: Guarantee,
}

impl GaussianCovariance {
    /// The least sigma for the budget.
    ///
    /// # Errors
    /// A budget with delta = 0, an adjacency that does not protect rows, or a dimension
    /// or bound outside its range.
    pub fn calibrate(dim: usize, adjacency: Adjacency, budget: Budget) -> Result<Self> {
        let (bound, change) = row_change(adjacency, NAME)?;
        let clip = RowClip::new(dim, bound)?;
        // The final sigma is a hair larger than the one the grid is chosen for: finer is safe.
        let grid = noise_grid(&clip, calibrate::symmetric_gaussian(budget, bound, change)?)?;
        let sigma = calibrate::symmetric_gaussian(budget, paid_bound(&clip, grid)?, change)?;
        Self::with_grid(clip, adjacency, budget, sigma, grid)
    }

    /// A given sigma (for compositions calibrated elsewhere), checked against the budget.
    ///
    /// # Errors
    /// As [`GaussianCovariance::calibrate`]; also when sigma misses the budget.
    pub fn with_sigma(
        dim: usize,
        adjacency: Adjacency,
        budget: Budget,
        sigma: NoiseScale,
    ) -> Result<Self> {
        let clip = RowClip::new(dim, row_change(adjacency, NAME)?.0)?;
        Self::with_grid(clip, adjacency, budget, sigma, noise_grid(&clip, sigma)?)
    }

    fn with_grid(
        clip: RowClip,
        adjacency: Adjacency,
        budget: Budget,
        sigma: NoiseScale,
        grid: Grid,
    ) -> Result<Self> {
        check_grid(sigma, grid)?;
        let (_, change) = row_change(adjacency, NAME)?;
        let profile = Profile::SymmetricGaussian { bound: paid_bound(&clip, grid)?, sigma, change };
        let guarantee =
            Guarantee::proven(adjacency, budget, profile, dp_core::Theorem::CovarianceGaussian)?;
        Ok(Self { clip, sigma, grid, guarantee })
    }

    /// Standard deviation of a diagonal entry of the noise.
    #[must_use]
    pub fn sigma(&self) -> NoiseScale {
        self.sigma
    }
}

impl CovarianceMechanism for GaussianCovariance {
    fn dim(&self) -> usize {
        self.clip.dim()
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn expected_frobenius_error(&self, _trace: Bound) -> f64 {
        let d = self.clip.dim() as f64;
        self.sigma.get() * (0.5 * d * (d + 1.0)).sqrt()
    }
}

impl Privatises for GaussianCovariance {
    fn row_clip(&self) -> RowClip {
        self.clip
    }

    fn as_dyn(&self) -> &dyn Privatises {
        self
    }

    fn privatise(
        &self,
        gram: &ExactGram,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateCovariance>> {
        let dim = self.dim();
        let law = SymmetricGaussian::new(dim, self.sigma, self.grid)?;
        let mut noise = vec![0.0; dim * dim];
        law.fill(rng, &mut noise);
        let unit = 1.0 / self.grid.spacing();
        let values = gram.release(self.grid.exponent(), |i, j| unit * noise[i * dim + j]);
        let statement = Statement {
            mechanism: NAME.into(),
            noise: law.law(),
            generator: rng.kind(),
            public: [("d".to_owned(), PublicValue::from(dim)), longer_rows()].into(),
        };
        let noise = CovarianceNoise::SymmetricGaussian { sigma: self.sigma };
        let payload = PrivateCovariance::new(dim, values, None, noise);
        Ok(Release::certified(payload, Certificate::new(statement, self.guarantee.clone())))
    }
}

/// The row bound with clipping and the rounding of the totals to the grid paid: totals that differ
/// by D differ by at most `D + d g` once rounded, and both sensitivities grow at least as the
/// square of the bound.
fn paid_bound(clip: &RowClip, grid: Grid) -> Result<Bound> {
    let bound = clip.certified_bound();
    if grid.exponent() == 2 * clip.exponent() {
        return Ok(bound);
    }
    let square = L2Sensitivity::new((bound.get() * bound.get()).next_up())?;
    let paid = grid.inflate_l2(square, clip.dim() * clip.dim(), 0.0)?;
    Ok(Bound::new(paid.get().sqrt() * (1.0 + 2.0 * f64::EPSILON))?)
}
