//! The Wishart mechanism.

use super::clip::{RowClip, row_change};
use super::gram::{ExactGram, MAX_SHIFT};
use super::mechanism::{CovarianceMechanism, Privatises, prediction, release_watched};
use super::release::{CovarianceNoise, PrivateCovariance};
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use core::ops::ControlFlow;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::mechanism::{Mechanism, Prediction, Progress, author};
use dp_core::noise::{Grid, NoiseLaw, WishartNoise};
use dp_core::{
    Adjacency, Budget, Guarantee, NoiseRng, NoiseScale, Profile, Release, SquaredNorm, Theorem,
    calibrate,
};

const NAME: &str = "Wishart covariance";

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

/// Releases `A^T A + N`, `N ~ W_d(nu, s I)`: positive definite noise of mean `nu s I`.
///
/// # Privacy
/// `AddRemoveRow`: the exact profile of a Wishart matrix against a rank-one shift of norm `B^2`. `ReplaceRow`: that, or
/// the exact profile of orthogonal rows, which are the worst pair. N is a real matrix, and what
/// is released is the nearest point of a public grid to the real sum, exactly: post-processing, whose low bits
/// show nothing (`docs/proofs/exact-rounding.md`).
///
/// # References
/// Sheffet 2019 ("Old techniques in differentially private linear regression"); the published
/// degrees of freedom are about ten times larger. Proof: `docs/proofs/covariance.md`.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
/// use linalg_dp::covariance::{CovarianceMechanism, WishartCovariance, WishartShape};
///
/// let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
/// let (budget, shape) = (Budget::new(1.0, 1e-6)?, WishartShape::LeastSpectralNorm);
/// let mechanism = WishartCovariance::calibrate(2, adjacency, budget, shape)?;
/// let release = mechanism.release(&[0.6, 0.8].repeat(1000), &mut NoiseRng::from_os()?)?;
/// // The mean of the noise is public.
/// assert!(release.payload().offset() > 0.0);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct WishartCovariance {
    clip: RowClip,
    noise: WishartNoise,
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
        let bound = RowClip::new(dim, bound)?.check_room()?.certified_bound();
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
        let clip = RowClip::new(dim, bound)?.check_room()?;
        let profile =
            Profile::Wishart { dim: dim as u64, dof, bound: clip.certified_bound(), scale, change };
        let guarantee = AUTHOR.proven(adjacency, budget, profile, Theorem::CovarianceWishart)?;
        let noise = AUTHOR.wishart(dim, dof, scale)?;
        // Never finer than the unit of the exact sums.
        let (own, suits) = (2 * clip.exponent(), noise.grid().exponent());
        if suits - own > MAX_SHIFT {
            let allowed = "scales that the exact sums can be rounded for; raise epsilon or delta";
            return Err(Error::invalid("noise scale", scale, allowed));
        }
        let noise = noise.on(Grid::new(suits.max(own))?);
        Ok(Self { clip, noise, dof, scale, guarantee })
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

    /// The law of the noise, and the grid.
    pub(crate) fn law(&self) -> NoiseLaw {
        self.noise.law()
    }

    /// The exact sum plus fresh noise, mean included, rounded to the grid. Spends the guarantee.
    pub(crate) fn draw(&self, gram: &ExactGram, rng: &mut NoiseRng) -> Result<Vec<f64>> {
        Ok(self.noise.add_to(rng, gram.totals(), gram.exponent())?)
    }

    /// A typical spectral norm of the noise, `s (sqrt nu + sqrt d)^2`.
    #[must_use]
    pub fn typical_norm(&self) -> f64 {
        let (nu, d) = (self.dof as f64, self.clip.dim() as f64);
        self.scale.get() * (nu.sqrt() + d.sqrt()).powi(2)
    }
}

impl WishartCovariance {
    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Releases the covariance of `rows` (row-major, n x d).
    ///
    /// # Errors
    /// As [`super::CovarianceStream::push`] and [`super::CovarianceStream::finish`].
    pub fn release(&self, rows: &[f64], rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>> {
        Mechanism::release(self, rows, rng)
    }
}

impl CovarianceMechanism for WishartCovariance {
    fn dim(&self) -> usize {
        self.clip.dim()
    }

    fn expected_frobenius_error(&self, _trace: SquaredNorm) -> f64 {
        let d = self.clip.dim() as f64;
        self.scale.get() * (self.dof as f64 * d * (d + 1.0)).sqrt()
    }
}

impl Privatises for WishartCovariance {
    fn promise(&self) -> &Guarantee {
        self.guarantee()
    }

    fn row_clip(&self) -> RowClip {
        self.clip
    }

    fn as_dyn(&self) -> &dyn Privatises {
        self
    }

    fn privatise(
        &self,
        gram: &ExactGram,
        public: PublicParameters,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateCovariance>> {
        let dim = self.dim();
        let values = self.draw(gram, rng)?;
        let statement = Statement {
            mechanism: NAME.into(),
            noise: self.noise.law(),
            generator: rng.kind(),
            public,
        };
        let noise = CovarianceNoise::Wishart { dof: self.dof, scale: self.scale };
        let payload = PrivateCovariance::new(dim, values, None, noise);
        Ok(Release::certified(payload, AUTHOR.certificate(statement, self.guarantee.clone())))
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

impl author::Sealed for WishartCovariance {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for WishartCovariance {
    /// Length d of a row, adjacency, shape.
    type Config = (usize, Adjacency, WishartShape);
    type Input<'a> = &'a [f64];
    type Output = Release<PrivateCovariance>;
    /// A bound on the total squared norm of the rows.
    type Facts = SquaredNorm;
    type Error = Error;

    fn calibrate(config: Self::Config, budget: Budget) -> Result<Self> {
        let (dim, adjacency, shape) = config;
        Self::calibrate(dim, adjacency, budget, shape)
    }

    fn guarantee(&self) -> &Guarantee {
        self.guarantee()
    }

    fn predict(&self, trace: SquaredNorm) -> Result<Prediction> {
        Ok(prediction(self, trace))
    }

    fn release_watched(
        &self,
        rows: &[f64],
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<PrivateCovariance>> {
        release_watched(self, rows, rng, hook)
    }
}
