//! Private signs, and methods of private search that publish them.

use super::probe;
use super::projections::Projections;
use super::retrieval::{Found, Method, Trial, view};
use crate::data::Points;
use crate::error::Result;
use crate::framework::sabotage;
use dp_core::{Adjacency, Budget, EntryBound, PublicSeed, Shift};
use sketch::projection::Family;
use sketch::search::{HammingIndex, Queries};
use sketch::signs::{
    FlipRule, IndividualNoise, IndividualSigns, PrivateSigns, SignCodes, SignSketch,
};

/// Length of the answers.
const RETURNED: usize = 100;

fn one() -> Result<(Adjacency, EntryBound)> {
    let one = EntryBound::new(1.0)?;
    Ok((Adjacency::Attribute { beta: Shift::new(1.0)? }, one))
}

fn search(database: &SignCodes, queries: &SignCodes) -> Result<Vec<Vec<usize>>> {
    let found = HammingIndex::new(database)?.top_k(&Queries::all(queries), RETURNED)?;
    let row = |q| found.indices(q).iter().map(|&i| i as usize).collect();
    Ok((0..found.n()).map(row).collect())
}

/// DP-SignOPORP of `t` repetitions: pure epsilon-DP, whatever the budget's delta.
pub(super) fn oporp_signs(
    shape: (usize, usize),
    seed: PublicSeed,
    rule: FlipRule,
    t: usize,
    budget: Budget,
) -> Result<PrivateSigns> {
    let family = sabotage::family(Family::Oporp);
    let sketch = SignSketch::repeated(family, shape.0, shape.1, t, seed)?;
    let named = sabotage::rule(rule);
    let (adjacency, bound) = one()?;
    let mut budget = sabotage::spent(Budget::pure(budget.epsilon))?;
    if rule == FlipRule::PublishedSmooth {
        budget = sabotage::published(budget)?;
    }
    Ok(PrivateSigns::new(sketch, named, adjacency, bound, budget)?)
}

/// One projection to signs.
pub(super) fn single(
    projections: &Projections,
    family: Family,
    shape: (usize, usize),
    seed: PublicSeed,
) -> Result<SignSketch> {
    Ok(SignSketch::new(vec![projections.get(sabotage::family(family), shape, seed)?])?)
}

/// iDP-SignRP and iDP-SignOPORP; pure for randomised response.
pub(super) fn individual_signs(
    projections: &Projections,
    shape: (usize, usize),
    seed: PublicSeed,
    family: Family,
    noise: IndividualNoise,
    budget: Budget,
) -> Result<IndividualSigns> {
    let sketch = single(projections, family, shape, seed)?;
    let (adjacency, bound) = one()?;
    let budget = match noise {
        IndividualNoise::Gaussian => budget,
        IndividualNoise::RandomizedResponse => Budget::pure(budget.epsilon),
    };
    Ok(IndividualSigns::new(sketch, noise, adjacency, bound, sabotage::spent(budget)?)?)
}

fn oporp(trial: &Trial<'_>, rule: FlipRule, repetitions: usize) -> Result<Found> {
    let seed = trial.context.public_seed("projection", trial.repetition);
    let shape = (trial.split.database.d(), trial.k);
    let signs = oporp_signs(shape, seed, rule, repetitions, trial.budget)?;
    let mut rng = trial.context.noise(&trial.noise, trial.repetition);
    let mut release = |points: &Points| {
        sabotage::with_rows(view(points)?, |rows| Ok(signs.release(rows, &mut rng)?))
    };
    let (queries, database) = (release(&trial.split.queries)?, release(&trial.split.database)?);
    let answers = search(database.payload(), queries.payload())?;
    let released = trial.looked_at(|| probe::signs(database.payload().bits()));
    Ok(Found { answers, sigma: signs.flips().keep().get(), released })
}

