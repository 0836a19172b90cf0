//! Search over unit vectors.

use super::denoise::denoised;
use super::dense::DenseIndex;
use super::hits::{Neighbours, Score};
use crate::error::Result;
use crate::units::{UnitQueries, UnitVectors};
use std::borrow::Cow;

/// A release of unit vectors laid out for searching, by rows of a release or by exact queries.
///
/// Scores are of the noisy rows, by inner product over [`UnitVectors::mean`]'s scale or by cosine: they rank, and
/// [`UnitPairs`](crate::units::UnitPairs) estimates.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, PublicSeed};
/// use sketch::RowsView;
/// use sketch::projection::{Family, ProjectionSpec};
/// use sketch::search::{Score, UnitIndex};
/// use sketch::units::{PrivateUnits, UnitQueries, UnitsConfig};
///
/// let rows = RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, -0.9, -0.1, 0.0, -0.7])?;
/// let projection = ProjectionSpec::new(Family::Identity, 4, 4, PublicSeed::new(7))?.build();
/// let config = UnitsConfig { projection, adjacency: Adjacency::AnyInput, lengths: None };
/// let release = PrivateUnits::new(config, Budget::new(40.0, 0.0)?)?.release(rows, &mut NoiseRng::from_os()?)?;
/// // The query is not released: it carries no noise.
/// let query = UnitQueries::exact(release.payload(), RowsView::f64(1, 4, &[1.0, 0.0, 0.0, 1.0])?)?;
/// let found = UnitIndex::new(release.payload(), Score::InnerProduct)?.top_k(&query, 1)?;
/// assert_eq!(found.indices(0), [0]);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct UnitIndex<'a> {
    items: &'a UnitVectors,
    index: DenseIndex<'a, f64>,
}

impl<'a> UnitIndex<'a> {
    /// Takes the rows of a release.
    ///
    /// # Errors
    /// More than 2^32 - 1 rows; [`crate::Error::Undefined`] for squared distances, which are of sketches alone.
    pub fn new(items: &'a UnitVectors, score: Score) -> Result<Self> {
        let score = score.of_changed_rows()?;
        let values = Cow::Borrowed(items.values());
        Ok(Self { items, index: DenseIndex::new(items.width(), values, score)? })
    }

    /// As [`UnitIndex::new`], with the rows denoised by their own second moments (`docs/proofs/unit-vectors.md`): ranks better where
    /// the rows lie near few directions, from the release alone. Queries stay as they are.
    ///
    /// # Errors
    /// As [`UnitIndex::new`].
    pub fn denoised(items: &'a UnitVectors, score: Score) -> Result<Self> {
        let score = score.of_changed_rows()?;
        let values = Cow::Owned(denoised(items.values(), items.width(), 1.0)?);
        Ok(Self { items, index: DenseIndex::new(items.width(), values, score)? })
    }

    /// The `count` best rows for each query, in the order (score falling, row rising).
    ///
    /// # Errors
    /// [`crate::Error::Incompatible`] for queries of another projection, an invalid `count` (zero).
    pub fn top_k(&self, queries: &UnitQueries<'_>, count: usize) -> Result<Neighbours<f64>> {
        queries.check(self.items)?;
        self.index.top_k(queries.values(), count)
    }
}
