//! Laplace noise rounded to a grid.

use super::grid::Grid;
use super::law::{AdditiveNoise, NoiseLaw};
use super::rng::NoiseStream;
use crate::quantity::NoiseScale;
use rand_core::Rng;

/// The law of `g round(Laplace(b) / g)`.
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
        for v in values {
            let word = stream.next_u64();
            let u = ((word >> 12) as f64 + 0.5) * 2f64.powi(-52);
            let magnitude = -u.ln() * self.scale.get();
            let noise = if word & 1 == 0 { magnitude } else { -magnitude };
            *v = self.grid.round(*v) + self.grid.round(noise);
        }
    }
}
