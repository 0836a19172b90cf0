//! Plans of covariances, components, low-rank approximations and windows.

use super::curve::{CurveOptions, needed_in_words};
use crate::commands::choice::{ERROR, Measure, Way, covariance_name, row_bound, schedule_name};
use crate::commands::release::{AdjacencyKind, AdjacencyOptions, BudgetOptions};
use crate::error::{Error, Result, positive};
use crate::output::Record;
use clap::Args;
use dp_core::{Adjacency, Budget, SquaredNorm};
use linalg_dp::plan::{
    CovarianceMethod, CovarianceTask, LowRankMethod, LowRankTask, Planned, plan_covariance,
    plan_direction, plan_low_rank, plan_window,
};
use linalg_dp::window::{Schedule, StreamConfig};

#[derive(Args)]
pub(super) struct Covariance {
    /// Rows of the file.
    #[arg(long)]
    rows: u64,
    /// Features of a row.
    #[arg(long)]
    features: usize,
    /// Typical l2 norm of a row, from public knowledge [default: half of --norm-bound].
    #[arg(long)]
    typical_norm: Option<f64>,
    /// How much more of the rows' squared norm the strongest direction has than any other, as a share, from public knowledge: plans
    /// the first principal component too.
    #[arg(long, value_name = "SHARE")]
    gap: Option<f64>,
    #[command(flatten)]
    curve: CurveOptions,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    #[command(flatten)]
    budget: BudgetOptions,
}

impl Covariance {
    pub(super) fn run(&self) -> Result<Record> {
        let known =
            [AdjacencyKind::AddRemoveRow, AdjacencyKind::ReplaceRow, AdjacencyKind::ZeroRow];
        let adjacency = self.adjacency.get("a covariance", &known)?;
        let bound = row_bound(adjacency)?;
        let norm = self.typical_norm.unwrap_or(0.5 * bound);
        if !(norm > 0.0 && norm <= bound) {
            return Err(Error::usage(format!(
                "--typical-norm {norm} is not allowed: it takes a norm in (0, {bound}], as --norm-bound says"
            )));
        }
        let trace = SquaredNorm::new(self.rows as f64 * norm * norm)?.get();
        let budget = self.budget.get()?;
        let task = CovarianceTask { dim: self.features, adjacency, budget };
        let plans = plan_covariance(&task)?;
        let at =
            |budget| ways(&plan_covariance(&CovarianceTask { budget, ..task })?, covariance_name);
        let curve = match self.gap {
            None => self.curve.answer(budget, ERROR, at)?,
            Some(share) => self.curve.answer(budget, SINE, |budget| {
                let plan = direction(&CovarianceTask { budget, ..task }, share, trace)?;
                Ok(vec![("first component".into(), plan.error)])
            })?,
        };
        let mut record = Record::new()
            .text("adjacency", adjacency.to_string())
            .and(curve)
            .number("frobenius norm of the second moments, at most", trace);
        if let Some(best) = plans.first().filter(|best| best.error > trace) {
            record = record.text(
                "note",
                format!(
                    "the least error is {:.1} times the largest norm that the second moments can have: nothing of them is seen at \
                     this budget; {:.1} times as many rows would be needed, or with these {}",
                    best.error / trace,
                    best.error / trace,
                    needed_in_words(budget, ERROR, trace, at)?
                ),
            );
        }
        if let Some(share) = self.gap {
            record = record.and(component(&task, share, trace)?);
        }
        let command = format!(
            "dps release covariance FILE --out FILE {} {}",
            protects(adjacency),
            spends(budget)
        );
        let rows = plans.iter().map(|plan| {
            let row = Record::new().text("method", covariance_name(plan.method));
            errors(row, plan).number("relative_error", plan.error / trace)
        });
        let record = record.text("the best release is made by", command).text(
            "left out",
            "Wishart noise and Johnson-Lindenstrauss sketches: in this norm they err by more at every size. They are for matrices that must stay positive, and for relative errors",
        );
        Ok(record.table("methods", rows.collect()))
    }
}

/// What is predicted of the first component.
fn direction(task: &CovarianceTask, share: f64, trace: f64) -> Result<Planned<CovarianceMethod>> {
    if !(share > 0.0 && share <= 1.0) {
        return Err(Error::usage(format!(
            "--gap {share} is not allowed: it takes a share of the squared norm in (0, 1]"
        )));
    }
    Ok(plan_direction(task, &vec![share * trace; task.dim.saturating_sub(1)])?)
}

