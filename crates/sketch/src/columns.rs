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

    /// Writes `width` columns from one on, row after row, and says whether each number is at most `most`.
    pub(crate) fn copy(
        &self,
        first: usize,
        (from, width): (usize, usize),
        out: &mut [f64],
        most: f64,
    ) -> bool {
        let (columns, first) = (&self.columns[from..from + width], self.first + first);
        Strip { columns, first, out, most }.copy()
    }
}

/// Rows of some columns from one on, where they go, row after row, and what each number is at most.
struct Strip<'a, 'b> {
    columns: &'a [&'a [f64]],
    first: usize,
    out: &'b mut [f64],
    most: f64,
}

impl Strip<'_, '_> {
    fn copy(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = pulp::x86::V3::try_new() {
            return wide.vectorize(Wide(wide, self));
        }
        self.copy_from(0, 0)
    }

    /// Those beyond some rows and columns that are written already.
    #[inline(always)]
    fn copy_from(self, rows: usize, columns: usize) -> bool {
        let (width, mut fine) = (self.columns.len(), true);
        for (i, row) in self.out.chunks_exact_mut(width).enumerate() {
            let done = if i < rows { columns } else { 0 };
            for (o, column) in row[done..].iter_mut().zip(&self.columns[done..]) {
                *o = column[self.first + i];
                // What is no number is not at most anything.
                fine &= o.abs() <= self.most;
            }
        }
        fine
    }
}

/// `_MM_HINT_T0`.
#[cfg(target_arch = "x86_64")]
const TO_ALL_CACHES: i32 = 3;

/// By squares of four, two of them a line of the cache, across all columns before the next rows; the next line of each column is fetched
/// meanwhile, since there are more columns than the processor follows by itself.
#[cfg(target_arch = "x86_64")]
struct Wide<'a, 'b>(pulp::x86::V3, Strip<'a, 'b>);

#[cfg(target_arch = "x86_64")]
impl pulp::NullaryFnOnce for Wide<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        use pulp::Simd;
        use pulp::x86::V3;
        let Self(wide, strip) = self;
        let width = strip.columns.len();
        let most = wide.splat_f64s(strip.most);
        let at_most = |x| wide.less_than_or_equal_f64s(wide.abs_f64s(x), most);
        let mut fine = at_most(wide.splat_f64s(0.0));
        for (four, out) in strip.out.chunks_exact_mut(4 * width).enumerate() {
            let at = strip.first + 4 * four;
            for (group, columns) in strip.columns.as_chunks::<8>().0.iter().enumerate() {
                if four % 2 == 0 {
                    for column in columns {
                        let line = column.as_ptr().wrapping_add(at + 8);
                        wide.sse._mm_prefetch::<TO_ALL_CACHES>(line.cast());
                    }
                }
                let [a, b, c, d, e, f, g, h] =
                    columns.map(|column| V3::as_simd_f64s(&column[at..at + 4]).0[0]);
                // Pair by pair: an iterator over all of them would go through memory.
                for [x, y] in [[a, b], [c, d], [e, f], [g, h]] {
                    fine = wide.and_m64s(fine, wide.and_m64s(at_most(x), at_most(y)));
                }
                let left = wide.deinterleave_shfl_f64s([a, b, c, d]);
                let right = wide.deinterleave_shfl_f64s([e, f, g, h]);
                for (row, pair) in out.chunks_exact_mut(width).zip(left.into_iter().zip(right)) {
                    let row = &mut row[8 * group..8 * group + 8];
                    let row = V3::as_mut_simd_f64s(row).0;
                    (row[0], row[1]) = pair;
                }
            }
        }
        let fine = wide.first_true_m64s(wide.not_m64s(fine)) == V3::F64_LANES;
        let count = strip.out.len() / width;
        strip.copy_from(count / 4 * 4, width / 8 * 8) & fine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With wide instructions and without, whatever is left beside squares of four: the same rows, and one number that is
    /// no number or beyond the bound is seen at every place.
    #[test]
    fn rows_are_laid_and_checked_alike_with_and_without_wide_instructions() {
        for (n, width) in [(1, 1), (3, 9), (4, 8), (7, 17), (64, 24), (70, 5), (270, 11)] {
            let value = |row: usize, column: usize| (row * width + column) as f64 - 20.5;
            let mut beside: Vec<Vec<f64>> =
                (0..width).map(|c| (0..n + 2).map(|r| value(r, c)).collect()).collect();
            let most = value(n + 1, width - 1).abs().max(20.5);
            let laid = |beside: &[Vec<f64>]| {
                let slices: Vec<&[f64]> = beside.iter().map(Vec::as_slice).collect();
                let (mut wide, mut plain) = (vec![f64::NAN; n * width], vec![f64::NAN; n * width]);
                let columns = Columns::new(n + 2, &slices).slice(1..n + 2);
                let fine = columns.copy(0, (0, width), &mut wide, most);
                let strip = Strip { columns: &slices, first: 1, out: &mut plain, most };
                assert_eq!(strip.copy_from(0, 0), fine, "{n} x {width}");
                (fine, wide, plain)
            };
            let (fine, wide, plain) = laid(&beside);
            let expected: Vec<f64> =
                (0..n * width).map(|at| value(1 + at / width, at % width)).collect();
            assert!(fine && wide == expected && plain == expected, "{n} x {width}");
            // What is not copied is not looked at.
            (beside[0][0], beside[width - 1][n + 1]) = (f64::NAN, f64::INFINITY);
            assert!(laid(&beside).0);
            for at in 0..n * width {
                let (row, column) = (1 + at / width, at % width);
                for bad in [f64::NAN, f64::INFINITY, -1.01 * most] {
                    let kept = core::mem::replace(&mut beside[column][row], bad);
                    assert!(!laid(&beside).0, "{bad} at {row}, {column} of {n} x {width}");
                    beside[column][row] = kept;
                }
            }
            beside[0][1] = -most;
            assert!(laid(&beside).0, "the bound itself is allowed");
        }
    }
}
