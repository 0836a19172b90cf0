//! Views of the rows that go into a mechanism, validated once.

pub use crate::columns::Columns;
use crate::error::{Error, Result};
pub use crate::incoming::Incoming;
use core::ops::Range;
use dp_core::{EntryBound, NormBound};

/// n rows of d features, borrowed: dense `f64`, `f32`, `u8`, packed bits, columns side by side, or sparse (CSR).
///
/// Every constructor checks the shape and refuses NaN and infinity, naming row and
/// column but not the value. `Debug` shows the shape only: rows are private.
///
/// **A slice does not tell its order.** Dense constructors read row after row, one person or item a row. A
/// column-major array, or n and d exchanged, has the same length: where d is not the projection's the
/// mechanism refuses it, but a square or transposed array of the right shape is read as other
/// rows, each mixed from several people, and then a guarantee about a row protects no person.
#[derive(Clone, Copy)]
pub struct RowsView<'a> {
    n: usize,
    d: usize,
    storage: Storage<'a>,
}

impl core::fmt::Debug for RowsView<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { n, d, storage } = self;
        f.debug_struct("RowsView").field("n", n).field("d", d).field("storage", storage).finish()
    }
}

/// How the rows of a [`RowsView`] are stored. `Debug` shows the kind and the length only.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Storage<'a> {
    /// n x d numbers, row after row.
    F64(&'a [f64]),
    /// n x d numbers, row after row.
    F32(&'a [f32]),
    /// n x d small integers, row after row.
    U8(&'a [u8]),
    /// n rows of `ceil(d/64)` words; feature i is bit `i % 64` of word `i / 64`.
    Bits(&'a [u64]),
    /// Compressed sparse rows.
    Csr(CsrView<'a>),
    /// Columns side by side.
    Columns(Columns<'a>),
}

impl core::fmt::Debug for Storage<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (kind, len) = match self {
            Self::F64(v) => ("f64", v.len()),
            Self::F32(v) => ("f32", v.len()),
            Self::U8(v) => ("u8", v.len()),
            Self::Bits(v) => ("words of bits", v.len()),
            Self::Csr(csr) => return csr.fmt(f),
            Self::Columns(columns) => return columns.fmt(f),
        };
        write!(f, "{len} {kind}")
    }
}

/// Compressed sparse rows: row i holds the entries `offsets[i]..offsets[i + 1]`.
/// `Debug` shows the number of entries only.
#[derive(Clone, Copy)]
pub struct CsrView<'a> {
    /// n + 1 offsets into the other two.
    pub offsets: &'a [usize],
    /// Columns, strictly increasing in each row.
    pub columns: &'a [u32],
    /// Values.
    pub values: &'a [f64],
}

impl core::fmt::Debug for CsrView<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} sparse entries", self.values.len())
    }
}

impl<'a> CsrView<'a> {
    /// Columns and values of one row.
    #[must_use]
    pub fn row(&self, row: usize) -> (&'a [u32], &'a [f64]) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }
}

fn check_length(what: &'static str, found: usize, n: usize, width: usize) -> Result<()> {
    match n.checked_mul(width) {
        Some(expected) if expected == found => Ok(()),
        Some(expected) => Err(Error::Length { what, expected, found }),
        None => Err(Error::invalid("n", n, "such that n d fits in memory")),
    }
}

/// The first value with a property; blocks are tested whole, so that the test vectorises.
fn position<T: Copy>(values: &[T], property: impl Fn(T) -> bool) -> Option<usize> {
    const BLOCK: usize = 512;
    pulp::Arch::new().dispatch(|| {
        let block = values
            .chunks(BLOCK)
            .position(|block| block.iter().fold(false, |any, &x| any | property(x)))?;
        values[block * BLOCK..].iter().position(|&x| property(x)).map(|i| block * BLOCK + i)
    })
}

fn check_features(d: usize) -> Result<()> {
    if (1..=u32::MAX as usize).contains(&d) {
        Ok(())
    } else {
        Err(Error::invalid("d", d, "[1, 2^32)"))
    }
}

