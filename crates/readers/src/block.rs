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
        let (Values::Dense(mut memory) | Values::Sparse { values: mut memory, .. }) = self.values;
        memory.clear();
        memory
    }
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
pub(crate) fn first_outside(values: &[f64], bound: f64) -> Option<usize> {
    const PIECE: usize = 512;
    let inside = |v: &f64| v.abs() <= bound;
    let all_inside = |piece: &[f64]| piece.iter().fold(true, |all, v| all & inside(v));
    let piece = values.chunks(PIECE).position(|piece| !all_inside(piece))?;
    let at = values[piece * PIECE..].iter().position(|v| !inside(v))?;
    Some(piece * PIECE + at)
}
