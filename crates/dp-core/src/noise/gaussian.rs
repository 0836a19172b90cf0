//! Gaussian noise rounded to a grid.

use super::grid::Grid;
use super::law::{AdditiveNoise, NoiseLaw};
use super::rng::NoiseStream;
use crate::quantity::NoiseScale;
use rand_core::Rng;

/// The law of `g round(N(0, sigma^2) / g)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianNoise {
    sigma: NoiseScale,
    grid: Grid,
}

impl GaussianNoise {
    /// Gaussian noise of standard deviation `sigma` on `grid`.
    #[must_use]
    pub fn new(sigma: NoiseScale, grid: Grid) -> Self {
        Self { sigma, grid }
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

    fn add_block(&self, stream: &mut NoiseStream, values: &mut [f64]) {
        let unit = || 2f64.powi(-53);
        for v in values {
            let u = ((stream.next_u64() >> 11) as f64 + 0.5) * unit();
            let w = (stream.next_u64() >> 11) as f64 * unit();
            let z = (-2.0 * u.ln()).sqrt() * (core::f64::consts::TAU * w).cos();
            *v = self.grid.round(*v) + self.grid.round(self.sigma.get() * z);
        }
    }
}
