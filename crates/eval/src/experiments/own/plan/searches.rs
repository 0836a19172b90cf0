//! Searches by cosine among whole rows that were released as unit vectors: sizes that a public sample compares.

use super::tried::{Measure, Question, Range, Tried};
use crate::data::Points;
use crate::error::Result;
use crate::framework::{Context, sabotage};
use crate::metrics::{mean_precision_recall, nearest_by_cosine};
use dp_core::{Adjacency, Budget};
use sketch::RowsView;
use sketch::plan::{Asked, PublicSearch};
use sketch::projection::{Family, ProjectionSpec};
use sketch::search::{Score, UnitIndex};
use sketch::units::{PrivateUnits, UnitQueries, UnitsConfig};

/// Rows returned, and nearest ones that are to be found.
const RETURNED: usize = 10;
/// Queries of one release.
const QUERIES: usize = 50;

/// Rows with some that are public.
pub(super) struct Rows {
    pub(super) name: &'static str,
    public: Points,
    private: Points,
    database: usize,
}

impl Rows {
    pub(super) fn new(
        context: &Context<'_>,
        name: &'static str,
        points: &Points,
        (public, database): (usize, usize),
    ) -> Result<Self> {
        let split = points.split(public, None, context.public_seed("public rows", 0))?;
        Ok(Self { name, public: split.queries, private: split.database, database })
    }

    /// The question at an epsilon: all sizes, by what the public rows predict.
    pub(super) fn ask(
        &self,
        context: &Context<'_>,
        (epsilon, asked): (f64, Asked),
        sizes: &[usize],
        releases: u64,
    ) -> Result<Question> {
        let d = self.public.d();
        let budget = Budget::new(epsilon, 0.0)?;
        let mechanism = |spec: ProjectionSpec, budget| {
            let (projection, adjacency) = (spec.build(), Adjacency::AnyInput);
            PrivateUnits::new(UnitsConfig { projection, adjacency, lengths: None }, budget)
        };
        let spec = |k: usize, r: u64| {
            let family = if k == d { Family::Identity } else { Family::Oporp };
            ProjectionSpec::new(family, d, k, context.public_seed("projection of a search", r))
        };
        let mut ways = Vec::new();
        for &k in sizes.iter().filter(|k| **k < d).chain([&d]) {
            let public = RowsView::f64(self.public.n(), d, self.public.values())?;
            let of = spec(k, u64::MAX)?;
            let extent = (self.database, RETURNED);
            let search = PublicSearch::of_sample(public, of.build().as_ref(), RETURNED, extent)?;
            let found = search.recall(mechanism(of, budget)?.variance(), asked);
            ways.push((k, Range { value: found.share, low: found.low, high: found.high }));
        }
        ways.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
        let spent = sabotage::spent_within(budget, 64.0)?;
        let split = |r| {
            let seed = context.public_seed(&format!("split {}", self.name), r);
            self.private.split(QUERIES, Some(self.database), seed)
        };
        // The same for all sizes.
        let truths = (0..releases).map(|r| {
            let parts = split(r)?;
            nearest_by_cosine(parts.queries.values(), parts.database.values(), d, RETURNED)
        });
        let truths = truths.collect::<Result<Vec<_>>>()?;
        let tried = ways.into_iter().map(|(k, range)| {
            let part = format!("search {} {epsilon} {asked:?} {k}", self.name);
            Tried::of(format!("{k} numbers"), Some(range), releases, |r| {
                let parts = split(r)?;
                let (queries, database) = (parts.queries, parts.database);
                let mechanism = mechanism(spec(k, r)?, spent)?;
                let mut rng = context.noise(&part, r);
                let mut release = |points: &Points| {
                    let rows = RowsView::f64(points.n(), d, points.values())?;
                    sabotage::with_rows(rows, |rows| Ok(mechanism.release(rows, &mut rng)?))
                };
                let released = release(&database)?;
                let index = UnitIndex::new(released.payload(), Score::Cosine)?;
                let all: Vec<usize> = (0..QUERIES).collect();
                let found = match asked {
                    Asked::Exact => {
                        let rows = RowsView::f64(QUERIES, d, queries.values())?;
                        index.top_k(&UnitQueries::exact(released.payload(), rows)?, RETURNED)?
                    }
                    Asked::Private => {
                        let other = release(&queries)?;
                        let sought = UnitQueries::released(other.payload(), &all)?;
                        index.top_k(&sought, RETURNED)?
                    }
                };
                let list = |q| found.indices(q).iter().map(|&row| row as usize).collect();
                let found = sabotage::answers((0..QUERIES).map(list).collect(), self.database);
                Ok(mean_precision_recall(&found, &truths[r as usize], RETURNED).1)
            })
        });
        Ok(Question {
            goal: "search",
            data: format!(
                "{}, {} queries",
                self.name,
                if asked == Asked::Exact { "exact" } else { "released" }
            ),
            protects: Adjacency::AnyInput.to_string(),
            epsilon,
            measure: Measure::Share,
            tried: tried.collect::<Result<_>>()?,
        })
    }
}
