//! `dps release units`.

use super::common::{Promise, RowsOptions, SeedOptions, check_input, each_block};
use super::privacy::{AdjacencyKind, UserOptions};
use super::projection::ProjectionOptions;
use super::said::{found, warn_of_nothing};
use crate::error::{Error, Result};
use crate::output::Record;
use clap::Args;
use dp_core::Adjacency;
use dp_core::mechanism::Mechanism;
use sketch::units::{PrivateUnits, UnitWriter, UnitsConfig};
use std::cell::Cell;

/// Options of `dps release units`.
#[derive(Args)]
pub(crate) struct UnitOptions {
    #[command(flatten)]
    rows: RowsOptions,
    #[command(flatten)]
    users: UserOptions,
    #[command(flatten)]
    projection: ProjectionOptions,
    #[command(flatten)]
    seed: SeedOptions,
    /// Keep the lengths of rows, up to --norm-bound, in one more number; with --family identity and
    /// --adjacency replace-row. Without it only directions are released.
    #[arg(long, help_heading = "Mechanism")]
    lengths: bool,
}

impl UnitOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let known = [
            AdjacencyKind::ReplaceRow,
            AdjacencyKind::AnyInput,
            AdjacencyKind::RowShift,
            AdjacencyKind::Attribute,
        ];
        let Promise { adjacency, budget, limits } =
            self.rows.promise_of(&self.users, "unit vectors", &known)?;
        let lengths = match (self.lengths, adjacency.each()) {
            (false, _) => None,
            (true, Adjacency::ReplaceRow { bound }) => Some(bound),
            (true, _) => {
                return Err(Error::usage(
                    "--lengths needs a bound on them: --adjacency replace-row --norm-bound B",
                ));
            }
        };
        let input = self.rows.input.open()?;
        let spec = self.projection.spec(&self.rows.input, input.rows.d(), &self.seed)?;
        let (d, k) = (spec.d(), spec.k());
        let config = UnitsConfig { projection: spec.build(), adjacency, lengths };
        let mechanism = PrivateUnits::new(config, budget)?;
        let label = format!("unit vectors, {} to k = {k}", spec.name());
        let output = &self.rows.output;
        warn_of_nothing((k, k), mechanism.variance())?;
        let rows = Cell::new(0);
        let check = || check_input(&self.rows.input, &limits).map(|n| rows.set(n));
        let Some(mut rng) = output.charge(mechanism.guarantee(), &label, check)? else {
            let record = self.rows.planned(&label, mechanism.guarantee());
            return error(&mechanism, rows.get(), record);
        };
        let mut out = UnitWriter::create(output.take()?, &mechanism, &mut rng)?;
        let n = each_block(input, limits, |block| Ok(out.push(block.view(d)?)?))?;
        let certificate = out.finish()?.certificate;
        error(&mechanism, n, self.rows.written(&certificate)?)
    }
}

/// What the release is good for.
fn error(mechanism: &PrivateUnits, rows: usize, record: Record) -> Result<Record> {
    let error = mechanism.predict(0.0)?.root_mean_square;
    let k = mechanism.projection().spec().k();
    found(record.number("standard error of a cosine", error), rows, (k, k), mechanism.variance())
}
