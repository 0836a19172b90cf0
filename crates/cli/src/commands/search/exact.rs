//! Rows and sets that were never released, as queries of a search.

use super::super::loaded::{AnyRelease, Asked, Files};
use super::super::mapped::with_map;
use super::super::release::read_all;
use super::{COSINE, COUNTS, Found, OCCUPANCY, SIGNED, Search, listed, of_query, tabled};
use crate::error::Result;
use crate::input::all_sets;
use crate::output::Record;
use dp_core::certificate::Trust;
use dp_core::certificate::preprocessing::Preprocessing;
use dp_core::release_file::{InParts, Kind};
use readers::{ColumnRules, Limits, OutsideBounds, RowsFile, SetsFile, is_stream};
use sketch::RowsView;
use sketch::bounded::BoundedQueries;
use sketch::pieces::Pieces;
use sketch::search::{HammingIndex, Queries};
use sketch::sets::{ItemSet, NoisyCounts, PrivateSymbols};
use sketch::signs::{SignCodes, SignQueries};
use sketch::units::UnitQueries;
use sketch::vectors::PrivateSketch;
use std::path::Path;
use std::sync::Arc;

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
                SIGNED
            }
            other => return Err(other.cannot("a search by exact queries")),
        };
        let (asked, d, values) = self.rows(path)?;
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

    /// The same in one file of sketches or signs, which is read a piece at a time; none where the search is another.
    pub(super) fn in_file(&self, trust: &Trust) -> Result<Option<Record>> {
        let (Some(path), [database]) = (&self.query, self.databases.as_slice()) else {
            return Ok(None);
        };
        if self.denoise || self.public.is_some() || is_stream(database) {
            return Ok(None);
        }
        // What is wrong with it is said where it is read whole.
        let Ok(file) = InParts::open(database) else { return Ok(None) };
        let kind = file.summary().kind;
        let mapped = Preprocessing::stated(&file.summary().certificate.statement().public)?;
        let units = with_map(Record::new(), mapped.as_ref());
        if let Some(stated) = mapped {
            let _ = self.rules.set(Arc::new(ColumnRules::of_release(stated)));
        }
        let named = |e: sketch::Error| of_query(e.into(), path);
        let (name, asked, (found, ids)) = match kind {
            Kind::Sketch64 | Kind::Sketch32 | Kind::SketchCompact => {
                let pieces = Pieces::<PrivateSketch>::of(file, trust)?;
                let (asked, d, values) = self.rows(path)?;
                let rows = RowsView::f64(asked.len(), d, &values)?;
                let (score, name) = self.score();
                (name, asked, pieces.nearest(rows, score, self.top).map_err(named)?)
            }
            Kind::Signs | Kind::IndividualSigns => {
                self.one_score("signs")?;
                let pieces = Pieces::<SignCodes>::of(file, trust)?;
                let (asked, d, values) = self.rows(path)?;
                let rows = RowsView::f64(asked.len(), d, &values)?;
                (SIGNED, asked, pieces.nearest(rows, self.top).map_err(named)?)
            }
            _ => return Ok(None),
        };
        let found = listed(&found);
        Ok(Some(units.and(tabled(name, &asked, found, [None, ids.as_deref()], &Files::default()))))
    }

    /// Which rows of a file are asked for, how many numbers each has, and these.
    fn rows(&self, path: &Path) -> Result<(Vec<usize>, usize, Vec<f64>)> {
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
        let chosen = asked.iter().flat_map(|&row| &values[row * d..(row + 1) * d]);
        let values = chosen.copied().collect();
        Ok((asked, d, values))
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
