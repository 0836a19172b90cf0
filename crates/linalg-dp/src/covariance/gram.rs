//! The Gram matrix of clipped rows in exact integers.
//!
//! A clipped row is a vector of integers times a public power of two, so every sum
//! of products below is exact: the order of summation, the number of threads and
//! floating point have no influence on what is released.

use super::clip::RowClip;
use crate::dense;
use crate::error::{Error, Result};
use core::ops::Range;
use dp_core::NoiseScale;
use dp_core::noise::Grid;
use faer::{Accum, Mat, MatRef};
use rayon::prelude::*;
use sketch::RowsView;
use sketch::rows::{Incoming, Storage};

/// Rows whose products are summed in f64 before they join the 128-bit totals:
/// `1024 * 2^42 <= 2^53`.
pub(crate) const BLOCK: usize = 1024;
/// Rows that are multiplied at once: whoever gives one row at a time pays for a product of matrices all the same.
const WAIT: usize = 128;
/// Rows of other storage that are laid row after row at once, while the caches hold them.
const STRIP: usize = 64;
/// Most bits by which totals are rescaled to a coarser grid: beyond, a shift of 128-bit sums would
/// overflow. Only budgets that hide everything ask for so much.
pub(crate) const MAX_SHIFT: i32 = 100;

/// The exact Gram matrix `sum q q^T` of clipped rows, in squared units. Private.
#[derive(Debug)]
pub struct ExactGram {
    clip: RowClip,
    /// Row-major; above the diagonal nothing is kept.
    total: Vec<i128>,
}

impl ExactGram {
    pub(crate) fn new(clip: RowClip) -> Self {
        Self { clip, total: vec![0; clip.columns() * clip.columns()] }
    }

