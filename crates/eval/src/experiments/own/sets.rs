//! Item sets with one item protected: occupancy bits beside bins of several values.

use crate::Table;
use crate::data::{ItemSets, package_sets, shuffle};
use crate::error::Result;
use crate::framework::sabotage::{self, ANSWERS, NOISE, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use crate::metrics::{mean_and_error, mean_precision_recall};
use dp_core::{Budget, PublicSeed};
use rayon::prelude::*;
use sketch::search::{Neighbours, Queries, Ranking, SetIndex, best_rows, nearest};
use sketch::sets::{BinResponse, ItemSet, PrivateSymbols, SetPairs};

pub(super) const STUDY: Study = Study {
    id: "own/item-sets",
    title: "Recall of private set search, one item protected: bins, occupancy bits, denoising, exact queries",
    reference: "Li, Owen and Zhang 2012 (bins); occupancy bits are ours; the task of Bourgeat and Schmurr 2019, section 7.2.2",
    run,
};

/// True neighbours, and rows returned.
const TRUE: usize = 20;
pub(super) const RETURNED: usize = 100;
/// Occupancy bits of a set.
const BITS: usize = 256;
const EPSILONS: [f64; 5] = [0.5, 1.0, 1.5, 2.0, 3.0];

/// How sets are released and searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// 100 bins of two values, by likelihood: the best there was at these epsilons.
    Bins,
    /// Occupancy bits.
    Bits { denoised: bool, exact: bool },
}

const METHODS: [Method; 5] = [
    Method::Bins,
    Method::Bits { denoised: false, exact: false },
    Method::Bits { denoised: true, exact: false },
    Method::Bits { denoised: false, exact: true },
    Method::Bits { denoised: true, exact: true },
];

impl Method {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Bins => "bins, 2 values, likelihood",
            Self::Bits { denoised: false, exact: false } => "occupancy bits",
            Self::Bits { denoised: true, exact: false } => "occupancy bits, denoised",
            Self::Bits { denoised: false, exact: true } => "occupancy bits, exact queries",
            Self::Bits { denoised: true, exact: true } => "occupancy bits, denoised, exact queries",
        }
    }

    pub(super) fn slots(self) -> usize {
        if self == Self::Bins { 100 } else { BITS }
    }
}

/// Repetitions, each with queries of its own.
pub(super) const REPETITIONS: usize = 10;

/// Sets with queries among them, and the exact answers.
pub(super) struct Task<'a> {
    data: &'a ItemSets,
    queries: Vec<usize>,
    truth: Vec<Vec<usize>>,
}

impl<'a> Task<'a> {
    /// Queries drawn by the seed, all different.
    pub(super) fn new(data: &'a ItemSets, queries: usize, seed: PublicSeed) -> Self {
        let sets = &data.sets;
        let mut order: Vec<usize> = (0..sets.len()).collect();
        shuffle(&mut order, &mut seed.generator(0));
        let queries = order[..queries].to_vec();
        let best = |&q: &usize| {
            let hits = best_rows(sets.len(), q, TRUE, |i| sets[q].jaccard(&sets[i]));
            hits.into_iter().map(|hit| hit.row).collect()
        };
        let truth = queries.par_iter().map(best).collect();
        Self { data, queries, truth }
    }

    pub(super) fn sets(&self) -> &[ItemSet] {
        &self.data.sets
    }

    pub(super) fn queries(&self) -> &[usize] {
        &self.queries
    }

    pub(super) fn recall(&self, found: Vec<Vec<usize>>) -> f64 {
        let found = sabotage::answers(found, self.data.sets.len());
        mean_precision_recall(&found, &self.truth, RETURNED).1
    }
}

