//! The Gram matrix of clipped rows in exact integers.
//!
//! A clipped row is a vector of integers times a public power of two, so every sum
//! of products below is exact: the order of summation, the number of threads and
//! floating point have no influence on what is released.

use super::clip::RowClip;
use crate::dense;
use crate::error::{Error, Result};
use dp_core::NoiseScale;
use dp_core::noise::Grid;
use faer::{Accum, Mat, MatRef};
use rayon::prelude::*;

/// Rows whose products are summed in f64 before they join the 128-bit totals:
/// `1024 * 2^42 <= 2^53`.
pub(crate) const BLOCK: usize = 1024;
/// Most bits by which totals are rescaled to a coarser grid: beyond, a shift of 128-bit sums would
/// overflow. Only budgets that hide everything ask for so much.
pub(crate) const MAX_SHIFT: i32 = 100;

/// The exact Gram matrix `sum q q^T` of clipped rows, in squared units. Private.
#[derive(Debug)]
pub struct ExactGram {
    clip: RowClip,
    total: Vec<i128>,
}

impl ExactGram {
    pub(crate) fn new(clip: RowClip) -> Self {
        Self { clip, total: vec![0; clip.columns() * clip.columns()] }
    }

    /// Adds rows (row-major, any number of them).
    pub(crate) fn push(&mut self, rows: &[f64]) -> Result<()> {
        let (dim, d) = (self.clip.dim(), self.clip.columns());
        let count = self.clip.rows_in(rows)?;
        if count == 1 {
            return self.push_one(rows);
        }
        let blocks: Vec<&[f64]> = rows.chunks(BLOCK * dim).collect();
        let lanes = rayon::current_num_threads().max(1);
        let sums = blocks
            .par_chunks(blocks.len().div_ceil(lanes).max(1))
            .map(|blocks| {
                let mut sum = vec![0i128; d * d];
                let mut q = vec![0.0; BLOCK.min(count) * d];
                let mut gram = Mat::zeros(d, d);
                for block in blocks {
                    let count = block.len() / dim;
                    let q = &mut q[..count * d];
                    for (row, out) in block.chunks(dim).zip(q.chunks_mut(d)) {
                        self.clip.quantise(row, out)?;
                    }
                    let q = MatRef::from_row_major_slice(q, count, d);
                    dense::product_into(gram.as_mut(), Accum::Replace, q.transpose(), q);
                    for (j, sums) in sum.chunks_mut(d).enumerate() {
                        for (s, g) in sums.iter_mut().zip(gram.col(j).iter()) {
                            *s += i128::from(*g as i64);
                        }
                    }
                }
                Ok(sum)
            })
            .collect::<Result<Vec<_>>>()?;
        for sum in sums {
            for (t, s) in self.total.iter_mut().zip(sum) {
                *t += s;
            }
        }
        Ok(())
    }

    fn push_one(&mut self, row: &[f64]) -> Result<()> {
        let d = self.clip.columns();
        let mut q = vec![0.0; d];
        self.clip.quantise(row, &mut q)?;
        let q: Vec<i64> = q.iter().map(|x| *x as i64).collect();
        for (i, total) in self.total.chunks_mut(d).enumerate() {
            for (t, x) in total.iter_mut().zip(&q) {
                *t += i128::from(q[i] * x);
            }
        }
        Ok(())
    }

    /// Adds another sum under the same clip.
    pub(crate) fn add(&mut self, other: &Self) {
        self.total.iter_mut().zip(&other.total).for_each(|(t, o)| *t += o);
    }

    /// Takes another sum under the same clip away.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.total.iter_mut().zip(&other.total).for_each(|(t, o)| *t -= o);
    }

    /// Starts again from zero.
    pub(crate) fn clear(&mut self) {
        self.total.fill(0);
    }

    /// The sums as numbers, row-major; each rounds once.
    pub(crate) fn to_values(&self) -> Vec<f64> {
        let step = 2f64.powi(self.exponent());
        self.total.iter().map(|t| *t as f64 * step).collect()
    }

    /// The sums in squared units: for noise, and for a journal.
    pub(crate) fn totals(&self) -> &[i128] {
        &self.total
    }

    /// Puts sums back that [`ExactGram::totals`] gave.
    pub(crate) fn set_totals(&mut self, totals: Vec<i128>) -> Result<()> {
        if totals.len() != self.total.len() {
            return Err(Error::corrupt("its sums have another shape"));
        }
        self.total = totals;
        Ok(())
    }

    /// The sums below and on the diagonal, each in 16 bytes, little-endian.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let d = self.clip.columns();
        let mut bytes = Vec::with_capacity(8 * d * (d + 1));
        for i in 0..d {
            let row = &self.total[i * d..=i * d + i];
            row.iter().for_each(|total| bytes.extend_from_slice(&total.to_le_bytes()));
        }
        bytes
    }

    /// Adds what [`ExactGram::to_bytes`] gave under the same clip.
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let d = self.clip.columns();
        let (sums, rest) = bytes.as_chunks::<16>();
        if sums.len() != d * (d + 1) / 2 || !rest.is_empty() {
            return Err(Error::corrupt("its sums have another shape"));
        }
        let mut sums = sums.iter().map(|sum| i128::from_le_bytes(*sum));
        let mut total = self.total.clone();
        for i in 0..d {
            for j in 0..=i {
                let sum = sums.next().and_then(|sum| total[i * d + j].checked_add(sum));
                let sum = sum.ok_or_else(|| Error::corrupt("its sums overflow"))?;
                total[i * d + j] = sum;
                total[j * d + i] = sum;
            }
        }
        self.total = total;
        Ok(())
    }

    /// How many rows there are; known where every row has a constant. Private, unless the adjacency says otherwise.
    pub(crate) fn rows(&self) -> Option<u64> {
        let square = i128::from(self.clip.constant_units()).pow(2);
        u64::try_from(self.total.last()?.checked_div(square)?).ok()
    }

    /// log2 of the unit of [`ExactGram::total`].
    pub(crate) fn exponent(&self) -> i32 {
        2 * self.clip.exponent()
    }

    /// Adds noise that lies on the grid `2^exponent` and converts to `f64`.
    ///
    /// `noise(i, j)` for `i >= j`, in units of the grid. The totals are first rounded to
    /// the grid (exact when it is not coarser than their own unit).
    pub(crate) fn release(&self, exponent: i32, noise: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let d = self.clip.columns();
        let shift = exponent - self.exponent();
        let step = 2f64.powi(exponent);
        let mut out = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..=i {
                let exact = rescale(self.total[i * d + j], shift);
                let value = (exact + noise(i, j) as i128) as f64 * step;
                out[i * d + j] = value;
                out[j * d + i] = value;
            }
        }
        out
    }
}

