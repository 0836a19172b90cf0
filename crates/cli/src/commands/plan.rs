//! `dps plan`: what every mechanism would achieve.

mod curve;
mod groups;
mod matrices;
mod regress;
mod repeated;

use super::choice::{RECALL, STANDARD_ERROR, SetFacts, Way, distance_name, signature};
use super::release::{AdjacencyKind, AdjacencyOptions, BudgetOptions};
use crate::error::{Error, Result};
use crate::output::Record;
use clap::{Args, Subcommand, ValueEnum};
use curve::needed_in_words;
use dp_core::{Adjacency, Budget, Epsilon};
use sketch::distances::ValueRange;
use sketch::plan::{
    Aim, Asked, DistanceMethod, DistancePlan, DistanceTask, RowSearch, SearchGoal, SetPlan,
    plan_distances, plan_sets,
};
use sketch::sets::SetNeighbours;
use sketch::vectors::NoiseKind;

/// Options of `dps plan`.
#[derive(Args)]
pub(crate) struct Plan {
    #[command(subcommand)]
    task: TaskName,
}

#[derive(Subcommand)]
enum TaskName {
    /// Squared distances of rows of numbers.
    #[command(visible_alias = "distance")]
    Vectors(Vectors),
    /// Similarity of item sets.
    #[command(visible_alias = "similar-sets")]
    Sets(Sets),
    /// Groups of columns for a search among rows of which one value is protected, or whether random bins find more; tried
    /// among public rows.
    Groups(Box<groups::GroupTask>),
    /// Search among whole rows (`dps release units`), where any row may become any other.
    Search(Search),
    /// Second moments, and their first principal component.
    Covariance(matrices::Covariance),
    /// A low-rank approximation.
    LowRank(matrices::LowRank),
    /// Coefficients of a linear regression on one target.
    #[command(visible_alias = "regression")]
    Regress(regress::Regress),
    /// Second moments of the last rows of a stream: its schedule.
    Window(matrices::Window),
    /// Many releases under one limit: what each may spend.
    Repeated(repeated::Repeated),
}

#[derive(Args)]
struct Vectors {
    /// Rows of the file.
    #[arg(long)]
    rows: usize,
    /// Features of a row.
    #[arg(long)]
    features: usize,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    #[command(flatten)]
    budget: BudgetOptions,
    /// Least value of an entry.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    low: f64,
    /// Largest value of an entry.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    high: f64,
    /// Every entry is 0 or 1: randomised response is considered too.
    #[arg(long, conflicts_with_all = ["low", "high"])]
    bits: bool,
    /// The squared distance whose estimate should be good.
    #[arg(long)]
    squared_distance: f64,
    #[command(flatten)]
    curve: curve::CurveOptions,
}

