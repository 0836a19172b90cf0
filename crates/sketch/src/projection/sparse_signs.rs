//! Projections whose nonzeros are all equal up to sign: OPORP, count-sketch, groups, sparse JL,
//! hashed copies, very sparse.

use super::apply::{OutputRange, Projection, check_apply};
use super::dense::{Cache, RowSource};
use super::lanes::{self, Entry, LaneKernel};
use super::norms::{self, up};
use super::spec::{Family, ProjectionSpec};
use super::tables::{SIGN, Signed, for_each_nonzero};
use crate::author::AUTHOR;
use crate::error::Result;
use crate::rows::{Columns, CsrView, RowsView, Storage};
use dp_core::EntryBound;
use dp_core::mechanism::author;
use rayon::prelude::*;

/// Rows of X that one task projects.
const ROWS_PER_TASK: usize = 128;
/// Dense rows projected together.
const LANES: usize = 8;
/// Sums of columns that are held at once: 128 KiB.
const SUMS: usize = 1 << 14;
/// Rows of more features than this are projected alone: a group would leave the cache.
const MOST_IN_LANES: usize = 1 << 14;

/// A sparse projection with nonzeros +-c, held as lists of signed places (8 bytes a nonzero).
///
/// Dense rows are gathered output by output, eight at a time; sparse and very long rows are
/// scattered entry by entry. Both add the terms of an output with columns increasing, so both
/// give the same bits.
#[derive(Debug)]
pub(super) struct SparseSigns {
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
#[inline(always)]
fn with_sign(value: f64, s: Signed) -> f64 {
    f64::from_bits(value.to_bits() ^ (u64::from(s & SIGN) << 32))
}

impl SparseSigns {
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
        let one_each =
            matches!(spec.family(), Family::Oporp | Family::CountSketch | Family::Grouped { .. });
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

    /// Exact sums of absolute values and of squares of the nonzeros of a row, unscaled: copies that
    /// fell on one place are added first.
    fn sums_of_row(&self, i: usize, places: &mut Vec<(u32, i64)>) -> (i64, i64) {
        let row = self.nonzeros(i);
        if !matches!(self.spec.family(), Family::HashedCopies { .. }) {
            return (row.len() as i64, row.len() as i64);
        }
        places.clear();
        for &s in row {
            let value = if s & SIGN == 0 { 1 } else { -1 };
            match places.iter_mut().find(|p| p.0 == s & !SIGN) {
                Some(p) => p.1 += value,
                None => places.push((s & !SIGN, value)),
            }
        }
        places.iter().fold((0, 0), |(a, b), p| (a + p.1.abs(), b + p.1 * p.1))
    }

    /// A norm of a row times the scale, rounded up.
    fn scaled(&self, sum: f64) -> f64 {
        if self.scale == 1.0 { sum } else { up(sum * self.scale) }
    }

    /// Largest row norms.
    fn measure(&mut self) {
        let (mut l1, mut squares, mut places) = (0, 0, Vec::new());
        for i in 0..self.spec.d() {
            let (a, b) = self.sums_of_row(i, &mut places);
            (l1, squares) = (l1.max(a), squares.max(b));
            self.widest_row = self.widest_row.max(self.nonzeros(i).len());
        }
        self.l1 = self.scaled(l1 as f64);
        self.l2 = self.scaled((squares as f64).sqrt());
    }

    fn largest_bin(&self) -> usize {
        let starts = core::iter::once(0).chain(self.output_ends.iter().copied());
        self.output_ends.iter().zip(starts).map(|(end, start)| end - start).max().unwrap_or(0)
    }

    /// One long dense row with one nonzero in each row of P: reads everything in order.
    fn scatter_dense<T: Entry>(&self, x: &[T], out: &mut [f64]) {
        out.fill(0.0);
        for (&x, &s) in x.iter().zip(&self.by_row) {
            out[(s & !SIGN) as usize] += with_sign(x.into(), s);
        }
    }

