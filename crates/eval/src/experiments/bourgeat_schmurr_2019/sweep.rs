//! What all figures of chapter 7 share: data, exact neighbours, and one private search.

use crate::data::{ItemSets, StandIn, lastfm, movielens, package_sets};
use crate::error::Result;
use crate::framework::{Context, Origin, Report, Seeds, Setting, sabotage};
use crate::metrics::mean_precision_recall;
use dp_core::calibrate::Acceptance;
use dp_core::{Budget, Delta, Epsilon, PublicSeed, Release};
use rayon::prelude::*;
use sketch::Estimate;
use sketch::plan::{Aim, SearchGoal, SetMethod, plan_sets};
use sketch::search::Hit;
use sketch::search::{Ranking, best_rows, nearest, nearest_noisy};
use sketch::sets::{
    BinLaw, BinResponse, BucketPrivMin, CollisionLaw, ItemSet, MixtureResponse, NoisyBits,
    NoisySecureMinHash, PrivateSymbols, SetNeighbours, SetPairs, SymbolShape, published_bucket,
};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Signature length of the thesis.
pub(super) const LENGTH: usize = 100;
/// True neighbours and returned neighbours of the thesis.
pub(super) const TRUE: usize = 20;
pub(super) const RETURNED: usize = 100;
/// Neighbouring sets differ in one item, as in figure 6.1.
pub(super) const ALPHA: u64 = 1;
/// Least size of a set.
pub(super) const MIN_SIZE: usize = 20;

/// Package sets, and MovieLens and Last.FM, or sets drawn with their shape where the files are not there.
pub(super) fn data_sets(context: &Context<'_>, report: &mut Report) -> Result<Vec<ItemSets>> {
    let mut all = vec![package_sets().at_least(MIN_SIZE)];
    let default = Path::new("target/data");
    let folder = context.sources.data.as_deref().unwrap_or(default);
    // Last.FM sets have 20 items at most: keep those of at least 15.
    for (name, found, stand_in, least) in [
        ("MovieLens", movielens(folder)?, StandIn::Ratings, MIN_SIZE),
        ("Last.FM", lastfm(folder)?, StandIn::Listening, 15),
    ] {
        all.push(match found {
            Some(sets) => sets.at_least(least),
            None => {
                report.note(format!(
                    "No {name} files in {}: sets drawn at random with their shape stand in. `cargo xtask data movielens-100k` \
                     obtains MovieLens 100k; HetRec 2011 files (user_ratedmovies.dat, user_artists.dat) are read there \
                     or under --data.",
                    folder.display()
                ));
                stand_in.draw(PublicSeed::new(context.data_seed(name, 0)))
            }
        });
    }
    Ok(all)
}

/// At most `count` of the sets, evenly through their order.
pub(super) fn at_most(mut data: ItemSets, count: usize) -> ItemSets {
    let n = data.sets.len();
    if n > count {
        data.sets = (0..count).map(|i| data.sets[i * n / count].clone()).collect();
        data.rule = format!("{}; {count} of {n} sets", data.rule);
    }
    data
}

/// Sets, queries among them, and the exact answers.
pub(super) struct Task<'a> {
    pub(super) data: &'a ItemSets,
    pub(super) min_size: u64,
    pub(super) queries: Vec<usize>,
    pub(super) truth: Vec<Vec<usize>>,
    /// Exact similarity of each query with every set; -1 with itself.
    exact: Vec<Vec<f64>>,
    /// Mean similarity of the true neighbours, and of arbitrary sets, to the queries: of the **private** data,
    /// for what is marked "oracle" only.
    near_and_far: (f64, f64),
}

/// What a planner is told of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Facts {
    /// Round numbers, chosen before any set was looked at: 40 items a set (the least size is half of it), similarity 0.5
    /// for a neighbour and 0.02 for any other set.
    Public,
    /// Mean size and similarities of the private data themselves: what no curator may use.
    Oracle,
}

impl Facts {
    /// Size, near, far.
    fn of(self, task: &Task<'_>) -> (f64, f64, f64) {
        match self {
            Self::Public => (40.0, 0.5, 0.02),
            Self::Oracle => (task.data.mean_size(), task.near_and_far.0, task.near_and_far.1),
        }
    }
}

