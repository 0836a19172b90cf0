//! `dps search`: the best rows of a release.

mod exact;

use super::loaded::{AnyRelease, Asked, Files, in_units, mapped, read, read_all_of};
use super::named::{row_of, with_id};
use super::trust::TrustOptions;
use crate::error::{Error, Result, no_effect};
use crate::input::{all_sets, numbers};
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::Release;
use dp_core::release_file::RowIds;
use linalg_dp::groups::GroupSums;
use readers::{ColumnRules, SetsFile};
use sketch::RowsView;
use sketch::bounded::{BoundedQueries, BoundedValues};
use sketch::projection::{Family, PublicMoments};
use sketch::search::{
    BoundedIndex, CountIndex, HammingIndex, Neighbours, Queries, Score, SetIndex, SketchIndex,
    UnitIndex,
};
use sketch::search::{Ranking, nearest};
use sketch::sets::{NoisyCounts, PrivateSymbols, SetPairs};
use sketch::signs::SignCodes;
use sketch::units::{UnitQueries, UnitVectors};
use sketch::vectors::{Posterior, PrivateSketch};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of `dps search`.
#[derive(Args)]
pub(crate) struct Search {
    /// The release that is searched; `-` reads standard input. Several that were made alike (`dps append`) are searched as one:
    /// their rows are counted on from one to the next.
    #[arg(required = true, value_name = "RELEASE")]
    databases: Vec<PathBuf>,
    /// A release of queries, made with the same seed; by default the database itself.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// A file of rows that were never released: queries without noise, for sketches, signs, unit vectors, bounded values, and
    /// occupancy bits and counts of groups (a file of sets). Nothing of them is published.
    #[arg(long, value_name = "FILE", conflicts_with = "queries")]
    query: Option<PathBuf>,
    /// Leave this column of --query and --public out (an identifier, a label); may be given more than once.
    #[arg(long = "id", value_name = "COLUMN")]
    left_out: Vec<String>,
    /// Only these rows of the queries: ids where the release of queries keeps them, else numbers from zero; several with commas
    /// between, or given more than once, as ids that hold a comma are.
    #[arg(long = "row")]
    rows: Vec<String>,
    /// The same by position, where they are ids.
    #[arg(skip)]
    named: OnceCell<Vec<usize>>,
    /// What became of the values of the release, and becomes of those of --query and --public.
    #[arg(skip)]
    rules: OnceCell<Arc<ColumnRules>>,
    /// How many rows to find.
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// Real-valued sketches: how rows are scored [default: cosine].
    #[arg(long, value_enum)]
    score: Option<ScoreName>,
    /// Rank by rows denoised from the release alone: sketches, unit vectors, bounded values, occupancy bits and counts of groups. The
    /// queries stay as they are, but for counts, where they pass through the same.
    #[arg(long)]
    denoise: bool,
    /// Counts of groups, and sums of groups of columns: rank by the best guess of rows, from this file of public sets or rows.
    /// For counts --denoise does so from the release alone.
    #[arg(long, value_name = "FILE", conflicts_with = "denoise")]
    public: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScoreName {
    Cosine,
    Inner,
    /// Unbiased, as `dps distance` estimates it; the least first.
    SquaredDistance,
}

/// What a score is called.
const COSINE: &str = "noisy cosine";
/// What the score of signs is called.
const SIGNED: &str = "signed sum";
/// What is searched in one way.
const OCCUPANCY: &str = "occupancy bits";
const COUNTS: &str = "counts of groups";

/// What was found for a query: rows with scores, best first.
type Found = Vec<(usize, f64)>;

fn tabled(
    name: &'static str,
    rows: &[usize],
    found: Vec<Found>,
    [queries, items]: [Option<&RowIds>; 2],
    files: &Files,
) -> Record {
    let mut table = Vec::new();
    for (row, hits) in rows.iter().zip(found) {
        table.extend(hits.iter().enumerate().map(|(rank, &(hit, score))| {
            let record = Record::new().integer("query", *row as u64);
            let record = with_id(record, "query_id", *row, queries);
            let record = record.integer("rank", rank as u64 + 1).integer("row", hit as u64);
            files.of(with_id(record, "id", hit, items), hit).number(name, score)
        }));
    }
    Record::new().table("hits", table)
}

/// Rows with their scores, for each query.
fn listed(found: &Neighbours<f64>) -> Vec<Found> {
    let list = |query| {
        let pairs = found.indices(query).iter().zip(found.scores(query));
        pairs.map(|(&row, &score)| (row as usize, score)).collect()
    };
    (0..found.n()).map(list).collect()
}

/// An error of rows that ask.
fn of_query(error: Error, path: &Path) -> Error {
    match error {
        Error::Sketch(sketch::Error::Shape { expected, found, .. }) => {
            let rule = format!(
                "its rows have {found} columns, but those of the release had {expected}; --id leaves columns out"
            );
            readers::DataError::of(path, rule).into()
        }
        error => error.in_file(path),
    }
}

impl Search {
    pub(crate) fn run(&self) -> Result<Record> {
        let trust = self.trust.get();
        if let Some(found) = self.in_file(&trust)? {
            return Ok(found);
        }
        let other = self.queries.as_deref().map(|path| read(path, &trust)).transpose()?;
        let (database, files) = read_all_of(&self.databases, other.as_ref(), &trust)?;
        let units = in_units(&database, Record::new())?;
        if let Some(stated) = mapped(&database)? {
            let _ = self.rules.set(Arc::new(ColumnRules::of_release(stated)));
        }
        let ranked = match &database {
            AnyRelease::Sketch(_)
            | AnyRelease::Units(_)
            | AnyRelease::Bounded(_)
            | AnyRelease::Counts(_) => true,
            AnyRelease::Symbols(release) => release.payload().is_occupancy(),
            _ => false,
        };
        if self.denoise && !ranked {
            return Err(database.cannot("a denoised ranking"));
        }
        let guessed = match &database {
            AnyRelease::Sketch(items) => {
                matches!(items.payload().projection().family(), Family::Grouped { .. })
            }
            AnyRelease::Counts(_) => true,
            _ => false,
        };
        if self.public.is_some() && !guessed {
            return Err(database.cannot("a ranking by public rows or sets"));
        }
        if self.query.is_none() && self.public.is_none() {
            let why = "it leaves columns of --query and --public out";
            no_effect("--id", self.left_out.first(), why)?;
        }
        let queries = other.as_ref().unwrap_or(&database);
        if let Some(ids) = queries.ids().filter(|_| self.query.is_none()) {
            let words = self.rows.iter().flat_map(|said| match ids.row(said) {
                Some(_) => vec![said.as_str()],
                None => said.split(',').collect(),
            });
            let row = |row| row_of("--row", row, None, Some(ids));
            let _ = self.named.set(words.map(row).collect::<Result<_>>()?);
        }
        if let Some(path) = &self.query {
            let (name, rows, found) = self.exact(&database, path).map_err(|e| of_query(e, path))?;
            let found = tabled(name, &rows, found, [None, database.ids()], &files);
            return Ok(units.and(found));
        }
        // A row of the database finds itself: ask for one more and leave it out.
        let within = other.is_none();
        let scored = |r: &AnyRelease| {
            matches!(
                r,
                AnyRelease::Sketch(_)
                    | AnyRelease::Units(_)
                    | AnyRelease::Bounded(_)
                    | AnyRelease::Groups(_)
            )
        };
        if !scored(&database) {
            self.one_score(database.name())?;
        }
        let count = self.top.saturating_add(usize::from(within));
        let (name, rows, mut found) = match (&database, queries) {
            (AnyRelease::Sketch(items), AnyRelease::Sketch(queries)) => {
                self.dense(items, queries, count)?
            }
            (AnyRelease::Units(items), AnyRelease::Units(queries)) => {
                self.units(items.payload(), queries.payload(), count)?
            }
            (AnyRelease::Bounded(items), AnyRelease::Bounded(queries)) => {
                self.bounded(items.payload(), queries.payload(), count)?
            }
            (AnyRelease::Symbols(items), AnyRelease::Symbols(queries))
                if items.payload().is_occupancy() =>
            {
                self.occupancy(items.payload(), queries.payload(), count)?
            }
            (AnyRelease::Groups(items), AnyRelease::Groups(_)) if within => {
                let sums = items.payload().sums();
                let rows = self.chosen(sums.n())?;
                let found = self.in_groups(items.payload(), &Queries::rows(sums, &rows)?, count)?;
                (self.score().1, rows, listed(&found))
            }
            (AnyRelease::Groups(_), AnyRelease::Groups(_)) => {
                return Err(Error::usage(
                    "private groups are searched within one release, or by --query: two releases have groups of their own",
                ));
            }
            (AnyRelease::Counts(items), AnyRelease::Counts(queries)) => {
                self.counts(items.payload(), queries.payload(), count)?
            }
            (AnyRelease::Symbols(items), AnyRelease::Symbols(queries)) => {
                let rows = self.chosen(queries.payload().rows())?;
                let pairs = match within {
                    true => SetPairs::within(items),
                    false => SetPairs::between(queries, items)?,
                };
                let hits = nearest(pairs, &rows, self.top, Ranking::Similarity)?;
                let list = |hits: Vec<sketch::search::Hit>| {
                    hits.iter().map(|hit| (hit.row, hit.score)).collect()
                };
                ("score", rows, hits.into_iter().map(list).collect())
            }
            (items, queries) => match (items.signs(), queries.signs()) {
                (Some(items), Some(queries)) => self.hamming(items, queries, count)?,
                _ => return Err(items.cannot_beside(queries, "a search")),
            },
        };
        if within {
            for (&row, hits) in rows.iter().zip(&mut found) {
                hits.retain(|&(hit, _)| hit != row);
                hits.truncate(self.top);
            }
        }
        Ok(units.and(tabled(name, &rows, found, [queries.ids(), database.ids()], &files)))
    }

