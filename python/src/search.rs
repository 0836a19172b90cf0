//! The best rows of a release.

use crate::answers::{found, signs_of, two};
use crate::error::{Fault, Result};
use crate::rows::{Rows, sets};
use crate::run::work;
use dp_core::certificate::preprocessing::Preprocessing;
use linalg_dp::any::AnyRelease;
use linalg_dp::groups::GroupSums;
use numpy::PyArray1;
use pyo3::prelude::*;
use sketch::RowsView;
use sketch::bounded::BoundedQueries;
use sketch::projection::Family;
use sketch::search::{
    BoundedIndex, CountIndex, HammingIndex, Neighbours, Queries, Ranking, Score, Searchable,
    SetIndex, SketchIndex, UnitIndex, nearest,
};
use sketch::sets::{NoisyCounts, PrivateSymbols, SetPairs};
use sketch::signs::SignQueries;
use sketch::units::UnitQueries;
use sketch::vectors::{Posterior, PrivateSketch};

/// Rows and scores, queries x top.
pub(crate) type Found<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// All rows, or these.
fn chosen<'a, T: Searchable>(of: &'a T, rows: Option<&'a [usize]>) -> Result<Queries<'a, T>> {
    Ok(match rows {
        Some(rows) => Queries::rows(of, rows)?,
        None => Queries::all(of),
    })
}

fn scored(name: &str) -> Score {
    match name {
        "inner" => Score::InnerProduct,
        "squared-distance" => Score::SquaredDistance,
        _ => Score::Cosine,
    }
}

/// The best rows of a release for each query; nothing where these two are not searched.
pub(crate) fn search<'py>(
    py: Python<'py>,
    (items, other): (&AnyRelease, Option<&AnyRelease>),
    (top, rows): (usize, Option<Vec<usize>>),
    score: &str,
) -> Result<Option<Found<'py>>> {
    if top == 0 {
        return Err(Fault::invalid("top", top, "[1, 2^64)"));
    }
    if let Some(other) = other {
        items.mapped_alike(other)?;
    }
    let some = rows.as_deref();
    Ok(Some(match (items, other.unwrap_or(items)) {
        (AnyRelease::Groups(items), AnyRelease::Groups(_)) if other.is_none() => {
            let (items, score) = (items.payload(), scored(score));
            let sums = items.sums();
            let answers = work(py, || in_groups(items, &chosen(sums, some)?, top, score))?;
            found(py, &answers)?
        }
        (AnyRelease::Units(items), AnyRelease::Units(asked)) => {
            let score = scored(score);
            let answers = work(py, || -> Result<_> {
                let (items, asked) = (items.payload(), asked.payload());
                let rows = some.map_or_else(|| (0..asked.n()).collect(), <[usize]>::to_vec);
                let queries = UnitQueries::released(asked, &rows)?;
                Ok(UnitIndex::new(items, score)?.top_k(&queries, top)?)
            })?;
            found(py, &answers)?
        }
        (AnyRelease::Sketch(items), AnyRelease::Sketch(asked)) => {
            let score = scored(score);
            let answers = work(py, || -> Result<_> {
                let index = SketchIndex::new(items.payload(), score)?;
                Ok(index.top_k(&chosen(asked.payload(), some)?, top)?)
            })?;
            found(py, &answers)?
        }
        (AnyRelease::Bounded(items), AnyRelease::Bounded(asked)) => {
            let score = scored(score);
            let answers = work(py, || -> Result<_> {
                let (items, asked) = (items.payload(), asked.payload());
                items.check_comparable(asked)?;
                let rows = some.map_or_else(|| (0..asked.n()).collect(), <[usize]>::to_vec);
                let queries = BoundedQueries::released(asked, &rows)?;
                Ok(BoundedIndex::denoised(items, score)?.top_k(&queries, top)?)
            })?;
            found(py, &answers)?
        }
        (AnyRelease::Counts(items), AnyRelease::Counts(asked)) => {
            let answers = work(py, || -> Result<_> {
                let index = CountIndex::posterior(items.payload(), items.payload())?;
                Ok(index.top_k(&chosen(asked.payload(), some)?, top)?)
            })?;
            found(py, &answers)?
        }
        (AnyRelease::Symbols(items), AnyRelease::Symbols(asked)) => {
            let pairs = match other {
                None => SetPairs::within(items),
                Some(_) => SetPairs::between(asked, items)?,
            };
            let rows: Vec<usize> = rows.unwrap_or_else(|| (0..asked.payload().rows()).collect());
            let hits = work(py, || nearest(pairs, &rows, top, Ranking::Similarity))?;
            let flat = || hits.iter().flatten();
            let numbers: Vec<i64> = flat().map(|hit| hit.row as i64).collect();
            let scores: Vec<f64> = flat().map(|hit| hit.score).collect();
            (
                two(rows.len(), PyArray1::from_vec(py, numbers))?,
                two(rows.len(), PyArray1::from_vec(py, scores))?,
            )
        }
        (items, asked) => {
            let (Some(items), Some(asked)) = (signs_of(items), signs_of(asked)) else {
                return Ok(None);
            };
            let answers = work(py, || -> Result<_> {
                Ok(HammingIndex::new(items)?.top_k(&chosen(asked, some)?, top)?)
            })?;
            found(py, &answers)?
        }
    }))
}