/// `value / 2^shift`, rounded to nearest (half upwards), for `shift` from 0 to [`MAX_SHIFT`].
pub(crate) fn rescale(value: i128, shift: i32) -> i128 {
    debug_assert!((0..=MAX_SHIFT).contains(&shift), "grids are checked when noise is calibrated");
    if shift == 0 { value } else { (value + (1i128 << (shift - 1))) >> shift }
}

/// The noise grid for `sigma`, never finer than the unit of the exact totals, nor so coarse that
/// they could not be rescaled to it.
///
/// # Errors
/// [`Error::Core`] for a sigma above `2^130` units of the totals.
pub(crate) fn noise_grid(clip: &RowClip, sigma: NoiseScale) -> Result<Grid> {
    let own = 2 * clip.exponent();
    let noise = sigma.get().log2().floor() as i32 - 30;
    if noise - own > MAX_SHIFT {
        let most = 2f64.powi(MAX_SHIFT + 30 + own);
        let allowed = format!(
            "(0, {most:e}] for rows of norm {:e}: more hides whatever they say; raise epsilon or delta",
            clip.bound()
        );
        return Err(Error::invalid("noise scale sigma", sigma, allowed));
    }
    Ok(Grid::new(own.max(noise))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::NormBound;

    fn rows(n: usize, d: usize, scale: f64) -> Vec<f64> {
        (0..n * d).map(|i| scale * (((i * 7919) % 1009) as f64 / 504.5 - 1.0)).collect()
    }

    #[test]
    fn rows_of_the_bound_s_norm_are_not_shrunk() {
        // Eighths lie on the grid: what enters is the row itself.
        for (d, value) in [(64, 0.125), (4, 0.5), (1, 1.0), (16, -0.25)] {
            let clip = RowClip::new(d, NormBound::new(1.0).unwrap()).unwrap();
            let mut gram = ExactGram::new(clip);
            gram.push(&vec![value; 3 * d]).unwrap();
            assert!(gram.to_values().iter().all(|x| *x == 3.0 * value * value), "{d}");
        }
    }

    #[test]
    fn noise_beyond_the_range_of_the_sums_is_refused() {
        let clip = RowClip::new(2, NormBound::new(1.0).unwrap()).unwrap();
        let own = 2 * clip.exponent();
        for (power, fits) in [(own + 130, true), (own + 131, false), (1000, false)] {
            let sigma = NoiseScale::new(2f64.powi(power)).unwrap();
            match noise_grid(&clip, sigma) {
                Ok(grid) => assert!(fits && grid.exponent() - own <= MAX_SHIFT),
                Err(error) => assert!(!fits && error.to_string().contains("sigma"), "{error}"),
            }
        }
        let largest = i128::MAX >> 2;
        assert_eq!(rescale(largest, MAX_SHIFT), (largest >> MAX_SHIFT) + 1);
    }

    #[test]
    fn gram_is_exact_and_independent_of_blocks() {
        let (n, d) = (3000, 5);
        let data = rows(n, d, 1.0);
        let clip = RowClip::new(d, NormBound::new(1.0).unwrap()).unwrap();
        let mut whole = ExactGram::new(clip);
        whole.push(&data).unwrap();
        let mut single = ExactGram::new(clip);
        for row in data.chunks(d) {
            single.push(row).unwrap();
        }
        assert_eq!(whole.total, single.total);
        let exact = whole.release(whole.exponent(), |_, _| 0.0);
        let coarse = whole.release(whole.exponent() + 20, |_, _| 0.0);
        let step = 2f64.powi(whole.exponent() + 20);
        assert!(exact.iter().zip(&coarse).all(|(a, b)| (a - b).abs() <= 0.5 * step));
    }

    #[test]
    fn refuses_bad_rows() {
        let clip = RowClip::new(2, NormBound::new(1.0).unwrap()).unwrap();
        let mut gram = ExactGram::new(clip);
        assert!(matches!(gram.push(&[1.0, f64::NAN]), Err(Error::NotFinite { .. })));
        assert!(matches!(gram.push(&[f64::INFINITY, 0.0]), Err(Error::NotFinite { .. })));
        assert!(matches!(gram.push(&[1.0, 0.0, 0.5]), Err(Error::Shape { .. })));
        assert!(RowClip::new(0, NormBound::new(1.0).unwrap()).is_err());
    }
}
