//! Chi-square draws, exactly rounded.

use super::grid::Grid;
use super::rng::NoiseStream;
use super::ziv::{Bits, Chi, Normals, Path, Source, U, nearest, settle};
use crate::error::{Error, Result};

/// The chi-square law, rounded to a grid: the grid point nearest to a real draw, exactly.
///
/// Up to 32 degrees of freedom the draw is a sum of squared normals; above, twice a gamma variable by rejection
/// (Marsaglia and Tsang 2000), each comparison of which is decided exactly. Proof:
/// `docs/proofs/exact-rounding.md`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChiSquare {
    dof: u64,
    grid: Grid,
}

impl ChiSquare {
    /// The law with `dof` degrees of freedom.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless `dof` is in `[1, 2^40]` and the grid's exponent in `[-60, 60]`.
    pub fn new(dof: u64, grid: Grid) -> Result<Self> {
        if !(1..=1 << 40).contains(&dof) {
            return Err(Error::invalid("degrees of freedom", dof, "[1, 2^40]"));
        }
        if !(-60..=60).contains(&grid.exponent()) {
            return Err(Error::invalid("grid exponent", grid.exponent(), "[-60, 60]"));
        }
        Ok(Self { dof, grid })
    }

    /// The degrees of freedom.
    #[must_use]
    pub fn dof(&self) -> u64 {
        self.dof
    }

    /// One draw, which uses a stream up: its words may lie anywhere in it.
    ///
    /// # Panics
    /// When the stream was drawn from before: the draw would repeat those words.
    #[must_use]
    pub fn sample(&self, stream: NoiseStream) -> f64 {
        let source = Source::new(stream, Chi::USUAL);
        self.steps(Path::Fast, &source) as f64 * self.grid.spacing()
    }

    /// The draw in steps of the grid.
    pub(super) fn steps(&self, path: Path, source: &impl Bits) -> i128 {
        let normals = Normals::new();
        let chi = Chi::draw(path, &normals, source, self.dof, 0);
        let (root, error) = chi.approximate(&normals, source);
        let (square, per_step) = (root * root, 1.0 / self.grid.spacing());
        let error = error * (2.0 * root + error) + 2.0 * U * square;
        nearest(path, square * per_step, error * per_step).unwrap_or_else(|| {
            settle(|bits| {
                let root = chi.enclose(source, bits)?;
                Some(root.mul(&root).shift(-i64::from(self.grid.exponent())))
            })
        })
    }
}