impl<'a> Task<'a> {
    pub(super) fn new(data: &'a ItemSets, queries: usize) -> Self {
        let n = data.sets.len();
        let queries: Vec<usize> = (0..queries.min(n)).map(|i| i * n / queries.min(n)).collect();
        let exact: Vec<Vec<f64>> = queries
            .par_iter()
            .map(|&q| {
                let similarity =
                    |i| if i == q { -1.0 } else { data.sets[q].jaccard(&data.sets[i]) };
                (0..n).map(similarity).collect()
            })
            .collect();
        let true_rows = |(row, &q): (&Vec<f64>, &usize)| rows(best_rows(n, q, TRUE, |i| row[i]));
        let truth: Vec<Vec<usize>> = exact.iter().zip(&queries).map(true_rows).collect();
        let near = exact.iter().zip(&truth).flat_map(|(row, t)| t.iter().map(|&i| row[i]));
        let all = exact.iter().flatten().copied().filter(|&j| j >= 0.0);
        let near_and_far = (mean(near), mean(all));
        let min_size = data.sets.iter().map(ItemSet::len).min().unwrap_or(1) as u64;
        Self { data, min_size, queries, truth, exact, near_and_far }
    }

    /// Mean similarity of the true neighbours, and of arbitrary sets, to the queries.
    pub(super) fn near_and_far(&self) -> (f64, f64) {
        self.near_and_far
    }

    pub(super) fn neighbours(&self) -> Result<SetNeighbours> {
        Ok(SetNeighbours::new(ALPHA, self.min_size)?)
    }

    pub(super) fn recall(&self, answers: &[Vec<usize>]) -> f64 {
        mean_precision_recall(answers, &self.truth, RETURNED).1
    }

    fn mean_squared_error(&self, estimate: impl Fn(usize, usize) -> f64 + Sync) -> f64 {
        let estimate = |q: usize, i: usize| {
            sabotage::answer(estimate(q, i), 0.5, "estimate", (q * self.data.sets.len() + i) as u64)
        };
        let sums: Vec<(f64, usize)> = self
            .queries
            .par_iter()
            .zip(&self.exact)
            .map(|(&q, row)| {
                let others = (0..row.len()).filter(|&i| i != q);
                others
                    .fold((0.0, 0), |(sum, n), i| (sum + (estimate(q, i) - row[i]).powi(2), n + 1))
            })
            .collect();
        let (sum, n) = sums.iter().fold((0.0, 0), |(s, n), (a, b)| (s + a, n + b));
        sum / n as f64
    }
}

/// The rows of an answer.
pub(super) fn rows(hits: Vec<Hit>) -> Vec<usize> {
    hits.into_iter().map(|h| h.row).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (n, sum) = values.fold((0usize, 0.0), |(n, s), v| (n + 1, s + v));
    sum / n.max(1) as f64
}

/// A mechanism of the figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Method {
    /// Bucket PrivMin with L positions and B buckets: for any two sets.
    Bucket { positions: usize, buckets: u32 },
    /// Noisy Secure MinHash with L bits of K minima and a claimed delta.
    Noisy { positions: usize, concatenation: usize, delta: f64 },
    /// Ours: K minima hashed to B symbols at L positions, calibrated by the exact mixture.
    Mixture { positions: usize, concatenation: usize, alphabet: u32, delta: f64 },
    /// Ours: one-permutation bins of B values, pure, for sets that differ in `alpha` items.
    Bins { bins: usize, values: u32, alpha: u64, facts: Facts },
}

impl Method {
    pub(super) fn label(self) -> String {
        match self {
            Self::Bucket { positions, buckets } => {
                format!("Bucket PrivMin L={positions} B={buckets}")
            }
            Self::Noisy { positions, concatenation, delta } => {
                format!("Noisy Secure MinHash L={positions} K={concatenation} delta={delta:.1e}")
            }
            Self::Mixture { positions, concatenation, alphabet, delta } => {
                format!(
                    "ours: mixture L={positions} K={concatenation} B={alphabet} delta={delta:.0e}"
                )
            }
            Self::Bins { bins, values, alpha, facts } => {
                let oracle = if facts == Facts::Oracle { ", oracle" } else { "" };
                let whom = if alpha >= bins as u64 { ", any two sets" } else { "" };
                format!("ours: bins L={bins} B={values} delta=0{whom}{oracle}")
            }
        }
    }