/// The recall of each of some methods, which search the same release, and the probability with which it keeps a symbol.
pub(super) fn recalls(
    context: &Context<'_>,
    task: &Task<'_>,
    (methods, epsilon): (&[Method], f64),
    repetition: u64,
) -> Result<(Vec<f64>, f64)> {
    let one = methods[0];
    let part = format!("{} {epsilon}", one.slots());
    let (seed, mut noise) =
        (context.public_seed(&part, repetition), context.noise(&part, repetition));
    let sets = &task.data.sets;
    let other = sabotage::ignores_data().then(|| vec![sets[0].clone(); sets.len()]);
    let seen = other.as_ref().unwrap_or(sets);
    let budget = sabotage::spent(Budget::new(epsilon, 0.0)?)?;
    let values = if one == Method::Bins { 2 } else { 1 };
    let mechanism = BinResponse::calibrate(one.slots(), values, 1, budget)?;
    let release = mechanism.release(seen, seed, &mut noise)?;
    let bits = release.payload();
    let mut indices = [None, None];
    let of = |&method: &Method| -> Result<f64> {
        let found = match method {
            Method::Bins => {
                // Round numbers near the data's own: helps the bins, not the bits.
                let ranking = Ranking::Likelihood { size: 31.0, near: 0.28, far: 0.04 };
                let hits = nearest(SetPairs::within(&release), &task.queries, RETURNED, ranking)?;
                hits.into_iter().map(|hits| hits.into_iter().map(|hit| hit.row).collect()).collect()
            }
            Method::Bits { denoised, exact } => {
                let index = match &mut indices[usize::from(denoised)] {
                    Some(index) => index,
                    none if denoised => none.insert(SetIndex::denoised(bits)?),
                    none => none.insert(SetIndex::new(bits)?),
                };
                let asked: Vec<ItemSet> = task.queries.iter().map(|&q| seen[q].clone()).collect();
                let found = if exact {
                    let queries = PrivateSymbols::exact(bits, &asked)?;
                    index.top_k(&Queries::all(&queries), RETURNED + 1)?
                } else {
                    index.top_k(&Queries::rows(bits, &task.queries)?, RETURNED + 1)?
                };
                found_rows(&found, &task.queries)
            }
        };
        Ok(task.recall(found))
    };
    Ok((methods.iter().map(of).collect::<Result<_>>()?, bits.keep().get()))
}

/// Rows that are not the query itself.
pub(super) fn found_rows(found: &Neighbours<f64>, queries: &[usize]) -> Vec<Vec<usize>> {
    let others = |(i, &query): (usize, &usize)| {
        let rows = found.indices(i).iter().map(|&row| row as usize);
        rows.filter(|&row| row != query).take(RETURNED).collect()
    };
    queries.iter().enumerate().map(others).collect()
}

/// One method over the epsilons: recalls, and the keep probabilities in use.
struct Series {
    method: Method,
    recalls: Vec<Vec<f64>>,
    keep: Vec<f64>,
}

impl Series {
    fn mean(&self, epsilon: f64) -> f64 {
        let i = EPSILONS.iter().position(|&e| e == epsilon);
        i.map_or(f64::NAN, |i| mean_and_error(&self.recalls[i]).0)
    }

    fn at(&self, epsilons: &[f64]) -> Vec<f64> {
        epsilons.iter().map(|&e| self.mean(e)).collect()
    }
}

/// Methods that search the same releases.
fn series(context: &Context<'_>, tasks: &[Task<'_>], methods: &[Method]) -> Result<Vec<Series>> {
    let empty = |&method| Series { method, recalls: Vec::new(), keep: Vec::new() };
    let mut found: Vec<Series> = methods.iter().map(empty).collect();
    for epsilon in EPSILONS {
        let one = |(r, task)| recalls(context, task, (methods, epsilon), r as u64);
        let all = tasks.par_iter().enumerate().map(one).collect::<Result<Vec<_>>>()?;
        for (i, series) in found.iter_mut().enumerate() {
            series.keep.push(all[0].1);
            series.recalls.push(all.iter().map(|(recalls, _)| recalls[i]).collect());
        }
        context.progress.step();
    }
    Ok(found)
}

