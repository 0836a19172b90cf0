//! The best rows of a release.

use crate::answers::{Best, signs_of};
use crate::error::{Fault, Result};
use crate::rows::{Rows, sets};
use crate::run::{Watch, work};
use core::ops::Range;
use dp_core::certificate::preprocessing::Preprocessing;
use linalg_dp::any::AnyRelease;
use linalg_dp::groups::GroupSums;
use pyo3::prelude::*;
use sketch::RowsView;
use sketch::bounded::BoundedQueries;
use sketch::projection::Family;
use sketch::search::{
    BoundedIndex, CountIndex, HammingIndex, Neighbours, Queries, Ranking, Score, SetIndex,
    SketchIndex, UnitIndex, nearest,
};
use sketch::sets::{NoisyCounts, PrivateSymbols, SetPairs};
use sketch::signs::{SignCodes, SignQueries};
use sketch::units::UnitQueries;
use sketch::vectors::{Posterior, PrivateSketch};

/// Rows and scores, queries x top.
pub(crate) type Found<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Pairs of queries and rows that are compared before Ctrl-C is looked for: about a second of work,
const PAIRS: usize = 1 << 27;
/// and as many queries at least: with fewer an index multiplies them in smaller blocks.
const QUERIES: usize = 1 << 12;

/// Answers so many queries among so many rows, a portion at a time.
fn in_portions(
    (queries, items): (usize, usize),
    mut each: impl FnMut(Range<usize>) -> Result<()>,
) -> Result<()> {
    let portion = (PAIRS / items.max(1)).max(QUERIES);
    let (mut watch, mut first) = (Watch::new(None), 0);
    // Once where there is none too: what is asked for is checked.
    loop {
        watch.tick(first, queries)?;
        let next = queries.min(first + portion);
        each(first..next).map_err(|e| e.offset_row(first))?;
        if next == queries {
            return Ok(());
        }
        first = next;
    }
}

/// The answers of an index, portion by portion.
fn answers<S: Copy + Into<f64>>(
    sizes: (usize, usize),
    mut each: impl FnMut(Range<usize>) -> Result<Neighbours<S>>,
) -> Result<Best> {
    let mut best = Best::default();
    in_portions(sizes, |range| {
        best.extend(&each(range)?);
        Ok(())
    })?;
    Ok(best)
}

/// Rows that are asked about: these, or so many from zero on.
fn numbers(rows: Option<Vec<usize>>, all: usize) -> Vec<usize> {
    rows.unwrap_or_else(|| (0..all).collect())
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
    let score = scored(score);
    let best = work(py, || -> Result<Option<Best>> {
        Ok(Some(match (items, other.unwrap_or(items)) {
            (AnyRelease::Groups(items), AnyRelease::Groups(_)) if other.is_none() => {
                let sums = items.payload().sums();
                let rows = numbers(rows, sums.n());
                in_groups(items.payload(), score, |index| {
                    answers((rows.len(), sums.n()), |range| {
                        Ok(index.top_k(&Queries::rows(sums, &rows[range])?, top)?)
                    })
                })?
            }
            (AnyRelease::Units(items), AnyRelease::Units(asked)) => {
                let (items, asked) = (items.payload(), asked.payload());
                let (rows, index) = (numbers(rows, asked.n()), UnitIndex::new(items, score)?);
                answers((rows.len(), items.n()), |range| {
                    Ok(index.top_k(&UnitQueries::released(asked, &rows[range])?, top)?)
                })?
            }
            (AnyRelease::Sketch(items), AnyRelease::Sketch(asked)) => {
                let (items, asked) = (items.payload(), asked.payload());
                let (rows, index) = (numbers(rows, asked.n()), SketchIndex::new(items, score)?);
                answers((rows.len(), items.n()), |range| {
                    Ok(index.top_k(&Queries::rows(asked, &rows[range])?, top)?)
                })?
            }
            (AnyRelease::Bounded(items), AnyRelease::Bounded(asked)) => {
                let (items, asked) = (items.payload(), asked.payload());
                items.check_comparable(asked)?;
                let rows = numbers(rows, asked.n());
                let index = BoundedIndex::denoised(items, score)?;
                answers((rows.len(), items.n()), |range| {
                    let queries = BoundedQueries::released(asked, &rows[range])?;
                    Ok(index.top_k(&queries, top)?)
                })?
            }
            (AnyRelease::Counts(items), AnyRelease::Counts(asked)) => {
                let (items, asked) = (items.payload(), asked.payload());
                let rows = numbers(rows, asked.rows());
                let index = CountIndex::posterior(items, items)?;
                answers((rows.len(), items.rows()), |range| {
                    Ok(index.top_k(&Queries::rows(asked, &rows[range])?, top)?)
                })?
            }
            (AnyRelease::Symbols(items), AnyRelease::Symbols(asked)) => {
                let rows = numbers(rows, asked.payload().rows());
                let mut best = Best::default();
                in_portions((rows.len(), items.payload().rows()), |range| {
                    let pairs = match other {
                        None => SetPairs::within(items),
                        Some(_) => SetPairs::between(asked, items)?,
                    };
                    for hits in nearest(pairs, &rows[range], top, Ranking::Similarity)? {
                        best.add(
                            hits.iter().map(|hit| hit.row as i64),
                            hits.iter().map(|hit| hit.score),
                        );
                    }
                    Ok(())
                })?;
                best
            }
            (items, asked) => {
                let (Some(items), Some(asked)) = (signs_of(items), signs_of(asked)) else {
                    return Ok(None);
                };
                let (n, index) = (items.bits().n(), HammingIndex::new(items)?);
                let rows = numbers(rows, asked.bits().n());
                answers((rows.len(), n), |range| {
                    Ok(index.top_k(&Queries::rows(asked, &rows[range])?, top)?)
                })?
            }
        }))
    })?;
    best.map(|best| best.arrays(py)).transpose()
}

