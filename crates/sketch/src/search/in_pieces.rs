//! Search in a release file that is read a piece at a time.

use super::hits::{Neighbours, Score};
use super::queries::Queries;
use super::{HammingIndex, SketchIndex};
use crate::error::{Error, Result};
use crate::pieced::Pieced;
use crate::pieces::Pieces;
use crate::rows::RowsView;
use crate::signs::{SignCodes, SignQueries};
use crate::vectors::PrivateSketch;
use crate::verify::Verifiable;
use core::cmp::Ordering;
use dp_core::release_file::RowIds;
use std::sync::Arc;

impl Pieces<PrivateSketch> {
    /// The `count` best rows for each row that was never released, as [`SketchIndex::top_k`] finds them among all rows; squared
    /// distances to the rounding of their sums; and what the rows are called, where that is kept. The next piece is read
    /// while one is searched.
    ///
    /// # Errors
    /// As [`PrivateSketch::exact`] and [`SketchIndex::top_k`]; [`dp_core::Error::File`] for what is not as the certificate says.
    pub fn nearest(
        self,
        rows: RowsView<'_>,
        score: Score,
        count: usize,
    ) -> Result<(Neighbours<f64>, Option<Arc<RowIds>>)> {
        let queries = PrivateSketch::exact(self.form().projection().build().as_ref(), rows)?;
        let order = match score {
            Score::SquaredDistance => |a: &f64, b: &f64| a.total_cmp(b),
            _ => falling,
        };
        let find = |piece: &PrivateSketch| {
            SketchIndex::new(piece, score)?.top_k(&Queries::all(&queries), count)
        };
        nearest(self, count, order, find)
    }
}

impl Pieces<SignCodes> {
    /// The same of signs, as [`HammingIndex::top_k_exact`].
    ///
    /// # Errors
    /// As [`SignQueries::exact`] and [`HammingIndex::top_k_exact`]; [`dp_core::Error::File`] for what is not as the certificate says.
    pub fn nearest(
        self,
        rows: RowsView<'_>,
        count: usize,
    ) -> Result<(Neighbours<f64>, Option<Arc<RowIds>>)> {
        let statement = self.summary().certificate.statement();
        let queries = SignQueries::beside(self.form().projections(), statement, rows)?;
        let find = |piece: &SignCodes| HammingIndex::new(piece)?.top_k_exact(&queries, count);
        nearest(self, count, falling, find)
    }
}

/// The larger score first; -0 and 0 are one.
fn falling(a: &f64, b: &f64) -> Ordering {
    (b + 0.0).total_cmp(&(a + 0.0))
}

fn nearest<T: Pieced + Verifiable>(
    pieces: Pieces<T>,
    count: usize,
    order: impl Fn(&f64, &f64) -> Ordering + Sync,
    find: impl Fn(&T) -> Result<Neighbours<f64>> + Sync,
) -> Result<(Neighbours<f64>, Option<Arc<RowIds>>)> {
    let (n, _) = pieces.summary().shape()?;
    if n > u32::MAX as usize {
        return Err(Error::invalid("n", n, "[0, 2^32)"));
    }
    let join =
        |before, found: Neighbours<f64>, first| found.after(before, first as u32, count, &order);
    let (found, _, ids) = pieces.ask(find, join)?;
    Ok((found, ids))
}
