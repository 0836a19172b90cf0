//! Projections whose nonzeros are all equal up to sign: OPORP, count-sketch, sparse JL,
//! hashed copies, very sparse.

use super::dense::{Cache, RowSource};
use super::norms::{self, up};
use super::tables::{SIGN, Signed, for_each_nonzero};
use super::{Family, OutputRange, Projection, ProjectionSpec, check_apply};
use crate::error::Result;
use crate::rows::{CsrView, RowsView, Storage};
use dp_core::{Bound, PublicSeed};
use rayon::prelude::*;

/// Rows of X that one task projects.
const ROWS_PER_TASK: usize = 128;

/// A sparse projection with nonzeros +-c, held as lists of signed places (8 bytes a nonzero).
///
/// Dense rows are gathered output by output, sparse rows scattered entry by entry; both
/// add the terms of an output with columns increasing, so both give the same bits.
#[derive(Debug)]
pub struct SparseSigns {
    spec: ProjectionSpec,
    scale: f64,
    /// Nonzeros of row i of P: `by_row[row_ends[i-1]..row_ends[i]]`; one each when `row_ends` is empty.
    by_row: Vec<Signed>,
    row_ends: Vec<usize>,
    /// Signed input coordinates of output j, coordinates increasing.
    by_output: Vec<Signed>,
    output_ends: Vec<usize>,
    l1: f64,
    l2: f64,
    widest_row: usize,
}

/// `value`, negated when the nonzero is negative.
fn with_sign(value: f64, s: Signed) -> f64 {
    f64::from_bits(value.to_bits() ^ (u64::from(s & SIGN) << 32))
}

impl SparseSigns {
    /// OPORP: one permutation, k bins of equal length, random signs.
    ///
    /// # Errors
    /// As [`ProjectionSpec::new`].
    pub fn oporp(d: usize, k: usize, seed: PublicSeed) -> Result<Self> {
        ProjectionSpec::new(Family::Oporp, d, k, seed).map(Self::from_spec)
    }

    /// Count-sketch: every coordinate in an independent bin.
    ///
    /// # Errors
    /// As [`ProjectionSpec::new`].
    pub fn count_sketch(d: usize, k: usize, seed: PublicSeed) -> Result<Self> {
        ProjectionSpec::new(Family::CountSketch, d, k, seed).map(Self::from_spec)
    }

    pub(crate) fn from_spec(spec: ProjectionSpec) -> Self {
        let (d, k) = (spec.d(), spec.k());
        let root = |x: f64| 1.0 / x.sqrt();
        let scale = match spec.family() {
            Family::SparseJl { nonzeros: s } | Family::HashedCopies { copies: s } => {
                root(f64::from(s))
            }
            Family::VerySparse => root(k as f64 / (d as f64).sqrt()),
            _ => 1.0,
        };
        let one_each = matches!(spec.family(), Family::Oporp | Family::CountSketch);
        let (mut by_row, mut row_ends) = (Vec::with_capacity(d), Vec::new());
        for_each_nonzero(spec, |i, s| {
            if !one_each {
                row_ends.resize(i, by_row.len());
            }
            by_row.push(s);
        });
        if !one_each {
            row_ends.resize(d, by_row.len());
        }
        let mut made = Self {
            spec,
            scale,
            by_row,
            row_ends,
            by_output: Vec::new(),
            output_ends: vec![0; k],
            l1: 0.0,
            l2: 0.0,
            widest_row: 0,
        };
        made.transpose();
        made.measure();
        made
    }

    fn nonzeros(&self, row: usize) -> &[Signed] {
        match self.row_ends.get(row) {
            None => &self.by_row[row..=row],
            Some(&end) => &self.by_row[if row == 0 { 0 } else { self.row_ends[row - 1] }..end],
        }
    }

    fn transpose(&mut self) {
        let mut next = vec![0usize; self.spec.k() + 1];
        for s in &self.by_row {
            next[(s & !SIGN) as usize + 1] += 1;
        }
        for j in 0..self.spec.k() {
            next[j + 1] += next[j];
        }
        self.output_ends.copy_from_slice(&next[1..]);
        let mut by_output = vec![0; self.by_row.len()];
        for i in 0..self.spec.d() {
            for &s in self.nonzeros(i) {
                let place = &mut next[(s & !SIGN) as usize];
                by_output[*place] = i as u32 | s & SIGN;
                *place += 1;
            }
        }
        self.by_output = by_output;
    }

    /// Exact row norms: copies that fell on one place are added first.
    fn measure(&mut self) {
        let (mut l1, mut squares, mut widest) = (0i64, 0i64, 0);
        let merge = matches!(self.spec.family(), Family::HashedCopies { .. });
        let mut places: Vec<(u32, i64)> = Vec::new();
        for i in 0..self.spec.d() {
            let row = self.nonzeros(i);
            let count = row.len() as i64;
            let (a, b) = if merge {
                places.clear();
                for &s in row {
                    let value = if s & SIGN == 0 { 1 } else { -1 };
                    match places.iter_mut().find(|p| p.0 == s & !SIGN) {
                        Some(p) => p.1 += value,
                        None => places.push((s & !SIGN, value)),
                    }
                }
                places.iter().fold((0, 0), |(a, b), p| (a + p.1.abs(), b + p.1 * p.1))
            } else {
                (count, count)
            };
            l1 = l1.max(a);
            squares = squares.max(b);
            widest = widest.max(row.len());
        }
        let exact = self.scale == 1.0;
        self.l1 = if exact { l1 as f64 } else { up(l1 as f64 * self.scale) };
        self.l2 =
            if exact { (squares as f64).sqrt() } else { up((squares as f64).sqrt() * self.scale) };
        self.widest_row = widest;
    }

