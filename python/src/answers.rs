//! What is read out of releases, as Python takes it.

use crate::error::{Fault, Result};
use crate::held::Held;
use dp_core::Probability;
use dp_core::certificate::{Exception, Trust};
use faer::MatRef;
use linalg_dp::any::AnyRelease;
use linalg_dp::verify::{Finding, Report};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use sketch::bounded::BoundedPairs;
use sketch::distances::{
    noisy_bit_distance, noisy_bit_distance_interval, noisy_distance, noisy_distance_interval,
};
use sketch::search::Neighbours;
use sketch::sets::SetPairs;
use sketch::signs::{SignCodes, SignPairs};
use sketch::units::UnitPairs;
use sketch::vectors::Pairs;
use sketch::{Estimate, Interval};

/// What a reader takes at the writer's word.
pub(crate) fn trust(accept: &[String], long: bool) -> Result<Trust> {
    let mut trust = Trust::none();
    for name in accept {
        let Some(exception) = Exception::ALL.into_iter().find(|e| e.name() == name) else {
            let names = Exception::ALL.map(Exception::name).join(", ");
            return Err(Fault::invalid("accept", name, &names));
        };
        trust = trust.and(exception);
    }
    Ok(if long { trust.however_long() } else { trust })
}

fn finding(finding: Finding) -> String {
    match finding {
        Finding::Agrees => "agrees".into(),
        Finding::NothingStated(why) => format!("nothing stated: {why}"),
        Finding::NotChecked(why) => format!("not checked: {why}"),
        _ => "not known".into(),
    }
}

pub(crate) fn report(report: Report) -> (String, String) {
    (finding(report.sensitivity), finding(report.payload))
}

/// A matrix as an array of Python, row after row.
pub(crate) fn matrix<'py>(py: Python<'py>, of: MatRef<'_, f64>) -> Result<Bound<'py, PyAny>> {
    let mut values = Vec::with_capacity(of.nrows() * of.ncols());
    for i in 0..of.nrows() {
        values.extend((0..of.ncols()).map(|j| of[(i, j)]));
    }
    let array = PyArray1::from_vec(py, values).reshape([of.nrows(), of.ncols()])?;
    Ok(array.into_any())
}

/// A vector as rows.
pub(crate) fn two<'py, T: numpy::Element>(
    rows: usize,
    values: Bound<'py, PyArray1<T>>,
) -> Result<Bound<'py, PyAny>> {
    let width = values.len()?.checked_div(rows).unwrap_or(0);
    Ok(values.reshape([rows, width])?.into_any())
}

/// Measure, value, standard error, low, high.
pub(crate) type Row = (String, f64, f64, f64, f64);

/// A name, an estimate and its interval, where the release can tell.
pub(crate) fn told(
    rows: &mut Vec<Row>,
    name: &str,
    asked: Option<&str>,
    estimate: sketch::Result<Estimate>,
    interval: sketch::Result<Interval>,
) -> Result<()> {
    match asked {
        Some(asked) if asked != name => return Ok(()),
        None if matches!(estimate, Err(sketch::Error::Undefined { .. }))
            || matches!(interval, Err(sketch::Error::Undefined { .. })) =>
        {
            return Ok(());
        }
        _ => {}
    }
    let (Estimate { value, standard_error }, Interval { low, high }) = (estimate?, interval?);
    rows.push((name.to_owned(), value, standard_error, low, high));
    Ok(())
}

pub(crate) fn confidence_of(value: f64) -> Result<Probability> {
    if value > 0.0 && value < 1.0 {
        return Ok(Probability::new(value)?);
    }
    Err(Fault::invalid("confidence", value, "(0, 1)"))
}

pub(crate) fn signs_of(release: &AnyRelease) -> Option<&SignCodes> {
    match release {
        AnyRelease::Signs(r) => Some(r.payload()),
        AnyRelease::IndividualSigns(r) => Some(r.payload()),
        _ => None,
    }
}

/// The best rows of many queries.
#[derive(Default)]
pub(crate) struct Best {
    queries: usize,
    rows: Vec<i64>,
    scores: Vec<f64>,
}

impl Best {
    /// Those of one more query.
    pub(crate) fn add(
        &mut self,
        rows: impl Iterator<Item = i64>,
        scores: impl Iterator<Item = f64>,
    ) {
        self.queries += 1;
        self.rows.extend(rows);
        self.scores.extend(scores);
    }

