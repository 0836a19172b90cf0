//! The symmetric Gaussian mechanism ("Analyze Gauss", Frobenius-isotropic form).

use super::gram::{ExactGram, RowClip};
use super::release::{CovarianceNoise, PrivateCovariance};
use super::{CovarianceMechanism, OpenCovariance, row_change};
use crate::error::Result;
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
        let rough = calibrate::symmetric_gaussian(budget, bound, change)?;
        let (_, paid) = grid_and_bound(&clip, bound, rough)?;
        let sigma = calibrate::symmetric_gaussian(budget, paid, change)?;
        Self::with_sigma(dim, adjacency, budget, sigma)
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
        let (bound, change) = row_change(adjacency, NAME)?;
        let clip = RowClip::new(dim, bound)?;
        let (grid, bound) = grid_and_bound(&clip, bound, sigma)?;
        let profile = Profile::SymmetricGaussian { bound, sigma, change };
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

    fn open(&self, _rng: &mut NoiseRng) -> Box<dyn OpenCovariance> {
        Box::new(Open { mechanism: self.clone(), gram: ExactGram::new(self.clip) })
    }

    fn expected_frobenius_error(&self, _trace: Bound) -> f64 {
        let d = self.clip.dim() as f64;
        self.sigma.get() * (0.5 * d * (d + 1.0)).sqrt()
    }
}

struct Open {
    mechanism: GaussianCovariance,
    gram: ExactGram,
}

impl OpenCovariance for Open {
    fn push(&mut self, rows: &[f64]) -> Result<()> {
        self.gram.push(rows)
    }

    fn close(self: Box<Self>, rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>> {
        let m = &self.mechanism;
        let dim = m.dim();
        let law = SymmetricGaussian::new(dim, m.sigma, m.grid)?;
        let mut noise = vec![0.0; dim * dim];
        law.fill(rng, &mut noise);
        let unit = 1.0 / m.grid.spacing();
        let values = self.gram.release(m.grid.exponent(), |i, j| unit * noise[i * dim + j]);
        let statement = Statement {
            mechanism: NAME.into(),
            noise: law.law(),
            generator: rng.kind(),
            public: [("d".to_owned(), PublicValue::from(dim))].into(),
        };
        let noise = CovarianceNoise::SymmetricGaussian { sigma: m.sigma };
        let payload = PrivateCovariance::new(dim, values, None, noise);
        Ok(Release::certified(payload, Certificate::new(statement, m.guarantee.clone())))
    }
}

/// The noise grid (never finer than the exact totals') and the row bound with the rounding
/// to it paid: totals that differ by D differ by at most `D + d g` once rounded, and both
/// sensitivities grow at least as the square of the bound.
fn grid_and_bound(clip: &RowClip, bound: Bound, sigma: NoiseScale) -> Result<(Grid, Bound)> {
    let own = 2 * clip.exponent();
    let noise = sigma.get().log2().floor() as i32 - 30;
    let grid = Grid::new(own.max(noise))?;
    if noise <= own {
        return Ok((grid, bound));
    }
    let square = L2Sensitivity::new((bound.get() * bound.get()).next_up())?;
    let paid = grid.inflate_l2(square, clip.dim() * clip.dim(), 0.0)?;
    Ok((grid, Bound::new(paid.get().sqrt() * (1.0 + 2.0 * f64::EPSILON))?))
}
