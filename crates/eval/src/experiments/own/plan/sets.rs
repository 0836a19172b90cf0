//! Item sets: bins and hashed minima, by error and by recall.

use super::tried::{Measure, Question, Range, Tried};
use crate::data::ItemSets;
use crate::error::Result;
use crate::framework::{Context, sabotage};
use crate::metrics::mean_precision_recall;
use dp_core::{Adjacency, Budget, FreshSeed, PublicSeed, Release};
use rand_core::Rng;
use sketch::plan::{Aim, SearchGoal, SetMethod, SetPlan, plan_sets};
use sketch::search::{Ranking, best_rows, nearest};
use sketch::sets::{ItemSet, PrivateSymbols, SetNeighbours, SetPairs};

/// Near sets of a query, and rows returned.
const NEAR: usize = 10;
const RETURNED: usize = 50;
const QUERIES: usize = 40;
/// Pairs whose similarity is near that of near sets.
const PAIRS: usize = 300;
const ALPHA: u64 = 1;

/// Sets, some of which are public.
pub(super) struct Sets {
    name: String,
    sets: Vec<ItemSet>,
    least: u64,
    goal: SearchGoal,
    truth: Vec<Vec<usize>>,
    pairs: Vec<(usize, usize, f64)>,
}

/// Every query and the others by similarity.
fn similar(sets: &[ItemSet], q: usize, count: usize) -> Vec<(usize, f64)> {
    let hits = best_rows(sets.len(), q, count, |i| sets[q].jaccard(&sets[i]));
    hits.into_iter().map(|hit| (hit.row, sets[q].jaccard(&sets[hit.row]))).collect()
}

fn queries(n: usize) -> impl Iterator<Item = usize> {
    (0..QUERIES).map(move |i| i * n / QUERIES)
}

impl Sets {
    /// What is known of them comes from a third of them, which are public and not searched.
    pub(super) fn new(context: &Context<'_>, data: ItemSets, most: usize) -> Self {
        let mut draw = context.public_seed("order of sets", 0).generator(0);
        let mut placed: Vec<(u64, ItemSet)> =
            data.sets.into_iter().map(|set| (draw.next_u64(), set)).collect();
        placed.sort_by_key(|(place, _)| *place);
        placed.truncate(most);
        let mut sets: Vec<ItemSet> = placed.into_iter().map(|(_, set)| set).collect();
        let public = sets.split_off(sets.len() * 2 / 3);
        let least = sets.iter().map(ItemSet::len).min().unwrap_or(1) as u64;
        let goal = facts(&public, sets.len());
        let truth: Vec<Vec<(usize, f64)>> =
            queries(sets.len()).map(|q| similar(&sets, q, NEAR)).collect();
        let mut pairs: Vec<(usize, usize, f64)> = queries(sets.len())
            .zip(&truth)
            .flat_map(|(q, near)| near.iter().map(move |(row, j)| (q, *row, *j)))
            .collect();
        pairs.sort_by(|a, b| (a.2 - goal.near).abs().total_cmp(&(b.2 - goal.near).abs()));
        pairs.truncate(PAIRS);
        let truth = truth.into_iter().map(|near| near.into_iter().map(|x| x.0).collect());
        Self { name: data.name, least, goal, truth: truth.collect(), pairs, sets }
    }

