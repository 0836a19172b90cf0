//! Normal vectors in a half-space, exactly rounded.

use super::grid::Grid;
use super::rng::NoiseStream;
use super::truncated::TruncatedNormal;
use super::wide::{Work, widest};
use super::ziv::{
    Ball, Bits, ETA, Normals, Path, Source, U, absolute_sum, decided, dot, dot_error, enclose,
    settle,
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
        Ok(self.lean(&Source::new(stream, direction.len() + 1), direction).draw())
    }

    /// The vector that a source defines.
    pub(super) fn lean<'a>(&'a self, source: &'a Source, direction: &'a [i64]) -> Lean<'a> {
        let along = Along { law: &self.along, mirrored: false };
        Lean { source, direction, along, grid: self.grid }
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

/// `G + (alpha - <G, u>) u` on a grid: samples `0..d` of the source are G, sample d is alpha, u is the real unit vector of
/// the direction.
pub(super) struct Lean<'a> {
    pub(super) source: &'a Source,
    pub(super) direction: &'a [i64],
    pub(super) along: Along<'a>,
    pub(super) grid: Grid,
}

impl Lean<'_> {
    /// The vector: multiples of the grid's spacing.
    pub(super) fn draw(&self) -> Vec<f64> {
        let mut all = widest(Floats { of: self, path: Path::Fast });
        for (j, v) in all.iter_mut().enumerate() {
            let n = if v.is_nan() { self.settled(j) as f64 } else { *v };
            *v = n * self.grid.spacing();
        }
        all
    }

    /// The same in steps.
    #[cfg(test)]
    pub(super) fn steps(&self, path: Path) -> Vec<i128> {
        let all = widest(Floats { of: self, path });
        let step = |(j, n): (usize, &f64)| if n.is_nan() { self.settled(j) } else { *n as i128 };
        all.iter().enumerate().map(step).collect()
    }

    /// Number j in steps, by exact integers.
    #[cold]
    fn settled(&self, j: usize) -> i128 {
        settle(|bits| Some(self.enclose(j, bits)?.shift(-i64::from(self.grid.exponent()))))
    }

    /// Number j; none when more precision is needed.
    fn enclose(&self, j: usize, bits: usize) -> Option<Ball> {
        let Self { source, direction, along, .. } = *self;
        let square = direction.iter().map(|x| i128::from(*x) * i128::from(*x));
        let square = UBig::from(square.sum::<i128>().unsigned_abs());
        let norm = Ball::integer(square.clone(), bits).sqrt()?;
        let term = |(k, x): (usize, &i64)| enclose(source, k as u64, bits).times(&IBig::from(*x));
        let product = direction.iter().enumerate().map(term).reduce(|a, b| a.add(&b))?;
        let alpha = along.enclose(source, direction.len() as u64, bits)?;
        let beta = alpha.mul(&norm.reciprocal()?).sub(&product.over(&square));
        Some(enclose(source, j as u64, bits).add(&beta.times(&IBig::from(direction[j]))))
    }
}

/// The steps that floating point decides; NaN for the others.
struct Floats<'a> {
    of: &'a Lean<'a>,
    path: Path,
}

impl Work for Floats<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let Lean { source, direction, along, grid } = *self.of;
        let (d, normals) = (direction.len(), Normals::new());
        // Loops, since what collects is a function by itself and keeps the narrow instructions.
        let [mut x, mut g] = [(); 2].map(|()| Zeroizing::new(vec![0.0; d]));
        x.iter_mut().zip(direction).for_each(|(x, n)| *x = *n as f64);
        // Each sum and root rounds; d roundings are far below one part in a hundred.
        let (square, sum) = (dot(&x, &x), absolute_sum(&x));
        let norm = square.sqrt();
        normals.fill(source, 0, &mut g);
        let (alpha, alpha_error) = along.approximate(&normals, source, d as u64);
        let product = dot(&g, &x);
        let beta = alpha / norm - product / square;
        let size = alpha.abs() / norm + product.abs() / square;
        let length = dot(&g, &g).sqrt();
        let beta_error = alpha_error / norm
            + (ETA * sum + dot_error(d) * length * norm) / square
            + (2.0 * dot_error(d) + 6.0 * U) * size;
        let (per_step, slope) = (1.0 / grid.spacing(), beta_error + U * beta.abs());
        let mut all = vec![0.0; d];
        for ((out, g), x) in all.iter_mut().zip(g.iter()).zip(x.iter()) {
            let v = g + beta * x;
            let error = ETA + x.abs() * slope + 2.0 * U * v.abs();
            *out = decided(self.path, v * per_step, error * per_step);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::NoiseRng;
    use crate::noise::ziv::watched::stated;

    /// The bounds of `docs/proofs/exact-rounding.md`, term by term.
    #[test]
    fn a_vector_states_its_errors() {
        let grid = Grid::new(-20).unwrap();
        for (i, direction) in
            [vec![1], vec![3, -4, 12], vec![1, 0, -(1 << 40)], vec![7; 9], vec![1 << 30; 40]]
                .into_iter()
                .enumerate()
        {
            let stream = NoiseRng::deterministic_not_private(94 + i as u64).stream();
            let (d, source) = (direction.len(), Source::new(stream, direction.len() + 1));
            let law = HalfSpaceNormal::new(0.3, grid).unwrap();
            stated();
            let lean = law.lean(&source, &direction);
            widest(Floats { of: &lean, path: Path::Watched });
            let said = stated();
            assert_eq!(said.len(), d);
            let normals = Normals::new();
            let g: Vec<f64> = (0..d).map(|j| normals.approximate(&source, j as u64)).collect();
            let x: Vec<f64> = direction.iter().map(|x| *x as f64).collect();
            let (alpha, e_alpha) = lean.along.approximate(&normals, &source, d as u64);
            let square: f64 = x.iter().map(|x| x * x).sum();
            let norm = square.sqrt();
            let product: f64 = g.iter().zip(&x).map(|(g, x)| g * x).sum();
            let (length, sum) = (
                g.iter().map(|g| g * g).sum::<f64>().sqrt(),
                x.iter().map(|x| x.abs()).sum::<f64>(),
            );
            let beta = alpha / norm - product / square;
            let e_beta = e_alpha / norm
                + (ETA * sum + dot_error(d) * length * norm) / square
                + (2.0 * dot_error(d) + 6.0 * U) * (alpha.abs() / norm + product.abs() / square);
            for ([_, said], (g, x)) in said.iter().zip(g.iter().zip(&x)) {
                let v = g + beta * x;
                let least = ETA + x.abs() * (e_beta + U * beta.abs()) + 2.0 * U * v.abs();
                let (said, least) = (said * grid.spacing(), least);
                assert!((said / least - 1.0).abs() < 1e-9, "{d}: {said:e}, {least:e}");
            }
        }
    }
}
