//! Exact nearest-neighbour search over releases: post-processing, it reads no data
//! and draws no randomness.

mod dense;
mod hamming;
mod simd;

pub use dense::{DenseIndex, SearchScalar};
pub use hamming::HammingIndex;

use crate::error::Result;
use crate::private::{Pairs, SketchRelease};

/// How two rows are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Score {
    /// Inner product of the rows.
    InnerProduct,
    /// Cosine of the rows; a row of norm zero scores zero.
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

/// The `count` best rows of `database` for row `query` of `queries`, best first; ties go to
/// the smaller row. For many queries see [`top_k_all`].
///
/// # Errors
/// When the releases are not comparable or the query does not exist.
pub fn top_k(
    database: &SketchRelease,
    queries: &SketchRelease,
    query: usize,
    count: usize,
    score: Score,
) -> Result<Vec<Hit>> {
    Pairs::between(queries, database)?;
    let items = database.payload();
    let index = DenseIndex::new(items.k(), items.values(), score)?;
    let found = index.top_k(queries.payload().row(query)?, count)?;
    let pairs = found.indices(0).iter().zip(found.scores(0));
    Ok(pairs.map(|(&row, &score)| Hit { row: row as usize, score }).collect())
}

/// The `count` best rows of `database` for every row of `queries`.
///
/// # Errors
/// When the releases are not comparable, or `count` is zero.
pub fn top_k_all(
    database: &SketchRelease,
    queries: &SketchRelease,
    count: usize,
    score: Score,
) -> Result<Neighbours<f64>> {
    Pairs::between(queries, database)?;
    let items = database.payload();
    DenseIndex::new(items.k(), items.values(), score)?.top_k(queries.payload().values(), count)
}
