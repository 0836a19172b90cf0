//! Rows whose features lie side by side.

use core::ops::Range;

/// One slice a feature, and some of their rows. `Debug` shows the number of columns only.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    columns: &'a [&'a [f64]],
    first: usize,
    n: usize,
}

impl core::fmt::Debug for Columns<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} columns", self.columns.len())
    }
}

impl<'a> Columns<'a> {
    pub(crate) fn new(n: usize, columns: &'a [&'a [f64]]) -> Self {
        Self { columns, first: 0, n }
    }

    /// Some of these rows.
    pub(crate) fn slice(&self, rows: Range<usize>) -> Self {
        Self { first: self.first + rows.start, n: rows.len(), ..*self }
    }

    /// The values of one feature.
    #[must_use]
    pub fn column(&self, column: usize) -> &'a [f64] {
        &self.columns[column][self.first..self.first + self.n]
    }

    /// Number of rows, and of columns.
    pub(crate) fn shape(&self) -> (usize, usize) {
        (self.n, self.columns.len())
    }

    /// Row and column of the first value without a property, row after row.
    pub(crate) fn first_without(&self, property: impl Fn(f64) -> bool) -> Option<(usize, usize)> {
        let columns = 0..self.columns.len();
        // Whole columns first, so that the test vectorises.
        let fine = |c| self.column(c).iter().fold(true, |fine, &x| fine & property(x));
        if pulp::Arch::new().dispatch(|| columns.clone().all(fine)) {
            return None;
        }
        let first = |c| self.column(c).iter().position(|&x| !property(x)).map(|row| (row, c));
        columns.filter_map(first).min()
    }

    /// Writes `width` columns from one on, row after row, by squares of eight lines of the cache.
    pub(crate) fn copy(&self, first: usize, (from, width): (usize, usize), out: &mut [f64]) {
        // Pages of some rows at a time, which the processor has at hand.
        const STRIP: usize = 64;
        let copy = |strip: usize, out: &mut [f64]| {
            let (first, count) = (self.first + first + strip * STRIP, out.len() / width);
            for (group, columns) in self.columns[from..from + width].chunks(8).enumerate() {
                let cut = |column: &'a [f64]| &column[first..first + count];
                let mut done = 0;
                if let Ok(eight) = <[&[f64]; 8]>::try_from(columns) {
                    let eight = eight.map(|column| cut(column).as_chunks::<8>().0);
                    for (square, out) in out.chunks_exact_mut(8 * width).enumerate() {
                        let mut lines = [[0.0; 8]; 8];
                        for (c, column) in eight.iter().enumerate() {
                            lines.iter_mut().zip(column[square]).for_each(|(line, x)| line[c] = x);
                        }
                        for (row, line) in out.chunks_exact_mut(width).zip(&lines) {
                            row[8 * group..8 * group + 8].copy_from_slice(line);
                        }
                    }
                    done = count / 8 * 8;
                }
                for (i, row) in out.chunks_exact_mut(width).enumerate().skip(done) {
                    let line = &mut row[8 * group..];
                    line.iter_mut().zip(columns).for_each(|(o, column)| *o = cut(column)[i]);
                }
            }
        };
        pulp::Arch::new().dispatch(|| {
            out.chunks_mut(STRIP * width).enumerate().for_each(|(strip, out)| copy(strip, out));
        });
    }
}