/// Work with the index of sums of private groups, by the best guess of rows.
fn in_groups<T>(
    items: &GroupSums,
    score: Score,
    task: impl FnOnce(&SketchIndex<'_>) -> Result<T>,
) -> Result<T> {
    let Family::Grouped { groups } = items.sums().projection().family() else {
        return Err(Fault::Data("sums of groups without groups".into()));
    };
    let moments = items.moments()?;
    let posterior = Posterior::new(groups, &moments)?;
    task(&SketchIndex::posterior(items.sums(), &posterior, score)?)
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
    let best = match items {
        AnyRelease::Counts(items) => {
            let (items, asked) = (items.payload(), sets(asked)?);
            work(py, || -> Result<_> {
                let index = CountIndex::posterior(items, items)?;
                answers((asked.len(), items.rows()), |range| {
                    let queries = NoisyCounts::exact(items, &asked[range]);
                    Ok(index.top_k(&Queries::all(&queries), top)?)
                })
            })?
        }
        AnyRelease::Symbols(items) if items.payload().is_occupancy() => {
            let (items, asked) = (items.payload(), sets(asked)?);
            work(py, || -> Result<_> {
                let index = SetIndex::denoised(items)?;
                answers((asked.len(), items.rows()), |range| {
                    let queries = PrivateSymbols::exact(items, &asked[range])?;
                    Ok(index.top_k(&Queries::all(&queries), top)?)
                })
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
    best.arrays(py).map(Some)
}

fn of_rows(items: &AnyRelease, rows: RowsView<'_>, top: usize, score: Score) -> Result<Best> {
    let of_signs = |codes: &SignCodes, queries: &dyn Fn(RowsView<'_>) -> Result<SignQueries>| {
        let index = HammingIndex::new(codes)?;
        answers((rows.n(), codes.bits().n()), |range| {
            Ok(index.top_k_exact(&queries(rows.slice(range))?, top)?)
        })
    };
    match items {
        AnyRelease::Sketch(items) => {
            let (items, index) = (items.payload(), SketchIndex::new(items.payload(), score)?);
            let projection = items.projection().build();
            answers((rows.n(), items.n()), |range| {
                let queries = PrivateSketch::exact(projection.as_ref(), rows.slice(range))?;
                Ok(index.top_k(&Queries::all(&queries), top)?)
            })
        }
        AnyRelease::Groups(items) => {
            let sums = items.payload().sums();
            let projection = sums.projection().build();
            in_groups(items.payload(), score, |index| {
                answers((rows.n(), sums.n()), |range| {
                    let queries = PrivateSketch::exact(projection.as_ref(), rows.slice(range))?;
                    Ok(index.top_k(&Queries::all(&queries), top)?)
                })
            })
        }
        AnyRelease::Units(items) => {
            let (items, index) = (items.payload(), UnitIndex::new(items.payload(), score)?);
            answers((rows.n(), items.n()), |range| {
                let queries = UnitQueries::exact(items, rows.slice(range))?;
                Ok(index.top_k(&queries, top)?)
            })
        }
        AnyRelease::Bounded(items) => {
            let (items, index) = (items.payload(), BoundedIndex::denoised(items.payload(), score)?);
            answers((rows.n(), items.n()), |range| {
                let queries = BoundedQueries::exact(items, rows.slice(range))?;
                Ok(index.top_k(&queries, top)?)
            })
        }
        AnyRelease::Signs(items) => {
            of_signs(items.payload(), &|rows| Ok(SignQueries::exact(items, rows)?))
        }
        AnyRelease::IndividualSigns(items) => {
            of_signs(items.payload(), &|rows| Ok(SignQueries::exact(items, rows)?))
        }
        _ => Err(Fault::Data("no rows of this kind are searched".into())),
    }
}