/// The first component, where the gap is known.
fn component(task: &CovarianceTask, share: f64, trace: f64) -> Result<Record> {
    let plan = direction(task, share, trace)?;
    let record = Record::new()
        .number("squared sine to the first component", plan.error)
        .number("squared sine, low", plan.low)
        .number("squared sine, high", plan.high);
    Ok(if plan.error < 0.5 {
        record
    } else {
        // It falls as the square of the gap, which a plan for a million times as many rows shows without its cap.
        let many = direction(task, share, 1e6 * trace)?;
        let factor = 1e6 * (many.error / 0.1).sqrt();
        let epsilon = needed_in_words(task.budget, SINE, 0.1, |budget| {
            let plan = direction(&CovarianceTask { budget, ..*task }, share, trace)?;
            Ok(vec![(String::new(), plan.error)])
        })?;
        record.text(
                "component",
                format!(
                    "nothing of the first component is seen at this budget: {factor:.1} times as many rows would bring its squared \
                     sine to .1; with these {epsilon}"
                ),
            )
    })
}

#[derive(Args)]
pub(super) struct LowRank {
    /// Rows of the matrix.
    #[arg(long)]
    rows: usize,
    /// Columns of the matrix.
    #[arg(long)]
    features: usize,
    /// Rank of the approximation.
    #[arg(long)]
    rank: usize,
    /// Longest l2 norm of a row.
    #[arg(long)]
    row_bound: f64,
    /// Frobenius norm of the matrix, about, from public knowledge: what publishing nothing errs by
    /// [default: half of --row-bound times the root of the rows].
    #[arg(long)]
    norm: Option<f64>,
    #[command(flatten)]
    curve: CurveOptions,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    #[command(flatten)]
    budget: BudgetOptions,
}

impl LowRank {
    pub(super) fn run(&self) -> Result<Record> {
        let what = "a low-rank approximation";
        let adjacency = self.adjacency.get(what, &[AdjacencyKind::RowShift])?;
        let Adjacency::RowShift { l2: shift } = adjacency else {
            return Err(Error::usage("a low-rank approximation protects --adjacency row-shift"));
        };
        let norm = self.norm.unwrap_or(0.5 * self.row_bound * (self.rows as f64).sqrt());
        let (shape, rank) = ((self.rows, self.features), self.rank);
        let (row_bound, budget) = (positive("--row-bound", self.row_bound)?, self.budget.get()?);
        let task = LowRankTask { shape, rank, shift, row_bound, norm, budget };
        let plans = plan_low_rank(&task)?;
        let at = |budget| ways(&plan_low_rank(&LowRankTask { budget, ..task })?, low_rank_name);
        let mut record = Record::new()
            .text("adjacency", adjacency.to_string())
            .and(self.curve.answer(budget, ERROR, at)?)
            .text("predicted for", "a matrix of that rank with rows of equal weight");
        let best = plans.first().map(|best| best.method);
        if best == Some(LowRankMethod::Nothing) {
            let epsilon = needed_in_words(budget, ERROR, 0.5 * norm, at)?;
            record = record.text(
                "note",
                format!(
                    "nothing of the matrix is seen at this budget: a release would err by as much as the zero matrix; for half \
                     of that {epsilon}"
                ),
            );
        } else {
            let command = format!(
                "dps release low-rank FILE --out FILE --rank {rank} --row-bound {} {} {}",
                self.row_bound,
                protects(adjacency),
                spends(budget)
            );
            record = record.text("find and project is made by", command);
        }
        let rows = plans.iter().map(|plan| {
            let name = match plan.method {
                LowRankMethod::FindAndProject { columns } => {
                    format!("find and project, {columns} columns")
                }
                other => low_rank_name(other).into(),
            };
            let row = Record::new().text("method", name);
            errors(row, plan).number("relative_error", plan.error / norm)
        });
        Ok(record.table("methods", rows.collect()))
    }
}

