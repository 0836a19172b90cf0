//! `dps distance`: two rows of released sketches.

use super::loaded::Loaded;
use crate::error::{Error, Result, probability};
use crate::output::Record;
use clap::{Args, ValueEnum};
use sketch::minhash::{BinLaw, Coding, CollisionLaw, PrivateSymbols};
use sketch::private::{Estimate, Pairs};
use sketch::sign::SignPairs;
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
        let left = Loaded::read(&self.file)?;
        let other = self.other.as_deref().map(Loaded::read).transpose()?;
        let right = other.as_ref().unwrap_or(&left);
        let confidence = probability("--confidence", self.confidence)?;
        let (i, j) = (self.i, self.j);
        if let (Loaded::Sketch(a), Loaded::Sketch(b)) = (&left, right) {
            let pairs = if other.is_some() { Pairs::between(a, b)? } else { Pairs::within(a) };
            let known = [Measure::SquaredDistance, Measure::InnerProduct, Measure::Cosine];
            return self.rows(&left, &known, |measure| match measure {
                Measure::SquaredDistance => {
                    let interval = pairs.squared_distance_interval(i, j, confidence)?;
                    let estimate = pairs.squared_distance(i, j)?;
                    Ok(Some((estimate, [interval.low, interval.high])))
                }
                Measure::InnerProduct => self.normal(pairs.inner_product(i, j)).map(Some),
                _ => self.optional(pairs.cosine(i, j)),
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
                    Measure::Cosine => self.optional(pairs.cosine(i, j)),
                    _ => self.normal(pairs.hamming(i, j)).map(Some),
                },
            );
        }
        match (&left, right) {
            (Loaded::Symbols(release), Loaded::Symbols(_)) if other.is_none() => {
                let symbols = release.payload();
                self.rows(&left, &[Measure::Jaccard], |_| {
                    self.normal(jaccard(symbols, i, j)).map(Some)
                })
            }
            (Loaded::Symbols(_), _) => Err(Error::usage(
                "set signatures are compared within one release: leave out --other",
            )),
            _ => Err(left.cannot_beside(right, "the distance of two rows")),
        }
    }

    fn rows(
        &self,
        release: &Loaded,
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

    /// An estimate with the normal interval.
    fn normal<E>(&self, estimate: Result<Estimate, E>) -> Result<(Estimate, [f64; 2])>
    where
        Error: From<E>,
    {
        let estimate = estimate?;
        let interval = estimate.interval(probability("--confidence", self.confidence)?)?;
        Ok((estimate, [interval.low, interval.high]))
    }

    /// As [`Distance::normal`]; left out where the release cannot tell, unless asked for.
    fn optional(
        &self,
        estimate: Result<Estimate, sketch::Error>,
    ) -> Result<Option<(Estimate, [f64; 2])>> {
        match estimate {
            Err(sketch::Error::Undefined { .. }) if self.measure.is_none() => Ok(None),
            estimate => self.normal(estimate).map(Some),
        }
    }
}

fn jaccard(symbols: &PrivateSymbols, i: usize, j: usize) -> Result<Estimate, sketch::Error> {
    match symbols.coding() {
        Coding::Bins => Ok(BinLaw::of(symbols)?.jaccard(BinLaw::observe(symbols, i, j)?)),
        Coding::Hashed { concatenation } => {
            let slots = symbols.scheme().slots;
            let law = CollisionLaw::new(slots, concatenation, symbols.alphabet(), symbols.keep())?;
            Ok(law.jaccard(symbols.agreeing(i, j)?))
        }
    }
}
