//! `dps release bounded`.

use super::feed::Source;
use super::parts::{Asked, Made, Making};
use super::privacy::{AdjacencyKind, IdOptions};
use super::rows::{Promise, RowsOptions};
use super::said::predicted;
use crate::error::{Error, Result};
use crate::output::Record;
use clap::Args;
use dp_core::Adjacency;
use dp_core::mechanism::Mechanism;
use sketch::bounded::{BoundedConfig, BoundedWriter, PrivateBounded};
use sketch::distances::ValueRange;

/// Options of `dps release bounded`.
#[derive(Args)]
pub(crate) struct BoundedOptions {
    #[command(flatten)]
    pub(super) rows: RowsOptions,
    #[command(flatten)]
    ids: IdOptions,
    /// Least value of an entry, for every possible file (after --divide); values outside of the range are refused.
    #[arg(long, help_heading = "Mechanism", allow_hyphen_values = true)]
    low: f64,
    /// Largest value of an entry; at most --beta above --low.
    #[arg(long, help_heading = "Mechanism", allow_hyphen_values = true)]
    high: f64,
    /// Move values outside of --low to --high to the nearest end, instead of refusing the file. How many is private: it is
    /// neither counted nor printed.
    #[arg(long, help_heading = "Mechanism")]
    clip_range: bool,
    /// One bit a value: less error where values are mostly at an end of the range, more in its middle.
    #[arg(long, help_heading = "Mechanism")]
    one_bit: bool,
}

impl BoundedOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        self.ids.of(&self.rows.input);
        let Promise { adjacency, budget, limits } =
            self.rows.promise("bounded values", &[AdjacencyKind::Attribute])?;
        let Adjacency::Attribute { beta } = adjacency else {
            return Err(Error::usage(
                "bounded values protect one attribute: --adjacency attribute",
            ));
        };
        let range = ValueRange::new(self.low, self.high)?;
        let input = self.rows.open()?;
        let config = BoundedConfig {
            d: input.rows.d(),
            range,
            beta,
            one_bit: self.one_bit,
            clip: self.clip_range,
        };
        let mechanism = PrivateBounded::new(config, budget)?;
        let label = format!("bounded values of [{:?}, {:?}]", self.low, self.high);
        let source = Source::rows(&self.rows.input, input, limits);
        let asked = Asked::new(mechanism.guarantee(), &label, source);
        let made = self.rows.output.make(&asked, &mut |making: Making<'_>| {
            let mut out = BoundedWriter::create(making.to, &mechanism, making.rng)?;
            making.feed.rows(|rows| Ok(out.push(rows)?))?;
            Ok(out.finish()?.certificate)
        })?;
        let record = match made {
            Made::Released(certificate) => self.rows.written(&certificate)?,
            Made::Planned => self.rows.planned(&label, mechanism.guarantee()),
            Made::Parts(record) => return Ok(record),
        };
        let record = record.number("largest variance of a value", mechanism.variance());
        Ok(predicted(record, mechanism.predict(1.0)?))
    }
}
