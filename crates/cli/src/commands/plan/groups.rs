//! `dps plan groups`.

use super::super::release::{AdjacencyKind, AdjacencyOptions, BudgetOptions};
use super::curve::CurveOptions;
use crate::commands::choice::{Measure, Way};
use crate::error::{Error, Result};
use crate::input::{InputOptions, numbers};
use crate::output::{Record, complain};
use clap::Args;
use dp_core::output::{Existing, Output};
use dp_core::{Budget, EntryBound, Epsilon, PublicSeed};
use sketch::RowsView;
use sketch::plan::GroupPlan;
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::PrivateProjection;
use std::io::Write as _;
use std::path::PathBuf;

/// Largest epsilon of staircase noise.
const STAIRCASE: f64 = 20.0;

/// Options of `dps plan groups`. The input is a file of rows that are public: never rows that are released, nor rows chosen by them.
#[derive(Args)]
pub(crate) struct GroupTask {
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    #[command(flatten)]
    budget: BudgetOptions,
    /// Write the groups here, for `dps release sketch --groups-from`, if they find more than random bins.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    curve: CurveOptions,
}

impl GroupTask {
    pub(crate) fn run(&self) -> Result<Record> {
        let adjacency =
            self.adjacency.get("a plan for groups of columns", &[AdjacencyKind::Attribute])?;
        let budget = self.budget.get()?;
        // Refused before anything is computed.
        let out = match &self.out {
            Some(path) => Some((path, Output::create(path, Existing::Keep)?)),
            None => None,
        };
        self.input.one("a plan")?;
        let (d, rows) = numbers(&self.input.like(&self.input.input)?)?;
        let largest = rows.iter().fold(f64::MIN_POSITIVE, |most, x| x.abs().max(most));
        let view = RowsView::f64(rows.len() / d.max(1), d, &rows)?;
        // Every number has the noise of a row of one nonzero entry.
        let raw = ProjectionSpec::new(Family::Identity, d, d, PublicSeed::new(0))?.build();
        let bound = EntryBound::new(largest)?;
        let tried = |budget: Budget| -> Result<(f64, GroupPlan)> {
            complain(&format!(
                "trying groups and random bins at epsilon {:.3}",
                budget.epsilon.get()
            ));
            let noisy = PrivateProjection::staircase(raw.clone(), adjacency, bound, budget)?;
            let noise = noisy.noise().variance();
            Ok((noise, GroupPlan::of_sample(view, noise)?))
        };
        let (noise, plan) = tried(budget)?;
        let curve = self.curve.answer(budget, Measure::Share("share found"), |budget| {
            // Whoever may spend more than staircase noise takes may spend that.
            let epsilon = Epsilon::new(budget.epsilon.get().min(STAIRCASE))?;
            let (_, plan) = tried(Budget { epsilon, ..budget })?;
            let mut ways =
                vec![("groups".into(), plan.grouped), ("random bins".into(), plan.random)];
            ways.sort_by(|a: &Way, b| b.1.total_cmp(&a.1));
            Ok(ways)
        })?;
        let better = plan.grouped >= plan.random;
        // A share of each query is at most one: its deviation is at most a half.
        let queries = view.n() / 2;
        let sure = format!(
            "searches of {queries} of these rows among themselves with simulated noise: shares of rows like these are within about {:.2}, \
             nine times in ten",
            1.645 * 0.5 / (queries as f64).sqrt()
        );
        let record = curve
            .text("adjacency", adjacency.to_string())
            .text("noise", "staircase")
            .number("standard deviation of a number", noise.sqrt())
            .integer("groups", plan.groups.k() as u64)
            .number("found with groups", plan.grouped)
            .integer("random bins", plan.bins as u64)
            .number("found with random bins", plan.random)
            .text("best", if better { "groups" } else { "random bins" })
            .text("predicted by", sure);
        if !better {
            let bins = format!("-k {} --family oporp --noise staircase", plan.bins);
            return Ok(record.text("the release is made with", bins));
        }
        let Some((path, mut output)) = out else { return Ok(record) };
        let lines: String = plan.groups.signed().iter().map(|g| format!("{g}\n")).collect();
        output.write_all(lines.as_bytes()).map_err(|e| Error::io(path, e))?;
        output.commit()?;
        let options = format!("--groups-from {} --noise staircase", path.display());
        Ok(record.text("the release is made with", options))
    }
}
