//! Normal vectors in a half-space, exactly rounded.

use super::grid::Grid;
use super::rng::NoiseStream;
use super::truncated::TruncatedNormal;
use super::ziv::{
    Ball, Bits, ETA, Normals, Path, Source, U, dot, dot_error, enclose, nearest, settle,
};
use crate::error::{Error, Result};
use dashu_int::{IBig, UBig};
use zeroize::Zeroizing;

/// The law of a vector V of independent standard normals given that `<V, u> >= threshold`, u the unit vector along
/// a direction x of integers, each number rounded to a grid: the grid point nearest to the real one, exactly.
///
/// `V = G + (alpha - <G, u>) u`, G normal and alpha a [`TruncatedNormal`]: what mechanisms for unit vectors are built
/// of. x may be private: u is real, and no rounding of it enters. Proof: `docs/proofs/exact-rounding.md`.
///
/// ```
/// use dp_core::NoiseRng;
/// use dp_core::noise::{Grid, HalfSpaceNormal};
///
/// let law = HalfSpaceNormal::new(1.5, Grid::new(-24)?)?;
/// let v = law.draw(NoiseRng::from_os()?.stream(), &[3, 4])?;
/// assert!(v[0] * 0.6 + v[1] * 0.8 > 1.499);
/// # Ok::<(), dp_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct HalfSpaceNormal {
    along: TruncatedNormal,
    grid: Grid,
}

impl HalfSpaceNormal {
    /// The law beyond `threshold`.
    ///
    /// # Errors
    /// As [`TruncatedNormal::new`].
    pub fn new(threshold: f64, grid: Grid) -> Result<Self> {
        Ok(Self { along: TruncatedNormal::new(threshold, grid)?, grid })
    }

    /// The threshold.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.along.threshold()
    }

    /// One vector, which uses a stream up: its words may lie anywhere in it.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a direction of zeros, of over `2^20` numbers, or of numbers beyond `2^52`.
    ///
    /// # Panics
    /// When the stream was drawn from before: the draw would repeat those words.
    pub fn draw(&self, stream: NoiseStream, direction: &[i64]) -> Result<Vec<f64>> {
        check_direction(direction)?;
        let count = direction.len() + 1;
        let steps = self.steps(Path::Fast, &Source::new(stream, count), direction);
        Ok(steps.iter().map(|&n| n as f64 * self.grid.spacing()).collect())
    }

    /// The vector in steps of the grid: samples `0..d` are G, sample d is alpha.
    pub(super) fn steps(&self, path: Path, source: &impl Bits, direction: &[i64]) -> Vec<i128> {
        lean(path, source, direction, Along { law: &self.along, mirrored: false }, self.grid)
    }
}

/// Refuses what has no direction, or too many numbers for exact sums.
pub(super) fn check_direction(direction: &[i64]) -> Result<()> {
    if direction.len() > 1 << 20 || direction.iter().all(|x| *x == 0) {
        let allowed = "up to 2^20 numbers that are not all zero";
        return Err(Error::invalid("direction", "another", allowed));
    }
    if direction.iter().any(|x| x.unsigned_abs() > 1 << 52) {
        return Err(Error::invalid("direction", "a larger number", "numbers up to 2^52"));
    }
    Ok(())
}

/// The law of the part along a direction.
#[derive(Clone, Copy)]
pub(super) struct Along<'a> {
    pub(super) law: &'a TruncatedNormal,
    /// Whether it is the negative of a draw.
    pub(super) mirrored: bool,
}

impl Along<'_> {
    fn approximate(self, normals: &Normals, source: &impl Bits, sample: u64) -> (f64, f64) {
        let (x, error) = self.law.approximate(normals, source, sample);
        (if self.mirrored { -x } else { x }, error)
    }

    fn enclose(self, source: &impl Bits, sample: u64, bits: usize) -> Option<Ball> {
        let x = self.law.enclose(source, sample, bits)?;
        Some(if self.mirrored { x.negate() } else { x })
    }
}

/// `G + (alpha - <G, u>) u` in steps of a grid: samples `0..d` are G, sample d is alpha, u is the real unit vector of
/// the direction.
pub(super) fn lean(
    path: Path,
    source: &impl Bits,
    direction: &[i64],
    along: Along<'_>,
    grid: Grid,
) -> Vec<i128> {
    let (d, normals) = (direction.len(), Normals::new());
    let x = Zeroizing::new(direction.iter().map(|x| *x as f64).collect::<Vec<_>>());
    // Each sum and root rounds; d roundings are far below one part in a hundred.
    let (square, sum) = (dot(&x, &x), x.iter().map(|x| x.abs()).sum::<f64>());
    let norm = square.sqrt();
    let draw = |k| normals.approximate(source, k as u64);
    let g = Zeroizing::new((0..d).map(draw).collect::<Vec<_>>());
    let (alpha, alpha_error) = along.approximate(&normals, source, d as u64);
    let product = dot(&g, &x);
    let beta = alpha / norm - product / square;
    let size = alpha.abs() / norm + product.abs() / square;
    let length = dot(&g, &g).sqrt();
    let beta_error = alpha_error / norm
        + (ETA * sum + dot_error(d) * length * norm) / square
        + (2.0 * dot_error(d) + 6.0 * U) * size;
    let per_step = 1.0 / grid.spacing();
    (0..d)
        .map(|j| {
            let v = g[j] + beta * x[j];
            let error = ETA + x[j].abs() * (beta_error + U * beta.abs()) + 2.0 * U * v.abs();
            nearest(path, v * per_step, error * per_step).unwrap_or_else(|| {
                settle(|bits| {
                    let ball = lean_at(source, direction, along, j, bits)?;
                    Some(ball.shift(-i64::from(grid.exponent())))
                })
            })
        })
        .collect()
}

/// Number j; none when more precision is needed.
fn lean_at(
    source: &impl Bits,
    direction: &[i64],
    along: Along<'_>,
    j: usize,
    bits: usize,
) -> Option<Ball> {
    let square = direction.iter().map(|x| i128::from(*x) * i128::from(*x));
    let square = UBig::from(square.sum::<i128>().unsigned_abs());
    let norm = Ball::integer(square.clone(), bits).sqrt()?;
    let term = |(k, x): (usize, &i64)| enclose(source, k as u64, bits).times(&IBig::from(*x));
    let product = direction.iter().enumerate().map(term).reduce(|a, b| a.add(&b))?;
    let alpha = along.enclose(source, direction.len() as u64, bits)?;
    let beta = alpha.mul(&norm.reciprocal()?).sub(&product.over(&square));
    Some(enclose(source, j as u64, bits).add(&beta.times(&IBig::from(direction[j]))))
}
