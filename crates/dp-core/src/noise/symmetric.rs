//! Symmetric Gaussian noise, isotropic in the Frobenius geometry.

use super::gaussian::GaussianNoise;
use super::grid::Grid;
use super::law::{AdditiveNoise, FEW, NoiseLaw};
use super::rng::{NoiseRng, NoiseStream};
use super::rounded::{Tail, Words, add_block_by};
use crate::error::{Error, Result};
use crate::quantity::NoiseScale;
use rayon::prelude::*;

/// Symmetric matrices of independent grid-rounded Gaussians: standard deviation sigma on the
/// diagonal, `sigma / sqrt 2` off it, so that the noise is `N(0, sigma^2)` along every
/// direction of unit Frobenius norm.
///
/// Exact like [`GaussianNoise`]; `sigma / sqrt 2` is rounded up by an ulp or two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SymmetricGaussian {
    dim: usize,
    diagonal: GaussianNoise,
    off_diagonal: GaussianNoise,
}

impl SymmetricGaussian {
    /// Noise for `d x d` symmetric matrices on `grid`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when `dim` is 0, sigma so small that `sigma / sqrt 2` is not
    /// positive, or the grid coarser than that allows ([`Grid::check_scale`]).
    pub(crate) fn new(dim: usize, sigma: NoiseScale, grid: Grid) -> Result<Self> {
        if dim == 0 {
            return Err(Error::invalid("dimension", dim, "[1, inf)"));
        }
        let off =
            NoiseScale::new((sigma.get() * core::f64::consts::FRAC_1_SQRT_2).next_up().next_up())?;
        Ok(Self {
            dim,
            diagonal: GaussianNoise::new(sigma, grid)?,
            off_diagonal: GaussianNoise::new(off, grid)?,
        })
    }

    /// The law, for the certificate.
    #[must_use]
    pub fn law(&self) -> NoiseLaw {
        NoiseLaw::SymmetricGaussian { sigma: self.diagonal.sigma(), grid: self.diagonal.grid() }
    }

    /// Rounds the lower triangle of `matrix` (row-major `d x d`) to the grid, adds
    /// noise, and mirrors it: the upper triangle of the input is ignored.
    ///
    /// One stream per row, rows in parallel; the result does not depend on the number
    /// of threads.
    ///
    /// # Errors
    /// As [`AdditiveNoise::add_block`], of the lower triangle.
    ///
    /// # Panics
    /// When `matrix` does not have `d^2` entries.
    pub fn add_to(&self, rng: &mut NoiseRng, matrix: &mut [f64]) -> Result<()> {
        let d = self.dim;
        assert_eq!(matrix.len(), d * d, "a {d} x {d} matrix");
        let grid = self.diagonal.grid();
        matrix.chunks(d).enumerate().try_for_each(|(i, row)| grid.check_values(&row[..=i]))?;
        let streams = rng.reserve(d as u64);
        let add = |words: &mut Words, i: usize, row: &mut [f64], mut stream: NoiseStream| {
            let (on, off) = (self.diagonal.sigma().get(), self.off_diagonal.sigma().get());
            for (scale, values) in [(on, i..i + 1), (off, 0..i)] {
                let values = &mut row[values];
                add_block_by(words, Tail::Gaussian, scale, grid, &mut stream, values);
            }
        };
        if d * d < FEW {
            let mut words = Words::new();
            let rows = matrix.chunks_mut(d).zip(streams).enumerate();
            rows.for_each(|(i, (row, stream))| add(&mut words, i, row, stream));
        } else {
            let rows = matrix.par_chunks_mut(d).zip(streams).enumerate();
            rows.for_each_init(Words::new, |words, (i, (row, stream))| add(words, i, row, stream));
        }
        mirror_lower(matrix, d);
        Ok(())
    }

    /// Fills a `d x d` matrix with noise.
    ///
    /// # Panics
    /// When `matrix` does not have `d^2` entries.
    pub fn fill(&self, rng: &mut NoiseRng, matrix: &mut [f64]) {
        matrix.fill(0.0);
        self.add_to(rng, matrix).expect("zero is a point of every grid");
    }
}

/// Copies the lower triangle of a row-major matrix over the upper one: in tiles, so that neither side leaves the
/// cache.
pub(super) fn mirror_lower(matrix: &mut [f64], d: usize) {
    const TILE: usize = 16;
    for top in (0..d).step_by(TILE) {
        let bottom = d.min(top + TILE);
        for left in (0..bottom).step_by(TILE) {
            for i in top..bottom {
                for j in left..i.min(left + TILE) {
                    matrix[j * d + i] = matrix[i * d + j];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_below_the_diagonal_comes_above_it() {
        for d in [0, 1, 15, 16, 17, 40] {
            let below = |i: usize, j: usize| (i.max(j) * 1000 + i.min(j)) as f64;
            let mut matrix: Vec<f64> = (0..d * d)
                .map(|e| if e % d > e / d { -1.0 } else { below(e / d, e % d) })
                .collect();
            super::mirror_lower(&mut matrix, d);
            assert!((0..d * d).all(|e| matrix[e] == below(e / d, e % d)), "{d}");
        }
    }
}
