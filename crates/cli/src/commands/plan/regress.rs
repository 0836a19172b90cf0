//! `dps plan regress`.

use super::curve::{CurveOptions, needed_in_words};
use super::matrices::{errors, protects, spends, ways};
use crate::commands::choice::{ERROR, row_bound};
use crate::commands::release::{AdjacencyKind, AdjacencyOptions, BudgetOptions};
use crate::error::{Error, Result, positive};
use crate::output::Record;
use clap::Args;
use dp_core::{Adjacency, NormBound};
use linalg_dp::plan::{RegressionMethod, RegressionTask, plan_regression};

#[derive(Args)]
pub(super) struct Regress {
    /// Rows of the file.
    #[arg(long)]
    rows: u64,
    /// Features of a row, without the target.
    #[arg(long)]
    features: usize,
    /// Largest size of a target.
    #[arg(long)]
    label_bound: f64,
    /// Root mean square of what the features tell of the target, from public knowledge.
    #[arg(long)]
    explained: f64,
    /// Root mean square of the rest of the target, from public knowledge.
    #[arg(long)]
    residual: f64,
    /// Typical l2 norm of a row of features, from public knowledge [default: half of --norm-bound].
    #[arg(long)]
    typical_norm: Option<f64>,
    /// The i-th principal direction of the features has a mean square that falls as i to the minus this: 0 where all are as strong.
    #[arg(long, default_value_t = 0.0)]
    decay: f64,
    #[command(flatten)]
    curve: CurveOptions,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    #[command(flatten)]
    budget: BudgetOptions,
}

impl Regress {
    pub(super) fn run(&self) -> Result<Record> {
        let known =
            [AdjacencyKind::AddRemoveRow, AdjacencyKind::ReplaceRow, AdjacencyKind::ZeroRow];
        let adjacency = self.adjacency.get("a regression", &known)?;
        let (budget, bound) = (self.budget.get()?, row_bound(adjacency)?);
        let norm = self.typical_norm.unwrap_or(0.5 * bound);
        if !(norm > 0.0 && norm <= bound) {
            return Err(Error::usage(format!(
                "--typical-norm {norm} is not allowed: it takes a norm in (0, {bound}], as --norm-bound says"
            )));
        }
        if !(0.0..=8.0).contains(&self.decay) {
            return Err(Error::usage(format!(
                "--decay {} is not allowed: it takes a power in [0, 8]",
                self.decay
            )));
        }
        let label_bound: NormBound = positive("--label-bound", self.label_bound)?;
        let shares = (1..=self.features).map(|i| (i as f64).powf(-self.decay));
        let total: f64 = shares.clone().sum();
        let spectrum: Vec<f64> = shares.map(|share| norm * norm * share / total).collect();
        let task = RegressionTask {
            rows: self.rows,
            adjacency,
            label_bound,
            spectrum: &spectrum,
            explained: self.explained,
            residual: self.residual,
            budget,
        };
        let plans = plan_regression(&task)?;
        let at = |budget| ways(&plan_regression(&RegressionTask { budget, ..task })?, name);
        let curve = self.curve.answer(budget, ERROR, at)?;
        let mut record = Record::new().text("adjacency", adjacency.to_string()).and(curve).text(
            "error",
            "root mean square of the distance between its predictions of the target and those of least squares without privacy",
        );
        record = record.text(
            "predicted by",
            "simulated releases with these facts; nine in ten are predicted within the range, which counts a tenth for the model and what \
             so few simulations leave to chance",
        );
        let method = |plan: &linalg_dp::plan::Planned<RegressionMethod>| plan.method;
        record = match plans.first().map(method) {
            Some(RegressionMethod::Nothing) => {
                let epsilon = needed_in_words(budget, ERROR, 0.5 * self.explained, at)?;
                record.text(
                    "note",
                    format!(
                        "nothing of the coefficients is seen at this budget: zero errs by less than any release; for half of \
                         its error {epsilon}"
                    ),
                )
            }
            Some(RegressionMethod::Newton) => record.text(
                "the best release is made by",
                format!(
                    "dps release regression FILE --out FILE --target COLUMN --label-bound {} {} {}",
                    self.label_bound,
                    protects(adjacency),
                    spends(budget)
                ),
            ),
            _ => record.text(
                "the best release is made by",
                format!(
                    "dps release covariance FILE --out FILE {} {}",
                    protects(longer(adjacency, label_bound)?),
                    spends(budget)
                ),
            ),
        };
        let rows = plans.iter().map(|plan| {
            errors(Record::new().text("method", name(plan.method)), plan)
                .number("relative_error", plan.error / self.explained)
        });
        Ok(record.table("methods", rows.collect()))
    }
}

fn name(method: RegressionMethod) -> &'static str {
    match method {
        RegressionMethod::Newton => "private Newton steps, one target",
        RegressionMethod::Covariance => "from a covariance with the target, any column",
        _ => "zero coefficients: spend nothing",
    }
}

/// The adjacency of rows with their target.
fn longer(adjacency: Adjacency, label: NormBound) -> Result<Adjacency> {
    let bound = NormBound::new(row_bound(adjacency)?.hypot(label.get()))?;
    Ok(match adjacency {
        Adjacency::AddRemoveRow { .. } => Adjacency::AddRemoveRow { bound },
        Adjacency::ReplaceRow { .. } => Adjacency::ReplaceRow { bound },
        _ => Adjacency::ZeroRow { bound },
    })
}