    /// The best plan, and the best of other kinds and alphabets.
    pub(super) fn ask(
        &self,
        context: &Context<'_>,
        aim: Aim,
        budget: Budget,
        releases: u64,
    ) -> Result<Question> {
        let neighbours = SetNeighbours::new(ALPHA, self.least)?;
        let goal = SearchGoal { aim, ..self.goal };
        let plans = plan_sets(goal, neighbours, budget)?;
        let shape = |plan: &SetPlan| match &plan.choice {
            SetMethod::Bins { bins, values, .. } => (true, *bins, *values),
            SetMethod::Mixture { shape, .. } => (false, shape.positions(), shape.alphabet()),
            _ => (false, 0, 0),
        };
        let mut chosen: Vec<&SetPlan> = Vec::new();
        for plan in &plans {
            let (kind, _, symbols) = shape(plan);
            let known = chosen.iter().any(|other| {
                let (k, _, s) = shape(other);
                (k, s) == (kind, symbols)
            });
            let wanted = chosen.is_empty() || [2, 8, 64].contains(&symbols);
            if wanted && !known {
                chosen.push(plan);
            }
        }
        let spent = sabotage::spent(budget)?;
        // The mechanism of the plan is calibrated already: one of the same shape, by the same plan.
        let other = if spent == budget { None } else { Some(plan_sets(goal, neighbours, spent)?) };
        let spending = other.as_ref().unwrap_or(&plans);
        let tried = chosen.into_iter().map(|plan| {
            let (bins, positions, symbols) = shape(plan);
            let kind = if bins { "bins" } else { "hashed minima" };
            let name = format!("{kind}, {positions} of {symbols}");
            let part = format!("{} {aim:?} {budget} {name}", self.name);
            let (value, (low, high)) = match aim {
                Aim::Recall => (plan.recall, plan.recall_range),
                _ => (plan.standard_error, plan.error_range),
            };
            let concatenated = |plan: &SetPlan| match &plan.choice {
                SetMethod::Mixture { shape, .. } => shape.concatenation(),
                _ => 1,
            };
            let same = |other: &&SetPlan| {
                shape(other) == shape(plan) && concatenated(other) == concatenated(plan)
            };
            let mechanism = spending.iter().find(same).unwrap_or(plan);
            Tried::of(name, Some(Range { value, low, high }), releases, |r| {
                let (public, fresh) = (context.public_seed(&part, r), context.fresh_seed(&part, r));
                let release = self.released(context, mechanism, (public, fresh), (&part, r))?;
                match aim {
                    Aim::Recall => self.recall(&release),
                    _ => self.error(&release),
                }
            })
        });
        Ok(Question {
            goal: if aim == Aim::Recall { "similar sets" } else { "similarity" },
            data: self.name.clone(),
            protects: Adjacency::SetItems { alpha: ALPHA, min_size: self.least }.to_string(),
            epsilon: budget.epsilon.get(),
            measure: if aim == Aim::Recall { Measure::Share } else { Measure::Error },
            tried: tried.collect::<Result<_>>()?,
        })
    }

    fn released(
        &self,
        context: &Context<'_>,
        plan: &SetPlan,
        (public, fresh): (PublicSeed, FreshSeed),
        (part, r): (&str, u64),
    ) -> Result<Release<PrivateSymbols>> {
        let mut rng = context.noise(part, r);
        let other = sabotage::ignores_data().then(|| vec![self.sets[0].clone(); self.sets.len()]);
        let seen = other.as_deref().unwrap_or(&self.sets);
        Ok(match &plan.choice {
            SetMethod::Bins { mechanism, .. } => mechanism.release(seen, public, &mut rng)?,
            SetMethod::Mixture { mechanism, .. } => mechanism.release(seen, fresh, &mut rng)?,
            _ => return Err(crate::Error::invalid("mechanism", "another", "bins or mixture")),
        })
    }

    /// Root mean square error of the similarity over the pairs.
    fn error(&self, release: &Release<PrivateSymbols>) -> Result<f64> {
        let pairs = SetPairs::within(release);
        let mut sum = 0.0;
        for &(i, j, exact) in &self.pairs {
            sum += (pairs.jaccard(i, j)?.value - exact).powi(2);
        }
        Ok((sum / self.pairs.len() as f64).sqrt())
    }

    fn recall(&self, release: &Release<PrivateSymbols>) -> Result<f64> {
        let asked: Vec<usize> = queries(self.sets.len()).collect();
        let SearchGoal { size, near, far, .. } = self.goal;
        let ranking = Ranking::Likelihood { size, near, far };
        let hits = nearest(SetPairs::within(release), &asked, RETURNED, ranking)?;
        let found = hits.into_iter().map(|hits| hits.into_iter().map(|hit| hit.row).collect());
        let found = sabotage::answers(found.collect(), self.sets.len());
        Ok(mean_precision_recall(&found, &self.truth, RETURNED).1)
    }
}

/// Typical size, and similarities of near sets and of others, in public sets.
fn facts(public: &[ItemSet], rows: usize) -> SearchGoal {
    let near = (NEAR * public.len() / rows).max(1);
    let (mut close, mut rest) = (Vec::new(), Vec::new());
    for q in queries(public.len()) {
        let all = similar(public, q, public.len() - 1);
        close.extend(all[..near].iter().map(|x| x.1));
        rest.extend(all[near..].iter().map(|x| x.1));
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let deviation = |values: &[f64]| {
        let middle = mean(values);
        mean(&values.iter().map(|x| (x - middle).powi(2)).collect::<Vec<_>>()).sqrt()
    };
    let sizes: Vec<f64> = public.iter().map(|set| set.len() as f64).collect();
    SearchGoal {
        size: mean(&sizes),
        near: mean(&close),
        near_deviation: deviation(&close),
        far: mean(&rest),
        far_deviation: deviation(&rest),
        returned: RETURNED as f64 / rows as f64,
        positions: 100,
        aim: Aim::Recall,
    }
}
