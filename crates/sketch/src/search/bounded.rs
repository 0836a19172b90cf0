//! Search over bounded values.

use super::denoise::denoised;
use super::dense::DenseIndex;
use super::hits::{Neighbours, Score};
use crate::bounded::{BoundedQueries, BoundedValues};
use crate::error::Result;
use std::borrow::Cow;

/// A release of bounded values laid out for searching, by rows of a release or by exact queries.
///
/// Scores are of the noisy rows, by inner product or by cosine: they rank, and [`BoundedPairs`](crate::bounded::BoundedPairs) estimates.
///
/// ```
/// use dp_core::{Budget, NoiseRng, Shift};
/// use sketch::RowsView;
/// use sketch::bounded::{BoundedConfig, BoundedLaw, BoundedQueries, PrivateBounded};
/// use sketch::distances::ValueRange;
/// use sketch::search::{BoundedIndex, Score};
///
/// let rows = RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, 0.0, 1.0, 0.9, 0.0])?;
/// let config = BoundedConfig { d: 4, range: ValueRange::new(0.0, 1.0)?, beta: Shift::new(1.0)?, law: BoundedLaw::LeastError, clip: false };
/// let release = PrivateBounded::new(config, Budget::new(30.0, 0.0)?)?.release(rows, &mut NoiseRng::from_os()?)?;
/// let query = BoundedQueries::exact(release.payload(), RowsView::f64(1, 4, &[1.0, 0.0, 0.0, 1.0])?)?;
/// let found = BoundedIndex::new(release.payload(), Score::Cosine)?.top_k(&query, 1)?;
/// assert_eq!(found.indices(0), [0]);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BoundedIndex<'a> {
    items: &'a BoundedValues,
    index: DenseIndex<'a, f64>,
}

impl<'a> BoundedIndex<'a> {
    /// Takes the rows of a release.
    ///
    /// # Errors
    /// More than 2^32 - 1 rows; [`crate::Error::Undefined`] for squared distances.
    pub fn new(items: &'a BoundedValues, score: Score) -> Result<Self> {
        let (score, values) = (score.of_changed_rows()?, Cow::Owned(items.values()));
        Ok(Self { items, index: DenseIndex::new(items.d(), values, score)? })
    }

    /// As [`BoundedIndex::new`], with the rows denoised by their own second moments and the mean variance of values
    /// (`docs/proofs/bounded-values.md`), both from the release alone. Queries stay as they are.
    ///
    /// # Errors
    /// As [`BoundedIndex::new`].
    pub fn denoised(items: &'a BoundedValues, score: Score) -> Result<Self> {
        let score = score.of_changed_rows()?;
        let values = denoised(&items.values(), items.d(), items.mean_variance())?;
        Ok(Self { items, index: DenseIndex::new(items.d(), Cow::Owned(values), score)? })
    }

    /// The `count` best rows for each query, in the order (score falling, row rising).
    ///
    /// # Errors
    /// [`crate::Error::Shape`] for queries of another d, an invalid `count` (zero).
    pub fn top_k(&self, queries: &BoundedQueries, count: usize) -> Result<Neighbours<f64>> {
        queries.check(self.items)?;
        self.index.top_k(queries.values(), count)
    }
}
