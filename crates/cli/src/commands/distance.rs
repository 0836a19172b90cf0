//! `dps distance`: two rows of released sketches.

use super::loaded::{AnyRelease, Asked, in_units, read, read_all_of};
use super::named::{row_of, with_id};
use super::trust::TrustOptions;
use crate::error::{Error, Result, probability};
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::certificate::PublicValue;
use dp_core::release_file::RowIds;
use readers::DataError;
use sketch::bounded::BoundedPairs;
use sketch::projection::Family;
use sketch::sets::SetPairs;
use sketch::signs::SignPairs;
use sketch::units::{UnitPairs, UnitVectors};
use sketch::vectors::Pairs;
use sketch::{Estimate, Interval};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Options of `dps distance`.
#[derive(Args)]
pub(crate) struct Distance {
    /// A release file of rows; `-` reads standard input.
    file: PathBuf,
    /// The first row: its id where the release keeps ids, else a number from zero.
    #[arg(requires = "j", conflicts_with = "pairs")]
    i: Option<String>,
    /// The second row.
    j: Option<String>,
    /// Many pairs: a file of two rows a line, named in the same way, a tab, a comma or white space between (the first of these
    /// that the line holds).
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Releases that were made as the first was (`dps append`), more than one --also where there are several: all are asked as
    /// one, their rows counted on from one to the next.
    #[arg(long, value_name = "FILE", conflicts_with = "other")]
    also: Vec<PathBuf>,
    /// Take the second row from this release, made with the same seed.
    #[arg(long, value_name = "FILE")]
    other: Option<PathBuf>,
    /// What to estimate; by default all that the release can tell.
    #[arg(long, value_enum)]
    measure: Option<Measure>,
    /// Confidence of the interval, in (0, 1).
    #[arg(long, default_value_t = 0.95)]
    confidence: f64,
    #[command(flatten)]
    trust: TrustOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Measure {
    SquaredDistance,
    InnerProduct,
    Cosine,
    Hamming,
    Jaccard,
}

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Self::SquaredDistance => "squared distance",
            Self::InnerProduct => "inner product",
            Self::Cosine => "cosine",
            Self::Hamming => "hamming distance",
            Self::Jaccard => "jaccard similarity",
        }
    }
}

/// Two rows, and what they are called where that is kept.
struct Pair {
    i: usize,
    j: usize,
}

/// An estimate with its interval, where the release can tell.
type Told = Option<(Estimate, [f64; 2])>;

