//! A run against reports published before: do the numbers agree within their error bars?

use super::csv::figure_csv;
use crate::error::{Error, Result};
use crate::framework::{Figure, Summary};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// Standard errors by which two runs may differ. A bar from three repetitions is itself
/// uncertain, so the bar of a point is at least the root mean square of its curve's bars.
pub const BARS: f64 = 6.0;
/// Relative difference that passes as equal: formulas, and equal seeds on another machine.
const EQUAL: f64 = 1e-9;

/// How the figures of one experiment agree with those published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The experiment.
    pub id: String,
    /// Points that are equal.
    pub equal: usize,
    /// Points that differ by less than [`BARS`] combined standard errors.
    pub within: usize,
    /// Points of random curves without an error bar (one repetition): nothing to judge by.
    pub without_bar: usize,
    /// Points that differ by more, and whatever one of the two runs lacks.
    pub beyond: Vec<String>,
}

/// One line of the CSV of a figure, as far as it is compared.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    x: f64,
    y: f64,
    error: Option<f64>,
    formula: bool,
}

type Curves = BTreeMap<(String, String), Vec<Row>>;

/// Compares every figure of a run with `<docs>/<id>-<figure>.csv`.
///
/// # Errors
/// [`Error::Io`] and [`Error::Malformed`] for published files that cannot be read; a figure
/// that was never published and an experiment that did not finish give an entry in `beyond`.
pub fn compare(summary: &Summary, docs: &Path) -> Result<Vec<Agreement>> {
    let mut all = Vec::new();
    for outcome in &summary.outcomes {
        let mut agreement = Agreement { id: outcome.id.into(), ..Agreement::default() };
        match &outcome.report {
            Ok(report) => {
                for figure in &report.figures {
                    let path = docs.join(format!("{}-{}.csv", outcome.id, figure.name));
                    match std::fs::read(&path) {
                        Ok(published) => agreement.figure(figure, &published)?,
                        Err(e) if e.kind() == ErrorKind::NotFound => {
                            agreement.beyond.push(format!("{}: was not published", figure.name));
                        }
                        Err(e) => return Err(Error::io(&path, e)),
                    }
                }
            }
            Err(error) => agreement.beyond.push(format!("did not finish: {error}")),
        }
        all.push(agreement);
    }
    Ok(all)
}

impl Agreement {
    fn figure(&mut self, figure: &Figure, published: &[u8]) -> Result<()> {
        let ours = curves(&figure_csv(figure), &figure.name)?;
        let theirs = curves(published, &figure.name)?;
        for key in ours.keys().chain(theirs.keys().filter(|k| !ours.contains_key(*k))) {
            let place = format!("{}, {}, {}", figure.name, key.0, key.1);
            match (ours.get(key), theirs.get(key)) {
                (Some(a), Some(b)) if a.len() == b.len() => self.curve(&place, a, b),
                (Some(_), Some(_)) => self.beyond.push(format!("{place}: other points")),
                (Some(_), None) => self.beyond.push(format!("{place}: was not published")),
                (None, _) => self.beyond.push(format!("{place}: was not made again")),
            }
        }
        Ok(())
    }

    fn curve(&mut self, place: &str, ours: &[Row], theirs: &[Row]) {
        let squares = |rows: &[Row]| -> f64 {
            let bars = rows.iter().filter_map(|r| r.error.filter(|e| e.is_finite()));
            let (sum, n) = bars.fold((0.0, 0u32), |(sum, n), e| (sum + e * e, n + 1));
            if n == 0 { 0.0 } else { sum / f64::from(n) }
        };
        let typical = (squares(ours) + squares(theirs)).sqrt();
        for (a, b) in ours.iter().zip(theirs) {
            let same = |p: f64, q: f64| {
                p == q
                    || (p.is_nan() && q.is_nan())
                    || (p - q).abs() <= EQUAL * p.abs().max(q.abs())
            };
            if !same(a.x, b.x) {
                self.beyond.push(format!("{place}: x = {} against {}", a.x, b.x));
            } else if same(a.y, b.y) {
                self.equal += 1;
            } else if let (Some(p), Some(q)) = (a.error, b.error) {
                let bar = p.hypot(q).max(typical);
                if (a.y - b.y).abs() <= BARS * bar {
                    self.within += 1;
                } else {
                    let (x, y, z) = (a.x, a.y, b.y);
                    self.beyond.push(format!("{place}, x = {x}: {y} against {z}, bar {bar}"));
                }
            } else if a.formula {
                self.beyond.push(format!("{place}, x = {}: {} against {}", a.x, a.y, b.y));
            } else {
                self.without_bar += 1;
            }
        }
    }
}

fn curves(bytes: &[u8], figure: &str) -> Result<Curves> {
    let what = || format!("published numbers of figure {figure}");
    let malformed = |e: ::csv::Error| Error::malformed(what(), e.to_string());
    let mut reader = ::csv::Reader::from_reader(bytes);
    let heads = reader.headers().map_err(malformed)?.clone();
    let column = |name: &str| {
        let at = heads.iter().position(|h| h == name);
        at.ok_or_else(|| Error::malformed(what(), format!("no column {name:?}")))
    };
    let at = [
        column("panel")?,
        column("curve")?,
        column("x")?,
        column("y")?,
        column("standard_error")?,
        column("seeds")?,
    ];
    let mut curves = Curves::new();
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        let number = |i: usize| {
            let text = &record[at[i]];
            text.parse::<f64>()
                .map_err(|_| Error::malformed(what(), format!("{text:?} is not a number")))
        };
        let error = if record[at[4]].is_empty() { None } else { Some(number(4)?) };
        let row = Row { x: number(2)?, y: number(3)?, error, formula: &record[at[5]] == "none" };
        let key = (record[at[0]].to_owned(), record[at[1]].to_owned());
        curves.entry(key).or_default().push(row);
    }
    Ok(curves)
}
