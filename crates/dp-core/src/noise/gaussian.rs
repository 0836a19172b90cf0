//! Gaussian noise rounded to a grid.

use super::grid::Grid;
use super::law::{AdditiveNoise, NoiseLaw};
use super::rng::NoiseStream;
use super::rounded::{Tail, add_block};
use crate::error::Result;
use crate::quantity::NoiseScale;

/// The law of `g round(N(0, sigma^2) / g)`: the real Gaussian, rounded, exactly.
///
/// The real sample is a function of an infinite string of random bits; as many of
/// them are drawn as its rounding needs (nearly always 64). Proof:
/// `docs/proofs/rounded-noise.md`.
///
/// # Privacy
/// A rounding of the sum of the grid-rounded input and a real Gaussian is
/// post-processing, so the profile is that of the real Gaussian at the sensitivity
/// of the grid-rounded input ([`Grid::inflate_l2`]; [`crate::mechanism::Calibrated`] does it). NaN, infinity
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
    pub(crate) fn new(sigma: NoiseScale, grid: Grid) -> Result<Self> {
        grid.check_scale(sigma)?;
        Ok(Self { sigma, grid })
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
        self.add_checked(stream, values)
    }

    fn add_checked(&self, stream: &mut NoiseStream, values: &mut [f64]) -> Result<()> {
        add_block(Tail::Gaussian, self.sigma.get(), self.grid, stream, values);
        Ok(())
    }
}
