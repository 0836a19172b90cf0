//! Wishart noise for covariance mechanisms.

use super::grid::{Grid, floor_log2};
use super::law::NoiseLaw;
use super::rng::{NoiseRng, NoiseStream};
use super::symmetric::mirror_lower;
use super::ziv::{
    Ball, Chi, ETA, Normals, Path, Source, U, dot, dot_error, enclose, nearest, settle, to_f64,
};
use crate::error::{Error, Result};
use crate::quantity::NoiseScale;
use dashu_int::IBig;
use rayon::prelude::*;
use zeroize::Zeroizing;

/// A Wishart matrix `W_d(dof, scale I)` added to an exact matrix, **exactly rounded**.
///
/// By Bartlett's decomposition the matrix is `scale L L^T`, L lower triangular, `L_ii^2 ~ chi2(dof - i)`,
/// `L_ij ~ N(0, 1)` below the diagonal. L is real: each entry is a function of as many random
/// bits as it takes, and what is released is the grid point nearest to the real sum. So the
/// release is post-processing of the real Wishart mechanism. Proof: `docs/proofs/exact-rounding.md`.
///
/// ```
/// use dp_core::{NoiseRng, NoiseScale};
///
/// // Authors of mechanisms only.
/// let law = dp_core::authority!().wishart(2, 12, NoiseScale::new(0.5)?)?;
/// // The exact Gram matrix of some rows, in units of 2^-30.
/// let gram = [700i128, -30, -30, 512];
/// let noisy = law.add_to(&mut NoiseRng::from_os()?, &gram, -30)?;
/// assert_eq!(noisy[1], noisy[2]);
/// # Ok::<(), dp_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WishartNoise {
    dim: usize,
    dof: u64,
    scale: NoiseScale,
    grid: Grid,
}

impl WishartNoise {
    /// Most bits by which a grid may be coarser than the unit of the exact matrix.
    const MOST_SHIFT: i32 = 100;

    /// The law of `d x d` Wishart matrices of mean `dof scale I`, on the grid that suits it: about `2^-24` of
    /// an entry's standard deviation, so that floating point decides nearly every entry.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless `dim` is in `[1, 2^20]` and `dof` in `[dim, 2^40]`, and for a scale so
    /// large or small that there is no such grid.
    pub(crate) fn new(dim: usize, dof: u64, scale: NoiseScale) -> Result<Self> {
        if !(1..=1 << 20).contains(&dim) {
            return Err(Error::invalid("dimension", dim, "[1, 2^20]"));
        }
        if !(dim as u64..=1 << 40).contains(&dof) {
            return Err(Error::invalid("degrees of freedom", dof, format!("[{dim}, 2^40]")));
        }
        let deviation = scale.get() * (dof as f64).sqrt();
        if !deviation.is_normal() {
            return Err(Error::invalid("scale", scale, "about [2^-900, 2^900]"));
        }
        Ok(Self { dim, dof, scale, grid: Grid::new(floor_log2(deviation) - 24)? })
    }

    /// The law, for the certificate.
    #[must_use]
    pub fn law(&self) -> NoiseLaw {
        NoiseLaw::Wishart { dof: self.dof, scale: self.scale, grid: self.grid }
    }

    /// The grid of the noisy matrix.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// The same law on another grid.
    #[must_use]
    pub fn on(self, grid: Grid) -> Self {
        Self { grid, ..self }
    }

    /// The matrix `totals 2^exponent` (row-major `d x d`, of which the lower triangle is read) plus a fresh Wishart
    /// matrix, each entry rounded to the grid; exactly symmetric.
    ///
    /// One noise stream per row of L, rows in parallel; the result does not depend on the
    /// number of threads. Costs `d^3 / 3` multiplications.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a grid that is finer than the unit of the totals, or coarser by more than
    /// `2^100`, or that is not about the noise's size.
    ///
    /// # Panics
    /// When `totals` does not have `d^2` entries.
    pub fn add_to(&self, rng: &mut NoiseRng, totals: &[i128], exponent: i32) -> Result<Vec<f64>> {
        let (d, grid) = (self.dim, self.grid);
        let shift = grid.exponent().saturating_sub(exponent);
        if !(0..=Self::MOST_SHIFT).contains(&shift) {
            let allowed = format!("[{exponent}, {}]", exponent.saturating_add(Self::MOST_SHIFT));
            return Err(Error::invalid("grid exponent", grid.exponent(), allowed));
        }
        let deviation = self.scale.get() * (self.dof as f64).sqrt() / grid.spacing();
        if !(2f64.powi(-60)..=2f64.powi(60)).contains(&deviation) {
            let allowed = "grids within 2^60 of the standard deviation of the noise";
            return Err(Error::invalid("grid exponent", grid.exponent(), allowed));
        }
        let streams: Vec<NoiseStream> = rng.reserve(d as u64).collect();
        let steps = self.steps(Path::Fast, streams, totals, exponent);
        let mut out: Vec<f64> = steps.iter().map(|&n| to_f64(n) * grid.spacing()).collect();
        mirror_lower(&mut out, d);
        Ok(out)
    }