#[derive(Args)]
pub(super) struct Window {
    /// Features of a row.
    #[arg(long)]
    features: usize,
    /// Rows in the window.
    #[arg(long)]
    window: u64,
    /// Rows in a block, which divides the window [default: as of dps window].
    #[arg(long)]
    block: Option<u64>,
    /// Most ticks of the stream: correlated noise needs it.
    #[arg(long)]
    horizon: Option<u64>,
    /// Typical l2 norm of a row, from public knowledge [default: half of --norm-bound].
    #[arg(long)]
    typical_norm: Option<f64>,
    #[command(flatten)]
    curve: CurveOptions,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    #[command(flatten)]
    budget: BudgetOptions,
}

impl Window {
    pub(super) fn run(&self) -> Result<Record> {
        let known = [AdjacencyKind::ZeroRow, AdjacencyKind::ReplaceRow];
        let adjacency = self.adjacency.get("a sliding window", &known)?;
        let (budget, bound) = (self.budget.get()?, row_bound(adjacency)?);
        let config = StreamConfig::new(self.features, self.window, adjacency, budget);
        let config = StreamConfig { block: self.block.unwrap_or(config.block), ..config };
        let norm = self.typical_norm.unwrap_or(0.5 * bound);
        let trace = SquaredNorm::new(self.window as f64 * norm * norm)?.get();
        let plans = plan_window(&config, self.horizon)?;
        let at = |budget| {
            ways(&plan_window(&StreamConfig { budget, ..config }, self.horizon)?, schedule_name)
        };
        let mut record = Record::new()
            .text("adjacency", adjacency.to_string())
            .and(self.curve.answer(budget, ERROR, at)?)
            .integer("rows in a block", config.block)
            .number("frobenius norm of a window, at most", trace);
        let Some(best) = plans.first() else { return Ok(record) };
        if best.error > trace {
            record = record.text(
                "note",
                format!(
                    "the least error is {:.1} times the largest norm that a window can have: nothing of it is seen at this budget; {}",
                    best.error / trace,
                    needed_in_words(budget, ERROR, trace, at)?
                ),
            );
        }
        let horizon = self.horizon.filter(|_| matches!(best.method, Schedule::Factorised { .. }));
        let horizon = horizon.map_or(String::new(), |ticks| format!(" --horizon {ticks}"));
        let command = format!(
            "dps window FILE --out FOLDER --journal FILE --window {} --block {} --schedule {}{horizon} {} {}",
            self.window,
            config.block,
            schedule_name(best.method),
            protects(adjacency),
            spends(budget)
        );
        let rows = plans.iter().map(|plan| {
            let row = Record::new().text("method", schedule_name(plan.method));
            errors(row, plan).number("relative_error", plan.error / trace)
        });
        let record = record.text("the best stream is made by", command);
        Ok(record.table("methods", rows.collect()))
    }
}

const SINE: Measure = Measure::Error("squared sine to the first component");

/// Every way by its name.
pub(super) fn ways<M: Copy>(
    plans: &[Planned<M>],
    name: impl Fn(M) -> &'static str,
) -> Result<Vec<Way>> {
    Ok(plans.iter().map(|plan| (name(plan.method).to_owned(), plan.error)).collect())
}

pub(super) fn errors<M>(row: Record, plan: &Planned<M>) -> Record {
    row.number("error", plan.error).number("low", plan.low).number("high", plan.high)
}

fn low_rank_name(method: LowRankMethod) -> &'static str {
    match method {
        LowRankMethod::FindAndProject { .. } => "find and project",
        LowRankMethod::InputPerturbation => "noise on every entry, cut to the rank",
        _ => "zero matrix: spend nothing",
    }
}

/// The options of an adjacency.
pub(super) fn protects(adjacency: Adjacency) -> String {
    let (name, size) = match adjacency {
        Adjacency::AddRemoveRow { bound } => ("add-remove-row --norm-bound", bound.get()),
        Adjacency::ReplaceRow { bound } => ("replace-row --norm-bound", bound.get()),
        Adjacency::ZeroRow { bound } => ("zero-row --norm-bound", bound.get()),
        Adjacency::RowShift { l2 } => ("row-shift --shift", l2.get()),
        other => return format!("--adjacency {other}"),
    };
    format!("--adjacency {name} {size}")
}

pub(super) fn spends(budget: Budget) -> String {
    format!("--epsilon {} --delta {:e}", budget.epsilon.get(), budget.delta.get())
}
