//! Gaussian noise rounded to a grid.

use super::grid::Grid;
use super::law::{AdditiveNoise, NoiseLaw};
use super::rng::NoiseStream;
use super::rounded::{Tail, add_block};
use crate::budget::Budget;
use crate::calibrate;
use crate::error::Result;
use crate::profile::Profile;
use crate::quantity::{Bound, L2Sensitivity, NoiseScale};

/// The law of `g round(N(0, sigma^2) / g)`: the real Gaussian, rounded, exactly.
///
/// The real sample is a function of an infinite string of random bits; as many of
/// them are drawn as its rounding needs (nearly always 64). Proof:
/// `docs/proofs/rounded-noise.md`.
///
/// # Privacy
/// A rounding of the sum of the grid-rounded input and a real Gaussian is
/// post-processing, so the profile is that of the real Gaussian at the sensitivity
/// of the grid-rounded input ([`Grid::inflate_l2`]; [`GaussianNoise::calibrate`] does it). NaN, infinity
/// and inputs beyond `2^51` steps are refused; outputs beyond `2^52` steps are clamped
/// (post-processing).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianNoise {
    sigma: NoiseScale,
    grid: Grid,
}

impl GaussianNoise {
    /// Gaussian noise of standard deviation `sigma` on `grid`.
    ///
    /// The law is exact. It is fast while `sigma` is below about `2^40` steps; a finer
    /// grid leaves more and more samples to exact arithmetic.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] for a grid coarser than `2^-9` of the scale
    /// ([`Grid::check_scale`]).
    pub fn new(sigma: NoiseScale, grid: Grid) -> Result<Self> {
        grid.check_scale(sigma)?;
        Ok(Self { sigma, grid })
    }

    /// The least noise of this family for a budget, on the grid that suits it, with the profile it
    /// then has: the values lie within `bound` in absolute value, adjacent inputs move them by
    /// `sensitivity` at most, in at most `coordinates` of them, and they were computed
    /// with an error of at most `error` each.
    ///
    /// Values are rounded to the grid before the noise, so two inputs may end up farther apart than
    /// they were; the profile counts the sensitivity with that rounding ([`Grid::inflate_l2`]).
    ///
    /// ```
    /// use dp_core::noise::{AdditiveNoise, GaussianNoise};
    /// use dp_core::{Bound, Budget, L2Sensitivity, NoiseRng, PrivacyProfile};
    ///
    /// let budget = Budget::new(1.0, 1e-6)?;
    /// let (sensitivity, bound) = (L2Sensitivity::new(1.0)?, Bound::new(1e6)?);
    /// let (noise, profile) = GaussianNoise::calibrate(budget, sensitivity, bound, 3, 0.0)?;
    /// let mut sums = [12.5, 400.25, -7.0];
    /// noise.add_to(&mut NoiseRng::from_os()?, &mut sums)?;
    /// assert!(profile.log_delta(budget.epsilon) <= budget.delta.ln());
    /// # Ok::<(), dp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// A calibration that fails; as [`Grid::choose`], when no grid keeps the sums exact.
    pub fn calibrate(
        budget: Budget,
        sensitivity: L2Sensitivity,
        bound: Bound,
        coordinates: usize,
        error: f64,
    ) -> Result<(Self, Profile)> {
        let grid = Grid::choose(calibrate::gaussian(budget, sensitivity)?, bound)?;
        let sensitivity = grid.inflate_l2(sensitivity, coordinates, error)?;
        let sigma = calibrate::gaussian(budget, sensitivity)?;
        Ok((Self::new(sigma, grid)?, Profile::Gaussian { sensitivity, sigma }))
    }

    /// The standard deviation.
    #[must_use]
    pub fn sigma(&self) -> NoiseScale {
        self.sigma
    }
}

impl AdditiveNoise for GaussianNoise {
    fn law(&self) -> NoiseLaw {
        NoiseLaw::RoundedGaussian { sigma: self.sigma, grid: self.grid }
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn add_block(&self, stream: &mut NoiseStream, values: &mut [f64]) -> Result<()> {
        self.grid.check_values(values)?;
        add_block(Tail::Gaussian, self.sigma.get(), self.grid, stream, values);
        Ok(())
    }
}
