//! `dps release bounded`.

use super::feed::Source;
use super::parts::{Asked, Made, Making};
use super::privacy::{AdjacencyKind, IdOptions, UserOptions};
use super::rows::{Promise, RowsOptions};
use super::said::predicted;
use crate::error::{Error, Result};
use crate::output::Record;
use clap::Args;
use dp_core::Adjacency;
use dp_core::mechanism::Mechanism;
use sketch::RowWriter;
use sketch::bounded::{BoundedConfig, BoundedLaw, PrivateBounded};
use sketch::distances::ValueRange;

/// Options of `dps release bounded`.
#[derive(Args)]
pub(crate) struct BoundedOptions {
    #[command(flatten)]
    pub(super) rows: RowsOptions,
    #[command(flatten)]
    users: UserOptions,
    #[command(flatten)]
    ids: IdOptions,
    /// Least value of an entry, for every possible file (after --divide); values outside of the range are refused.
    #[arg(
        long,
        help_heading = "Mechanism",
        allow_hyphen_values = true,
        required_unless_present = "categories"
    )]
    low: Option<f64>,
    /// Largest value of an entry; at most --beta above --low.
    #[arg(
        long,
        help_heading = "Mechanism",
        allow_hyphen_values = true,
        required_unless_present = "categories"
    )]
    high: Option<f64>,
    /// Move values outside of --low to --high to the nearest end, instead of refusing the file. How many is private: it is
    /// neither counted nor printed.
    #[arg(long, help_heading = "Mechanism")]
    clip_range: bool,
    /// One bit a value: less error where values are mostly at an end of the range, more in its middle.
    #[arg(long, help_heading = "Mechanism")]
    one_bit: bool,
    /// Values are so many categories (2 to 256; 2 for bits), whole numbers from 0 below it, each answered by a randomised
    /// response: `dps moments` tells their shares. --beta is at least one less.
    #[arg(long, help_heading = "Mechanism", conflicts_with_all = ["low", "high", "clip_range", "one_bit"])]
    categories: Option<u64>,
}

impl BoundedOptions {
    fn law(&self) -> Result<(ValueRange, BoundedLaw)> {
        if let Some(c) = self.categories {
            let law = BoundedLaw::Categories(c);
            return Ok((ValueRange::new(0.0, c.saturating_sub(1).max(1) as f64)?, law));
        }
        let law = if self.one_bit { BoundedLaw::OneBit } else { BoundedLaw::LeastError };
        // Required where there are no categories.
        Ok((ValueRange::new(self.low.unwrap_or(0.0), self.high.unwrap_or(1.0))?, law))
    }

    pub(crate) fn run(&self) -> Result<Record> {
        self.ids.of(&self.rows.input);
        let Promise { adjacency, budget, limits } =
            self.rows.promise_of(&self.users, "bounded values", &[AdjacencyKind::Attribute])?;
        let Adjacency::Attribute { beta } = adjacency.each() else {
            return Err(Error::usage(
                "bounded values protect one attribute: --adjacency attribute",
            ));
        };
        let (range, law) = self.law()?;
        let input = self.rows.open()?;
        let config = BoundedConfig { d: input.rows.d(), range, beta, law, clip: self.clip_range };
        let mechanism = PrivateBounded::of_user(config, adjacency.rows(), budget)?;
        let (low, high) = range.ends();
        let label = match self.categories {
            Some(c) => format!("{c} categories"),
            None => format!("bounded values of [{low:?}, {high:?}]"),
        };
        let source = Source::rows(&self.rows.input, input, limits);
        let asked = Asked::new(mechanism.guarantee(), &label, source);
        let made = self.rows.output.make(&asked, &mut |making: Making<'_>| {
            let mut out = RowWriter::create(making.to, &mechanism, making.rng)?;
            making.feed.rows(|rows| Ok(out.push(rows)?))?;
            Ok(out.finish()?.certificate)
        })?;
        let record = match made {
            Made::Released(certificate) => self.rows.written(&certificate)?,
            Made::Planned => self.rows.planned(&label, mechanism.guarantee()),
            Made::Parts(record) => return Ok(record),
        };
        if self.categories.is_some() {
            let error = mechanism.share_error();
            return Ok(
                record.number("standard error of a share, times the root of the rows", error)
            );
        }
        let record = record.number("largest variance of a value", mechanism.variance());
        Ok(predicted(record, mechanism.predict(1.0)?))
    }
}
