//! What a plan and a release share: public facts, names of ways, the choice and what is said of it.

use crate::error::{Error, Result};
use crate::output::complain;
use clap::Args;
use dp_core::Adjacency;
use linalg_dp::plan::CovarianceMethod;
use linalg_dp::window::Schedule;
use sketch::plan::{Aim, DistanceMethod, RowSearch, SearchGoal, SetMethod, SetPlan};
use sketch::vectors::NoiseKind;

/// Public facts of similar sets.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Public facts")]
pub(crate) struct SetFacts {
    /// Typical number of items of a set, from public knowledge.
    #[arg(long)]
    size: Option<f64>,
    /// Similarity of a neighbour worth finding, from public knowledge.
    #[arg(long)]
    near: Option<f64>,
    /// Standard deviation of the similarity of such neighbours.
    #[arg(long, default_value_t = 0.0)]
    near_deviation: f64,
    /// Similarity of an arbitrary other set, from public knowledge.
    #[arg(long)]
    far: Option<f64>,
    /// Standard deviation of the similarity of others.
    #[arg(long, default_value_t = 0.0)]
    far_deviation: f64,
    /// Share of all sets that a search returns.
    #[arg(long, default_value_t = 0.01)]
    returned: f64,
}

impl SetFacts {
    /// What two sets of typical size have in common that are worth finding; none where no fact is given.
    pub(crate) fn near(&self) -> Result<Option<sketch::sets::SetFacts>> {
        let goal = self.goal(1, 1)?;
        let facts =
            |goal: SearchGoal| sketch::sets::SetFacts { size: goal.size, similarity: goal.near };
        Ok(goal.map(facts))
    }

    /// What is asked of signatures of at most so many positions, by sets of at least so many items; none where no fact is
    /// given.
    pub(crate) fn goal(&self, positions: usize, min_size: u64) -> Result<Option<SearchGoal>> {
        let (size, near, far) = match (self.size, self.near, self.far) {
            (None, None, None) => return Ok(None),
            (Some(size), Some(near), Some(far)) => (size, near, far),
            _ => {
                return Err(Error::usage(
                    "--size, --near and --far go together: a prediction needs all three",
                ));
            }
        };
        if size < min_size as f64 {
            return Err(Error::usage(format!(
                "--size {size}: a typical set cannot have fewer items than the least, --min-size {min_size}"
            )));
        }
        Ok(Some(SearchGoal {
            size,
            near,
            near_deviation: self.near_deviation,
            far,
            far_deviation: self.far_deviation,
            returned: self.returned,
            positions,
            aim: Aim::Recall,
        }))
    }
}

/// The name of a kind of signature, its positions, symbols and minima hashed together.
pub(crate) fn signature(plan: &SetPlan) -> Result<(&'static str, usize, u32, usize)> {
    Ok(match &plan.choice {
        &SetMethod::Bins { bins, values, .. } => ("bins", bins, values, 1),
        SetMethod::Mixture { shape, .. } => {
            ("mixture", shape.positions(), shape.alphabet(), shape.concatenation())
        }
        _ => return Err(Error::usage("the planner chose a mechanism this does not know")),
    })
}

/// The name of a way to release distances, and its sizes.
pub(crate) fn distance_name(method: &DistanceMethod) -> (String, String) {
    let of = |what: &str, noise: &NoiseKind| format!("{what}, {noise}");
    match method {
        DistanceMethod::Projection { k, noise } => (of("private projection", noise), k.to_string()),
        DistanceMethod::FreshProjection { k } => {
            ("fresh projection, Gaussian".into(), k.to_string())
        }
        DistanceMethod::MultiScale { sizes } => {
            let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
            ("projections at several scales, Gaussian".into(), sizes.join("+"))
        }
        DistanceMethod::NoiseAddition => ("noise on all pairwise distances".into(), "-".into()),
        DistanceMethod::RandomizedResponse => ("randomised response on bits".into(), "-".into()),
        DistanceMethod::RawData { noise } => (of("noise on the data itself", noise), "-".into()),
        _ => ("another method".into(), "-".into()),
    }
}

