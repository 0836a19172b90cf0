//! The best rows of a release.

use crate::answers::{found, signs_of, two};
use crate::error::Result;
use crate::run::work;
use linalg_dp::any::AnyRelease;
use numpy::PyArray1;
use pyo3::prelude::*;
use sketch::bounded::BoundedQueries;
use sketch::projection::Family;
use sketch::search::{
    BoundedIndex, CountIndex, HammingIndex, Queries, Ranking, Score, Searchable, SketchIndex,
    nearest,
};
use sketch::sets::SetPairs;
use sketch::vectors::Posterior;

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
    if let Some(other) = other {
        items.mapped_alike(other)?;
    }
    let some = rows.as_deref();
    Ok(Some(match (items, other.unwrap_or(items)) {
        (AnyRelease::Groups(items), AnyRelease::Groups(_)) if other.is_none() => {
            let (sums, score) = (items.payload().sums(), scored(score));
            let Family::Grouped { groups } = sums.projection().family() else { return Ok(None) };
            let answers = work(py, || -> Result<_> {
                let moments = items.payload().moments()?;
                let posterior = Posterior::new(groups, &moments)?;
                let index = SketchIndex::posterior(sums, &posterior, score)?;
                Ok(index.top_k(&chosen(sums, some)?, top)?)
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