    /// The rows of the lower triangle, and those of another matrix of this shape.
    fn lower_with<'a, T>(
        &'a mut self,
        other: &'a [T],
    ) -> impl Iterator<Item = (&'a mut i128, &'a T)> {
        let d = self.clip.columns();
        let rows = self.total.chunks_mut(d).zip(other.chunks(d)).enumerate();
        rows.flat_map(|(i, (row, other))| row[..=i].iter_mut().zip(other))
    }

    /// Adds another sum under the same clip.
    pub(crate) fn add(&mut self, other: &Self) {
        self.lower_with(&other.total).for_each(|(t, o)| *t += o);
    }

    /// Takes another sum under the same clip away.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.lower_with(&other.total).for_each(|(t, o)| *t -= o);
    }

    /// Starts again from zero.
    pub(crate) fn clear(&mut self) {
        self.total.fill(0);
    }

    /// The sums as numbers, row-major, zero above the diagonal; each rounds once.
    pub(crate) fn lower_values(&self) -> Vec<f64> {
        let (d, step) = (self.clip.columns(), 2f64.powi(self.exponent()));
        let mut values = vec![0.0; d * d];
        for (i, (row, out)) in self.total.chunks(d).zip(values.chunks_mut(d)).enumerate() {
            row[..=i].iter().zip(out).for_each(|(t, x)| *x = to_f64(*t) * step);
        }
        values
    }

    /// The sums in squared units, those above the diagonal left out: for noise, and for a journal.
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

    /// What the sums are of ([`RowClip::meaning`]), and the sums below and on the diagonal, each in 16 bytes, little-endian.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let d = self.clip.columns();
        let mut bytes = Vec::with_capacity(24 + 8 * d * (d + 1));
        bytes.extend_from_slice(&self.clip.meaning());
        for i in 0..d {
            let row = &self.total[i * d..=i * d + i];
            row.iter().for_each(|total| bytes.extend_from_slice(&total.to_le_bytes()));
        }
        bytes
    }

    /// Adds what [`ExactGram::to_bytes`] gave under the same clip: rows of another bound may be longer than what is paid.
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let d = self.clip.columns();
        let Some(bytes) = bytes.strip_prefix(&self.clip.meaning()) else {
            let reason = if bytes.len() == 8 * d * (d + 1) {
                "they do not say what they are of, as those of earlier versions: remove them, and add the rows again (or the file of this part)"
            } else {
                "they are of rows with another number of columns, bound or constant: add those of a stream of this mechanism"
            };
            return Err(Error::Unusable { what: "sums", reason });
        };
        let (sums, rest) = bytes.as_chunks::<16>();
        if sums.len() != d * (d + 1) / 2 || !rest.is_empty() {
            return Err(Error::shape("sums", bytes.len(), format!("{} bytes", 8 * d * (d + 1))));
        }
        let mut sums = sums.iter().map(|sum| i128::from_le_bytes(*sum));
        let mut total = self.total.clone();
        for i in 0..d {
            for j in 0..=i {
                let sum = sums.next().and_then(|sum| total[i * d + j].checked_add(sum));
                let reason = "they overflow, as sums of rows do not: add those of a stream of this mechanism";
                let sum = sum.ok_or(Error::Unusable { what: "sums", reason })?;
                total[i * d + j] = sum;
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
    /// The lower triangle of `noise` is read, in units of the grid, at most `2^52` of them. The totals are first
    /// rounded to the grid (exact when it is not coarser than their own unit).
    pub(crate) fn release(&self, exponent: i32, noise: &[f64]) -> Vec<f64> {
        let d = self.clip.columns();
        let shift = exponent - self.exponent();
        let (step, unit) = (2f64.powi(exponent), 2f64.powi(-exponent));
        let mut out = vec![0.0; d * d];
        let rows = self.total.chunks(d).zip(noise.chunks(d)).zip(out.chunks_mut(d));
        for (i, ((totals, noise), out)) in rows.enumerate() {
            for ((total, noise), out) in totals[..=i].iter().zip(noise).zip(out) {
                let exact = rescale(*total, shift);
                *out = to_f64(exact + i128::from((noise * unit) as i64)) * step;
            }
        }
        dense::mirror_lower(&mut out, d);
        out
    }
}

/// Rows on their way into an [`ExactGram`]: their products are taken many rows at a time, in buffers that stay.
/// Private.
#[derive(Debug)]
pub(crate) struct OpenGram {
    /// What each thread sums; there is one at least.
    lanes: Vec<Lane>,
}

/// The sum of some rows.
#[derive(Debug)]
struct Lane {
    sum: ExactGram,
    /// Clipped rows that are not multiplied yet, in units, and how many.
    waiting: Vec<f64>,
    count: usize,
    /// Rows of a view before they are clipped.
    strip: Vec<f64>,
    /// The upper triangle of the products of `multiplied` rows that are not in the sum yet: at most [`BLOCK`] rows, so
    /// that every number is exact.
    product: Mat<f64>,
    multiplied: usize,
}

impl OpenGram {
    pub(crate) fn new(clip: RowClip) -> Self {
        Self { lanes: vec![Lane::new(clip)] }
    }

    /// Adds rows (row-major, any number of them), or none.
    pub(crate) fn push(&mut self, rows: &[f64]) -> Result<()> {
        let clip = self.lanes[0].sum.clip;
        let view = RowsView::f64(clip.rows_in(rows)?, clip.dim(), rows);
        self.push_view(view.map_err(|_| Error::NotFinite { what: "a row" })?.into())
    }

    /// As [`OpenGram::push`], of rows however they are stored: rows that nobody has looked at are read once.
    pub(crate) fn push_view(&mut self, rows: Incoming<'_>) -> Result<()> {
        let clip = self.lanes[0].sum.clip;
        if rows.d() != clip.dim() {
            return Err(Error::shape("d of the rows", rows.d(), clip.dim()));
        }
        let (taken, Err(error)) = self.add(rows) else { return Ok(()) };
        // Those before the one that is not finite are taken away again.
        let mut before = Self::new(clip);
        for rows in taken.into_iter().map(|taken| rows.slice(taken)) {
            before.add(rows).1?;
        }
        self.sum();
        self.lanes[0].sum.subtract(before.sum());
        // Names the first place, whatever the threads met first.
        rows.check()?;
        Err(error)
    }

    /// Adds rows; which of them, where one is not finite.
    fn add(&mut self, rows: Incoming<'_>) -> (Vec<Range<usize>>, Result<()>) {
        let clip = self.lanes[0].sum.clip;
        let blocks = rows.n().div_ceil(BLOCK);
        let lanes = rayon::current_num_threads().min(blocks).max(1);
        while self.lanes.len() < lanes {
            self.lanes.push(Lane::new(clip));
        }
        let share = blocks.div_ceil(lanes) * BLOCK;
        let add = |(i, lane): (usize, &mut Lane)| {
            let [first, end] = [i, i + 1].map(|i| rows.n().min(i * share));
            let (taken, done) = lane.push(rows.slice(first..end));
            (first..first + taken, done)
        };
        let added: Vec<_> = if lanes == 1 {
            vec![add((0, &mut self.lanes[0]))]
        } else {
            self.lanes.par_iter_mut().enumerate().map(add).collect()
        };
        let (taken, done): (_, Vec<_>) = added.into_iter().unzip();
        (taken, done.into_iter().collect())
    }

    /// The sum of all rows.
    pub(crate) fn sum(&mut self) -> &ExactGram {
        self.lanes.iter_mut().for_each(Lane::settle);
        if let [first, others @ ..] = &mut self.lanes[..] {
            for lane in others {
                first.sum.add(&lane.sum);
                lane.sum.clear();
            }
        }
        &self.lanes[0].sum
    }

    /// The sum of all rows, which leaves none behind; the room of `spare` is used for the next.
    pub(crate) fn take(&mut self, spare: Option<ExactGram>) -> ExactGram {
        self.sum();
        let own = &mut self.lanes[0].sum;
        let mut empty = spare.unwrap_or_else(|| ExactGram::new(own.clip));
        empty.clear();
        core::mem::replace(own, empty)
    }

    /// As [`ExactGram::to_bytes`], of all rows so far.
    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        self.sum().to_bytes()
    }

    /// As [`ExactGram::add_bytes`].
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.lanes[0].sum.add_bytes(bytes)
    }

    /// Starts again without rows.
    pub(crate) fn clear(&mut self) {
        for lane in &mut self.lanes {
            lane.sum.clear();
            (lane.count, lane.multiplied) = (0, 0);
        }
    }
}