/// Columns of one length, whose numbers nobody has looked at.
pub(crate) fn side_by_side<'a>(n: usize, columns: &'a [&'a [f64]]) -> Result<Columns<'a>> {
    check_features(columns.len())?;
    for column in columns {
        check_length("a column", column.len(), n, 1)?;
    }
    Ok(Columns::new(n, columns))
}

impl<'a> RowsView<'a> {
    /// Dense rows of `f64`, row after row.
    ///
    /// # Errors
    /// [`Error::Length`] for a wrong length, [`Error::NotFinite`], or an invalid d.
    pub fn f64(n: usize, d: usize, values: &'a [f64]) -> Result<Self> {
        check_features(d)?;
        check_length("rows", values.len(), n, d)?;
        match position(values, |v| !v.is_finite()) {
            Some(at) => Err(Error::NotFinite { row: at / d, column: at % d }),
            None => Ok(Self { n, d, storage: Storage::F64(values) }),
        }
    }

    /// Dense rows of `f32`, row after row.
    ///
    /// # Errors
    /// As [`RowsView::f64`].
    pub fn f32(n: usize, d: usize, values: &'a [f32]) -> Result<Self> {
        check_features(d)?;
        check_length("rows", values.len(), n, d)?;
        match position(values, |v| !v.is_finite()) {
            Some(at) => Err(Error::NotFinite { row: at / d, column: at % d }),
            None => Ok(Self { n, d, storage: Storage::F32(values) }),
        }
    }

    /// Dense rows of bytes (for example pixels), row after row.
    ///
    /// # Errors
    /// [`Error::Length`] for a wrong length, or an invalid d.
    pub fn u8(n: usize, d: usize, values: &'a [u8]) -> Result<Self> {
        check_features(d)?;
        check_length("rows", values.len(), n, d)?;
        Ok(Self { n, d, storage: Storage::U8(values) })
    }

    /// Rows of bits: `ceil(d/64)` words a row, feature i in bit `i % 64` of word `i / 64`.
    ///
    /// # Errors
    /// [`Error::Length`] for a wrong length, an invalid d, or a bit set beyond feature d.
    pub fn bits(n: usize, d: usize, words: &'a [u64]) -> Result<Self> {
        check_features(d)?;
        let width = d.div_ceil(64);
        check_length("rows", words.len(), n, width)?;
        let spare = width * 64 - d;
        if spare > 0 {
            let stray =
                words.chunks_exact(width).position(|row| row[width - 1] >> (64 - spare) != 0);
            if let Some(row) = stray {
                return Err(Error::Sparse { row, reason: "a bit beyond the last feature is set" });
            }
        }
        Ok(Self { n, d, storage: Storage::Bits(words) })
    }

    /// Sparse rows in CSR form; columns strictly increasing in each row.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Sparse`], [`Error::NotFinite`], or an invalid d.
    pub fn csr(n: usize, d: usize, csr: CsrView<'a>) -> Result<Self> {
        check_features(d)?;
        let Some(ends) = n.checked_add(1) else {
            return Err(Error::invalid("n", n, "such that n + 1 offsets fit in memory"));
        };
        check_length("offsets", csr.offsets.len(), ends, 1)?;
        check_length("columns", csr.columns.len(), csr.values.len(), 1)?;
        if csr.offsets[0] != 0 || csr.offsets[n] != csr.values.len() {
            return Err(Error::Sparse {
                row: 0,
                reason: "offsets must run from 0 to the number of entries",
            });
        }
        for row in 0..n {
            if csr.offsets[row] > csr.offsets[row + 1] || csr.offsets[row + 1] > csr.values.len() {
                return Err(Error::Sparse { row, reason: "offsets must not decrease" });
            }
            let (columns, values) = csr.row(row);
            if columns.windows(2).any(|w| w[0] >= w[1]) {
                return Err(Error::Sparse { row, reason: "columns must increase strictly" });
            }
            if columns.last().is_some_and(|&c| c as usize >= d) {
                return Err(Error::Sparse { row, reason: "a column is at least d" });
            }
            if let Some(at) = values.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { row, column: columns[at] as usize });
            }
        }
        Ok(Self { n, d, storage: Storage::Csr(csr) })
    }

    /// Rows whose features lie side by side, as tables hold them: one slice of n numbers a feature.
    ///
    /// # Errors
    /// As [`RowsView::f64`].
    pub fn columns(n: usize, columns: &'a [&'a [f64]]) -> Result<Self> {
        Self::checked(side_by_side(n, columns)?, None)
    }

    /// Columns whose numbers are finite and, where there is a bound, at most that.
    pub(crate) fn checked(columns: Columns<'a>, bound: Option<EntryBound>) -> Result<Self> {
        let most = bound.map_or(f64::MAX, EntryBound::get);
        // What is no number is not at most anything.
        let Some((row, column)) = columns.first_without(|x| x.abs() <= most) else {
            let (n, d) = columns.shape();
            return Ok(Self { n, d, storage: Storage::Columns(columns) });
        };
        Err(match bound {
            Some(bound) if columns.column(column)[row].is_finite() => {
                Error::OutOfRange { row, column, bound }
            }
            _ => Error::NotFinite { row, column },
        })
    }

    /// Rows that were checked on their way here, one after the other.
    pub(crate) fn laid(n: usize, d: usize, values: &'a [f64]) -> Self {
        Self { n, d, storage: Storage::F64(values) }
    }

    /// Number of rows.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of features.
    #[must_use]
    pub fn d(&self) -> usize {
        self.d
    }

    /// How the rows are stored.
    #[must_use]
    pub fn storage(&self) -> Storage<'a> {
        self.storage
    }

    /// The rows of a range, without copying.
    ///
    /// # Panics
    /// When the range leaves the view.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.n, "row range inside the view");
        let cut = |width: usize| rows.start * width..rows.end * width;
        let storage = match self.storage {
            Storage::F64(v) => Storage::F64(&v[cut(self.d)]),
            Storage::F32(v) => Storage::F32(&v[cut(self.d)]),
            Storage::U8(v) => Storage::U8(&v[cut(self.d)]),
            Storage::Bits(v) => Storage::Bits(&v[cut(self.d.div_ceil(64))]),
            Storage::Csr(csr) => {
                Storage::Csr(CsrView { offsets: &csr.offsets[rows.start..=rows.end], ..csr })
            }
            Storage::Columns(all) => Storage::Columns(all.slice(rows.clone())),
        };
        Self { n: rows.len(), d: self.d, storage }
    }

    /// Calls `f(column, value)` for the stored entries of a row, columns increasing;
    /// zeros of sparse rows and of bits are skipped.
    ///
    /// # Panics
    /// When the row does not exist.
    pub fn for_each_entry(&self, row: usize, mut f: impl FnMut(usize, f64)) {
        assert!(row < self.n, "row {row} of {}", self.n);
        let cut = row * self.d..(row + 1) * self.d;
        match self.storage {
            Storage::F64(v) => v[cut].iter().enumerate().for_each(|(c, &x)| f(c, x)),
            Storage::F32(v) => v[cut].iter().enumerate().for_each(|(c, &x)| f(c, f64::from(x))),
            Storage::U8(v) => v[cut].iter().enumerate().for_each(|(c, &x)| f(c, f64::from(x))),
            Storage::Bits(v) => {
                let width = self.d.div_ceil(64);
                for (w, &word) in v[row * width..(row + 1) * width].iter().enumerate() {
                    let mut rest = word;
                    while rest != 0 {
                        f(w * 64 + rest.trailing_zeros() as usize, 1.0);
                        rest &= rest - 1;
                    }
                }
            }
            Storage::Csr(csr) => {
                let (columns, values) = csr.row(row);
                columns.iter().zip(values).for_each(|(&c, &x)| f(c as usize, x));
            }
            Storage::Columns(all) => {
                (0..self.d).for_each(|c| f(c, all.column(c)[row]));
            }
        }
    }

    /// Writes columns `from..from + out.len()` of a row as dense `f64`.
    ///
    /// # Panics
    /// When row or columns do not exist.
    pub fn copy_columns(&self, row: usize, from: usize, out: &mut [f64]) {
        assert!(row < self.n && from + out.len() <= self.d, "row and columns inside the view");
        let cut = row * self.d + from..row * self.d + from + out.len();
        match self.storage {
            Storage::F64(v) => out.copy_from_slice(&v[cut]),
            Storage::F32(v) => out.iter_mut().zip(&v[cut]).for_each(|(o, &x)| *o = f64::from(x)),
            Storage::U8(v) => out.iter_mut().zip(&v[cut]).for_each(|(o, &x)| *o = f64::from(x)),
            Storage::Bits(v) => {
                let words = &v[row * self.d.div_ceil(64)..];
                for (c, o) in (from..).zip(out) {
                    *o = (words[c / 64] >> (c % 64) & 1) as f64;
                }
            }
            Storage::Csr(csr) => {
                out.fill(0.0);
                let (columns, values) = csr.row(row);
                let first = columns.partition_point(|&c| (c as usize) < from);
                for (&c, &x) in columns[first..].iter().zip(&values[first..]) {
                    match out.get_mut(c as usize - from) {
                        Some(o) => *o = x,
                        None => break,
                    }
                }
            }
            Storage::Columns(all) => {
                all.copy(row, (from, out.len()), out, f64::MAX);
            }
        }
    }

    /// Writes columns `from..from + width` of rows from `first` on as dense `f64`, row after row, until `out` is full.
    ///
    /// # Panics
    /// When rows or columns do not exist or `out` is no whole number of rows.
    pub fn copy_block(&self, first: usize, from: usize, width: usize, out: &mut [f64]) {
        assert!(out.len().is_multiple_of(width), "whole rows");
        let n = out.len() / width;
        assert!(first + n <= self.n && from + width <= self.d, "a block inside the view");
        match self.storage {
            Storage::Columns(all) => {
                all.copy(first, (from, width), out, f64::MAX);
            }
            _ => {
                for (i, row) in out.chunks_exact_mut(width).enumerate() {
                    self.copy_columns(first + i, from, row);
                }
            }
        }
    }

    /// One row as dense `f64`.
    ///
    /// # Panics
    /// When the row does not exist or `out` does not have length d.
    pub fn copy_row(&self, row: usize, out: &mut [f64]) {
        assert_eq!(out.len(), self.d, "out has d entries");
        self.copy_columns(row, 0, out);
    }

    /// Refuses values of absolute value above `bound`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] naming the first such value's place.
    pub fn check_bound(&self, bound: EntryBound) -> Result<()> {
        let (b, d) = (bound.get(), self.d);
        let at = match self.storage {
            Storage::F64(v) => position(v, |x| x.abs() > b).map(|i| (i / d, i % d)),
            Storage::F32(v) => position(v, |x| f64::from(x.abs()) > b).map(|i| (i / d, i % d)),
            Storage::U8(v) if b < 255.0 => {
                position(v, |x| f64::from(x) > b).map(|i| (i / d, i % d))
            }
            Storage::U8(_) => None,
            Storage::Columns(all) => all.first_without(|x| x.abs() <= b),
            Storage::Bits(_) if b >= 1.0 => None,
            Storage::Bits(_) | Storage::Csr(_) => (0..self.n).find_map(|row| {
                let mut first = None;
                self.for_each_entry(row, |column, x| {
                    if x.abs() > b && first.is_none() {
                        first = Some((row, column));
                    }
                });
                first
            }),
        };
        match at {
            Some((row, column)) => Err(Error::OutOfRange { row, column, bound }),
            None => Ok(()),
        }
    }

    /// Refuses rows of l2 norm above `bound`.
    ///
    /// # Errors
    /// [`Error::NormOutOfRange`] naming the first such row.
    pub fn check_norms(&self, bound: NormBound) -> Result<()> {
        match (0..self.n).find(|&row| self.norm_is_above(row, bound.get())) {
            Some(row) => Err(Error::NormOutOfRange { row, bound }),
            None => Ok(()),
        }
    }

    /// Whether the computed norm of a row is above `bound (1 + NORM_SLACK)`. When it is not, the
    /// norm is at most `bound (1 + 2 NORM_SLACK)`: docs/proofs/private-projection.md, "Norms of rows".
    fn norm_is_above(&self, row: usize, bound: f64) -> bool {
        let (norm, bound) = self.norm_beside(row, bound);
        norm > bound * (1.0 + NORM_SLACK)
    }

    /// Whether the computed norm of a row is below `bound`.
    pub(crate) fn norm_is_below(&self, row: usize, bound: f64) -> bool {
        let (norm, bound) = self.norm_beside(row, bound);
        norm < bound
    }

    /// The computed norm of a row and a bound, in units in which no sum of squares leaves the range of double
    /// precision: one, or the row's largest entry.
    fn norm_beside(&self, row: usize, bound: f64) -> (f64, f64) {
        let squares = self.sum_of_squares(row, |x| x);
        if (LEAST_SQUARES..f64::INFINITY).contains(&squares) {
            return (squares.sqrt(), bound);
        }
        let mut largest = 0f64;
        self.for_each_entry(row, |_, x| largest = largest.max(x.abs()));
        if largest > 0.0 {
            (self.sum_of_squares(row, |x| x / largest).sqrt(), bound / largest)
        } else {
            (0.0, bound)
        }
    }

    /// Sum of the squares of a row, in blocks of 2^16 entries.
    fn sum_of_squares(&self, row: usize, scale: impl Fn(f64) -> f64) -> f64 {
        let (mut sum, mut block, mut held) = (0.0, 0.0, 0);
        self.for_each_entry(row, |_, x| {
            let x = scale(x);
            block += x * x;
            held += 1;
            if held == 1 << 16 {
                sum += block;
                (block, held) = (0.0, 0);
            }
        });
        sum + block
    }
}

/// Rows of k numbers that share one noise stream. Releases in memory and to a file use
/// the same blocks, so they give the same numbers from the same generator.
pub(crate) fn block_rows(k: usize) -> usize {
    ((1 << 16) / k.max(1)).clamp(16, 4096)
}

/// Rows that share the panels of P generated for them: a whole number of blocks.
pub(crate) fn pass_rows(k: usize) -> usize {
    let step = block_rows(k);
    step * (((1 << 20) / k.max(1)).min(4096) / step).max(1)
}

/// Sums of squares from which on underflow is below their rounding: 2^32 squares lose at most
/// 2^-1043 together.
const LEAST_SQUARES: f64 = 1e-290;

/// Relative slack within which a row's computed norm may exceed its bound; mechanisms
/// that rely on [`RowsView::check_norms`] multiply their sensitivity by one plus twice this.
pub const NORM_SLACK: f64 = 1e-9;
