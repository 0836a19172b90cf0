//! Laplace noise rounded to a grid.

use super::grid::Grid;
use super::law::{AdditiveNoise, NoiseLaw};
use super::rng::NoiseStream;
use super::rounded::{Tail, add_block};
use crate::error::Result;
use crate::quantity::{Bound, NoiseScale};

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
    #[must_use]
    pub fn new(scale: NoiseScale, grid: Grid) -> Self {
        Self { scale, grid }
    }

    /// Laplace noise on the grid that suits it and values up to `bound`.
    ///
    /// # Errors
    /// As [`Grid::choose`]: when no grid keeps the sums exact.
    pub fn for_bound(scale: NoiseScale, bound: Bound) -> Result<Self> {
        Ok(Self::new(scale, Grid::choose(scale, bound)?))
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

    fn add_block(&self, stream: &mut NoiseStream, values: &mut [f64]) {
        add_block(Tail::Laplace, self.scale.get(), self.grid, stream, values);
    }
}
