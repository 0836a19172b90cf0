//! A few rows at a time.

use crate::error::Result;
use crate::source::Meter;
use dp_core::certificate::preprocessing::Preprocessing;
use sketch::RowsView;
use sketch::rows::CsrView;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// About this many numbers are held by a block.
pub(crate) const BLOCK_VALUES: usize = 1 << 18;

/// Rows of a block of `d` columns.
pub(crate) fn block_rows(d: usize) -> usize {
    (BLOCK_VALUES / d.max(1)).clamp(1, 1 << 14)
}

/// A few rows of the input.
#[derive(Debug, Default)]
pub struct Block {
    /// Number of rows.
    pub n: usize,
    /// Their numbers.
    pub values: Values,
}

/// How the rows of a block are stored.
#[derive(Debug)]
pub enum Values {
    /// n x d numbers, row after row.
    Dense(Vec<f64>),
    /// The same of single precision, as they lie in the file: half the memory goes from reading to using.
    Single(Vec<f32>),
    /// Compressed sparse rows.
    Sparse {
        /// Where each row begins, and the end of the last.
        offsets: Vec<usize>,
        /// Column of each number.
        columns: Vec<u32>,
        /// The numbers.
        values: Vec<f64>,
    },
}

impl Default for Values {
    fn default() -> Self {
        Self::Dense(Vec::new())
    }
}

impl Block {
    /// The rows as the libraries take them.
    ///
    /// # Errors
    /// Rows of another length than `d`.
    pub fn view(&self, d: usize) -> Result<RowsView<'_>> {
        Ok(match &self.values {
            Values::Dense(values) => RowsView::f64(self.n, d, values)?,
            Values::Single(values) => RowsView::f32(self.n, d, values)?,
            Values::Sparse { offsets, columns, values } => {
                RowsView::csr(self.n, d, CsrView { offsets, columns, values })?
            }
        })
    }

    /// The rows as dense numbers.
    #[must_use]
    pub fn dense(&self, d: usize) -> Cow<'_, [f64]> {
        match &self.values {
            Values::Dense(values) => Cow::Borrowed(values),
            Values::Single(values) => Cow::Owned(wide(values)),
            Values::Sparse { offsets, columns, values } => {
                let mut out = vec![0.0; self.n * d];
                for (row, window) in out.chunks_exact_mut(d).zip(offsets.windows(2)) {
                    for at in window[0]..window[1] {
                        row[columns[at] as usize] = values[at];
                    }
                }
                Cow::Owned(out)
            }
        }
    }

    /// Its memory, empty, for other dense rows.
    pub(crate) fn into_memory(self) -> Vec<f64> {
        let mut memory = match self.values {
            Values::Dense(memory) | Values::Sparse { values: memory, .. } => memory,
            Values::Single(_) => Vec::new(),
        };
        memory.clear();
        memory
    }

    /// The same for rows of single precision.
    pub(crate) fn into_single(self) -> Vec<f32> {
        let Values::Single(mut memory) = self.values else { return Vec::new() };
        memory.clear();
        memory
    }

    /// Makes single precision double: for values that are to become others.
    pub(crate) fn widen(&mut self) {
        if let Values::Single(values) = &self.values {
            self.values = Values::Dense(wide(values));
        }
    }
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| v.into()).collect()
}

/// A stream of rows of equal length.
pub trait RowReader: Send {
    /// Numbers in a row.
    fn d(&self) -> usize;

    /// Name of a column, for messages.
    fn column(&self, index: usize) -> String {
        format!("column {}", index + 1)
    }

    /// The file that the last rows came from, where there are several.
    fn file(&self) -> Option<&Path> {
        None
    }

    /// The next rows, finite, perhaps in the memory of a block that nobody needs any more; `None`
    /// after the last.
    ///
    /// # Errors
    /// A file that cannot be read, or rows that are not what was declared.
    fn next(&mut self, used: Block) -> Result<Option<Block>>;
}

/// An opened file of rows.
pub struct Input {
    /// Its rows.
    pub rows: Box<dyn RowReader>,
    /// How far reading has come.
    pub meter: Meter,
    /// Names of the columns used, where the file has columns (their numbers where it has no names).
    pub columns: Option<Vec<String>>,
    /// What became of their values, where that was asked for.
    pub preprocessing: Option<Arc<Preprocessing>>,
}

/// The first number that is not within `[-bound, bound]`; NaN never is. Pieces are tested whole, so
/// that the test vectorises.
pub(crate) fn first_outside<T: Copy + Into<f64>>(values: &[T], bound: f64) -> Option<usize> {
    const PIECE: usize = 512;
    let inside = |v: &T| (*v).into().abs() <= bound;
    let all_inside = |piece: &[T]| piece.iter().fold(true, |all, v| all & inside(v));
    let piece = values.chunks(PIECE).position(|piece| !all_inside(piece))?;
    let at = values[piece * PIECE..].iter().position(|v| !inside(v))?;
    Some(piece * PIECE + at)
}
