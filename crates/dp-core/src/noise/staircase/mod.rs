//! Staircase noise on a grid.

mod shape;
mod table;

#[cfg(test)]
pub(in crate::noise) use table::tests::described;

pub(crate) use shape::{Shape, check_epsilon};

use super::grid::Grid;
use super::kernel::Lattice;
use super::law::{AdditiveNoise, CHUNK, NoiseLaw};
use super::rng::NoiseStream;
use super::rounded::{Words, finish};
use crate::error::{Error, Result};
use crate::quantity::{Epsilon, L1Sensitivity, NoiseScale, Scale};
use table::{Block, Quantiles};

/// The discrete staircase law on a grid: of all noise that is purely private for a number that moves by
/// `width` steps, the one of least variance among staircases (Geng and Viswanath 2016), exactly.
///
/// `Pr[x]` is proportional to `e^(-epsilon q)`, q = 0 for `|x| < inner` steps and one more for every
/// `width` steps from there on.
///
/// # Privacy
/// For one number alone: of two numbers that move together, each would lose a whole epsilon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StaircaseNoise {
    shape: Shape,
    grid: Grid,
}

impl StaircaseNoise {
    /// # Errors
    /// [`Error::InvalidParameter`] for a grid coarser than `2^-9` of the standard deviation
    /// ([`Grid::check_scale`]).
    pub(crate) fn new(shape: Shape, grid: Grid) -> Result<Self> {
        let made = Self { shape, grid };
        grid.check_scale(NoiseScale::new(made.variance().sqrt())?)?;
        Ok(made)
    }

    /// The pure epsilon of a number that moves by the width.
    #[must_use]
    pub(crate) fn epsilon(&self) -> Epsilon {
        self.shape.epsilon
    }

    /// Half of the steps of the grid on which the noise is likeliest, zero counted as a half.
    #[must_use]
    pub(crate) fn inner(&self) -> u64 {
        self.shape.inner
    }

    /// The variance of a sample, exact for the law on the grid.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.shape.variance() * self.grid.spacing().powi(2)
    }

    /// The fourth cumulant of a sample, exact for the law on the grid.
    #[must_use]
    pub(crate) fn fourth_cumulant(&self) -> f64 {
        self.shape.fourth_cumulant() * self.grid.spacing().powi(4)
    }

    /// ln of how much likelier a noise is than another, both on the grid.
    #[must_use]
    pub fn log_ratio(&self, noise: f64, other: f64) -> f64 {
        let Shape { epsilon, width, inner } = self.shape;
        let level = |x: f64| {
            let beyond = (x / self.grid.spacing()).abs() - inner as f64;
            (beyond / width as f64).floor() + 1.0
        };
        epsilon.get() * (level(other).max(0.0) - level(noise).max(0.0))
    }
}

impl AdditiveNoise for StaircaseNoise {
    fn law(&self) -> NoiseLaw {
        let Shape { epsilon, width, inner } = self.shape;
        NoiseLaw::Staircase { epsilon, width, inner, grid: self.grid }
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn add_block(&self, stream: &mut NoiseStream, values: &mut [f64]) -> Result<()> {
        self.grid.check_values(values)?;
        let (table, on) = (Quantiles::of(self.shape), Lattice::new(self.grid));
        let law = &*table;
        let (mut words, mut block) = (Words::new(), Block::new());
        let mut pending = [0u8; CHUNK / 8];
        for chunk in values.chunks_mut(CHUNK) {
            let words = words.refill(stream, chunk.len());
            let pending = &mut pending[..chunk.len().div_ceil(8)];
            law.add(&on, &mut block, words, chunk, pending);
            finish(law, &on, words, chunk, pending, stream);
        }
        Ok(())
    }
}

/// What staircase noise is calibrated by; as a number, about its standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StaircaseScale {
    epsilon: Epsilon,
    sensitivity: L1Sensitivity,
}

impl StaircaseScale {
    /// Staircases of this epsilon for a number that moves by the sensitivity at most.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless epsilon is in `[1/32, 20]`.
    pub fn new(epsilon: Epsilon, sensitivity: L1Sensitivity) -> Result<Self> {
        check_epsilon(epsilon)?;
        Ok(Self { epsilon, sensitivity })
    }

    /// The noise of least variance on a grid.
    pub(crate) fn on(self, grid: Grid) -> Result<StaircaseNoise> {
        let width = steps(self.sensitivity, grid)?;
        StaircaseNoise::new(Shape::best(self.epsilon, width)?, grid)
    }
}

/// Whole steps of the grid in a sensitivity: two points of the grid no farther apart than the one are no farther
/// apart than the other.
pub(crate) fn steps(sensitivity: L1Sensitivity, grid: Grid) -> Result<u64> {
    // A quotient by a power of two is exact, or so small or large that it is refused.
    let width = (sensitivity.get() / grid.spacing()).floor();
    if (1.0..=2f64.powi(53)).contains(&width) {
        Ok(width as u64)
    } else {
        Err(Error::invalid("sensitivity in steps of the grid", width, "[1, 2^45]"))
    }
}

impl From<StaircaseScale> for f64 {
    fn from(scale: StaircaseScale) -> f64 {
        // A grid of 2^-30 of the sensitivity has the line's variance to 1e-8.
        const FINE: u64 = 1 << 30;
        let fine = Shape::best(scale.epsilon, FINE).map_or(f64::INFINITY, Shape::variance);
        scale.sensitivity.get() * fine.sqrt() / FINE as f64
    }
}

impl core::fmt::Display for StaircaseScale {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} (staircase)", f64::from(*self))
    }
}

impl Scale for StaircaseScale {}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Pr[x]` is proportional to `e^(-epsilon q)`, q = 0 for fewer than `inner` steps and one more for every `width` from there on.
    #[test]
    fn noises_are_as_likely_as_their_steps() {
        let epsilon = Epsilon::new(0.5).unwrap();
        for (width, inner, exponent) in [(3000, 1100, -3), (1 << 20, 1 << 19, 5), (5000, 1, 0)] {
            let shape = Shape::new(epsilon, width, inner).unwrap();
            let noise = StaircaseNoise::new(shape, Grid::new(exponent).unwrap()).unwrap();
            let g = 2f64.powi(exponent);
            let steps = [0, inner - 1, inner, inner + width - 1, inner + width, inner + 7 * width];
            for (x, level) in steps.into_iter().zip([0.0, 0.0, 1.0, 1.0, 2.0, 8.0]) {
                for (y, other) in steps.into_iter().zip([0.0, 0.0, 1.0, 1.0, 2.0, 8.0]) {
                    let found = noise.log_ratio(x as f64 * g, -(y as f64) * g);
                    assert_eq!(found, 0.5 * (other - level), "{x} {y}");
                }
            }
        }
    }
}
