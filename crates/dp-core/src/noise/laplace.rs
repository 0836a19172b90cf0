//! Laplace noise rounded to a grid.

use super::grid::Grid;
use super::law::{AdditiveNoise, NoiseLaw};
use super::rng::NoiseStream;
use super::rounded::{Tail, add_block};
use crate::error::Result;
use crate::quantity::LaplaceScale;

/// The law of `g round(Laplace(b) / g)`: the real Laplace variable, rounded, exactly.
///
/// # Privacy
/// As for [`super::GaussianNoise`]: post-processing of the real mechanism.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaplaceNoise {
    scale: LaplaceScale,
    grid: Grid,
}

impl LaplaceNoise {
    /// Laplace noise of scale `scale` on `grid`.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] for a grid coarser than `2^-9` of the scale
    /// ([`Grid::check_scale`]).
    pub(crate) fn new(scale: LaplaceScale, grid: Grid) -> Result<Self> {
        grid.check_scale(scale)?;
        Ok(Self { scale, grid })
    }

    /// The scale b.
    #[must_use]
    pub fn scale(&self) -> LaplaceScale {
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
        self.add_checked(stream, values)
    }

    fn add_checked(&self, stream: &mut NoiseStream, values: &mut [f64]) -> Result<()> {
        add_block(Tail::Laplace, self.scale.get(), self.grid, stream, values);
        Ok(())
    }
}
