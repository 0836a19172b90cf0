//! The noise a sketch carries, and its moments.

use crate::error::{Error, Result};
use dp_core::noise::{
    AdditiveNoise, GaussianNoise, Grid, LaplaceNoise, NoiseLaw, NoiseStream, StaircaseNoise,
};

/// A law of additive noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoiseKind {
    /// Gaussian, for a positive delta.
    Gaussian,
    /// Laplace: pure differential privacy for a delta of zero.
    Laplace,
    /// Staircase: pure, and less noise than Laplace where one value moves one number of a row alone.
    Staircase,
}

impl NoiseKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gaussian, Self::Laplace, Self::Staircase];
}

impl core::fmt::Display for NoiseKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Gaussian => "Gaussian",
            Self::Laplace => "Laplace",
            Self::Staircase => "staircase",
        })
    }
}

/// Gaussian, Laplace or staircase noise on a grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SketchNoise {
    /// Gaussian.
    Gaussian(GaussianNoise),
    /// Laplace.
    Laplace(LaplaceNoise),
    /// Staircase.
    Staircase(StaircaseNoise),
}

impl SketchNoise {
    /// Its law.
    #[must_use]
    pub const fn kind(&self) -> NoiseKind {
        match self {
            Self::Gaussian(_) => NoiseKind::Gaussian,
            Self::Laplace(_) => NoiseKind::Laplace,
            Self::Staircase(_) => NoiseKind::Staircase,
        }
    }

    /// Variance of one value.
    #[must_use]
    pub fn variance(&self) -> f64 {
        match self {
            Self::Gaussian(noise) => noise.sigma().get().powi(2),
            Self::Laplace(noise) => 2.0 * noise.scale().get().powi(2),
            Self::Staircase(noise) => noise.variance(),
        }
    }
}

impl AdditiveNoise for SketchNoise {
    fn law(&self) -> NoiseLaw {
        match self {
            Self::Gaussian(noise) => noise.law(),
            Self::Laplace(noise) => noise.law(),
            Self::Staircase(noise) => noise.law(),
        }
    }

    fn grid(&self) -> Grid {
        match self {
            Self::Gaussian(noise) => noise.grid(),
            Self::Laplace(noise) => noise.grid(),
            Self::Staircase(noise) => noise.grid(),
        }
    }

    fn add_block(&self, stream: &mut NoiseStream, values: &mut [f64]) -> dp_core::Result<()> {
        match self {
            Self::Gaussian(noise) => noise.add_block(stream, values),
            Self::Laplace(noise) => noise.add_block(stream, values),
            Self::Staircase(noise) => noise.add_block(stream, values),
        }
    }
}

/// Variance and fourth cumulant of one noise value; odd cumulants are zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NoiseMoments {
    pub(crate) variance: f64,
    pub(crate) fourth_cumulant: f64,
}

impl NoiseMoments {
    pub(crate) fn of(law: &NoiseLaw) -> Result<Self> {
        // Whole numbers are no sketch.
        let whole =
            matches!(law, NoiseLaw::DiscreteLaplace { .. } | NoiseLaw::DiscreteGaussian { .. });
        match law.moments().filter(|_| !whole) {
            Some([variance, fourth_cumulant]) => Ok(Self { variance, fourth_cumulant }),
            None => {
                let allowed = "none, Gaussian, Laplace or staircase";
                Err(Error::invalid("noise law", "of this release", allowed))
            }
        }
    }

    /// Of this noise beside a rounding to the grid, whose error is uniform and independent to the precision that
    /// `docs/proofs/grid.md` states.
    pub(super) fn rounded_to(self, grid: Grid) -> Self {
        let square = grid.spacing().powi(2);
        self.plus(Self { variance: square / 12.0, fourth_cumulant: -square * square / 120.0 })
    }

    /// Moments of the difference of two independent noises.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            variance: self.variance + other.variance,
            fourth_cumulant: self.fourth_cumulant + other.fourth_cumulant,
        }
    }
}