/// The pairs asked for, and what rows are called on both sides.
type Rows<'a> = (&'a [Pair], [Option<&'a RowIds>; 2]);

/// What unit vectors behind a projection tell of.
const PROJECTED: &str = "projected rows: what the projection changes is in no standard error";

impl Distance {
    pub(crate) fn run(&self) -> Result<Record> {
        let trust = self.trust.get();
        let files: Vec<PathBuf> = [&self.file].into_iter().chain(&self.also).cloned().collect();
        let other = self.other.as_deref().map(|path| read(path, &trust)).transpose()?;
        let (left, _) = read_all_of(&files, other.as_ref(), &trust)?;
        let right = other.as_ref().unwrap_or(&left);
        let confidence = probability("--confidence", self.confidence)?;
        let asked = self.asked(&left, right)?;
        let ids = [left.ids(), right.ids()];
        if let (AnyRelease::Sketch(a), AnyRelease::Sketch(b)) = (&left, right) {
            let pairs = if other.is_some() { Pairs::between(a, b)? } else { Pairs::within(a) };
            let known = [Measure::SquaredDistance, Measure::InnerProduct, Measure::Cosine];
            return self.rows(&left, (&asked, ids), &known, |measure, &Pair { i, j }| {
                let (estimate, Interval { low, high }) = match measure {
                    Measure::SquaredDistance => (
                        pairs.squared_distance(i, j)?,
                        pairs.squared_distance_interval(i, j, confidence)?,
                    ),
                    Measure::InnerProduct => (
                        pairs.inner_product(i, j)?,
                        pairs.inner_product_interval(i, j, confidence)?,
                    ),
                    _ => match pairs.cosine(i, j) {
                        // Left out where the release cannot tell, unless asked for.
                        Err(sketch::Error::Undefined { .. }) if self.measure.is_none() => {
                            return Ok(None);
                        }
                        cosine => (cosine?, pairs.cosine_interval(i, j, confidence)?),
                    },
                };
                Ok(Some((estimate, [low, high])))
            });
        }
        if let (AnyRelease::Bounded(a), AnyRelease::Bounded(b)) = (&left, right) {
            let pairs = if other.is_some() {
                BoundedPairs::between(a, b)?
            } else {
                BoundedPairs::within(a)
            };
            let known = [Measure::SquaredDistance, Measure::InnerProduct];
            return self.rows(&left, (&asked, ids), &known, |measure, &Pair { i, j }| {
                let (estimate, Interval { low, high }) = match measure {
                    Measure::SquaredDistance => (
                        pairs.squared_distance(i, j)?,
                        pairs.squared_distance_interval(i, j, confidence)?,
                    ),
                    _ => (
                        pairs.inner_product(i, j)?,
                        pairs.inner_product_interval(i, j, confidence)?,
                    ),
                };
                Ok(Some((estimate, [low, high])))
            });
        }
        if let (AnyRelease::Units(a), AnyRelease::Units(b)) = (&left, right) {
            let pairs =
                if other.is_some() { UnitPairs::between(a, b)? } else { UnitPairs::within(a) };
            return self.units(&left, a.payload(), (&asked, ids), pairs);
        }
        if let (Some(a), Some(b)) = (left.signs(), right.signs()) {
            let a = dp_core::Release::certified(a.clone(), left.certificate());
            let b = dp_core::Release::certified(b.clone(), right.certificate());
            let pairs = SignPairs::between(&a, &b)?;
            let known = [Measure::Cosine, Measure::Hamming];
            let stated = left.certificate().statement().public.clone();
            let lifted = stated.get("lifted") == Some(&PublicValue::from(1u64));
            let record =
                self.rows(&left, (&asked, ids), &known, |measure, &Pair { i, j }| match measure {
                    Measure::Cosine => match pairs.cosine_interval(i, j, confidence) {
                        // Left out where the release cannot tell, unless asked for.
                        Err(sketch::Error::Undefined { .. }) if self.measure.is_none() => Ok(None),
                        interval => {
                            let Interval { low, high } = interval?;
                            Ok(Some((pairs.cosine(i, j)?, [low, high])))
                        }
                    },
                    _ => {
                        let Interval { low, high } = pairs.hamming_interval(i, j, confidence)?;
                        Ok(Some((pairs.hamming(i, j)?, [low, high])))
                    }
                })?;
            return Ok(match stated.get("least norm").filter(|_| lifted) {
                Some(m) => {
                    let m = serde_json::to_value(m).unwrap_or_default();
                    let of = format!("rows with {m} appended to each, not of the rows (--lift)");
                    record.text("estimates are of", of)
                }
                None => record,
            });
        }
        match (&left, right) {
            (AnyRelease::Symbols(a), AnyRelease::Symbols(b)) => {
                let pairs = match other {
                    None => SetPairs::within(a),
                    Some(_) => SetPairs::between(a, b)?,
                };
                self.rows(&left, (&asked, ids), &[Measure::Jaccard], |_, &Pair { i, j }| {
                    let interval = pairs.jaccard_interval(i, j, confidence)?;
                    Ok(Some((pairs.jaccard(i, j)?, [interval.low, interval.high])))
                })
            }
            _ => Err(left.cannot_beside(right, "the distance of two rows")),
        }
    }

    /// Of directions the cosine says all; of rows with lengths it is asked for by name, and refused with the way out.
    fn units(
        &self,
        release: &AnyRelease,
        units: &UnitVectors,
        asked: Rows<'_>,
        pairs: UnitPairs<'_>,
    ) -> Result<Record> {
        let lengths = units.lengths().is_some();
        let known: &[Measure] = if lengths {
            &[Measure::SquaredDistance, Measure::InnerProduct, Measure::Cosine]
        } else {
            &[Measure::Cosine]
        };
        let confidence = probability("--confidence", self.confidence)?;
        let record = self.rows(release, asked, known, |measure, &Pair { i, j }| {
            let (estimate, Interval { low, high }) = match measure {
                Measure::SquaredDistance => (
                    pairs.squared_distance(i, j)?,
                    pairs.squared_distance_interval(i, j, confidence)?,
                ),
                Measure::InnerProduct => {
                    (pairs.inner_product(i, j)?, pairs.inner_product_interval(i, j, confidence)?)
                }
                _ if lengths && self.measure.is_none() => return Ok(None),
                _ => (pairs.cosine(i, j)?, pairs.cosine_interval(i, j, confidence)?),
            };
            Ok(Some((estimate, [low, high])))
        })?;
        Ok(match units.projection().family() {
            Family::Identity => record,
            _ => record.text("estimates are of", PROJECTED),
        })
    }

    /// The pairs asked for: the two rows that are named, or those of a file.
    fn asked(&self, left: &AnyRelease, right: &AnyRelease) -> Result<Vec<Pair>> {
        let pair = |i: &str, j: &str| {
            let i = row_of("I", i, None, left.ids())?;
            Ok::<_, Error>(Pair { i, j: row_of("J", j, None, right.ids())? })
        };
        if let (Some(i), Some(j)) = (&self.i, &self.j) {
            return Ok(vec![pair(i, j)?]);
        }
        let Some(path) = &self.pairs else {
            let words = "two rows are needed, as in `dps distance FILE 0 1`, or a file of them: --pairs FILE";
            return Err(Error::usage(words));
        };
        let left_rows = left.ids().map(RowIds::places);
        let right_rows = right.ids().map(RowIds::places);
        // Another file may have been given: its words are not repeated.
        let place = |line: u64,
                     text: &str,
                     ids: &Option<HashMap<&str, usize>>,
                     rows: Option<usize>| {
            let row = match ids {
                Some(places) => places.get(text).copied(),
                None => text.parse().ok().filter(|&row| rows.is_none_or(|rows| row < rows)),
            };
            let called = if ids.is_some() { "by their ids" } else { "by numbers from zero" };
            row.ok_or_else(|| {
                let (path, most) = (path.display(), rows.map_or(String::new(), |n| format!("{n} ")));
                Error::usage(format!(
                    "{path}, line {line}: no row is called so; the {most}rows of the release are named {called}"
                ))
            })
        };
        let pairs = two_columns(path)?;
        let found = pairs.iter().map(|(line, [i, j])| {
            let i = place(*line, i, &left_rows, left.rows())?;
            Ok(Pair { i, j: place(*line, j, &right_rows, right.rows())? })
        });
        found.collect()
    }

    fn rows(
        &self,
        release: &AnyRelease,
        (asked, [left, right]): Rows<'_>,
        known: &[Measure],
        estimate: impl Fn(Measure, &Pair) -> Result<Told>,
    ) -> Result<Record> {
        let wanted: Vec<Measure> = match self.measure {
            Some(measure) if known.contains(&measure) => vec![measure],
            Some(measure) => return Err(release.cannot(measure.name())),
            None => known.to_vec(),
        };
        let of = |pair: &Pair| {
            let record = with_id(Record::new().integer("i", pair.i as u64), "id_i", pair.i, left);
            with_id(record.integer("j", pair.j as u64), "id_j", pair.j, right)
        };
        let mut rows = Vec::new();
        for pair in asked {
            for &measure in &wanted {
                let Some((Estimate { value, standard_error }, [low, high])) =
                    estimate(measure, pair)?
                else {
                    continue;
                };
                let record = if self.pairs.is_some() { of(pair) } else { Record::new() };
                rows.push(
                    record
                        .text("measure", measure.name())
                        .number("estimate", value)
                        .number("standard_error", standard_error)
                        .number("low", low)
                        .number("high", high),
                );
            }
        }
        let record = match asked {
            [pair] if self.pairs.is_none() => of(pair),
            _ => Record::new().integer("pairs", asked.len() as u64),
        };
        let record = in_units(release, record.number("confidence", self.confidence))?;
        Ok(record.table("estimates", rows))
    }
}

/// The two columns of a text file: a pair a line, and which line it is.
fn two_columns(path: &Path) -> Result<Vec<(u64, [String; 2])>> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let pairs = lines.map(|(at, line)| {
        let words: Vec<&str> = match ['\t', ','].into_iter().find(|&c| line.contains(c)) {
            Some(between) => line.split(between).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        };
        match words[..] {
            [i, j] if !i.is_empty() && !j.is_empty() => {
                Ok((at as u64 + 1, [i.to_owned(), j.to_owned()]))
            }
            _ => Err(Error::Data(DataError {
                file: path.to_owned(),
                column: None,
                rule:
                    "a line holds two rows, with a tab, a comma or white space between, and there is no header"
                        .into(),
                record: Some(at as u64 + 1),
            })),
        }
    });
    let pairs: Vec<_> = pairs.collect::<Result<_>>()?;
    if pairs.is_empty() {
        return Err(Error::Data(DataError::of(path, "the file holds no pair")));
    }
    Ok(pairs)
}