impl Lane {
    fn new(clip: RowClip) -> Self {
        let (sum, product) = (ExactGram::new(clip), Mat::new());
        Self { sum, waiting: Vec::new(), count: 0, strip: Vec::new(), product, multiplied: 0 }
    }

    /// Adds rows, up to one that is not finite; how many.
    fn push(&mut self, rows: Incoming<'_>) -> (usize, Result<()>) {
        let mut taken = 0;
        if let Some(Storage::F64(values)) = rows.view().map(|view| view.storage()) {
            let done = self.take(values, &mut taken);
            return (taken, done);
        }
        let mut strip = core::mem::take(&mut self.strip);
        let done = (0..rows.n()).step_by(STRIP).try_for_each(|first| {
            let rows = rows.slice(first..rows.n().min(first + STRIP));
            strip.resize(rows.n() * rows.d(), 0.0);
            rows.lay(&mut strip)?;
            self.take(&strip, &mut taken)
        });
        self.strip = strip;
        (taken, done)
    }

    /// As [`Lane::push`], of rows one after the other.
    fn take(&mut self, mut values: &[f64], taken: &mut usize) -> Result<()> {
        let (clip, d) = (self.sum.clip, self.sum.clip.columns());
        while !values.is_empty() {
            let most = (WAIT - self.count) * clip.dim();
            let rows = values.split_off(..values.len().min(most)).expect("within");
            let n = rows.len() / clip.dim();
            let end = (self.count + n) * d;
            if self.waiting.len() < end {
                self.waiting.resize(end, 0.0);
            }
            clip.quantise_rows(rows, &mut self.waiting[self.count * d..end])?;
            (self.count, *taken) = (self.count + n, *taken + n);
            if self.count == WAIT {
                self.multiply();
            }
        }
        Ok(())
    }

    /// Multiplies what waits.
    fn multiply(&mut self) {
        let d = self.sum.clip.columns();
        if self.multiplied + self.count > BLOCK {
            self.carry();
        }
        if self.product.ncols() == 0 {
            self.product = Mat::zeros(d, d);
        }
        let accum = if self.multiplied == 0 { Accum::Replace } else { Accum::Add };
        let q = MatRef::from_row_major_slice(&self.waiting[..self.count * d], self.count, d);
        dense::gram_into(self.product.as_mut(), accum, q);
        (self.multiplied, self.count) = (self.multiplied + self.count, 0);
    }

    /// Moves the products to the sum.
    fn carry(&mut self) {
        let d = self.sum.clip.columns();
        for (j, totals) in self.sum.total.chunks_mut(d).enumerate() {
            for (t, p) in totals[..=j].iter_mut().zip(self.product.col(j).iter()) {
                *t += i128::from(*p as i64);
            }
        }
        self.multiplied = 0;
    }

    /// Leaves nothing outside the sum.
    fn settle(&mut self) {
        if self.count > 0 {
            self.multiply();
        }
        if self.multiplied > 0 {
            self.carry();
        }
    }
}

/// `n as f64`, without the detour of wide integers where it is short.
fn to_f64(n: i128) -> f64 {
    i64::try_from(n).map_or(n as f64, |n| n as f64)
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
mod tests;