fn individual(trial: &Trial<'_>, family: Family, noise: IndividualNoise) -> Result<Found> {
    let seed = trial.context.public_seed("projection", trial.repetition);
    let shape = (trial.split.database.d(), trial.k);
    let signs = individual_signs(trial.projections, shape, seed, family, noise, trial.budget)?;
    let mut rng = trial.context.noise(&trial.noise, trial.repetition);
    let mut release = |points: &Points| {
        sabotage::with_rows(view(points)?, |rows| Ok(signs.release(rows, &mut rng)?))
    };
    let (queries, database) = (release(&trial.split.queries)?, release(&trial.split.database)?);
    let answers = search(database.payload(), queries.payload())?;
    let released = trial.looked_at(|| probe::signs(database.payload().bits()));
    // The noise scale depends on the data and stays secret, also here.
    Ok(Found { answers, sigma: f64::NAN, released })
}

/// Exact signs, for reference.
fn exact(trial: &Trial<'_>) -> Result<Found> {
    let seed = trial.context.public_seed("projection", trial.repetition);
    let shape = (trial.split.database.d(), trial.k);
    let sketch = single(trial.projections, Family::Rademacher, shape, seed)?;
    let queries = sketch.simhash(view(&trial.split.queries)?)?;
    let database = sketch.simhash(view(&trial.split.database)?)?;
    let answers = search(database.payload(), queries.payload())?;
    let released = trial.looked_at(|| probe::signs(database.payload().bits()));
    Ok(Found { answers, sigma: 0.0, released })
}

const fn method(
    label: &'static str,
    mechanism: &'static str,
    search: fn(&Trial<'_>) -> Result<Found>,
) -> Method {
    Method { label, mechanism, sketches: true, private: true, search }
}

pub(super) const RESPONSE: Method = method(
    "DP-SignOPORP-RR, t = 1",
    "signs of OPORP, randomised response, pure epsilon, beta = 1",
    |trial| oporp(trial, FlipRule::RandomizedResponse, 1),
);
pub(super) const RESPONSE_4: Method = method(
    "DP-SignOPORP-RR, t = 4",
    "signs of 4 OPORPs of k/4 bins, randomised response, epsilon/4 each, beta = 1",
    |trial| oporp(trial, FlipRule::RandomizedResponse, 4),
);
pub(super) const SMOOTH: Method = method(
    "DP-SignOPORP-RR-smooth, t = 1",
    "signs of OPORP, published smooth flips, pure epsilon, beta = 1",
    |trial| oporp(trial, FlipRule::PublishedSmooth, 1),
);
pub(super) const SMOOTH_4: Method = method(
    "DP-SignOPORP-RR-smooth, t = 4",
    "signs of 4 OPORPs of k/4 bins, published smooth flips, epsilon/4 each, beta = 1",
    |trial| oporp(trial, FlipRule::PublishedSmooth, 4),
);
pub(super) const OPTIMAL: Method = method(
    "DP-SignOPORP, optimal flips, t = 1",
    "signs of OPORP, optimal smooth flips, pure epsilon, beta = 1",
    |trial| oporp(trial, FlipRule::OptimalSmooth, 1),
);
pub(super) const OPTIMAL_4: Method = method(
    "DP-SignOPORP, optimal flips, t = 4",
    "signs of 4 OPORPs of k/4 bins, optimal smooth flips, epsilon/4 each, beta = 1",
    |trial| oporp(trial, FlipRule::OptimalSmooth, 4),
);
pub(super) const INDIVIDUAL_G: Method = method(
    "iDP-SignRP-G",
    "signs of a Rademacher projection, exact Gaussian noise on those in reach, individual DP, beta = 1",
    |trial| individual(trial, Family::Rademacher, IndividualNoise::Gaussian),
);
pub(super) const INDIVIDUAL_RR: Method = method(
    "iDP-SignRP-RR",
    "signs of a Rademacher projection, responses for those in reach, individual DP, beta = 1",
    |trial| individual(trial, Family::Rademacher, IndividualNoise::RandomizedResponse),
);
pub(super) const INDIVIDUAL_OPORP: Method = method(
    "iDP-SignOPORP-RR",
    "signs of OPORP, responses for those in reach, individual DP, beta = 1",
    |trial| individual(trial, Family::Oporp, IndividualNoise::RandomizedResponse),
);
pub(super) const EXACT: Method = Method {
    private: false,
    ..method("SignRP, not private", "signs of a Rademacher projection, no privacy", exact)
};