/// Among sums of private groups, by the best guess of rows.
fn in_groups(
    items: &GroupSums,
    queries: &Queries<'_, PrivateSketch>,
    top: usize,
    score: Score,
) -> Result<Neighbours<f64>> {
    let Family::Grouped { groups } = items.sums().projection().family() else {
        return Err(Fault::Data("sums of groups without groups".into()));
    };
    let moments = items.moments()?;
    let posterior = Posterior::new(groups, &moments)?;
    Ok(SketchIndex::posterior(items.sums(), &posterior, score)?.top_k(queries, top)?)
}

/// The best rows of a release for rows or sets that were never released; nothing where such are not searched for.
pub(crate) fn search_exact<'py>(
    py: Python<'py>,
    items: &AnyRelease,
    (top, asked): (usize, &Bound<'py, PyAny>),
    score: &str,
) -> Result<Option<Found<'py>>> {
    if top == 0 {
        return Err(Fault::invalid("top", top, "[1, 2^64)"));
    }
    if Preprocessing::stated(&items.certificate().statement().public)?.is_some() {
        let why = "the values of this release were mapped before: dps search --query maps those of a file in the same way";
        return Err(Fault::Data(why.into()));
    }
    let answers = match items {
        AnyRelease::Counts(items) => {
            let (items, asked) = (items.payload(), sets(asked)?);
            work(py, || -> Result<_> {
                let queries = NoisyCounts::exact(items, &asked);
                Ok(CountIndex::posterior(items, items)?.top_k(&Queries::all(&queries), top)?)
            })?
        }
        AnyRelease::Symbols(items) if items.payload().is_occupancy() => {
            let (items, asked) = (items.payload(), sets(asked)?);
            work(py, || -> Result<_> {
                let queries = PrivateSymbols::exact(items, &asked)?;
                Ok(SetIndex::denoised(items)?.top_k(&Queries::all(&queries), top)?)
            })?
        }
        AnyRelease::Sketch(_)
        | AnyRelease::Groups(_)
        | AnyRelease::Units(_)
        | AnyRelease::Bounded(_)
        | AnyRelease::Signs(_)
        | AnyRelease::IndividualSigns(_) => {
            let (mut held, score) = (None, scored(score));
            let source = Rows::of(asked)?.source(&mut held)?;
            work(py, || source.whole(&mut |_, _| Ok(()), |rows| of_rows(items, rows, top, score)))?
        }
        _ => return Ok(None),
    };
    Ok(Some(found(py, &answers)?))
}

fn of_rows(
    items: &AnyRelease,
    rows: RowsView<'_>,
    top: usize,
    score: Score,
) -> Result<Neighbours<f64>> {
    let sketched =
        |of: &PrivateSketch| PrivateSketch::exact(of.projection().build().as_ref(), rows);
    Ok(match items {
        AnyRelease::Sketch(items) => {
            let queries = sketched(items.payload())?;
            SketchIndex::new(items.payload(), score)?.top_k(&Queries::all(&queries), top)?
        }
        AnyRelease::Groups(items) => {
            let queries = sketched(items.payload().sums())?;
            in_groups(items.payload(), &Queries::all(&queries), top, score)?
        }
        AnyRelease::Units(items) => {
            let queries = UnitQueries::exact(items.payload(), rows)?;
            UnitIndex::new(items.payload(), score)?.top_k(&queries, top)?
        }
        AnyRelease::Bounded(items) => {
            let queries = BoundedQueries::exact(items.payload(), rows)?;
            BoundedIndex::denoised(items.payload(), score)?.top_k(&queries, top)?
        }
        AnyRelease::Signs(items) => {
            let queries = SignQueries::exact(items, rows)?;
            HammingIndex::new(items.payload())?.top_k_exact(&queries, top)?
        }
        AnyRelease::IndividualSigns(items) => {
            let queries = SignQueries::exact(items, rows)?;
            HammingIndex::new(items.payload())?.top_k_exact(&queries, top)?
        }
        _ => return Err(Fault::Data("no rows of this kind are searched".into())),
    })
}