    /// A Wishart matrix alone.
    ///
    /// # Errors
    /// As [`WishartNoise::add_to`].
    pub fn draw(&self, rng: &mut NoiseRng) -> Result<Vec<f64>> {
        self.add_to(rng, &vec![0; self.dim * self.dim], self.grid.exponent())
    }

    /// The lower triangle of the rounded sum, in steps of the grid.
    pub(super) fn steps(
        &self,
        path: Path,
        streams: Vec<NoiseStream>,
        totals: &[i128],
        exponent: i32,
    ) -> Vec<i128> {
        let (d, grid) = (self.dim, self.grid);
        let shift = grid.exponent() - exponent;
        assert_eq!(totals.len(), d * d, "a {d} x {d} matrix");
        let normals = Normals::new();
        let rows: Vec<Row> = streams
            .into_par_iter()
            .enumerate()
            .map(|(i, stream)| Row::draw(path, &normals, stream, i, self.dof - i as u64))
            .collect();
        let scale = self.scale.get() / grid.spacing();
        let mut out = vec![0i128; d * d];
        out.par_chunks_mut(d).enumerate().for_each(|(i, out)| {
            for (j, out) in out[..=i].iter_mut().enumerate() {
                let (whole, part) = split(totals[i * d + j], shift);
                let (a, b) = (&rows[i], &rows[j]);
                let product = dot(&a.rounded[..=j], &b.rounded);
                let x = scale * product + part as f64 * 2f64.powi(-shift);
                let error = scale * a.error_with(b, j) + 4.0 * U * (scale * product.abs() + 1.0);
                let noise = nearest(path, x, error).unwrap_or_else(|| {
                    settle(|bits| {
                        let noise = self.scaled(&a.product(b, j, bits)?, grid);
                        let part = IBig::from(part);
                        Some(noise.add(&Ball::dyadic(part, -i64::from(shift), bits)))
                    })
                });
                *out = whole.saturating_add(noise);
            }
        });
        out
    }

    /// Times the scale, in steps of the grid.
    fn scaled(&self, x: &Ball, grid: Grid) -> Ball {
        let (mantissa, power) = super::exact::decompose(self.scale.get());
        x.times(&IBig::from(mantissa)).shift(i64::from(power - grid.exponent()))
    }
}

/// `n = whole 2^shift + part` with part in `[-2^(shift-1), 2^(shift-1))`.
fn split(n: i128, shift: i32) -> (i128, i128) {
    if shift == 0 {
        return (n, 0);
    }
    let whole = (n >> shift) + ((n >> (shift - 1)) & 1);
    (whole, n - (whole << shift))
}

/// A row of L: samples `0..i` are its normals, the chi variable takes those from i on. Private.
struct Row {
    source: Source,
    chi: Chi,
    /// The row in floating point.
    rounded: Zeroizing<Vec<f64>>,
    /// Bound on the error of the last entry; the others are within [`ETA`].
    last_error: f64,
    /// The sum of absolute values, and the norm.
    sum: f64,
    norm: f64,
}

impl Row {
    fn draw(path: Path, normals: &Normals, stream: NoiseStream, i: usize, dof: u64) -> Self {
        let source = Source::new(stream, i + Chi::USUAL);
        let mut rounded = Zeroizing::new(vec![0.0; i + 1]);
        normals.fill(&source, 0, &mut rounded[..i]);
        let chi = Chi::draw(path, normals, &source, dof, i as u64);
        let (last, last_error) = chi.approximate(normals, &source);
        rounded[i] = last;
        let sum = rounded.iter().map(|x| x.abs()).sum();
        let norm = rounded.iter().map(|x| x * x).sum::<f64>().sqrt();
        Self { source, chi, rounded, last_error, sum, norm }
    }

