//! What a search among released rows would find, pair by pair of a public sample.

use super::row_search::{Asked, cosines_of_sample};
use crate::error::{Error, Result};
use crate::estimate::upper_tail;
use crate::projection::Projection;
use crate::rows::RowsView;
use rayon::prelude::*;

/// A search by cosine, as the pairs of public rows show it: every public query has its own near rows and its own others, whose cosines
/// need not be normal. [`super::RowSearch`] is for who has no sample.
///
/// ```
/// use dp_core::PublicSeed;
/// use sketch::RowsView;
/// use sketch::plan::{Asked, PublicSearch};
/// use sketch::projection::{Family, ProjectionSpec};
///
/// // Public rows along a circle: the nearest are beside each other.
/// let at = |i: usize| 0.01 * i as f64;
/// let public: Vec<f64> = (0..300).flat_map(|i| [at(i).cos(), at(i).sin()]).collect();
/// let raw = ProjectionSpec::new(Family::Identity, 2, 2, PublicSeed::new(0))?.build();
/// let sample = RowsView::f64(300, 2, &public)?;
/// let search = PublicSearch::of_sample(sample, raw.as_ref(), 10, (3000, 10))?;
/// let [little, much] = [1e-9, 1.0].map(|noise| search.recall(noise, Asked::Exact));
/// assert!(little.share > 0.5 && much.share < 0.2);
/// assert!(little.low <= little.share && little.share <= little.high);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PublicSearch {
    queries: Vec<Query>,
    /// Share of all rows that are returned.
    returned: f64,
    k: usize,
}

/// The share of the rows worth finding that a search is predicted to return.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Recall {
    /// The prediction.
    pub share: f64,
    /// Nine in ten searches of some fifty queries are predicted to find more than this, and less than [`Recall::high`].
    pub low: f64,
    /// See [`Recall::low`].
    pub high: f64,
}

/// Cosines of one public query.
#[derive(Debug, Clone)]
struct Query {
    near: Vec<f64>,
    /// Cosines of others, with their weights: together one.
    others: Vec<(f64, f64)>,
    /// The share of the near ones among all rows.
    share: f64,
}

/// The likest others are kept one by one, the rest in as many groups.
const KEPT: usize = 48;
/// Queries of a search that the range is for, and what the formula may be off by.
const QUERIES: f64 = 50.0;
const OFF: f64 = 0.1;

impl PublicSearch {
    /// For rows of which these are a public sample, after a projection: a row worth finding is one of the `relevant` that are
    /// nearest, before the projection, among `rows`; `returned` rows are returned.
    ///
    /// A sample that is much smaller than `rows` over `relevant` has its one nearest row for the near ones, which is not as near.
    ///
    /// # Errors
    /// Fewer than three public rows, or rows of another d; more returned than there are rows.
    pub fn of_sample(
        sample: RowsView<'_>,
        projection: &dyn Projection,
        relevant: usize,
        (rows, returned): (usize, usize),
    ) -> Result<Self> {
        if sample.n() < 3 {
            return Err(Error::invalid("rows of a public sample", sample.n(), "at least 3"));
        }
        if !(1..=rows).contains(&returned) {
            return Err(Error::invalid("returned", returned, format!("[1, {rows}]")));
        }
        let pairs = cosines_of_sample(sample, projection, (relevant, rows))?;
        let queries = pairs.into_par_iter().map(|(near, others)| {
            let share = near.len() as f64 / (near.len() + others.len()) as f64;
            Query { near, others: grouped(others), share }
        });
        let (k, returned) = (projection.spec().k(), returned as f64 / rows as f64);
        Ok(Self { queries: queries.collect(), returned, k })
    }

    /// The recall of released rows whose noise has this variance a number when rows have length one; the noise of a score is taken as
    /// normal.
    #[must_use]
    pub fn recall(&self, variance: f64, asked: Asked) -> Recall {
        let deviation = asked.variance(self.k, variance).sqrt().max(1e-9);
        let found: Vec<f64> =
            self.queries.iter().map(|query| query.found(self.returned, deviation)).collect();
        let n = found.len() as f64;
        let share = found.iter().sum::<f64>() / n;
        let square = found.iter().map(|x| (x - share).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        // Of the sample's queries, of a search's, and of each near row that is found or not.
        let near = self.queries.iter().map(|query| query.near.len() as f64).sum::<f64>() / n;
        let luck = share * (1.0 - share) / (near * QUERIES);
        let off = 1.645 * (square / n + square / QUERIES + luck).sqrt() + OFF * share;
        Recall { share, low: (share - off).max(0.0), high: (share + off).min(1.0) }
    }
}

impl Query {
    /// The share of near rows above the score that `returned` of all rows are above.
    fn found(&self, returned: f64, deviation: f64) -> f64 {
        let near = |t: f64| {
            let above = self.near.iter().map(|c| upper_tail((t - c) / deviation)).sum::<f64>();
            above / self.near.len() as f64
        };
        let all = |t: f64| {
            let others = self.others.iter().map(|(c, w)| w * upper_tail((t - c) / deviation));
            self.share * near(t) + (1.0 - self.share) * others.sum::<f64>()
        };
        let (mut low, mut high) = (-2.0 - 10.0 * deviation, 2.0 + 10.0 * deviation);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            *(if all(middle) > returned { &mut low } else { &mut high }) = middle;
        }
        near(0.5 * (low + high))
    }
}

/// Cosines with their weights, fewer than they were.
fn grouped(mut cosines: Vec<f64>) -> Vec<(f64, f64)> {
    cosines.sort_by(|a, b| b.total_cmp(a));
    let one = 1.0 / cosines.len().max(1) as f64;
    let (likest, rest) = cosines.split_at(KEPT.min(cosines.len()));
    let mean = |group: &[f64]| {
        let n = group.len() as f64;
        (group.iter().sum::<f64>() / n, n * one)
    };
    let groups = rest.chunks(rest.len().div_ceil(KEPT).max(1)).map(mean);
    likest.iter().map(|c| (*c, one)).chain(groups).collect()
}
