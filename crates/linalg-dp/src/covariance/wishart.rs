//! The Wishart mechanism: its calibration, and why it does not release.

use super::clip::{RowClip, row_change};
use super::mechanism::{Accumulates, Accumulator, CovarianceMechanism};
use super::release::PrivateCovariance;
use crate::error::{Error, Result};
use dp_core::{
    Adjacency, Bound, Budget, Guarantee, NoiseRng, NoiseScale, Profile, Release, calibrate,
};

const NAME: &str = "Wishart covariance";
/// Why no theorem about a Wishart matrix is one about the released numbers.
const GAP: &str = "the noise matrix is a product of rounded numbers, not a real Wishart matrix: its low bits can show \
     the data";

/// How the free choice on the Wishart mechanism's privacy frontier is made: for every number
/// of degrees of freedom nu > d + 1 there is a least scale s.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum WishartShape {
    /// The nu with the least typical spectral norm `s (sqrt nu + sqrt d)^2` of the noise:
    /// the default, best when the noise stays in (positive, Loewner order).
    LeastSpectralNorm,
    /// The least nu at scale `s = B^2`, the published choice of scale.
    LeastDof,
    /// This nu. Large nu approach the symmetric Gaussian, with an offset to subtract.
    Dof(u64),
}

/// `A^T A + N`, `N ~ W_d(nu, s I)`: positive definite noise of mean `nu s I`. Calibrated here, **not
/// released**: every release is refused.
///
/// # Privacy
/// The profiles are those of the real Wishart law. `AddRemoveRow`: the exact profile of a Wishart
/// matrix against a rank-one shift of norm `B^2`. `ReplaceRow`: an upper bound, one removal and one
/// addition (no exact profile is known to us).
///
/// A sampler in floating point does not have that law. Bartlett's factor has entries on a lattice, and products
/// of such entries, added to exact sums on a finer grid, show in their low bits whether a row is there: in
/// all of 400 trials at d = 100 and epsilon 1. Until the sampler rounds real values exactly, a release
/// gives an error that names [`super::GaussianCovariance`], whose noise is exact.
///
/// # References
/// Sheffet 2019 ("Old techniques in differentially private linear regression"); the published
/// degrees of freedom are about ten times larger. Proof: `docs/proofs/covariance.md`.
#[derive(Debug, Clone)]
pub struct WishartCovariance {
    dim: usize,
    dof: u64,
    scale: NoiseScale,
    guarantee: Guarantee,
}

impl WishartCovariance {
    /// The least noise for the budget, at the shape chosen.
    ///
    /// # Errors
    /// [`crate::Error::NotProven`] for an adjacency that does not protect rows; a budget with
    /// delta = 0; `nu <= d + 1`; a dimension or bound outside its range.
    pub fn calibrate(
        dim: usize,
        adjacency: Adjacency,
        budget: Budget,
        shape: WishartShape,
    ) -> Result<Self> {
        let (bound, change) = row_change(adjacency, NAME)?;
        let bound = RowClip::new(dim, bound)?.certified_bound();
        let least = |dof| calibrate::wishart_scale(budget, dim as u64, dof, bound, change);
        let (dof, scale) = match shape {
            WishartShape::Dof(dof) => (dof, least(dof)?),
            WishartShape::LeastDof => {
                let scale = NoiseScale::new((bound.get() * bound.get()).next_up())?;
                (calibrate::wishart_dof(budget, dim as u64, scale, bound, change)?, scale)
            }
            WishartShape::LeastSpectralNorm => {
                let d = dim as f64;
                let norm = |extra: u64| -> Result<f64> {
                    let dof = dim as u64 + extra;
                    Ok(least(dof)?.get() * ((dof as f64).sqrt() + d.sqrt()).powi(2))
                };
                let dof = dim as u64 + least_over_ladder(norm)?;
                (dof, least(dof)?)
            }
        };
        Self::with_noise(dim, adjacency, budget, dof, scale)
    }

    /// Given degrees of freedom and scale, checked against the budget.
    ///
    /// # Errors
    /// As [`WishartCovariance::calibrate`]; also when the noise misses the budget.
    pub fn with_noise(
        dim: usize,
        adjacency: Adjacency,
        budget: Budget,
        dof: u64,
        scale: NoiseScale,
    ) -> Result<Self> {
        let (bound, change) = row_change(adjacency, NAME)?;
        let bound = RowClip::new(dim, bound)?.certified_bound();
        let profile = Profile::Wishart { dim: dim as u64, dof, bound, scale, change };
        let guarantee = Guarantee::idealised(
            adjacency,
            budget,
            profile,
            dp_core::Theorem::CovarianceWishart,
            GAP,
        )?;
        Ok(Self { dim, dof, scale, guarantee })
    }

    /// Degrees of freedom nu.
    #[must_use]
    pub fn dof(&self) -> u64 {
        self.dof
    }

    /// Scale s.
    #[must_use]
    pub fn scale(&self) -> NoiseScale {
        self.scale
    }

    /// A typical spectral norm of the noise, `s (sqrt nu + sqrt d)^2`.
    #[must_use]
    pub fn typical_norm(&self) -> f64 {
        let (nu, d) = (self.dof as f64, self.dim as f64);
        self.scale.get() * (nu.sqrt() + d.sqrt()).powi(2)
    }
}

impl CovarianceMechanism for WishartCovariance {
    fn dim(&self) -> usize {
        self.dim
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn expected_frobenius_error(&self, _trace: Bound) -> f64 {
        let d = self.dim as f64;
        self.scale.get() * (self.dof as f64 * d * (d + 1.0)).sqrt()
    }
}

/// Why nothing is released with Wishart noise, and what to use instead.
pub(crate) fn refused() -> Error {
    Error::Unusable {
        what: "Wishart noise",
        reason: "its samples lie on a lattice that the low bits of a release would show, and with it whether a \
                 row is there; use symmetric Gaussian noise, which is exact and has less error",
    }
}

impl Accumulates for WishartCovariance {
    fn accumulator(&self, _rng: &mut NoiseRng) -> Box<dyn Accumulator> {
        Box::new(Refusing)
    }
}

/// Takes no row and gives nothing.
struct Refusing;

impl Accumulator for Refusing {
    fn push(&mut self, _rows: &[f64]) -> Result<()> {
        Err(refused())
    }

    fn finish(self: Box<Self>, _rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>> {
        Err(refused())
    }
}

/// The whole number from 2 to 2^24 with the least cost, for a cost that falls, then rises:
/// powers of two first, then a ternary search between the neighbours of the best.
fn least_over_ladder(cost: impl Fn(u64) -> Result<f64>) -> Result<u64> {
    let mut best = (1u32, f64::INFINITY);
    for power in 1..=24 {
        let Ok(value) = cost(1 << power) else { continue };
        if value < best.1 {
            best = (power, value);
        }
    }
    let (mut low, mut high) = (1u64 << (best.0 - 1).max(1), 1u64 << (best.0 + 1));
    // One part in a thousand is far below what the choice is worth.
    while high - low > 2 + low / 1000 {
        let third = (high - low) / 3;
        if cost(low + third)? <= cost(high - third)? {
            high -= third;
        } else {
            low += third;
        }
    }
    Ok(low + (high - low) / 2)
}