    fn largest_bin(&self) -> usize {
        let starts = core::iter::once(0).chain(self.output_ends.iter().copied());
        self.output_ends.iter().zip(starts).map(|(end, start)| end - start).max().unwrap_or(0)
    }

    /// One dense row. With one nonzero in each row of P a scatter over the inputs reads
    /// everything in order; with more, a gather over the outputs writes everything once.
    fn dense_row<T: Copy + Into<f64>>(&self, x: &[T], out: &mut [f64]) {
        if self.row_ends.is_empty() {
            out.fill(0.0);
            for (&x, &s) in x.iter().zip(&self.by_row) {
                let value: f64 = x.into();
                out[(s & !SIGN) as usize] += with_sign(value, s);
            }
            return;
        }
        let mut start = 0;
        for (o, &end) in out.iter_mut().zip(&self.output_ends) {
            let mut sum = 0.0;
            for &s in &self.by_output[start..end] {
                sum += with_sign(x[(s & !SIGN) as usize].into(), s);
            }
            *o = sum * self.scale;
            start = end;
        }
    }

    fn scatter(&self, mut entries: impl FnMut(&mut dyn FnMut(usize, f64)), out: &mut [f64]) {
        out.fill(0.0);
        entries(&mut |c, x| {
            for &s in self.nonzeros(c) {
                out[(s & !SIGN) as usize] += with_sign(x, s);
            }
        });
        if self.scale != 1.0 {
            out.iter_mut().for_each(|o| *o *= self.scale);
        }
    }

    fn scatter_csr(&self, csr: CsrView<'_>, row: usize, out: &mut [f64]) {
        out.fill(0.0);
        let (columns, values) = csr.row(row);
        if self.row_ends.is_empty() {
            for (&c, &x) in columns.iter().zip(values) {
                let s = self.by_row[c as usize];
                out[(s & !SIGN) as usize] += with_sign(x, s);
            }
        } else {
            self.scatter(|f| columns.iter().zip(values).for_each(|(&c, &x)| f(c as usize, x)), out);
        }
    }
}

impl RowSource for SparseSigns {
    fn d(&self) -> usize {
        self.spec.d()
    }
    fn k(&self) -> usize {
        self.spec.k()
    }
    fn fill(&self, coordinate: usize, out: &mut [f64]) {
        self.scatter(|f| f(coordinate, 1.0), out);
    }
}

impl Projection for SparseSigns {
    fn spec(&self) -> ProjectionSpec {
        self.spec
    }

    fn apply(&self, rows: RowsView<'_>, out: &mut [f64]) -> Result<()> {
        check_apply(self.spec, rows, out)?;
        let (d, k) = (self.spec.d(), self.spec.k());
        out.par_chunks_mut(ROWS_PER_TASK * k).enumerate().for_each(|(task, block)| {
            for (i, out) in block.chunks_exact_mut(k).enumerate() {
                let row = task * ROWS_PER_TASK + i;
                let cut = row * d..(row + 1) * d;
                match rows.storage() {
                    Storage::F64(x) => self.dense_row(&x[cut], out),
                    Storage::F32(x) => self.dense_row(&x[cut], out),
                    Storage::U8(x) => self.dense_row(&x[cut], out),
                    Storage::Bits(_) => self.scatter(|f| rows.for_each_entry(row, f), out),
                    Storage::Csr(csr) => self.scatter_csr(csr, row, out),
                }
            }
        });
        Ok(())
    }

    fn row(&self, coordinate: usize, out: &mut [f64]) {
        assert!(coordinate < self.spec.d() && out.len() == self.spec.k(), "a row of P");
        self.fill(coordinate, out);
    }

    fn max_row_l2(&self) -> f64 {
        self.l2
    }

    fn max_row_l1(&self) -> f64 {
        self.l1
    }

    fn spectral_norm_bound(&self) -> Result<f64> {
        if self.row_ends.is_empty() {
            // Columns of P have disjoint supports: the norm is that of the fullest bin.
            Ok(up((self.largest_bin() as f64).sqrt()))
        } else {
            norms::spectral_norm_bound(self, &Cache::new(), 1.0)
        }
    }

    fn output_range(&self, bound: Bound) -> OutputRange {
        let terms = self.largest_bin();
        let extra = if self.scale == 1.0 { 0 } else { 4 };
        OutputRange::of_sum(terms, extra, up(terms as f64 * bound.get() * self.scale))
    }

    fn touched_by_one_attribute(&self) -> usize {
        self.widest_row
    }
}