    pub(super) fn delta(self) -> f64 {
        match self {
            Self::Bucket { .. } | Self::Bins { .. } => 0.0,
            Self::Noisy { delta, .. } | Self::Mixture { delta, .. } => delta,
        }
    }
}

/// A release of one method, and the scores of its search.
pub(super) enum Released {
    /// Symbols of hashed minima.
    Hashed { release: Release<PrivateSymbols>, shape: SymbolShape, published: Option<u32> },
    /// Bins.
    Bins { release: Release<PrivateSymbols>, ranking: Ranking },
    /// Noisy bits.
    Noisy { release: Release<NoisyBits>, scale: f64 },
}

/// The likeliest similarities of outcomes: many pairs have the same.
pub(super) type Known = Mutex<HashMap<[u32; 4], f64>>;

/// Mean squared errors over all pairs of a query and another set.
pub(super) struct Errors {
    /// Of the estimator that the paper prints.
    pub(super) published: Option<f64>,
    /// Of the corrected one.
    pub(super) corrected: f64,
}

impl Released {
    /// Noise scale, or keep probability.
    pub(super) fn noise(&self) -> f64 {
        match self {
            Self::Hashed { release, .. } | Self::Bins { release, .. } => {
                release.payload().keep().get()
            }
            Self::Noisy { scale, .. } => *scale,
        }
    }

    /// Share of the 20 true neighbours among the 100 returned.
    pub(super) fn recall(&self, task: &Task<'_>) -> Result<f64> {
        let hits = match self {
            Self::Hashed { release, .. } => {
                nearest(SetPairs::within(release), &task.queries, RETURNED, Ranking::Similarity)?
            }
            Self::Bins { release, ranking } => {
                nearest(SetPairs::within(release), &task.queries, RETURNED, *ranking)?
            }
            Self::Noisy { release, .. } => nearest_noisy(release, &task.queries, RETURNED)?,
        };
        let answers = hits.into_iter().map(rows).collect();
        Ok(task.recall(&sabotage::answers(answers, task.data.sets.len())))
    }

    /// Mean squared errors of the estimates. What bins say is kept in `known`, which is of one method at one epsilon.
    pub(super) fn errors(&self, task: &Task<'_>, known: &Known) -> Result<Errors> {
        let value = |found: sketch::Result<Estimate>| found.map_or(f64::NAN, |e| e.value);
        Ok(match self {
            Self::Hashed { release, shape, published } => {
                let (symbols, l) = (release.payload(), shape.positions());
                let law = CollisionLaw::new(
                    l,
                    shape.concatenation(),
                    symbols.alphabet(),
                    symbols.keep(),
                )?;
                let pairs = SetPairs::within(release);
                let agreeing = |i, j| pairs.agreeing(i, j).unwrap_or(0);
                let print = |b: u32| {
                    let of = |c| published_bucket(c, l, u64::from(b), symbols.keep());
                    task.mean_squared_error(|i, j| of(agreeing(i, j)))
                };
                // Of every number of symbols that may agree.
                let values: Vec<f64> = (0..=l as u32).map(|c| law.jaccard(c).value).collect();
                Errors {
                    published: published.map(print),
                    corrected: task.mean_squared_error(|i, j| values[agreeing(i, j) as usize]),
                }
            }
            Self::Bins { release, .. } => {
                let law = BinLaw::of(release.payload())?;
                let pairs = SetPairs::within(release);
                let of = |seen| {
                    let known = || known.lock().unwrap_or_else(PoisonError::into_inner);
                    let found = known().get(&seen).copied();
                    found.unwrap_or_else(|| {
                        let value = law.likeliest(seen);
                        known().insert(seen, value);
                        value
                    })
                };
                let estimate = |i, j| pairs.outcomes(i, j).map_or(f64::NAN, of);
                Errors { published: None, corrected: task.mean_squared_error(estimate) }
            }
            Self::Noisy { release, .. } => {
                let bits = release.payload();
                Errors {
                    published: Some(task.mean_squared_error(|i, j| value(bits.published(i, j)))),
                    corrected: task.mean_squared_error(|i, j| value(bits.jaccard(i, j))),
                }
            }
        })
    }
}

