//! `dps release units`.

use super::common::SeedOptions;
use super::feed::Source;
use super::parts::{Asked, Made, Making};
use super::privacy::{AdjacencyKind, IdOptions, UserOptions};
use super::projection::ProjectionOptions;
use super::rows::{Promise, RowsOptions};
use super::said::{found, warn_of_nothing};
use crate::commands::choice::{RECALL, UNKNOWN_ROWS, Way, say_chosen, usual_search, warn_of_worse};
use crate::error::{Error, Result};
use crate::output::Record;
use clap::Args;
use dp_core::mechanism::Mechanism;
use dp_core::{Adjacency, Budget};
use sketch::RowWriter;
use sketch::plan::Asked::Exact;
use sketch::plan::RowSearch;
use sketch::units::{PrivateUnits, UnitsConfig};

/// Options of `dps release units`.
#[derive(Args)]
pub(crate) struct UnitOptions {
    #[command(flatten)]
    pub(super) rows: RowsOptions,
    #[command(flatten)]
    users: UserOptions,
    #[command(flatten)]
    ids: IdOptions,
    #[command(flatten)]
    pub(super) projection: ProjectionOptions,
    #[command(flatten)]
    seed: SeedOptions,
    /// Keep the lengths of rows, up to --norm-bound, in one more number; with --family identity and
    /// --adjacency replace-row. Without it only directions are released.
    #[arg(long, help_heading = "Mechanism")]
    lengths: bool,
}

impl UnitOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        self.ids.of(&self.rows.input);
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
        let input = self.rows.open()?;
        let d = input.rows.d();
        let projection = match self.projection.is_open() {
            true => self.chosen(d, a_row(budget, adjacency)?)?,
            false => self.projection.clone(),
        };
        let spec = projection.spec(&self.rows.input, d, &self.seed)?;
        let k = spec.k();
        if !self.projection.is_open() && projection.is_drawn() && adjacency.rows() == 1 {
            let (asked, name) = (recall(d, k, budget)?, format!("k = {k}"));
            let (_, best) = best(d, budget)?;
            // Where nothing is found, that is said.
            if best.1 >= RowSearch::FOUND {
                warn_of_worse(RECALL, (&name, asked), &best);
            }
        }
        let config = UnitsConfig { projection: spec.build(), adjacency, lengths };
        let mechanism = PrivateUnits::new(config, budget)?;
        let label = format!("unit vectors, {} to k = {k}", spec.name());
        let output = &self.rows.output;
        warn_of_nothing((k, k), mechanism.variance())?;
        let source = Source::rows(&self.rows.input, input, limits);
        let asked = Asked::new(mechanism.guarantee(), &label, source).drawn(&self.seed);
        let made = output.make(&asked, &mut |making: Making<'_>| {
            let mut out = RowWriter::create(making.to, &mechanism, making.rng)?;
            making.feed.rows(|rows| Ok(out.push(rows)?))?;
            Ok(out.finish()?.certificate)
        })?;
        let record = match made {
            Made::Released(certificate) => self.rows.written(&certificate)?,
            Made::Planned => self.rows.planned(&label, mechanism.guarantee()),
            Made::Parts(record) => return Ok(record),
        };
        error(&mechanism, asked.source.rows_read(), record)
    }
}

impl UnitOptions {
    /// The plan's size, for a search whose facts nobody gave.
    fn chosen(&self, d: usize, budget: Budget) -> Result<ProjectionOptions> {
        if self.lengths {
            return Ok(ProjectionOptions::none(d));
        }
        let (k, way) = best(d, budget)?;
        let mut ways = vec![way];
        if k != d {
            ways.push(("no projection".into(), recall(d, d, budget)?));
        }
        say_chosen(RECALL, &ways);
        Ok(if k == d { ProjectionOptions::none(d) } else { ProjectionOptions::drawn(k) })
    }
}

/// What each of a user's rows may lose.
fn a_row(budget: Budget, unit: Adjacency) -> Result<Budget> {
    Ok(Budget::new(budget.epsilon.get() / unit.rows() as f64, budget.delta.get())?)
}

/// The plan's size and the recall of exact queries.
fn best(d: usize, budget: Budget) -> Result<(usize, Way)> {
    let (k, recall) = usual_search(UNKNOWN_ROWS).best_units(d, budget.epsilon, Exact)?;
    let name =
        if k == d { "no projection".into() } else { format!("a random projection to k = {k}") };
    Ok((k, (name, recall)))
}

/// The recall of exact queries at this size.
fn recall(d: usize, k: usize, budget: Budget) -> Result<f64> {
    Ok(usual_search(UNKNOWN_ROWS).units(d, k, budget.epsilon, Exact)?)
}

/// What the release is good for.
fn error(mechanism: &PrivateUnits, rows: usize, record: Record) -> Result<Record> {
    let error = mechanism.predict(0.0)?.root_mean_square;
    let k = mechanism.projection().spec().k();
    found(record.number("standard error of a cosine", error), rows, (k, k), mechanism.variance())
}
