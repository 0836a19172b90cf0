//! `dps plan`: what every mechanism would achieve.

use crate::error::{Error, Result};
use crate::output::Record;
use clap::{Args, Subcommand};
use dp_core::{Budget, Shift};
use sketch::distances::ValueRange;
use sketch::plan::{
    Aim, DistanceMethod, DistancePlan, DistanceTask, SearchGoal, SetMethod, plan_distances,
    plan_sets,
};
use sketch::sets::SetNeighbours;

/// Options of `dps plan`.
#[derive(Args)]
pub(crate) struct Plan {
    #[command(subcommand)]
    task: TaskName,
}

#[derive(Subcommand)]
enum TaskName {
    /// Squared distances of rows of numbers; adjacency attribute.
    Vectors(Vectors),
    /// Similarity of item sets.
    Sets(Sets),
}

#[derive(Args)]
struct Vectors {
    /// Rows of the file.
    #[arg(long)]
    rows: usize,
    /// Features of a row.
    #[arg(long)]
    features: usize,
    /// Epsilon of the whole release.
    #[arg(long)]
    epsilon: f64,
    /// Delta of the whole release.
    #[arg(long)]
    delta: f64,
    /// Largest change of one attribute.
    #[arg(long)]
    beta: f64,
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
}

#[derive(Args)]
struct Sets {
    /// Epsilon of the whole release.
    #[arg(long)]
    epsilon: f64,
    /// Delta of the whole release; 0 for pure differential privacy.
    #[arg(long)]
    delta: f64,
    /// Largest number of items in which two adjacent sets differ.
    #[arg(long)]
    alpha: u64,
    /// Least number of items of a set.
    #[arg(long)]
    min_size: u64,
    /// Typical number of items of a set.
    #[arg(long)]
    size: f64,
    /// Similarity of a neighbour worth finding.
    #[arg(long)]
    near: f64,
    /// Similarity of an arbitrary other set.
    #[arg(long)]
    far: f64,
    /// Share of all sets that a search returns.
    #[arg(long, default_value_t = 0.01)]
    returned: f64,
    /// Most positions of a signature.
    #[arg(long, default_value_t = 100)]
    positions: usize,
}

impl Plan {
    pub(crate) fn run(&self) -> Result<Record> {
        match &self.task {
            TaskName::Vectors(task) => task.run(),
            TaskName::Sets(task) => task.run(),
        }
    }
}

impl Vectors {
    fn run(&self) -> Result<Record> {
        if self.delta == 0.0 {
            return Err(Error::usage(
                "--delta 0: the methods compared here add Gaussian noise, which needs a positive delta. \
                 Pure differential privacy comes with `dps release sketch --noise laplace` and `dps \
                 release signs`",
            ));
        }
        let mut predictions = plan_distances(&DistanceTask {
            n: self.rows,
            d: self.features,
            beta: Shift::new(self.beta)?,
            range: ValueRange::new(self.low, self.high)?,
            squared_distance: self.squared_distance,
            budget: Budget::new(self.epsilon, self.delta)?,
        })?;
        // The planner knows bits by their range only.
        predictions.retain(|p| self.bits || p.method != DistanceMethod::RandomizedResponse);
        let rows = predictions.iter().map(|prediction| {
            let DistancePlan { method, standard_error, noise, .. } = prediction;
            let (name, sizes) = describe(method);
            Record::new()
                .text("method", name)
                .text("k", sizes)
                .number("standard_error", *standard_error)
                .number("relative_error", standard_error / self.squared_distance)
                .number("noise", *noise)
        });
        let mut record = Record::new();
        if let Some(best) = predictions.first() {
            record = record.text("best", describe(&best.method).0);
            if best.standard_error > self.squared_distance {
                record = record.text(
                    "note",
                    "the standard error is above the distance itself: single pairs cannot be told apart at \
                     this budget; search and statistics over many rows can still be good",
                );
            }
        }
        let projection = predictions.iter().find_map(|p| match p.method {
            DistanceMethod::Projection { k } => Some(k),
            _ => None,
        });
        if let Some(k) = projection {
            let command = format!(
                "dps release sketch FILE --out FILE -k {k} --adjacency attribute --beta {} --bound {} \
                 --epsilon {} --delta {:e}",
                self.beta,
                self.low.abs().max(self.high.abs()),
                self.epsilon,
                self.delta
            );
            record = record.text("a sketch is made by", command);
        }
        Ok(record.table("methods", rows.collect()))
    }
}

fn describe(method: &DistanceMethod) -> (&'static str, String) {
    match method {
        DistanceMethod::Projection { k } => ("private projection", k.to_string()),
        DistanceMethod::MultiScale { sizes } => {
            let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
            ("projections at several scales", sizes.join("+"))
        }
        DistanceMethod::NoiseAddition => ("noise on all pairwise distances", "-".into()),
        DistanceMethod::RandomizedResponse => ("randomised response on bits", "-".into()),
        DistanceMethod::RawData => ("noise on the data itself", "-".into()),
        _ => ("another method", "-".into()),
    }
}

impl Sets {
    fn run(&self) -> Result<Record> {
        let goal = |aim| SearchGoal {
            size: self.size,
            near: self.near,
            far: self.far,
            returned: self.returned,
            positions: self.positions,
            aim,
        };
        if self.size < self.min_size as f64 {
            return Err(Error::usage(format!(
                "--size {}: a typical set cannot have fewer items than the least, --min-size {}",
                self.size, self.min_size
            )));
        }
        let neighbours = SetNeighbours::new(self.alpha, self.min_size)?;
        let budget = Budget::new(self.epsilon, self.delta)?;
        let (mut record, mut rows) = (Record::new(), Vec::new());
        for (name, aim) in [("recall", Aim::Recall), ("error", Aim::Error)] {
            let best = plan_sets(goal(aim), neighbours, budget)?;
            let (mechanism, k, symbols, more) = match best.choice {
                SetMethod::Bins { bins, values, .. } => ("bins", bins, values, String::new()),
                SetMethod::Mixture { shape, .. } => {
                    let more = format!(" --concatenation {}", shape.concatenation());
                    ("mixture", shape.positions(), shape.alphabet(), more)
                }
                _ => return Err(Error::usage("the planner chose a mechanism this does not know")),
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
                    .number("standard_error", best.standard_error),
            );
        }
        Ok(record.table("plans", rows))
    }
}