    /// The rows of one task.
    fn project(&self, rows: RowsView<'_>, out: &mut [f64]) {
        let (d, k) = (self.spec.d(), self.spec.k());
        let (long, one_each) = (d > MOST_IN_LANES, self.row_ends.is_empty());
        let outs = out.chunks_exact_mut(k);
        match rows.storage() {
            Storage::F64(x) if long && one_each => {
                x.chunks_exact(d).zip(outs).for_each(|(x, out)| self.scatter_dense(x, out));
            }
            Storage::F32(x) if long && one_each => {
                x.chunks_exact(d).zip(outs).for_each(|(x, out)| self.scatter_dense(x, out));
            }
            Storage::U8(x) if long && one_each => {
                x.chunks_exact(d).zip(outs).for_each(|(x, out)| self.scatter_dense(x, out));
            }
            Storage::F64(_) | Storage::F32(_) | Storage::U8(_) => {
                if long {
                    lanes::project_rows::<1>(&Gather(self), rows, out);
                } else {
                    lanes::project_rows::<LANES>(&Gather(self), rows, out);
                }
            }
            Storage::Columns(columns) => self.add_columns(columns, out),
            Storage::Bits(_) => {
                for (i, out) in outs.enumerate() {
                    self.scatter(|f| rows.for_each_entry(i, f), out);
                }
            }
            Storage::Csr(csr) => {
                outs.enumerate().for_each(|(i, out)| self.scatter_csr(csr, i, out));
            }
        }
    }

    /// One output after the other over some rows: its columns are added in their order, as everywhere.
    fn add_columns(&self, columns: Columns<'_>, out: &mut [f64]) {
        let k = self.spec.k();
        let rows = (SUMS / k).clamp(8, ROWS_PER_TASK).min(out.len() / k);
        let mut sums = vec![0.0; k * rows];
        for (strip, out) in out.chunks_mut(rows * k).enumerate() {
            let (first, count) = (strip * rows, out.len() / k);
            let sums = &mut sums[..k * count];
            sums.fill(0.0);
            pulp::Arch::new().dispatch(|| {
                let mut start = 0;
                for (sums, &end) in sums.chunks_exact_mut(count).zip(&self.output_ends) {
                    for &s in &self.by_output[start..end] {
                        let column = &columns.column((s & !SIGN) as usize)[first..first + count];
                        sums.iter_mut().zip(column).for_each(|(sum, &x)| *sum += with_sign(x, s));
                    }
                    start = end;
                }
            });
            let sums: Vec<&[f64]> = sums.chunks_exact(count).collect();
            Columns::new(count, &sums).copy(0, (0, k), out, f64::MAX);
            if self.scale != 1.0 {
                out.iter_mut().for_each(|out| *out *= self.scale);
            }
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

/// Sums over the lists of the outputs, L rows at a time.
struct Gather<'a>(&'a SparseSigns);

impl LaneKernel for Gather<'_> {
    type Tile<T: Entry> = T;

    fn tile_len(&self) -> usize {
        self.0.spec.d()
    }

    #[inline(always)]
    fn project<T: Entry, const L: usize>(
        &self,
        rows: [&[T]; L],
        tile: &mut [[T; L]],
        mut out: [&mut [f64]; L],
    ) {
        let p = self.0;
        lanes::transpose(rows, tile, |_, x| x);
        let mut start = 0;
        for (j, &end) in p.output_ends.iter().enumerate() {
            let mut sums = [0.0; L];
            for &s in &p.by_output[start..end] {
                let terms = tile[(s & !SIGN) as usize].map(|x| with_sign(x.into(), s));
                sums = lanes::add(sums, terms);
            }
            for (out, sum) in out.iter_mut().zip(sums) {
                out[j] = sum * p.scale;
            }
            start = end;
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

impl author::Sealed for SparseSigns {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Projection for SparseSigns {
    fn spec(&self) -> ProjectionSpec {
        self.spec
    }

    fn apply(&self, rows: RowsView<'_>, out: &mut [f64]) -> Result<()> {
        check_apply(self.spec, rows, out)?;
        let k = self.spec.k();
        out.par_chunks_mut(ROWS_PER_TASK * k).enumerate().for_each(|(task, out)| {
            let first = task * ROWS_PER_TASK;
            self.project(rows.slice(first..first + out.len() / k), out);
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

    fn row_l2(&self, coordinate: usize) -> Option<f64> {
        let differ = matches!(self.spec.family(), Family::VerySparse | Family::HashedCopies { .. });
        differ.then(|| {
            let (_, squares) = self.sums_of_row(coordinate, &mut Vec::new());
            self.scaled((squares as f64).sqrt())
        })
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

    fn output_range(&self, bound: EntryBound) -> OutputRange {
        let terms = self.largest_bin();
        let extra = if self.scale == 1.0 { 0 } else { 4 };
        OutputRange::of_sum(terms, extra, up(terms as f64 * bound.get() * self.scale))
    }

    fn touched_by_one_attribute(&self) -> usize {
        self.widest_row
    }
}
