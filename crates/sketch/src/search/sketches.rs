//! Search over real-valued releases.

use super::dense::DenseIndex;
use super::hits::{Neighbours, Score};
use crate::error::Result;
use crate::vectors::SketchRelease;

/// A release laid out for searching by inner product or cosine of its **noisy** rows. It
/// remembers the projection, and refuses queries that came from another.
///
/// The cosine of noisy rows is pulled towards zero by the noise; it ranks, and is not the debiased
/// estimate of [`Pairs::cosine`](crate::vectors::Pairs::cosine).
#[derive(Debug, Clone)]
pub struct SketchIndex<'a> {
    items: &'a SketchRelease,
    index: DenseIndex<'a, f64>,
}

impl<'a> SketchIndex<'a> {
    /// Takes the rows of a release.
    ///
    /// # Errors
    /// As [`DenseIndex::new`].
    pub fn new(items: &'a SketchRelease, score: Score) -> Result<Self> {
        let sketch = items.payload();
        Ok(Self { items, index: DenseIndex::new(sketch.k(), sketch.values(), score)? })
    }

    /// The `count` best rows for each of these rows of `queries`, as [`DenseIndex::top_k`].
    ///
    /// # Errors
    /// [`crate::Error::Incompatible`] when the queries came from another projection,
    /// [`crate::Error::Index`] for a missing row; as [`DenseIndex::top_k`].
    pub fn top_k(
        &self,
        queries: &SketchRelease,
        rows: &[usize],
        count: usize,
    ) -> Result<Neighbours<f64>> {
        let queries = queries.payload();
        self.items.payload().check_comparable(queries)?;
        let mut values = Vec::with_capacity(rows.len() * queries.k());
        for &row in rows {
            values.extend_from_slice(queries.row(row)?);
        }
        self.index.top_k(&values, count)
    }
}
