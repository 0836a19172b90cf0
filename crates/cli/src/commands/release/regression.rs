//! `dps release regression`.

use super::common::{check_rereadable, each_block};
use super::privacy::{AdjacencyKind, UserOptions};
use super::rows::{Promise, RowsOptions};
use super::said::predicted;
use crate::commands::named::column_of;
use crate::error::{Error, Result, positive};
use crate::output::Record;
use clap::Args;
use dp_core::mechanism::Mechanism as _;
use dp_core::release_file;
use linalg_dp::newton::{NewtonConfig, PrivateNewton};
use readers::{Block, Input, Limits, Values};

/// Options of `dps release regression`.
#[derive(Args)]
pub(crate) struct RegressionOptions {
    /// --norm-bound and --bound are of a row without its target, which may be any number.
    #[command(flatten)]
    rows: RowsOptions,
    #[command(flatten)]
    users: UserOptions,
    /// The column that is predicted from all others: its name, or its position among the columns used, from one.
    #[arg(long, help_heading = "Mechanism")]
    target: String,
    /// About the largest size of a target: residuals of the first step are clipped to it.
    #[arg(long, value_name = "Y", help_heading = "Mechanism")]
    label_bound: f64,
    /// With an intercept, at 1.09 times the noise of a step (1.33 times with --adjacency zero-row).
    #[arg(long, help_heading = "Mechanism")]
    intercept: bool,
    /// Store the names of the columns in the release: they become public.
    #[arg(long, help_heading = "Output")]
    keep_names: bool,
}

impl RegressionOptions {
    /// Holds all rows in memory: every step asks them.
    pub(crate) fn run(&self) -> Result<Record> {
        let known =
            [AdjacencyKind::AddRemoveRow, AdjacencyKind::ReplaceRow, AdjacencyKind::ZeroRow];
        let Promise { adjacency, budget, limits } =
            self.rows.promise_of(&self.users, "a regression", &known)?;
        let input = self.rows.open()?;
        let d = input.rows.d();
        if d < 2 {
            return Err(Error::usage("a regression needs a column beside its target"));
        }
        let names = self.rows.input.entered();
        let target = column_of("--target", &self.target, d, names)?;
        let label_bound = positive("--label-bound", self.label_bound)?;
        let config =
            NewtonConfig { features: d - 1, adjacency, label_bound, intercept: self.intercept };
        let mut mechanism = PrivateNewton::calibrate(config, budget)?;
        if self.keep_names {
            let without = || Error::usage("--keep-names needs a file whose columns have names");
            let mut names = names.ok_or_else(without)?.to_vec();
            let last = names.remove(target);
            names.push(last);
            mechanism.name_columns(&names)?;
        }
        let guarantee = mechanism.guarantee();
        let label = "regression, private Newton steps";
        let check = || {
            check_rereadable(&self.rows.input.input, "a dry run")?;
            self.read(self.rows.input.open()?, target, limits.clone()).map(drop)
        };
        let Some(mut rng) = self.rows.output.charge(guarantee, label, check)? else {
            return Ok(predicted(self.rows.planned(label, guarantee), mechanism.predict(())?));
        };
        let rows = self.read(input, target, limits)?;
        let release = mechanism.release(&rows, &mut rng)?;
        release_file::write(self.rows.output.take()?, &release)?;
        Ok(predicted(self.rows.written(release.certificate())?, mechanism.predict(())?))
    }

    /// Rows with the target last; the others within the limits.
    fn read(&self, input: Input, target: usize, limits: Limits) -> Result<Vec<f64>> {
        let d = input.rows.d();
        let none = Limits { entry: None, norm: None, ..limits.clone() };
        let names = self.rows.input.entered();
        let mut rows = Vec::new();
        each_block(input, none, |block| {
            let all = block.dense(d);
            let rest = |row: &[f64]| [&row[..target], &row[target + 1..]].concat();
            let features = all.chunks_exact(d).flat_map(rest).collect();
            let mut features = Block { n: block.n, values: Values::Dense(features) };
            limits.apply(&mut features, d - 1, 0, |place| {
                let place = place + usize::from(place >= target);
                let name = names.and_then(|names| names.get(place)).cloned();
                name.unwrap_or_else(|| format!("{}", place + 1))
            })?;
            let features = features.dense(d - 1);
            for (row, all) in features.chunks_exact(d - 1).zip(all.chunks_exact(d)) {
                rows.extend_from_slice(row);
                rows.push(all[target]);
            }
            Ok(())
        })?;
        Ok(rows)
    }
}