    /// How far the inner product of the first j + 1 numbers of two rows, the other being row j, is from the real one.
    fn error_with(&self, other: &Self, j: usize) -> f64 {
        let e = other.last_error;
        // An error of ETA in every normal; that of the other row's last number, which is twice there on the diagonal.
        ETA * (self.sum + other.sum + ETA * j as f64)
            + e * (2.0 * self.rounded[j].abs() + e + ETA)
            + dot_error(j + 1) * self.norm * other.norm
    }

    /// The same inner product, enclosed.
    fn product(&self, other: &Self, j: usize, bits: usize) -> Option<Ball> {
        let mut sum = Ball::integer(0, bits);
        for k in 0..=j {
            sum = sum.add(&self.entry(k, bits)?.mul(&other.entry(k, bits)?));
        }
        Some(sum)
    }

    fn entry(&self, k: usize, bits: usize) -> Option<Ball> {
        if k + 1 == self.rounded.len() {
            self.chi.enclose(&self.source, bits)
        } else {
            Some(enclose(&self.source, k as u64, bits))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::ziv::watched::stated;

    /// The bounds of `docs/proofs/exact-rounding.md`, term by term.
    #[test]
    fn entries_state_their_errors() {
        for (dim, dof, size, exponent) in [
            (1, 1, 1.0, -30),
            (2, 2, 0.3, -40),
            (7, 1 << 40, 1.0, -16),
            (5, 60, 1e9, 0),
            (6, 45, 1e-3, -30),
        ] {
            let (scale, grid) = (NoiseScale::new(size).unwrap(), Grid::new(exponent).unwrap());
            let law = WishartNoise::new(dim, dof, scale).unwrap().on(grid);
            let streams =
                || NoiseRng::deterministic_not_private(95).reserve(dim as u64).collect::<Vec<_>>();
            let normals = Normals::new();
            let rows: Vec<Row> = streams()
                .into_iter()
                .enumerate()
                .map(|(i, stream)| Row::draw(Path::Fast, &normals, stream, i, dof - i as u64))
                .collect();
            let per_step = size / grid.spacing();
            let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let said = one.install(|| {
                stated();
                law.steps(Path::Watched, streams(), &vec![0; dim * dim], exponent);
                stated()
            });
            let mut said = said.into_iter();
            for (i, a) in rows.iter().enumerate() {
                for (j, b) in rows[..=i].iter().enumerate() {
                    let sum = |row: &Row| row.rounded.iter().map(|x| x.abs()).sum::<f64>();
                    let norm = |row: &Row| row.rounded.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let product: f64 = (0..=j).map(|k| a.rounded[k] * b.rounded[k]).sum();
                    let e = b.last_error;
                    let least = ETA * (sum(a) + sum(b) + j as f64 * ETA)
                        + e * (2.0 * a.rounded[j].abs() + e + ETA)
                        + dot_error(j + 1) * norm(a) * norm(b);
                    let least = per_step * least + 4.0 * U * (per_step * product.abs() + 1.0);
                    let [x, found] = said.next().unwrap();
                    assert!((x / (per_step * product) - 1.0).abs() < 1e-9);
                    assert!((found / least - 1.0).abs() < 1e-9, "{i} {j}: {found:e}, {least:e}");
                }
            }
            assert!(said.next().is_none());
        }
    }

    /// However fine or coarse the unit, if the grid is about the noise's size.
    #[test]
    fn grids_are_about_the_size_of_the_noise() {
        let mut rng = NoiseRng::deterministic_not_private(96);
        let mut of = |size: f64, exponent: i32| {
            let law = WishartNoise::new(2, 4, NoiseScale::new(size).unwrap()).unwrap();
            law.on(Grid::new(exponent).unwrap()).draw(&mut rng).is_ok()
        };
        assert!(of(1.0, 0) && of(2f64.powi(50), 45) && of(2f64.powi(-50), -60));
        assert!(of(1.0, -58) && !of(1.0, -60) && of(1.0, 60) && !of(1.0, 62));
    }
}