#[derive(Args)]
struct Sets {
    /// Epsilon of the whole release.
    #[arg(long)]
    epsilon: f64,
    /// Delta of the whole release; 0 for pure differential privacy.
    #[arg(long)]
    delta: f64,
    /// Largest number of items that are in one of two adjacent sets and not in the other; an item exchanged is two.
    #[arg(long)]
    alpha: u64,
    /// Least number of items of a set.
    #[arg(long)]
    min_size: u64,
    /// Most positions of a signature.
    #[arg(long, default_value_t = 100)]
    positions: usize,
    /// What --plot and --target are about.
    #[arg(long, value_enum, default_value_t = AimName::Recall)]
    aim: AimName,
    #[command(flatten)]
    curve: curve::CurveOptions,
    #[command(flatten)]
    facts: SetFacts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AimName {
    /// The share of near sets among those returned.
    Recall,
    /// The standard error of a similarity.
    Error,
}

#[derive(Args)]
struct Search {
    /// Rows of the file.
    #[arg(long)]
    rows: usize,
    /// Features of a row.
    #[arg(long)]
    features: usize,
    /// Epsilon of the whole release; delta is 0.
    #[arg(long)]
    epsilon: f64,
    /// How far the cosine of a row worth finding is above the mean cosine of other rows.
    #[arg(long, default_value_t = 0.5)]
    contrast: f64,
    /// Standard deviation of the cosine of other rows.
    #[arg(long, default_value_t = 0.1)]
    spread: f64,
    /// Rows that a search returns.
    #[arg(long, default_value_t = 10)]
    returned: usize,
    #[command(flatten)]
    curve: curve::CurveOptions,
}

impl Plan {
    pub(crate) fn run(&self) -> Result<Record> {
        match &self.task {
            TaskName::Vectors(task) => task.run(),
            TaskName::Sets(task) => task.run(),
            TaskName::Groups(task) => task.run(),
            TaskName::Search(task) => task.run(),
            TaskName::Covariance(task) => task.run(),
            TaskName::LowRank(task) => task.run(),
            TaskName::Regress(task) => task.run(),
            TaskName::Window(task) => task.run(),
            TaskName::Repeated(task) => task.run(),
        }
    }
}

impl Vectors {
    fn run(&self) -> Result<Record> {
        let known = [AdjacencyKind::Attribute, AdjacencyKind::RowShift, AdjacencyKind::ReplaceRow];
        let task = DistanceTask {
            n: self.rows,
            d: self.features,
            adjacency: self.adjacency.get("a plan for rows of numbers", &known)?,
            range: ValueRange::new(self.low, self.high)?,
            squared_distance: self.squared_distance,
            budget: self.budget.get()?,
        };
        let at = |budget: Budget| -> Result<Vec<DistancePlan>> {
            let mut plans = plan_distances(&DistanceTask { budget, ..task })?;
            // The planner knows bits by their range only.
            plans.retain(|p| self.bits || p.method != DistanceMethod::RandomizedResponse);
            Ok(plans)
        };
        let plans = at(task.budget)?;
        let named = |budget: Budget| -> Result<Vec<Way>> {
            let named = |p: DistancePlan| (distance_name(&p.method).0, p.standard_error);
            Ok(at(budget)?.into_iter().map(named).collect())
        };
        let curve = self.curve.answer(task.budget, STANDARD_ERROR, named)?;
        let rows = plans.iter().map(
            |DistancePlan { method, standard_error, low, high, noise, .. }| {
                let (name, sizes) = distance_name(method);
                Record::new()
                    .text("method", name)
                    .text("k", sizes)
                    .number("standard_error", *standard_error)
                    .number("low", *low)
                    .number("high", *high)
                    .number("relative_error", standard_error / self.squared_distance)
                    .number("noise", *noise)
            },
        );
        let mut record = Record::new().text("adjacency", task.adjacency.to_string()).and(curve);
        if let Some(best) = plans.first() {
            record = record.text("best", distance_name(&best.method).0);
            if best.standard_error > self.squared_distance {
                let r2 = self.squared_distance;
                let needed = needed_in_words(task.budget, STANDARD_ERROR, r2, named)?;
                record = record.text(
                    "note",
                    format!(
                        "the standard error is above the distance itself: single pairs cannot be told apart at \
                         this budget; {needed}. Search and statistics over many rows can still be good"
                    ),
                );
            }
        }
        if let Some(options) = plans.iter().find_map(|plan| made_by(&plan.method, self.features)) {
            let size = match task.adjacency {
                Adjacency::RowShift { l2 } => format!("row-shift --shift {}", l2.get()),
                Adjacency::ReplaceRow { bound } => {
                    format!("replace-row --norm-bound {}", bound.get())
                }
                Adjacency::Attribute { beta } => format!("attribute --beta {}", beta.get()),
                other => return Err(Error::usage(format!("no release of rows protects {other}"))),
            };
            let Budget { epsilon, delta } = task.budget;
            let command = format!(
                "dps release sketch FILE --out FILE {options} --adjacency {size} --bound {} --epsilon {} \
                 --delta {:e}",
                self.low.abs().max(self.high.abs()),
                epsilon.get(),
                delta.get()
            );
            record = record.text("the best release is made by", command);
        }
        Ok(record.table("methods", rows.collect()))
    }
}

/// The options of `dps release sketch` that make it; it makes projections alone.
fn made_by(method: &DistanceMethod, d: usize) -> Option<String> {
    let named = |noise: &NoiseKind| noise.to_string().to_lowercase();
    match method {
        DistanceMethod::Projection { k, noise } => Some(format!("-k {k} --noise {}", named(noise))),
        DistanceMethod::FreshProjection { k } => Some(format!("-k {k} --calibration averaged")),
        DistanceMethod::RawData { noise } => {
            Some(format!("--family identity -k {d} --noise {}", named(noise)))
        }
        _ => None,
    }
}

impl Search {
    fn run(&self) -> Result<Record> {
        let search = RowSearch {
            rows: self.rows,
            returned: self.returned,
            contrast: self.contrast,
            contrast_deviation: 0.0,
            spread: self.spread,
        };
        let (d, epsilon) = (self.features, Epsilon::new(self.epsilon)?);
        let pure = Budget::new(self.epsilon, 0.0)?;
        let curve = self.curve.answer(pure, RECALL, |budget| {
            let asked = [("exact queries", Asked::Exact), ("released queries", Asked::Private)];
            let way = |(name, asked): (&str, Asked)| {
                Ok((name.to_owned(), search.best_units(d, budget.epsilon, asked)?.1))
            };
            asked.into_iter().map(way).collect()
        })?;
        let mut record =
            Record::new().text("adjacency", Adjacency::AnyInput.to_string()).and(curve);
        let (mut methods, mut note, mut best) = (Vec::new(), None, (d, 0.0));
        for (name, asked) in [("released", Asked::Private), ("exact", Asked::Exact)] {
            let (k, recall) = search.best_units(d, epsilon, asked)?;
            let needed = match search.epsilon_needed(d, None, asked)? {
                Some(needed) => format!("{:.1}", needed.get()),
                None => "above 64".into(),
            };
            if recall < RowSearch::FOUND {
                note = Some(format!(
                    "nothing can be found with {name} queries: not one in ten of the rows worth finding is among the first \
                     {}; epsilon {needed} would be needed",
                    self.returned
                ));
            }
            let row = Record::new().text("queries", name).integer("k", k as u64);
            methods.push(row.number("recall", recall).text("epsilon needed", needed));
            best = (k, recall);
        }
        if let Some(note) = note {
            record = record.text("note", note);
        }
        let family = if best.0 == d { " --family identity" } else { "" };
        let command = format!(
            "dps release units FILE --out FILE -k {}{family} --adjacency any-input --epsilon {} --delta 0",
            best.0, self.epsilon
        );
        Ok(record.text("the best release is made by", command).table("methods", methods))
    }
}

impl Sets {
    fn run(&self) -> Result<Record> {
        let missing = || {
            Error::usage("--size, --near and --far are required: similar sets are what they say")
        };
        let goal = self.facts.goal(self.positions, self.min_size)?.ok_or_else(missing)?;
        let neighbours = SetNeighbours::new(self.alpha, self.min_size)?;
        let budget = Budget::new(self.epsilon, self.delta)?;
        let plans = plan_sets(goal, neighbours, budget)?;
        let exact = least_error(&plans);
        let (aim, measure) = match self.aim {
            AimName::Recall => (Aim::Recall, RECALL),
            AimName::Error => (Aim::Error, STANDARD_ERROR),
        };
        let curve = self.curve.answer(budget, measure, |budget| {
            let plans = plan_sets(SearchGoal { aim, ..goal }, neighbours, budget)?;
            let value = |plan: &SetPlan| match self.aim {
                AimName::Recall => plan.recall,
                AimName::Error => plan.standard_error,
            };
            plans.iter().map(|plan| Ok((signature(plan)?.0.to_owned(), value(plan)))).collect()
        })?;
        let (mut record, mut rows) = (curve, Vec::new());
        for (name, best) in [("recall", plans.first()), ("error", exact)] {
            let Some(best) = best else { continue };
            let (mechanism, k, symbols, minima) = signature(best)?;
            let more = match mechanism {
                "bins" => String::new(),
                _ => format!(" --concatenation {minima}"),
            };
            let command = format!(
                "dps release minhash FILE --out FILE --mechanism {mechanism} -k {k} --symbols {symbols}{more} \
                 --adjacency set-items --alpha {} --min-size {} --epsilon {} --delta {:e}",
                self.alpha, self.min_size, self.epsilon, self.delta
            );
            record = record.text(&format!("best {name} is made by"), command);
            rows.push(
                Record::new()
                    .text("best for", name)
                    .text("mechanism", mechanism)
                    .integer("k", k as u64)
                    .integer("symbols", u64::from(symbols))
                    .number("recall", best.recall)
                    .number("recall_low", best.recall_range.0)
                    .number("recall_high", best.recall_range.1)
                    .number("standard_error", best.standard_error)
                    .number("error_low", best.error_range.0)
                    .number("error_high", best.error_range.1),
            );
        }
        Ok(record.table("plans", rows))
    }
}

/// The plan whose estimates err least.
fn least_error(plans: &[SetPlan]) -> Option<&SetPlan> {
    plans.iter().min_by(|a, b| a.standard_error.total_cmp(&b.standard_error))
}
