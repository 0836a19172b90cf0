//! Groups of attributes or random bins: what a trial among public rows chooses, and what both then find.

use super::measure::added;
use super::spaces::{Extent, RETURNED, Space, Task};
use super::ways::view;
use crate::Table;
use crate::data::Points;
use crate::error::Result;
use crate::framework::sabotage::{self, ANSWERS, NOISE, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use crate::metrics::{mean_and_error, mean_precision_recall};
use dp_core::{Adjacency, Budget, EntryBound, PublicSeed, Shift};
use rayon::prelude::*;
use sketch::RowsView;
use sketch::plan::GroupPlan;
use sketch::projection::{Family, ProjectionSpec};
use sketch::search::{Queries, Score, SketchIndex};
use sketch::vectors::{Posterior, PrivateProjection, PrivateSketch};

pub(super) const STUDY: Study = Study {
    id: "private-ann/choice",
    title: "Private nearest neighbours, one attribute protected: signed groups or random bins, chosen among public rows",
    reference: "ours; Geng and Viswanath 2016 (staircase)",
    run,
};

/// A data set, how much one value may change, and the epsilons.
struct Case {
    space: Space,
    beta: f64,
    epsilons: Vec<f64>,
}

/// What was tried and found at one epsilon.
struct Found {
    epsilon: f64,
    plan: GroupPlan,
    sigma: f64,
    grouped: Vec<f64>,
    random: Vec<f64>,
    /// Mean square of what was added to the numbers, a release.
    added: Vec<f64>,
}

impl Found {
    /// Precision of the projection that the plan names.
    fn chosen(&self) -> &[f64] {
        if self.plan.grouped >= self.plan.random { &self.grouped } else { &self.random }
    }
}

fn mean(values: &[f64]) -> f64 {
    mean_and_error(values).0
}

impl Case {
    fn mechanism(&self, spec: ProjectionSpec, budget: Budget) -> Result<PrivateProjection> {
        let largest = self
            .space
            .public
            .values()
            .iter()
            .chain(self.space.private.values())
            .fold(0.0f64, |m, x| m.max(x.abs()));
        let adjacency = Adjacency::Attribute { beta: Shift::new(self.beta)? };
        let bound = EntryBound::new(largest)?;
        Ok(PrivateProjection::staircase(spec.build(), adjacency, bound, budget)?)
    }

    fn at(&self, context: &Context<'_>, epsilon: f64) -> Result<Found> {
        let (d, public) = (self.space.public.d(), &self.space.public);
        let budget = Budget::new(epsilon, 0.0)?;
        let raw = ProjectionSpec::new(Family::Identity, d, d, PublicSeed::new(0))?;
        let variance = self.mechanism(raw, budget)?.noise().variance();
        let rows = RowsView::f64(public.n(), d, public.values())?;
        let plan = GroupPlan::of_sample(rows, variance)?;
        let one = |repetition| -> Result<[(f64, f64); 2]> {
            let task = self.space.task(context, repetition)?;
            let seed = context.public_seed(&format!("bins {epsilon}"), repetition);
            let bins = ProjectionSpec::new(Family::Oporp, d, plan.bins, seed)?;
            let of = |spec| self.precision(context, &task, (spec, epsilon), repetition);
            Ok([of(plan.groups.spec())?, of(bins)?])
        };
        let all = (0..10).into_par_iter().map(one).collect::<Result<Vec<_>>>()?;
        let [grouped, random] = [0, 1].map(|i| all.iter().map(|both| both[i].0).collect());
        let added = all.iter().flatten().map(|(_, added)| *added).collect();
        Ok(Found { epsilon, plan, sigma: variance.sqrt(), grouped, random, added })
    }

    fn precision(
        &self,
        context: &Context<'_>,
        task: &Task,
        (spec, epsilon): (ProjectionSpec, f64),
        repetition: u64,
    ) -> Result<(f64, f64)> {
        let mut noise = context.noise(&format!("{} {epsilon}", spec.name()), repetition);
        let budget = sabotage::spent_within(Budget::new(epsilon, 0.0)?, 20.0)?;
        let mechanism = self.mechanism(spec, budget)?;
        let mut release = |points: &Points| -> Result<PrivateSketch> {
            let rows = view(points)?;
            let made = sabotage::with_rows(rows, |rows| Ok(mechanism.release(rows, &mut noise)?))?;
            Ok(made.into_parts().0)
        };
        let (queries, database) = (release(&task.queries)?, release(&task.database)?);
        let added = added(&database, view(&task.database)?)?;
        let found = match spec.family() {
            Family::Grouped { groups } => {
                let posterior = Posterior::new(groups, &self.space.moments)?;
                let index = SketchIndex::posterior(&database, &posterior, Score::Cosine)?;
                index.top_k(&Queries::all(&queries), RETURNED)?
            }
            _ => SketchIndex::new(&database, Score::Cosine)?
                .top_k(&Queries::all(&queries), RETURNED)?,
        };
        let rows = |q: usize| found.indices(q).iter().map(|&row| row as usize).collect();
        let found = sabotage::answers((0..found.n()).map(rows).collect(), task.database.n());
        Ok((mean_precision_recall(&found, &task.truth, RETURNED).0, added))
    }
}

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let extent = |public, queries, database| Extent { public, queries, database };
    let digits = context.pick(extent(256, 50, 800), extent(1000, 300, 3000));
    let mut cases = vec![Case {
        space: Space::digits(context, digits, false)?,
        beta: 1.0,
        epsilons: context.pick(vec![1.0], vec![0.5, 1.0, 2.0]),
    }];
    if context.effort == crate::Effort::Full {
        let space = Space::embeddings(context, extent(1000, 300, 3000))?;
        cases.push(Case { space, beta: 0.2, epsilons: vec![0.5, 1.0, 2.0, 3.0] });
    }
    context.progress.begin(cases.iter().map(|case| case.epsilons.len() as u64).sum());
    let mut table = Table::new(
        "choice",
        "What a trial among public rows predicts (share of the likest hundredth in five times as many) and the precision of ten rows then found.",
        &[
            "data",
            "epsilon",
            "groups",
            "predicted",
            "found",
            "random bins",
            "predicted",
            "found",
            "chosen",
        ],
    );
    let mut all = Vec::new();
    for case in &cases {
        let mut found = Vec::new();
        for &epsilon in &case.epsilons {
            let at = case.at(context, epsilon)?;
            let number = |x: f64| format!("{x:.3}");
            table.row([
                case.space.name.to_owned(),
                epsilon.to_string(),
                at.plan.groups.k().to_string(),
                number(at.plan.grouped),
                number(mean(&at.grouped)),
                at.plan.bins.to_string(),
                number(at.plan.random),
                number(mean(&at.random)),
                if at.plan.grouped >= at.plan.random { "groups" } else { "random bins" }.to_owned(),
            ]);
            found.push(at);
            context.progress.step();
        }
        all.push(found);
    }
    claims(context, &mut report, (&cases, &all));
    report.figures.push(figure(context, &cases, &all));
    report.tables.push(table);
    Ok(report)
}

