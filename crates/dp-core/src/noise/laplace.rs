//! Laplace noise rounded to a grid.

use super::grid::Grid;
use super::law::{AdditiveNoise, NoiseLaw};
use super::rng::NoiseStream;
use super::rounded::{Tail, add_block};
use crate::budget::Budget;
use crate::calibrate;
use crate::error::Result;
use crate::profile::Profile;
use crate::quantity::{Bound, L1Sensitivity, NoiseScale};

/// The law of `g round(Laplace(b) / g)`: the real Laplace variable, rounded, exactly.
///
/// # Privacy
/// As for [`super::GaussianNoise`]: post-processing of the real mechanism.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaplaceNoise {
    scale: NoiseScale,
    grid: Grid,
}

impl LaplaceNoise {
    /// Laplace noise of scale `scale` on `grid`.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] for a grid coarser than `2^-9` of the scale
    /// ([`Grid::check_scale`]).
    pub fn new(scale: NoiseScale, grid: Grid) -> Result<Self> {
        grid.check_scale(scale)?;
        Ok(Self { scale, grid })
    }

    /// The least noise of this family for a budget, on the grid that suits it, with the profile it
    /// then has: the values lie within `bound` in absolute value, adjacent inputs move them by
    /// `sensitivity` at most, in at most `coordinates` of them, and they were computed
    /// with an error of at most `error` each.
    ///
    /// Values are rounded to the grid before the noise, so two inputs may end up farther apart than
    /// they were; the profile counts the sensitivity with that rounding ([`Grid::inflate_l1`]).
    ///
    /// ```
    /// use dp_core::noise::{AdditiveNoise, LaplaceNoise};
    /// use dp_core::{Bound, Budget, L1Sensitivity, NoiseRng, PrivacyProfile};
    ///
    /// let budget = Budget::new(1.0, 0.0)?;
    /// let (sensitivity, bound) = (L1Sensitivity::new(1.0)?, Bound::new(1e6)?);
    /// let (noise, profile) = LaplaceNoise::calibrate(budget, sensitivity, bound, 3, 0.0)?;
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
        sensitivity: L1Sensitivity,
        bound: Bound,
        coordinates: usize,
        error: f64,
    ) -> Result<(Self, Profile)> {
        let grid = Grid::choose(calibrate::laplace(budget, sensitivity)?, bound)?;
        let sensitivity = grid.inflate_l1(sensitivity, coordinates, error)?;
        let scale = calibrate::laplace(budget, sensitivity)?;
        Ok((Self::new(scale, grid)?, Profile::Laplace { sensitivity, scale }))
    }

    /// The scale b.
    #[must_use]
    pub fn scale(&self) -> NoiseScale {
        self.scale
    }
}

impl AdditiveNoise for LaplaceNoise {
    fn law(&self) -> NoiseLaw {
        NoiseLaw::RoundedLaplace { scale: self.scale, grid: self.grid }
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn add_block(&self, stream: &mut NoiseStream, values: &mut [f64]) -> Result<()> {
        self.grid.check_values(values)?;
        add_block(Tail::Laplace, self.scale.get(), self.grid, stream, values);
        Ok(())
    }
}
