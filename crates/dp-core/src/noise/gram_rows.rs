//! Rows of a Gaussian law whose covariance is an exact Gram matrix over a lift.

use super::grid::{Grid, floor_log2};
use super::law::{FEW, NoiseLaw, VALUES_PER_STREAM};
use super::rng::{NoiseRng, NoiseStream};
use super::wide::{Work, widest};
use super::ziv::{Factor, Normals, Path, Source, Target, to_f64};
use crate::error::{Error, Result};
use crate::quantity::NoiseScale;
use rayon::prelude::*;

/// The rows of `R [A; w I]` with a secret R of independent N(0, 1) entries, **exactly rounded** to a grid.
///
/// They are independent draws of `N(0, A^T A + w^2 I)`, so the Gram matrix `A^T A` is all that is needed of A, and
/// here it is one of integers: exact. Each number released is the grid point nearest to the real
/// one, which is a function of as many random bits as it takes: the release is post-processing of the real
/// Johnson-Lindenstrauss mechanism. Proof: `docs/proofs/exact-rounding.md`.
///
/// ```
/// use dp_core::{NoiseRng, NoiseScale};
///
/// // Authors of mechanisms only.
/// let law = dp_core::authority!().gram_rows(5, NoiseScale::new(3.0)?)?;
/// // A^T A, in units of 2^-8.
/// let gram = [700i128, -30, -30, 512];
/// let sketch = law.draw(&mut NoiseRng::from_os()?, 2, &gram, -8)?;
/// assert_eq!(sketch.len(), 10);
/// # Ok::<(), dp_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GramRows {
    rows: usize,
    lift: NoiseScale,
    grid: Grid,
}

impl GramRows {
    /// `rows` rows over the lift w, on a grid of about `2^-24` of it.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for no rows, or a lift so large or small that there is no such grid.
    pub(crate) fn new(rows: usize, lift: NoiseScale) -> Result<Self> {
        if rows == 0 {
            return Err(Error::invalid("sketch rows", rows, "[1, inf)"));
        }
        let grid = Grid::new(floor_log2(lift.get()) - 24)?;
        Ok(Self { rows, lift, grid })
    }

    /// The law, for the certificate.
    #[must_use]
    pub fn law(&self) -> NoiseLaw {
        NoiseLaw::JlSketch { rows: self.rows as u64, lift: self.lift, grid: self.grid }
    }

    /// The grid of the numbers.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Draws the rows, row-major, for the Gram matrix `totals 2^exponent` (row-major, of which the lower triangle is
    /// read).
    ///
    /// One noise stream for about 4096 samples, in parallel; the result does not depend on the number of threads.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for totals that are not positive semi-definite, as every sum of squares is.
    ///
    /// # Panics
    /// When `totals` does not have `dim^2` entries, or `dim` is over `2^20`.
    pub fn draw(
        &self,
        rng: &mut NoiseRng,
        dim: usize,
        totals: &[i128],
        exponent: i32,
    ) -> Result<Vec<f64>> {
        let blocks = self.rows.div_ceil(rows_per_stream(dim));
        let streams: Vec<NoiseStream> = rng.reserve(blocks as u64).collect();
        let target = Target { dim, totals, exponent, lift: self.lift.get() };
        let steps = self.steps(Path::Fast, streams, target)?;
        Ok(steps.iter().map(|&n| to_f64(n) * self.grid.spacing()).collect())
    }

    /// The rows in steps of the grid.
    pub(super) fn steps(
        &self,
        path: Path,
        streams: Vec<NoiseStream>,
        target: Target<'_>,
    ) -> Result<Vec<i128>> {
        let d = target.dim;
        assert_eq!(target.totals.len(), d * d, "a {d} x {d} matrix");
        assert!(d <= 1 << 20, "{d} columns");
        let factor = Factor::new(target).ok_or_else(|| {
            Error::invalid("totals", "another matrix", "positive semi-definite ones")
        })?;
        let normals = Normals::new();
        let block = rows_per_stream(d);
        let draw = |(i, stream): (usize, NoiseStream)| {
            let count = block.min(self.rows - i * block);
            let source = Source::new(stream, 2 * d * count);
            let (factor, normals, grid) = (&factor, &normals, self.grid.exponent());
            widest(Block { factor, normals, path, source: &source, d, count, grid })
        };
        let rows: Vec<Vec<i128>> = if 2 * d * self.rows < FEW {
            streams.into_iter().enumerate().map(draw).collect()
        } else {
            streams.into_par_iter().enumerate().map(draw).collect()
        };
        Ok(rows.concat())
    }
}

/// The rows of one stream.
struct Block<'a> {
    factor: &'a Factor,
    normals: &'a Normals,
    path: Path,
    source: &'a Source,
    d: usize,
    count: usize,
    grid: i32,
}

impl Work for Block<'_> {
    type Output = Vec<i128>;

    #[inline(always)]
    fn run(self) -> Vec<i128> {
        let mut steps = Vec::with_capacity(self.d * self.count);
        for k in 0..self.count {
            let first = 2 * self.d * k;
            self.factor.row(self.path, self.normals, self.source, first, self.grid, &mut steps);
        }
        steps
    }
}

/// Rows that share a noise stream: as many as take 4096 samples, or one.
pub(super) fn rows_per_stream(dim: usize) -> usize {
    (VALUES_PER_STREAM / (2 * dim).max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_share_a_stream_as_take_4096_samples() {
        for (dim, rows) in
            [(0, 4096), (1, 2048), (3, 682), (512, 4), (2047, 1), (2048, 1), (5000, 1)]
        {
            assert_eq!(rows_per_stream(dim), rows, "{dim}");
        }
    }

    /// The last stream draws the rows that are left.
    #[test]
    fn every_row_is_drawn_once() {
        let dim = 100;
        let mut totals = vec![0; dim * dim];
        (0..dim).for_each(|i| totals[i * dim + i] = 1 << 40);
        let target = Target { dim, totals: &totals, exponent: -40, lift: 1.0 };
        for rows in [1, 19, 20, 21, 45] {
            let law = GramRows::new(rows, NoiseScale::new(1.0).unwrap()).unwrap();
            let streams = NoiseRng::deterministic_not_private(100).reserve(3).collect::<Vec<_>>();
            let streams = streams.into_iter().take(rows.div_ceil(20)).collect();
            assert_eq!(law.steps(Path::Fast, streams, target).unwrap().len(), rows * dim);
        }
    }
}
