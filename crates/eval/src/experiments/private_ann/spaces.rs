//! What is searched: rows, some of them public.

use super::text;
use crate::data::{Points, digits, package_embeddings};
use crate::error::Result;
use crate::framework::Context;
use crate::metrics::nearest_by_cosine;
use sketch::RowsView;
use sketch::projection::{Groups, PublicMatrix, PublicMoments};
use sketch::signs::FreshSigns;
use sketch::vectors::AveragedProjection;
use std::sync::{Arc, Mutex};

/// Rows with the public ones set aside.
pub(super) struct Space {
    pub(super) name: &'static str,
    /// Rows that are public: no guarantee speaks of them, and they are never searched.
    pub(super) public: Points,
    /// All others.
    pub(super) private: Points,
    /// Of the public rows.
    pub(super) moments: PublicMoments,
    /// Sizes of projections that are tried.
    pub(super) sizes: Vec<usize>,
    pub(super) extent: Extent,
    /// Mean square of the length of a public row.
    pub(super) square: f64,
    directions: Memo<Vec<f64>>,
    /// Of a noise variance.
    pub(super) groups: Memo<Groups>,
    /// Calibrated for a size and an epsilon.
    pub(super) fresh: Memo<AveragedProjection>,
    /// The same.
    pub(super) fresh_signs: Memo<FreshSigns>,
}

/// What is worked out once, though every repetition asks for it, by size and another number.
pub(super) struct Memo<T>(Mutex<Vec<((usize, u64), T)>>);

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T: Clone> Memo<T> {
    pub(super) fn get(&self, (k, x): (usize, f64), make: impl FnOnce() -> Result<T>) -> Result<T> {
        let (key, mut known) = ((k, x.to_bits()), self.0.lock().expect("no thread panicked"));
        if let Some((_, found)) = known.iter().find(|(known, _)| *known == key) {
            return Ok(found.clone());
        }
        let made = make()?;
        known.push((key, made.clone()));
        Ok(made)
    }
}

/// True neighbours of a query.
pub(super) const RELEVANT: usize = 50;
/// Rows that a search returns, and nearest neighbours that recall counts.
pub(super) const RETURNED: usize = 10;

/// How much is searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) public: usize,
    pub(super) queries: usize,
    pub(super) database: usize,
}

/// One draw of queries and database, and the exact answers.
pub(super) struct Task {
    pub(super) queries: Points,
    pub(super) database: Points,
    pub(super) truth: Vec<Vec<usize>>,
    /// Queries and database in the public directions, by size.
    pub(super) projected: Memo<Arc<[Points; 2]>>,
}

/// Queries and database in the public directions, where they are what is released.
pub(super) type Images = Option<Arc<[Points; 2]>>;

impl Space {
    fn new(
        context: &Context<'_>,
        name: &'static str,
        all: &Points,
        extent: Extent,
    ) -> Result<Self> {
        let parts = all.split(extent.public, None, context.public_seed(name, 0))?;
        let (public, private) = (parts.queries, parts.database);
        let rows = RowsView::f64(public.n(), public.d(), public.values())?;
        let moments = PublicMoments::of_sample(rows)?;
        let sizes = context.pick(vec![16, 64], vec![16, 32, 64, 128]);
        // Texts without a known word are left out.
        let database = extent.database.min(private.n() - extent.queries);
        let extent = Extent { database, ..extent };
        let square = public.values().iter().map(|x| x * x).sum::<f64>() / public.n() as f64;
        let (directions, groups) = (Memo::default(), Memo::default());
        let (fresh, fresh_signs) = (Memo::default(), Memo::default());
        Ok(Self {
            name,
            public,
            private,
            moments,
            sizes,
            extent,
            square,
            directions,
            groups,
            fresh,
            fresh_signs,
        })
    }

    /// Embedded digits, with pixels in `[0, 1]` or every row of norm one.
    pub(super) fn digits(context: &Context<'_>, extent: Extent, units: bool) -> Result<Self> {
        let all = digits();
        let all = if units { normalised(&all)? } else { all };
        Self::new(context, "digits", &all, extent)
    }

    /// Sentence embeddings of package synopses, of norm one.
    pub(super) fn embeddings(context: &Context<'_>, extent: Extent) -> Result<Self> {
        Self::new(context, "embeddings", &package_embeddings(), extent)
    }

    /// Words, tags and dependencies of packages, in directions learned from packages that are public.
    pub(super) fn text(context: &Context<'_>, extent: Extent) -> Result<Self> {
        let wanted = extent.public + extent.queries + extent.database;
        let seed = context.public_seed("order of texts", 0);
        let (learned, rank) = context.pick((1500, 96), (8000, 256));
        let all = text::embedded(learned, wanted, rank, seed)?;
        Self::new(context, "text", &all, extent)
    }

    /// The directions in which public rows vary most, beside their mean.
    pub(super) fn directions(&self, k: usize) -> Result<PublicMatrix> {
        let d = self.public.d();
        // One eigenvalue problem: fewer directions are the first of more.
        let most = self.sizes.iter().copied().filter(|&k| k < d && d * k <= 1 << 17).max();
        let most = most.unwrap_or(k);
        let all = self.directions.get((most, 0.0), || {
            let all = PublicMatrix::principal(&self.moments, most)?;
            let all = serde_json::to_value(all).unwrap_or_default();
            let steps = all["entries"].as_array().into_iter().flatten();
            Ok(steps.map(|x| x.as_f64().unwrap_or(f64::NAN) / f64::from(1 << 14)).collect())
        })?;
        let first = |row: &[f64]| row[..k].to_vec();
        let entries: Vec<f64> = all.chunks_exact(most).flat_map(first).collect();
        Ok(PublicMatrix::new(d, k, &entries)?)
    }

    pub(super) fn task(&self, context: &Context<'_>, repetition: u64) -> Result<Task> {
        let seed = context.public_seed(&format!("queries of {}", self.name), repetition);
        let Extent { queries, database, .. } = self.extent;
        let parts = self.private.split(queries, Some(database), seed)?;
        let (queries, database) = (parts.queries, parts.database);
        let truth = nearest_by_cosine(queries.values(), database.values(), queries.d(), RELEVANT)?;
        Ok(Task { queries, database, truth, projected: Memo::default() })
    }

    /// What a random answer has for a precision.
    pub(super) fn chance(&self) -> f64 {
        RELEVANT as f64 / self.extent.database as f64
    }
}

/// Every row over its norm.
fn normalised(points: &Points) -> Result<Points> {
    let mut values = points.values().to_vec();
    for row in values.chunks_exact_mut(points.d()) {
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        row.iter_mut().for_each(|x| *x /= norm);
    }
    Points::new(points.name(), points.d(), values, None)
}
