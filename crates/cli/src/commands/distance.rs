//! `dps distance`: two rows of released sketches.

use super::loaded::{AnyRelease, Asked, read};
use super::trust::TrustOptions;
use crate::error::{Result, probability};
use crate::output::Record;
use clap::{Args, ValueEnum};
use sketch::sets::SetPairs;
use sketch::signs::SignPairs;
use sketch::vectors::Pairs;
use sketch::{Estimate, Interval};
use std::path::PathBuf;

/// Options of `dps distance`.
#[derive(Args)]
pub(crate) struct Distance {
    /// A release file of rows; `-` reads standard input.
    file: PathBuf,
    /// The first row, from zero.
    i: usize,
    /// The second row, from zero.
    j: usize,
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

impl Distance {
    pub(crate) fn run(&self) -> Result<Record> {
        let trust = self.trust.get();
        let left = read(&self.file, &trust)?;
        let other = self.other.as_deref().map(|path| read(path, &trust)).transpose()?;
        let right = other.as_ref().unwrap_or(&left);
        let confidence = probability("--confidence", self.confidence)?;
        let (i, j) = (self.i, self.j);
        if let (AnyRelease::Sketch(a), AnyRelease::Sketch(b)) = (&left, right) {
            let pairs = if other.is_some() { Pairs::between(a, b)? } else { Pairs::within(a) };
            let known = [Measure::SquaredDistance, Measure::InnerProduct, Measure::Cosine];
            return self.rows(&left, &known, |measure| {
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
        if let (Some(a), Some(b)) = (left.signs(), right.signs()) {
            let a = dp_core::Release::certified(a.clone(), ());
            let b = dp_core::Release::certified(b.clone(), ());
            let pairs = SignPairs::between(&a, &b)?;
            return self.rows(
                &left,
                &[Measure::Cosine, Measure::Hamming],
                |measure| match measure {
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
                },
            );
        }
        match (&left, right) {
            (AnyRelease::Symbols(a), AnyRelease::Symbols(b)) => {
                let pairs = match other {
                    None => SetPairs::within(a),
                    Some(_) => SetPairs::between(a, b)?,
                };
                self.rows(&left, &[Measure::Jaccard], |_| {
                    let interval = pairs.jaccard_interval(i, j, confidence)?;
                    Ok(Some((pairs.jaccard(i, j)?, [interval.low, interval.high])))
                })
            }
            _ => Err(left.cannot_beside(right, "the distance of two rows")),
        }
    }

    fn rows(
        &self,
        release: &AnyRelease,
        known: &[Measure],
        estimate: impl Fn(Measure) -> Result<Option<(Estimate, [f64; 2])>>,
    ) -> Result<Record> {
        let wanted: Vec<Measure> = match self.measure {
            Some(measure) if known.contains(&measure) => vec![measure],
            Some(measure) => return Err(release.cannot(measure.name())),
            None => known.to_vec(),
        };
        let mut rows = Vec::new();
        for measure in wanted {
            let Some((Estimate { value, standard_error }, [low, high])) = estimate(measure)? else {
                continue;
            };
            rows.push(
                Record::new()
                    .text("measure", measure.name())
                    .number("estimate", value)
                    .number("standard_error", standard_error)
                    .number("low", low)
                    .number("high", high),
            );
        }
        Ok(Record::new()
            .integer("i", self.i as u64)
            .integer("j", self.j as u64)
            .number("confidence", self.confidence)
            .table("estimates", rows))
    }
}