/// Rows of a search for unit vectors where their number is not known before they are read.
pub(crate) const UNKNOWN_ROWS: usize = 1000;

/// A search by cosine whose facts nobody gave: neighbours half a cosine above the mean of others.
pub(crate) fn usual_search(rows: usize) -> RowSearch {
    let returned = rows.min(10);
    RowSearch { rows, returned, contrast: 0.5, contrast_deviation: 0.0, spread: 0.1 }
}

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Less of it is better.
    Error(&'static str),
    /// More of it is better, up to one.
    Share(&'static str),
    /// More of it is better.
    Amount(&'static str),
}

impl Measure {
    pub(crate) fn name(self) -> &'static str {
        let (Self::Error(name) | Self::Share(name) | Self::Amount(name)) = self;
        name
    }

    /// Whether a prediction is as good as asked.
    pub(crate) fn is_met(self, predicted: f64, asked: f64) -> bool {
        match self {
            Self::Error(_) => predicted <= asked,
            Self::Share(_) | Self::Amount(_) => predicted >= asked,
        }
    }

    /// How many times worse than the best.
    fn worse(self, predicted: f64, best: f64) -> f64 {
        match self {
            Self::Error(_) => predicted / best,
            Self::Share(_) | Self::Amount(_) => best / predicted,
        }
    }
}

/// Errors of distances and similarities.
pub(crate) const STANDARD_ERROR: Measure = Measure::Error("standard error");
/// Errors of matrices.
pub(crate) const ERROR: Measure = Measure::Error("error");
pub(crate) const RECALL: Measure = Measure::Share("recall");

/// A way and what is predicted of it.
pub(crate) type Way = (String, f64);

/// A choice is worth a warning from here on.
const WORSE: f64 = 2.0;
/// Others that are named.
const NAMED: usize = 3;

/// Says which way the plan took, the first of these, and what else was considered.
pub(crate) fn say_chosen(measure: Measure, ways: &[Way]) {
    let Some((best, predicted)) = ways.first() else { return };
    let mut others: Vec<String> = Vec::new();
    for (name, value) in &ways[1..] {
        if others.len() < NAMED && name != best && !others.iter().any(|o| o.starts_with(&**name)) {
            others.push(format!("{name} ({value:.4})"));
        }
    }
    let others = if others.is_empty() { "nothing else".into() } else { others.join(", ") };
    complain(&format!(
        "the plan takes {best}: predicted {} {predicted:.4}; considered too: {others}",
        measure.name()
    ));
}

/// Says so, before anything is spent, where what was asked for is worse than twice the plan's best.
pub(crate) fn warn_of_worse(measure: Measure, (asked, predicted): (&str, f64), best: &Way) {
    let worse = measure.worse(predicted, best.1);
    if worse > WORSE {
        let times = if worse < 1e3 { format!("{worse:.1}") } else { "over 1000".into() };
        complain(&format!(
            "warning: {asked} is predicted to be {times} times worse than the plan's best: {} {predicted:.4} against {:.4} \
             of {}",
            measure.name(),
            best.1,
            best.0
        ));
    }
}

/// The longest row of the second moments.
pub(crate) fn row_bound(adjacency: Adjacency) -> Result<f64> {
    match adjacency {
        Adjacency::AddRemoveRow { bound }
        | Adjacency::ReplaceRow { bound }
        | Adjacency::ZeroRow { bound } => Ok(bound.get()),
        other => Err(Error::usage(format!("no release of second moments protects {other}"))),
    }
}

pub(crate) fn covariance_name(method: CovarianceMethod) -> &'static str {
    match method {
        CovarianceMethod::Gaussian => "gaussian",
        CovarianceMethod::Moments => "gaussian, with means (--means)",
        _ => "another method",
    }
}

pub(crate) fn schedule_name(schedule: Schedule) -> &'static str {
    match schedule {
        Schedule::Tree { .. } => "tree",
        Schedule::Block { .. } => "block",
        _ => "factorised",
    }
}