/// Releases all sets once.
pub(super) fn release(
    context: &Context<'_>,
    task: &Task<'_>,
    method: Method,
    epsilon: f64,
    repetition: u64,
) -> Result<Released> {
    let part = format!("{} {} {epsilon}", task.data.name, method.label());
    let mut noise = context.noise(&part, repetition);
    let fresh = context.fresh_seed(&part, repetition);
    let seed = context.public_seed(&part, repetition);
    let other;
    let sets = if sabotage::ignores_data() {
        other = vec![task.data.sets[0].clone(); task.data.sets.len()];
        &other
    } else {
        &task.data.sets
    };
    let asked = Budget { epsilon: Epsilon::new(epsilon)?, delta: Delta::new(method.delta())? };
    let budget = match method {
        Method::Bucket { .. } | Method::Noisy { .. } => {
            sabotage::published(sabotage::spent(asked)?)?
        }
        _ => sabotage::spent(asked)?,
    };
    Ok(match method {
        Method::Bucket { positions, buckets } => {
            let shape = SymbolShape::new(positions, 1, buckets)?;
            let release =
                BucketPrivMin::new(shape, budget.epsilon)?.release(sets, seed, &mut noise)?;
            Released::Hashed { release, shape, published: Some(buckets) }
        }
        Method::Mixture { positions, concatenation, alphabet, .. } => {
            let shape = SymbolShape::new(positions, concatenation, alphabet)?;
            let mechanism = MixtureResponse::calibrate(shape, task.neighbours()?, budget)?;
            let release = mechanism.release(sets, fresh, &mut noise)?;
            Released::Hashed { release, shape, published: None }
        }
        Method::Bins { bins, values, alpha, facts } => {
            let mechanism = BinResponse::calibrate(bins, values, alpha, budget)?;
            let release = mechanism.release(sets, seed, &mut noise)?;
            let (size, near, far) = facts.of(task);
            Released::Bins { release, ranking: Ranking::Likelihood { size, near, far } }
        }
        Method::Noisy { positions, concatenation, .. } => {
            let mechanism = NoisySecureMinHash::published(
                positions,
                concatenation,
                task.neighbours()?,
                budget,
                Acceptance::AcceptTrueDelta,
            )?;
            let scale = mechanism.noise().scale().get();
            Released::Noisy { release: mechanism.release(sets, fresh, &mut noise)?, scale }
        }
    })
}

/// The shape that the planner chooses for this task.
pub(super) fn planned(task: &Task<'_>, epsilon: f64, delta: f64, facts: Facts) -> Result<Method> {
    let (size, near, far) = facts.of(task);
    let goal = SearchGoal {
        size,
        near,
        near_deviation: 0.0,
        far,
        far_deviation: 0.0,
        returned: RETURNED as f64 / task.data.sets.len() as f64,
        positions: LENGTH,
        aim: Aim::Recall,
    };
    let plans = plan_sets(goal, task.neighbours()?, Budget::new(epsilon, delta)?)?;
    Ok(match plans[0].choice {
        SetMethod::Bins { bins, values, .. } => Method::Bins { bins, values, alpha: ALPHA, facts },
        SetMethod::Mixture { shape, .. } => Method::Mixture {
            positions: shape.positions(),
            concatenation: shape.concatenation(),
            alphabet: shape.alphabet(),
            delta,
        },
        _ => return Err(crate::Error::invalid("plan", "a new kind", "bins or a mixture")),
    })
}

/// Origin of a curve over epsilon on this task.
pub(super) fn origin(
    context: &Context<'_>,
    task: &Task<'_>,
    mechanism: String,
    delta: f64,
    noise: Vec<f64>,
    repetitions: usize,
) -> Origin {
    Origin {
        k: Setting::Fixed(LENGTH as f64),
        epsilon: Setting::AxisX,
        delta: Setting::Fixed(delta),
        sigma: Setting::PerPoint(noise),
        seeds: Seeds::Derived(context.seed),
        data: task.data.describe(),
        repetitions,
        ..Origin::formula(mechanism)
    }
}