fn figure(context: &Context<'_>, cases: &[Case], all: &[Vec<Found>]) -> Figure {
    let panel = |(case, found): (&Case, &Vec<Found>)| {
        let curve = |label: &str, of: &dyn Fn(&Found) -> (f64, Vec<f64>)| Curve {
            label: label.into(),
            points: found.iter().map(|at| Point::mean(at.epsilon, &of(at).1)).collect(),
            origin: Origin {
                k: Setting::PerPoint(found.iter().map(|at| of(at).0).collect()),
                epsilon: Setting::AxisX,
                delta: Setting::Fixed(0.0),
                sigma: Setting::PerPoint(found.iter().map(|at| at.sigma).collect()),
                seeds: Seeds::Derived(context.seed),
                data: format!(
                    "{}: {} public rows, {} queries, {} in the database",
                    case.space.name,
                    case.space.extent.public,
                    case.space.extent.queries,
                    case.space.extent.database
                ),
                repetitions: 10,
                ..Origin::formula(label)
            },
        };
        Panel {
            title: case.space.name.into(),
            x: Axis::log("epsilon"),
            y: Axis::linear("precision of ten").between(0.0, 1.0),
            curves: vec![
                curve("staircase, public groups, posterior", &|at| {
                    (at.plan.groups.k() as f64, at.grouped.clone())
                }),
                curve("staircase, random bins", &|at| (at.plan.bins as f64, at.random.clone())),
            ],
        }
    };
    Figure {
        name: "precision".into(),
        caption: "Precision of ten rows returned against the 50 nearest by exact cosine; one attribute changes by at most 1 (digits) or 0.2 (embeddings), delta 0."
            .into(),
        panels: cases.iter().zip(all).map(panel).collect(),
        columns: 2,
    }
}

