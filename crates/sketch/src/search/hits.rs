//! What a search asks, and what it finds.

use crate::error::{Error, Result};
use rayon::prelude::*;

/// How two rows are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Score {
    /// Inner product of the rows as they are, noise included.
    InnerProduct,
    /// Cosine of the rows as they are, noise included; a row of norm zero scores zero.
    Cosine,
    /// Unbiased squared distance ([`Pairs::squared_distance`](crate::vectors::Pairs::squared_distance)), the least first: of sketches
    /// as they are.
    SquaredDistance,
}

impl Score {
    /// Refuses distances where rows are not as they were released.
    pub(super) fn of_changed_rows(self) -> Result<Self> {
        match self {
            Self::SquaredDistance => Err(Error::Undefined {
                what: "a squared distance",
                reason: "it is one of sketches in double precision, neither denoised nor guessed; score by cosine or inner product",
            }),
            score => Ok(score),
        }
    }
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
    pub(super) fn collect(k: usize, answers: Vec<Vec<(u32, S)>>) -> Self {
        let queries = answers.len();
        let (indices, scores) = answers.into_iter().flatten().unzip();
        Self { queries, k, indices, scores }
    }

    /// The best `k` of these, whose indices begin at `first`, and of earlier answers to the same queries.
    pub(super) fn after(
        self,
        earlier: Self,
        first: u32,
        k: usize,
        order: impl Fn(&S, &S) -> core::cmp::Ordering + Sync,
    ) -> Self
    where
        S: Copy + Send + Sync,
    {
        let merged = |query| {
            let of = |all: &Self, first| -> Vec<(u32, S)> {
                let pairs = all.indices(query).iter().zip(all.scores(query));
                pairs.map(|(&index, &score)| (index + first, score)).collect()
            };
            let mut both = of(&earlier, 0);
            both.extend(of(&self, first));
            // Stable: of equal scores the smaller index stays first.
            both.sort_by(|a, b| order(&a.1, &b.1));
            both.truncate(k);
            both
        };
        let answers: Vec<_> = (0..self.queries).into_par_iter().map(merged).collect();
        Self::collect(answers.first().map_or(0, Vec::len), answers)
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

    /// Scores of one query in the same order: distances (rising), inner products or cosines (falling).
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
