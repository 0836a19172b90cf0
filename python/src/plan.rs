//! Plans from public facts, as JSON.

use crate::error::{Fault, Result};
use crate::run::work;
use crate::values;
use dp_core::{Adjacency, Budget};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use sketch::distances::ValueRange;
use sketch::plan::{
    Aim, DistanceMethod, DistancePlan, DistanceTask, SearchGoal, SetMethod, epsilon_for_error,
    plan_distances, plan_sets,
};
use sketch::sets::SetNeighbours;
use sketch::vectors::NoiseKind;

/// Public facts of rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfRows {
    n: usize,
    d: usize,
    low: f64,
    high: f64,
    squared_distance: f64,
    epsilon: f64,
    delta: f64,
}

/// Public facts of sets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfSets {
    size: f64,
    near: f64,
    far: f64,
    returned: f64,
    positions: usize,
    error: bool,
    epsilon: f64,
    delta: f64,
}

fn task(facts: &str, adjacency: &str) -> Result<DistanceTask> {
    let facts: OfRows = values::parsed("facts", facts)?;
    Ok(DistanceTask {
        n: facts.n,
        d: facts.d,
        adjacency: values::adjacency(adjacency)?,
        range: ValueRange::new(facts.low, facts.high)?,
        squared_distance: facts.squared_distance,
        budget: Budget::new(facts.epsilon, facts.delta)?,
    })
}

/// As the parameters of a mechanism name it.
pub(crate) fn noise_name(noise: NoiseKind) -> String {
    noise.to_string().to_lowercase()
}

fn described(plan: &DistancePlan) -> Value {
    let (method, sizes, noise) = match &plan.method {
        DistanceMethod::Projection { k, noise } => ("projection", vec![*k], Some(*noise)),
        DistanceMethod::FreshProjection { k } => ("fresh projection", vec![*k], None),
        DistanceMethod::MultiScale { sizes } => ("several scales", sizes.clone(), None),
        DistanceMethod::NoiseAddition => ("noise on distances", Vec::new(), None),
        DistanceMethod::RandomizedResponse => ("flipped bits", Vec::new(), None),
        DistanceMethod::RawData { noise } => ("noise on the data", Vec::new(), Some(*noise)),
        _ => ("another method", Vec::new(), None),
    };
    json!({
        "method": method,
        "sizes": sizes,
        "noise": noise.map(noise_name),
        "standard_error": plan.standard_error,
        "noise_size": plan.noise,
    })
}

/// Every way of telling squared distances at a budget, best first.
#[pyfunction]
pub(crate) fn distance_plans(py: Python<'_>, facts: &str, adjacency: &str) -> Result<String> {
    let task = task(facts, adjacency)?;
    let plans = work(py, || plan_distances(&task))?;
    Ok(Value::from_iter(plans.iter().map(described)).to_string())
}

/// The epsilon at which the best way has a standard error; nothing where 64 is not enough.
#[pyfunction]
pub(crate) fn epsilon_of_error(
    py: Python<'_>,
    facts: &str,
    adjacency: &str,
    standard_error: f64,
) -> Result<Option<f64>> {
    let task = task(facts, adjacency)?;
    let found = work(py, || epsilon_for_error(&task, standard_error))?;
    Ok(found.map(|epsilon| epsilon.get()))
}

/// The best signature of sets at a budget.
#[pyfunction]
pub(crate) fn set_plan(py: Python<'_>, facts: &str, adjacency: &str) -> Result<String> {
    let facts: OfSets = values::parsed("facts", facts)?;
    let neighbours = match values::adjacency(adjacency)? {
        Adjacency::SetItems { alpha, min_size } => SetNeighbours::new(alpha, min_size)?,
        other => return Err(Fault::invalid("adjacency", other, "a change of items of a set")),
    };
    if facts.size < neighbours.min_size() as f64 {
        let allowed = format!("[{}, inf), as the adjacency says", neighbours.min_size());
        return Err(Fault::invalid("size", facts.size, &allowed));
    }
    let goal = SearchGoal {
        size: facts.size,
        near: facts.near,
        near_deviation: 0.0,
        far: facts.far,
        far_deviation: 0.0,
        returned: facts.returned,
        positions: facts.positions,
        aim: if facts.error { Aim::Error } else { Aim::Recall },
    };
    let budget = Budget::new(facts.epsilon, facts.delta)?;
    let plans = work(py, || plan_sets(goal, neighbours, budget))?;
    let Some(best) = plans.first() else {
        return Err(Fault::invalid("plan", "no shape", "one that meets the budget"));
    };
    let (kind, k, symbols, concatenation) = match best.choice {
        SetMethod::Bins { bins, values, .. } => ("bins", bins, values, None),
        SetMethod::Mixture { shape, .. } => {
            ("mixture", shape.positions(), shape.alphabet(), Some(shape.concatenation()))
        }
        _ => return Err(Fault::invalid("plan", "another mechanism", "bins or mixture")),
    };
    Ok(json!({
        "kind": kind,
        "k": k,
        "symbols": symbols,
        "concatenation": concatenation,
        "recall": best.recall,
        "standard_error": best.standard_error,
    })
    .to_string())
}
