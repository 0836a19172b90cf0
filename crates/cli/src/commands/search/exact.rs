//! Rows and sets that were never released, as queries of a search.

use super::super::loaded::{AnyRelease, Asked};
use super::super::release::read_all;
use super::{COSINE, COUNTS, Found, OCCUPANCY, Search, listed};
use crate::error::Result;
use crate::input::all_sets;
use readers::{Limits, OutsideBounds, RowsFile, SetsFile};
use sketch::RowsView;
use sketch::bounded::BoundedQueries;
use sketch::search::{HammingIndex, Queries};
use sketch::sets::{ItemSet, NoisyCounts, PrivateSymbols};
use sketch::signs::SignQueries;
use sketch::units::UnitQueries;
use sketch::vectors::PrivateSketch;
use std::path::Path;

impl Search {
    /// Rows of a file that was never released, as queries.
    pub(super) fn exact(
        &self,
        database: &AnyRelease,
        path: &Path,
    ) -> Result<(&'static str, Vec<usize>, Vec<Found>)> {
        let name = match database {
            AnyRelease::Symbols(items) if items.payload().is_occupancy() => {
                return self.exact_sets(items.payload(), path);
            }
            AnyRelease::Counts(items) => {
                self.one_score(COUNTS)?;
                let (asked, sets) = self.sets(path)?;
                let queries = NoisyCounts::exact(items.payload(), &sets);
                let index = self.count_index(items.payload())?;
                let found = index.top_k(&Queries::all(&queries), self.top)?;
                return Ok((COSINE, asked, listed(&found)));
            }
            AnyRelease::Sketch(_)
            | AnyRelease::Units(_)
            | AnyRelease::Bounded(_)
            | AnyRelease::Groups(_) => self.score().1,
            AnyRelease::Signs(_) | AnyRelease::IndividualSigns(_) => {
                self.one_score("signs")?;
                "signed sum"
            }
            other => return Err(other.cannot("a search by exact queries")),
        };
        let input = self.beside(path).open()?;
        let d = input.rows.d();
        let limits = Limits {
            entry: None,
            norm: None,
            least: None,
            outside: OutsideBounds::Refuse,
            file: path.to_owned(),
        };
        let (n, values) = read_all(input, limits)?;
        let asked = self.chosen(n)?;
        let values: Vec<f64> =
            asked.iter().flat_map(|&row| &values[row * d..(row + 1) * d]).copied().collect();
        let rows = RowsView::f64(asked.len(), d, &values)?;
        let found = match database {
            AnyRelease::Units(items) => {
                let queries = UnitQueries::exact(items.payload(), rows)?;
                self.unit_index(items.payload())?.top_k(&queries, self.top)?
            }
            AnyRelease::Bounded(items) => {
                let queries = BoundedQueries::exact(items.payload(), rows)?;
                self.bounded_index(items.payload())?.top_k(&queries, self.top)?
            }
            AnyRelease::Sketch(items) => {
                let projection = items.payload().projection().build();
                let queries = PrivateSketch::exact(projection.as_ref(), rows)?;
                self.in_sketch(items.payload(), &Queries::all(&queries), self.top)?
            }
            AnyRelease::Groups(items) => {
                let projection = items.payload().sums().projection().build();
                let queries = PrivateSketch::exact(projection.as_ref(), rows)?;
                self.in_groups(items.payload(), &Queries::all(&queries), self.top)?
            }
            AnyRelease::Signs(items) => {
                let queries = SignQueries::exact(items, rows)?;
                HammingIndex::new(items.payload())?.top_k_exact(&queries, self.top)?
            }
            AnyRelease::IndividualSigns(items) => {
                let queries = SignQueries::exact(items, rows)?;
                HammingIndex::new(items.payload())?.top_k_exact(&queries, self.top)?
            }
            other => return Err(other.cannot("a search by exact queries")),
        };
        Ok((name, asked, listed(&found)))
    }

    /// A file of rows that are mapped as those of the release were.
    pub(super) fn beside(&self, path: &Path) -> RowsFile {
        let preprocess = self.rules.get().cloned();
        RowsFile { leave_out: self.left_out.clone(), preprocess, ..RowsFile::new(path) }
    }

    /// Sets of a file that was never released, as queries.
    fn exact_sets(
        &self,
        items: &PrivateSymbols,
        path: &Path,
    ) -> Result<(&'static str, Vec<usize>, Vec<Found>)> {
        self.one_score(OCCUPANCY)?;
        let (asked, sets) = self.sets(path)?;
        let queries = PrivateSymbols::exact(items, &sets)?;
        let found = self.set_index(items)?.top_k(&Queries::all(&queries), self.top)?;
        Ok((COSINE, asked, listed(&found)))
    }

    /// Which sets of a file are asked for, and these.
    fn sets(&self, path: &Path) -> Result<(Vec<usize>, Vec<ItemSet>)> {
        let sets = all_sets(&SetsFile::new(path))?;
        let asked = self.chosen(sets.len())?;
        let chosen = asked.iter().map(|&row| sets[row].clone()).collect();
        Ok((asked, chosen))
    }
}