    /// Those of more queries.
    pub(crate) fn extend<S: Copy + Into<f64>>(&mut self, found: &Neighbours<S>) {
        let hits = (0..found.n()).map(|query| found.indices(query).len()).sum();
        self.rows.reserve(hits);
        self.scores.reserve(hits);
        for query in 0..found.n() {
            let rows = found.indices(query).iter().map(|&row| i64::from(row));
            self.add(rows, found.scores(query).iter().map(|&score| score.into()));
        }
    }

    /// Rows and scores, queries x top.
    pub(crate) fn arrays<'py>(
        self,
        py: Python<'py>,
    ) -> Result<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let n = self.queries;
        Ok((
            two(n, PyArray1::from_vec(py, self.rows))?,
            two(n, PyArray1::from_vec(py, self.scores))?,
        ))
    }
}

/// What two rows have in common; nothing where such releases do not tell.
pub(crate) fn between(
    left: &Held,
    right: Option<&Held>,
    (i, j): (usize, usize),
    measure: Option<&str>,
    level: Probability,
) -> Result<Option<Vec<Row>>> {
    let (mut rows, mut names) = (Vec::new(), Vec::new());
    let mut tell = |name: &'static str, estimate, interval| {
        names.push(name);
        told(&mut rows, name, measure, estimate, interval)
    };
    match (left, right) {
        (Held::Distances(r), None) => {
            let interval = noisy_distance_interval(r, i, j, level);
            tell("squared distance", noisy_distance(r, i, j), interval)?;
        }
        (Held::Bits(r), None) => {
            let interval = noisy_bit_distance_interval(r, i, j, level);
            tell("hamming distance", noisy_bit_distance(r, i, j), interval)?;
        }
        (Held::Any(left), None | Some(Held::Any(_))) => {
            let other = match right {
                Some(Held::Any(right)) => Some(&**right),
                _ => None,
            };
            match (&**left, other.unwrap_or(left)) {
                (AnyRelease::Sketch(a), AnyRelease::Sketch(b)) => {
                    let pairs = match other {
                        None => Pairs::within(a),
                        Some(_) => Pairs::between(a, b)?,
                    };
                    let near = pairs.squared_distance_interval(i, j, level);
                    tell("squared distance", pairs.squared_distance(i, j), near)?;
                    let inner = pairs.inner_product_interval(i, j, level);
                    tell("inner product", pairs.inner_product(i, j), inner)?;
                    tell("cosine", pairs.cosine(i, j), pairs.cosine_interval(i, j, level))?;
                }
                (AnyRelease::Units(a), AnyRelease::Units(b)) => {
                    let pairs = match other {
                        None => UnitPairs::within(a),
                        Some(_) => UnitPairs::between(a, b)?,
                    };
                    tell("cosine", pairs.cosine(i, j), pairs.cosine_interval(i, j, level))?;
                }
                (AnyRelease::Bounded(a), AnyRelease::Bounded(b)) => {
                    let pairs = match other {
                        None => BoundedPairs::within(a),
                        Some(_) => BoundedPairs::between(a, b)?,
                    };
                    let near = pairs.squared_distance_interval(i, j, level);
                    tell("squared distance", pairs.squared_distance(i, j), near)?;
                    let inner = pairs.inner_product_interval(i, j, level);
                    tell("inner product", pairs.inner_product(i, j), inner)?;
                }
                (AnyRelease::Symbols(a), AnyRelease::Symbols(b)) => {
                    let pairs = match other {
                        None => SetPairs::within(a),
                        Some(_) => SetPairs::between(a, b)?,
                    };
                    let interval = pairs.jaccard_interval(i, j, level);
                    tell("jaccard similarity", pairs.jaccard(i, j), interval)?;
                }
                (a, b) => {
                    use AnyRelease::{IndividualSigns, Signs};
                    let pairs = match (a, b) {
                        (Signs(a), Signs(b)) => SignPairs::between(a, b)?,
                        (Signs(a), IndividualSigns(b)) => SignPairs::between(a, b)?,
                        (IndividualSigns(a), Signs(b)) => SignPairs::between(a, b)?,
                        (IndividualSigns(a), IndividualSigns(b)) => SignPairs::between(a, b)?,
                        _ => return Ok(None),
                    };
                    tell("cosine", pairs.cosine(i, j), pairs.cosine_interval(i, j, level))?;
                    let bits = pairs.hamming_interval(i, j, level);
                    tell("hamming distance", pairs.hamming(i, j), bits)?;
                }
            }
        }
        _ => return Ok(None),
    }
    match measure {
        Some(asked) if !names.contains(&asked) => {
            let names = names.join(", ");
            Err(Fault::Data(format!(
                "measure = {asked} cannot be read from this release: it tells {{{names}}}"
            )))
        }
        _ => Ok(Some(rows)),
    }
}