/// Variance of the staircase noise of least variance where one change moves a number by one (Geng and Viswanath 2016,
/// theorem 7).
fn staircase(epsilon: f64) -> f64 {
    let b = (-epsilon).exp();
    ((b * (1.0 + b) / 2.0).cbrt().powi(2) + b) / (1.0 - b).powi(2)
}

fn claims(context: &Context<'_>, report: &mut Report, (cases, all): (&[Case], &[Vec<Found>])) {
    let mut off = 0.0f64;
    for (case, at) in
        cases.iter().zip(all).flat_map(|(case, all)| all.iter().map(move |at| (case, at)))
    {
        let asked = case.beta * staircase(at.epsilon).sqrt();
        off = off.max((mean(&at.added).sqrt() / asked - 1.0).abs());
    }
    report
        .claim(
            "what was added to the numbers, of groups and of random bins, has the deviation of the staircase of least variance \
             at epsilon, within 1 % (measured)",
            off < 0.01,
            format!("off by at most {off:.4}"),
        )
        .of("Geng and Viswanath 2016: the variance of the staircase")
        .catches(&NOISE)
        .catches(&[Sabotage::DataIgnored]);
    let digits = &all[0];
    let one = digits.iter().find(|at| at.epsilon == 1.0);
    let (grouped, random) =
        one.map_or((f64::NAN, f64::NAN), |at| (mean(&at.grouped), mean(&at.random)));
    let chosen = one.is_some_and(|at| at.plan.grouped >= at.plan.random);
    report
        .claim(
            "digits, epsilon 1: the trial chooses groups, and they find at least 0.2 more than random bins",
            chosen && grouped >= random + 0.2,
            format!("{grouped:.3} against {random:.3}"),
        )
        .catches(&ANSWERS);
    if context.effort != crate::Effort::Full {
        return;
    }
    let found: Vec<f64> = digits.iter().map(|at| mean(&at.grouped)).collect();
    let listed = |x: &[f64]| x.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ");
    report
        .claim(
            "digits: groups from a public sample find at least .474, .744 and .959 at epsilon 0.5, 1 and 2, less two standard errors of .01",
            found.iter().zip([0.474, 0.744, 0.959]).all(|(a, b)| *a >= b - 0.02),
            listed(&found),
        )
        .catches(&ANSWERS)
        .catches(&[Sabotage::DoubleNoise]);
    let worst =
        all.iter().flatten().map(|at| mean(at.chosen()) - mean(&at.grouped).max(mean(&at.random)));
    let worst = worst.fold(0.0, f64::min);
    report.claim(
        "what is chosen is nowhere more than 0.02 behind the other, on digits and on embeddings",
        worst >= -0.02,
        format!("{worst:.3} at worst"),
    );
}