/// `.264, .454, .711`
pub(super) fn shown(numbers: &[f64]) -> String {
    numbers.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ")
}

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    context.progress.begin(2 * EPSILONS.len() as u64);
    let data = package_sets().at_least(20);
    let task = |r: usize| {
        let seed = context.public_seed("queries", r as u64);
        Task::new(&data, context.pick(100, 300), seed)
    };
    let tasks: Vec<Task<'_>> = (0..REPETITIONS).map(task).collect();
    let (bins, bits) = METHODS.split_at(1);
    let mut all = series(context, &tasks, bins)?;
    all.extend(series(context, &tasks, bits)?);
    let mut table = Table::new(
        "recall",
        "Share of the 20 most similar package sets among 100 returned; one item of one set protected, delta 0.",
        &["method", "bins", "epsilon 0.5", "1", "1.5", "2", "3"],
    );
    for series in &all {
        let numbers = series.at(&EPSILONS);
        let head = [series.method.label().to_owned(), series.method.slots().to_string()];
        table.row(head.into_iter().chain(numbers.iter().map(|x| format!("{x:.3}"))));
    }
    let [bins, bits, denoised, exact, both] = &all[..] else { unreachable!("five methods") };
    claims(&mut report, [bins, bits, denoised, exact, both], RETURNED as f64 / 2927.0);
    let curve = |series: &Series| Curve {
        label: series.method.label().into(),
        points: EPSILONS.iter().zip(&series.recalls).map(|(&x, y)| Point::mean(x, y)).collect(),
        origin: Origin {
            k: Setting::Fixed(series.method.slots() as f64),
            epsilon: Setting::AxisX,
            delta: Setting::Fixed(0.0),
            sigma: Setting::PerPoint(series.keep.clone()),
            seeds: Seeds::Derived(context.seed),
            data: data.describe(),
            repetitions: REPETITIONS,
            ..Origin::formula(series.method.label())
        },
    };
    report.figures.push(Figure {
        name: "recall".into(),
        caption: "Recall of 20 true neighbours in 100 returned, package sets, one item protected, delta 0."
            .into(),
        panels: vec![Panel {
            title: data.name.clone(),
            x: Axis::log("epsilon"),
            y: Axis::linear("recall").between(0.0, 1.0),
            curves: all.iter().map(curve).collect(),
        }],
        columns: 1,
    });
    report.tables.push(table);
    Ok(report)
}

fn claims(report: &mut Report, [bins, bits, denoised, exact, both]: [&Series; 5], chance: f64) {
    let middle = [1.5, 2.0, 3.0];
    let above = |found: &[f64], least: &[f64]| found.iter().zip(least).all(|(a, b)| a >= b);
    let (found, today) = (denoised.at(&middle), bins.at(&middle));
    report
        .claim(
            "occupancy bits, denoised, find at least .245, .417 and .678 at epsilon 1.5, 2 and 3",
            above(&found, &[0.245, 0.417, 0.678]),
            shown(&found),
        )
        .catches(&ANSWERS)
        .catches(&[Sabotage::DoubleNoise]);
    let more: Vec<f64> = today.iter().map(|x| x + 0.07).collect();
    report
        .claim(
            "that is at least 0.07 more than bins of two values ranked by likelihood find at equal protection",
            above(&found, &more),
            format!("{} against {}", shown(&found), shown(&today)),
        )
        .catches(&ANSWERS);
    let plain = bits.at(&middle);
    report
        .claim(
            "denoising, from the release alone, adds at least 0.02 at each of these epsilons",
            above(&found, &plain.iter().map(|x| x + 0.02).collect::<Vec<_>>()),
            format!("{} against {}", shown(&found), shown(&plain)),
        )
        .catches(&ANSWERS)
        .catches(&[Sabotage::NoNoise]);
    let low = [1.0, 1.5, 2.0];
    let found = both.at(&low);
    report
        .claim(
            "queries held by the asker find at least .184, .422 and .601 at epsilon 1, 1.5 and 2",
            above(&found, &[0.184, 0.422, 0.601]),
            format!("{}; without denoising {}", shown(&found), shown(&exact.at(&low))),
        )
        .catches(&ANSWERS);
    let least = denoised.mean(0.5);
    report
        .claim(
            format!("at epsilon 0.5 occupancy bits, denoised, find less than 0.09 (chance {chance:.3}): the item is hidden"),
            least < 0.09,
            format!("{least:.3}"),
        )
        .catches(&[Sabotage::NoNoise, Sabotage::HalfNoise]);
    // Two and three symbols at epsilon.
    let off = |series: &Series, others: f64| {
        let pairs = EPSILONS.iter().zip(&series.keep);
        pairs.map(|(e, keep)| (keep * (1.0 + others * (-e).exp()) - 1.0).abs()).fold(0.0, f64::max)
    };
    let off = [off(bins, 2.0), off(bits, 1.0)];
    report
        .claim(
            "symbols are kept with probability e^epsilon/(e^epsilon + 2) for bins, e^epsilon/(e^epsilon + 1) for bits, to 1e-9",
            off.iter().all(|o| *o < 1e-9),
            format!("deviations {off:?}"),
        )
        .catches(&NOISE);
}
