//! Exact nearest-neighbour search over releases: post-processing, it reads no data
//! and draws no randomness.

mod dense;
mod hamming;
mod simd;

pub use dense::{DenseIndex, SearchScalar};
pub use hamming::HammingIndex;

use crate::error::Result;
use crate::private::SketchRelease;

/// How two rows are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Score {
    /// Inner product of the rows as they are, noise included.
    InnerProduct,
    /// Cosine of the rows as they are, noise included; a row of norm zero scores zero.
    Cosine,
}

/// The best `k` items of every query, best first; ties go to the smaller index.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours<S> {
    queries: usize,
    k: usize,
    indices: Vec<u32>,
    scores: Vec<S>,
}

impl<S> Neighbours<S> {
    /// Joins the answers of consecutive queries, each of length k.
    fn collect(k: usize, answers: Vec<Vec<(u32, S)>>) -> Self {
        let queries = answers.len();
        let (indices, scores) = answers.into_iter().flatten().unzip();
        Self { queries, k, indices, scores }
    }

    /// Number of queries.
    #[must_use]
    pub fn n(&self) -> usize {
        self.queries
    }

    /// Neighbours of a query: the `k` asked for, or the number of items if that is less.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
    }

    /// Item indices of one query, best first.
    ///
    /// # Panics
    /// When the query does not exist.
    #[must_use]
    pub fn indices(&self, query: usize) -> &[u32] {
        &self.indices[query * self.k..(query + 1) * self.k]
    }

    /// Scores of one query in the same order: distances or inner products.
    ///
    /// # Panics
    /// When the query does not exist.
    #[must_use]
    pub fn scores(&self, query: usize) -> &[S] {
        &self.scores[query * self.k..(query + 1) * self.k]
    }
}

/// A row that was found, with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Row of the database.
    pub row: usize,
    /// Its score.
    pub score: f64,
}

/// A release laid out for searching by inner product or cosine of its **noisy** rows. It
/// remembers the projection, and refuses queries that came from another.
///
/// The cosine of noisy rows is pulled towards zero by the noise; it ranks, and is not the debiased
/// estimate of [`Pairs::cosine`](crate::private::Pairs::cosine).
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
