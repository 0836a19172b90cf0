//! Search over real-valued releases.

use super::denoise::denoised;
use super::dense::{DenseIndex, SearchScalar};
use super::hits::{Neighbours, Score};
use super::queries::Queries;
use crate::error::Result;
use crate::vectors::{Pairs, Posterior, PrivateSketch};
use rayon::prelude::*;
use std::borrow::Cow;

/// A release laid out for searching by inner product or cosine of its **noisy** rows, or by squared distance. It
/// remembers the projection, and refuses queries that came from another.
///
/// The cosine of noisy rows is pulled towards zero by the noise; it ranks, and is not the debiased
/// estimate of [`Pairs::cosine`](crate::vectors::Pairs::cosine).
///
/// ```
/// use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Shift};
/// use sketch::RowsView;
/// use sketch::projection::{Family, ProjectionSpec};
/// use sketch::search::{Queries, Score, SketchIndex};
/// use sketch::vectors::PrivateProjection;
///
/// let rows = RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, 0.2, 0.1, 0.0, 0.7])?;
/// let (one, any_value) = (EntryBound::new(1.0)?, Adjacency::Attribute { beta: Shift::new(2.0)? });
/// let projection = ProjectionSpec::new(Family::Oporp, 4, 2, PublicSeed::new(7))?.build();
/// let mechanism = PrivateProjection::gaussian(projection, any_value, one, Budget::new(1.0, 1e-6)?)?;
/// let release = mechanism.release(rows, &mut NoiseRng::from_os()?)?;
///
/// let index = SketchIndex::new(release.payload(), Score::Cosine)?;
/// let found = index.top_k(&Queries::rows(release.payload(), &[1])?, 1)?;
/// assert_eq!(found.indices(0), [1], "a row is nearest to itself");
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SketchIndex<'a, T: SearchScalar = f64> {
    items: &'a PrivateSketch,
    index: DenseIndex<'a, T>,
    /// What queries pass through as well.
    posterior: Option<&'a Posterior<'a>>,
}

impl<'a> SketchIndex<'a> {
    /// Takes the rows of a release.
    ///
    /// # Errors
    /// More than 2^32 - 1 rows.
    pub fn new(items: &'a PrivateSketch, score: Score) -> Result<Self> {
        let values = Cow::Borrowed(items.values());
        Ok(Self { items, index: DenseIndex::new(items.k(), values, score)?, posterior: None })
    }

    /// Ranks by the posterior means of items and queries, given public moments of rows: of group sums
    /// alone. It costs no budget.
    ///
    /// # Errors
    /// As [`SketchIndex::new`] and [`Posterior::rows`].
    pub fn posterior(
        items: &'a PrivateSketch,
        posterior: &'a Posterior<'a>,
        score: Score,
    ) -> Result<Self> {
        let values = Cow::Owned(posterior.rows(items)?);
        let index = DenseIndex::new(items.projection().d(), values, score.of_changed_rows()?)?;
        Ok(Self { items, index, posterior: Some(posterior) })
    }
}

impl<'a> SketchIndex<'a> {
    /// As [`SketchIndex::new`], with the rows denoised by their own second moments and the stated noise
    /// (`docs/proofs/unit-vectors.md`), from the release alone. Queries stay as they are.
    ///
    /// # Errors
    /// As [`SketchIndex::new`]; [`crate::Error::Undefined`] for squares beyond double precision.
    pub fn denoised(items: &'a PrivateSketch, score: Score) -> Result<Self> {
        let score = score.of_changed_rows()?;
        let values = Cow::Owned(denoised(items.values(), items.k(), items.noise_variance())?);
        Ok(Self { items, index: DenseIndex::new(items.k(), values, score)?, posterior: None })
    }
}

impl<'a> SketchIndex<'a, f32> {
    /// As [`SketchIndex::new`], with all numbers rounded to `f32`: half the memory, twice the speed, and
    /// scores that are right to about six digits.
    ///
    /// # Errors
    /// As [`SketchIndex::new`], or [`crate::Error::NotFinite`] for numbers beyond the range of `f32`.
    pub fn rounded(items: &'a PrivateSketch, score: Score) -> Result<Self> {
        let score = score.of_changed_rows()?;
        let values = Cow::Owned(rounded(items.values()));
        Ok(Self { items, index: DenseIndex::new(items.k(), values, score)?, posterior: None })
    }

    /// The `count` best rows for each query, as [`SketchIndex::top_k`].
    ///
    /// # Errors
    /// As [`SketchIndex::top_k`].
    pub fn top_k(
        &self,
        queries: &Queries<'_, PrivateSketch>,
        count: usize,
    ) -> Result<Neighbours<f32>> {
        self.items.check_comparable(queries.sketch())?;
        self.index.top_k(&rounded(&queries.values()), count)
    }
}

impl SketchIndex<'_> {
    /// The `count` best rows for each query, in the order (score falling, row rising). The answer does
    /// not depend on the number of threads; scores carry the rounding of a matrix product. Squared distances rise, and are those of
    /// [`Pairs`]; which rows are nearest is decided before the noise is taken out, so that a row of the same release finds itself.
    ///
    /// # Errors
    /// [`crate::Error::Incompatible`] when the queries came from another projection, an invalid
    /// `count` (zero), or [`crate::Error::Undefined`] when products overflow; for squared distances as [`Pairs::squared_distance`].
    pub fn top_k(
        &self,
        queries: &Queries<'_, PrivateSketch>,
        count: usize,
    ) -> Result<Neighbours<f64>> {
        self.items.check_comparable(queries.sketch())?;
        let Some(posterior) = self.posterior else {
            let found = self.index.top_k(&queries.values(), count)?;
            return match self.index.score() {
                Score::SquaredDistance => self.distances(queries, &found),
                _ => Ok(found),
            };
        };
        // The same gain for a row wherever it stands: all of them, then those that are asked for.
        let (all, d) = (posterior.rows(queries.sketch())?, self.items.projection().d());
        match queries.chosen() {
            None => self.index.top_k(&all, count),
            Some(rows) => {
                let rows: Vec<f64> =
                    rows.iter().flat_map(|row| &all[row * d..(row + 1) * d]).copied().collect();
                self.index.top_k(&rows, count)
            }
        }
    }
}

impl SketchIndex<'_> {
    /// Rows that were found, with their squared distances from the queries.
    fn distances(
        &self,
        queries: &Queries<'_, PrivateSketch>,
        found: &Neighbours<f64>,
    ) -> Result<Neighbours<f64>> {
        let pairs = Pairs::of_sketches(self.items, queries.sketch());
        let answers = (0..found.n()).into_par_iter().map(|query| {
            let asked = queries.chosen().map_or(query, |rows| rows[query]);
            let hit = |&row: &u32| Ok((row, pairs.squared_distance(row as usize, asked)?.value));
            let mut hits: Vec<_> = found.indices(query).iter().map(hit).collect::<Result<_>>()?;
            hits.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            Ok(hits)
        });
        Ok(Neighbours::collect(found.k(), answers.collect::<Result<_>>()?))
    }
}

fn rounded(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&v| v as f32).collect()
}