    /// Counts of groups: by those of a file of sets, or of rows of a release.
    fn counts(
        &self,
        items: &NoisyCounts,
        queries: &NoisyCounts,
        count: usize,
    ) -> Result<(&'static str, Vec<usize>, Vec<Found>)> {
        self.one_score(COUNTS)?;
        let rows = self.chosen(queries.rows())?;
        let found = self.count_index(items)?.top_k(&Queries::rows(queries, &rows)?, count)?;
        Ok((COSINE, rows, listed(&found)))
    }

    fn count_index<'a>(&self, items: &'a NoisyCounts) -> Result<CountIndex<'a>> {
        let public = self.public.as_ref().map(|path| all_sets(&SetsFile::new(path))).transpose()?;
        Ok(match public {
            Some(sets) => CountIndex::posterior(items, &NoisyCounts::exact(items, &sets)),
            None if self.denoise => CountIndex::posterior(items, items),
            None => CountIndex::new(items),
        }?)
    }

    fn occupancy(
        &self,
        items: &PrivateSymbols,
        queries: &PrivateSymbols,
        count: usize,
    ) -> Result<(&'static str, Vec<usize>, Vec<Found>)> {
        let rows = self.chosen(queries.rows())?;
        let found = self.set_index(items)?.top_k(&Queries::rows(queries, &rows)?, count)?;
        Ok((COSINE, rows, listed(&found)))
    }

    fn set_index<'a>(&self, items: &'a PrivateSymbols) -> Result<SetIndex<'a>> {
        Ok(if self.denoise { SetIndex::denoised(items) } else { SetIndex::new(items) }?)
    }

    fn unit_index<'a>(&self, items: &'a UnitVectors) -> Result<UnitIndex<'a>> {
        let score = self.score().0;
        Ok(if self.denoise {
            UnitIndex::denoised(items, score)
        } else {
            UnitIndex::new(items, score)
        }?)
    }

    fn bounded_index<'a>(&self, items: &'a BoundedValues) -> Result<BoundedIndex<'a>> {
        let score = self.score().0;
        Ok(if self.denoise {
            BoundedIndex::denoised(items, score)
        } else {
            BoundedIndex::new(items, score)
        }?)
    }

    fn in_sketch(
        &self,
        items: &PrivateSketch,
        queries: &Queries<'_, PrivateSketch>,
        count: usize,
    ) -> Result<Neighbours<f64>> {
        let score = self.score().0;
        if let (Some(path), Family::Grouped { groups }) =
            (&self.public, items.projection().family())
        {
            let (d, rows) = numbers(&self.beside(path))?;
            let rows = RowsView::f64(rows.len() / d.max(1), d, &rows)?;
            let moments = PublicMoments::of_sample(rows)?;
            let posterior = Posterior::new(groups, &moments)?;
            return Ok(SketchIndex::posterior(items, &posterior, score)?.top_k(queries, count)?);
        }
        let index = if self.denoise {
            SketchIndex::denoised(items, score)
        } else {
            SketchIndex::new(items, score)
        };
        Ok(index?.top_k(queries, count)?)
    }

    /// By the best guess of rows, from the moments beside the sums.
    fn in_groups(
        &self,
        items: &GroupSums,
        queries: &Queries<'_, PrivateSketch>,
        count: usize,
    ) -> Result<Neighbours<f64>> {
        let sums = items.sums();
        let Family::Grouped { groups } = sums.projection().family() else {
            return Err(Error::usage("the release has no groups"));
        };
        let moments = items.moments()?;
        let posterior = Posterior::new(groups, &moments)?;
        Ok(SketchIndex::posterior(sums, &posterior, self.score().0)?.top_k(queries, count)?)
    }

    /// Refuses a choice of scores where there is none.
    fn one_score(&self, name: &str) -> Result<()> {
        let why = format!("{name} are searched in one way only");
        no_effect("--score", self.score.as_ref(), &why)
    }

    /// The query rows asked for.
    fn chosen(&self, n: usize) -> Result<Vec<usize>> {
        if self.top == 0 {
            return Err(Error::usage("--top takes a number above zero"));
        }
        if self.rows.is_empty() {
            return Ok((0..n).collect());
        }
        match self.named.get() {
            Some(rows) => Ok(rows.clone()),
            None => {
                let words = self.rows.iter().flat_map(|said| said.split(','));
                words.map(|row| row_of("--row", row, Some(n), None)).collect()
            }
        }
    }

    fn dense(
        &self,
        items: &Release<PrivateSketch>,
        queries: &Release<PrivateSketch>,
        count: usize,
    ) -> Result<(&'static str, Vec<usize>, Vec<Found>)> {
        let rows = self.chosen(queries.payload().n())?;
        let asked = Queries::rows(queries.payload(), &rows)?;
        let found = self.in_sketch(items.payload(), &asked, count)?;
        Ok((self.score().1, rows, listed(&found)))
    }

    fn units(
        &self,
        items: &UnitVectors,
        queries: &UnitVectors,
        count: usize,
    ) -> Result<(&'static str, Vec<usize>, Vec<Found>)> {
        let rows = self.chosen(queries.n())?;
        let found =
            self.unit_index(items)?.top_k(&UnitQueries::released(queries, &rows)?, count)?;
        Ok((self.score().1, rows, listed(&found)))
    }

    fn bounded(
        &self,
        items: &BoundedValues,
        queries: &BoundedValues,
        count: usize,
    ) -> Result<(&'static str, Vec<usize>, Vec<Found>)> {
        items.check_comparable(queries)?;
        let rows = self.chosen(queries.n())?;
        let asked = BoundedQueries::released(queries, &rows)?;
        let found = self.bounded_index(items)?.top_k(&asked, count)?;
        Ok((self.score().1, rows, listed(&found)))
    }

    fn score(&self) -> (Score, &'static str) {
        match self.score.unwrap_or(ScoreName::Cosine) {
            ScoreName::Cosine => (Score::Cosine, COSINE),
            ScoreName::Inner => (Score::InnerProduct, "noisy inner product"),
            ScoreName::SquaredDistance => (Score::SquaredDistance, "squared distance"),
        }
    }

    fn hamming(
        &self,
        items: &SignCodes,
        queries: &SignCodes,
        count: usize,
    ) -> Result<(&'static str, Vec<usize>, Vec<Found>)> {
        let rows = self.chosen(queries.bits().n())?;
        let found = HammingIndex::new(items)?.top_k(&Queries::rows(queries, &rows)?, count)?;
        let list = |query| {
            let pairs = found.indices(query).iter().zip(found.scores(query));
            pairs.map(|(&row, &score)| (row as usize, f64::from(score))).collect()
        };
        Ok(("differing bits", rows, (0..found.n()).map(list).collect()))
    }
}
