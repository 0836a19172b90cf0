//! Whether plans are right: what they predict, and what they choose, beside what releases then show.

mod distances;
mod matrices;
mod searches;
mod sets;
mod tried;

use crate::data::{StandIn, digits, package_embeddings, package_sets, photograph_patches};
use crate::error::Result;
use crate::framework::sabotage::{self, ANSWERS, NOISE, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use crate::{Effort, Table};
use distances::Crowd;
use dp_core::{Adjacency, Budget, NormBound, Shift};
use matrices::{Asked, SPECTRA, of_rows, shift};
use searches::Rows;
use sets::Sets;
use sketch::plan::{Aim, Asked as Queries};
use tried::{Measure, Question, Range, Tried};

pub(super) const STUDY: Study = Study {
    id: "own/plan",
    title: "Plans: predicted beside measured errors and recalls, and their choices beside the best in hindsight",
    reference: "ours",
    run,
};

const DELTA: f64 = 1e-6;
/// Least number of combinations of goal, way, adjacency, epsilon and data.
const COMBINATIONS: usize = 60;

/// Values of pixels and bits.
const UNIT: (f64, f64) = (0.0, 1.0);

fn pure(epsilon: f64) -> Result<Budget> {
    Ok(Budget::new(epsilon, 0.0)?)
}

fn with_delta(epsilon: f64) -> Result<Budget> {
    Ok(Budget::new(epsilon, DELTA)?)
}

fn attribute(beta: f64) -> Result<Adjacency> {
    Ok(Adjacency::Attribute { beta: Shift::new(beta)? })
}

fn whole(bound: f64) -> Result<Adjacency> {
    Ok(Adjacency::ReplaceRow { bound: NormBound::new(bound)? })
}

/// Releases behind a number.
fn releases(context: &Context<'_>) -> u64 {
    context.pick(12, 30)
}

fn of_distances(context: &Context<'_>) -> Result<Vec<Question>> {
    let many = releases(context);
    let (points, embeddings) = (digits(), package_embeddings());
    let images = Crowd::of("digits", &points, UNIT)?;
    let bits = Crowd::of("digits in bits", &distances::bits(&points)?, UNIT)?;
    let texts = Crowd::of("embeddings", &embeddings, distances::range(&embeddings))?;
    let mut asked = vec![
        (&images, attribute(1.0)?, with_delta(4.0)?),
        (&bits, attribute(1.0)?, pure(4.0)?),
        (&texts, shift(0.2)?, with_delta(4.0)?),
    ];
    asked.extend(context.pick(
        vec![],
        vec![
            (&images, attribute(1.0)?, with_delta(1.0)?),
            (&images, attribute(1.0)?, pure(1.0)?),
            (&images, shift(1.0)?, with_delta(2.0)?),
            (&images, whole(28.0)?, with_delta(16.0)?),
            (&bits, attribute(1.0)?, with_delta(1.0)?),
            (&texts, attribute(0.2)?, with_delta(1.0)?),
            (&texts, attribute(0.2)?, pure(4.0)?),
            (&texts, whole(1.0)?, with_delta(16.0)?),
        ],
    ));
    let ask = |(crowd, adjacency, budget): (&Crowd, Adjacency, Budget)| {
        context.progress.step();
        crowd.ask(context, adjacency, budget, many)
    };
    asked.into_iter().map(ask).collect()
}

fn of_searches(context: &Context<'_>) -> Result<Vec<Question>> {
    let many = context.pick(10, 20);
    let sizes: &[usize] = context.pick(&[16, 64], &[16, 32, 64, 128]);
    let texts = Rows::new(
        context,
        "embeddings",
        &package_embeddings(),
        context.pick((500, 800), (1000, 3000)),
    )?;
    let mut asked = vec![(&texts, 12.0, Queries::Exact), (&texts, 16.0, Queries::Private)];
    let images;
    if context.effort == Effort::Full {
        images = Rows::new(context, "digits", &digits(), (1000, 3000))?;
        asked.extend([
            (&texts, 16.0, Queries::Exact),
            (&texts, 20.0, Queries::Private),
            (&images, 8.0, Queries::Exact),
            (&images, 12.0, Queries::Exact),
            (&images, 12.0, Queries::Private),
            (&images, 16.0, Queries::Private),
        ]);
    }
    let ask = |(rows, epsilon, queries): (&Rows, f64, Queries)| {
        context.progress.step();
        rows.ask(context, (epsilon, queries), sizes, many)
    };
    asked.into_iter().map(ask).collect()
}

fn of_sets(context: &Context<'_>) -> Result<Vec<Question>> {
    let many = context.pick(10, 20);
    let packages = Sets::new(context, package_sets().at_least(20), context.pick(900, 3000));
    let mut asked = vec![(&packages, 4.0, Aim::Recall), (&packages, 2.0, Aim::Error)];
    let films;
    if context.effort == Effort::Full {
        films = Sets::new(context, StandIn::Ratings.draw(context.public_seed("films", 0)), 3000);
        asked.extend([
            (&packages, 2.0, Aim::Recall),
            (&packages, 8.0, Aim::Error),
            (&films, 2.0, Aim::Error),
            (&films, 6.0, Aim::Error),
            (&films, 6.0, Aim::Recall),
        ]);
    }
    let ask = |(sets, epsilon, aim): (&Sets, f64, Aim)| {
        context.progress.step();
        sets.ask(context, aim, pure(epsilon)?, many)
    };
    asked.into_iter().map(ask).collect()
}

fn of_matrices(context: &Context<'_>) -> Result<Vec<Question>> {
    let many = releases(context);
    let mut all = Vec::new();
    let epsilons = context.pick(vec![1.0], vec![0.5, 2.0]);
    let asked = |adjacency, budget, releases| Asked { context, adjacency, budget, releases };
    for (i, name) in SPECTRA.into_iter().enumerate() {
        for &epsilon in &epsilons {
            let about = asked(of_rows(i)?, with_delta(epsilon)?, many);
            all.push(about.covariance(name, 20, context.pick(2000, 10_000))?);
            // Where all directions are equal none is first.
            if name != "equal" && name != "low rank" {
                let about = asked(of_rows(i)?, with_delta(epsilon)?, many);
                all.push(about.component(name, 20, 20_000)?);
            }
        }
        context.progress.step();
    }
    for (i, &epsilon) in epsilons.iter().enumerate() {
        let about = asked(of_rows(1 + i)?, with_delta(epsilon)?, many);
        all.push(about.window("1/i", 6)?);
        let about = asked(of_rows(i)?, with_delta(epsilon)?, context.pick(10, 20));
        for power in [0.0, 1.0] {
            let (d, n) = context.pick((15, 6000), (40, 20_000));
            all.push(about.regression(power, d, n)?);
        }
        context.progress.step();
    }
    let (m, n) = context.pick((60, 800), (100, 2000));
    for (strength, epsilon) in context.pick(
        vec![(10.0, 1.0), (0.05, 0.5)],
        vec![(10.0, 1.0), (3.0, 1.0), (10.0, 8.0), (0.05, 0.5)],
    ) {
        let about = asked(shift(1.0)?, with_delta(epsilon)?, context.pick(10, 20));
        all.push(about.low_rank((m, n), 3, strength)?);
        context.progress.step();
    }
    Ok(all)
}

/// Photographs: their rows were never planned for before everything else was as it is now.
fn of_unseen(context: &Context<'_>) -> Result<Vec<Question>> {
    let many = releases(context);
    let points = photograph_patches();
    let patches = Crowd::of("photographs", &points, UNIT)?;
    let mut asked = vec![(attribute(1.0)?, with_delta(2.0)?)];
    asked.extend(context.pick(
        vec![],
        vec![
            (attribute(0.5)?, pure(1.0)?),
            (shift(1.0)?, with_delta(4.0)?),
            (whole(32.0)?, with_delta(16.0)?),
        ],
    ));
    let mut all = Vec::new();
    for (adjacency, budget) in asked {
        all.push(patches.ask(context, adjacency, budget, many)?);
        context.progress.step();
    }
    if context.effort == Effort::Full {
        let rows = Rows::new(context, "photographs", &points, (1000, 2000))?;
        for asked in [(8.0, Queries::Exact), (16.0, Queries::Private)] {
            all.push(rows.ask(context, asked, &[16, 32, 64, 128], 20)?);
            context.progress.step();
        }
    }
    Ok(all)
}

/// What the sabotages do to a plan.
fn told(question: Question) -> Question {
    let halved = |range: Range| Range {
        value: sabotage::predicted(range.value),
        low: sabotage::predicted(range.low),
        high: sabotage::predicted(range.high),
    };
    let of = |tried: Tried| Tried { predicted: tried.predicted.map(halved), ..tried };
    let (known, beside): (Vec<Tried>, Vec<Tried>) =
        question.tried.into_iter().map(of).partition(|tried| tried.predicted.is_some());
    let tried = sabotage::chosen(known).into_iter().chain(beside).collect();
    Question { tried, ..question }
}

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    context.progress.begin(context.pick(14, 44));
    let mut seen = of_distances(context)?;
    seen.extend(of_searches(context)?);
    seen.extend(of_sets(context)?);
    seen.extend(of_matrices(context)?);
    let seen: Vec<Question> = seen.into_iter().map(told).collect();
    let unseen: Vec<Question> = of_unseen(context)?.into_iter().map(told).collect();
    claims(&mut report, &seen, "");
    claims(&mut report, &unseen, "photographs, which no plan was made for before: ");
    report.tables.push(table(&seen, &unseen));
    report.tables.push(choices(&seen, &unseen));
    report.figures.push(figure(context, &seen, &unseen));
    report.note(
        "What is public: rows, features, bounds, the squared distance asked for; for searches and sets a public part that is not \
         searched; for regressions another draw of the same law; for components the gaps; for low rank the norm.",
    );
    Ok(report)
}

fn claims(report: &mut Report, questions: &[Question], whose: &str) {
    let inside: Vec<bool> = questions
        .iter()
        .flat_map(|q| q.tried.iter().filter_map(|tried| tried.inside(q.measure)))
        .collect();
    let within = inside.iter().filter(|x| **x).count();
    let share = within as f64 / inside.len() as f64;
    let enough = if whose.is_empty() { COMBINATIONS } else { 8 };
    report
        .claim(
            format!(
                "{whose}of at least {enough} measured values 90 % are inside the predicted ranges"
            ),
            share >= 0.9 && inside.len() >= enough,
            format!("{within} of {}", inside.len()),
        )
        .catches(&NOISE)
        .catches(&[Sabotage::DataIgnored, Sabotage::PredictionsHalved])
        .fails_because(
            "of eight values 90 % are all of them: where each is inside in 90 % of runs, one or two are outside in 53 %",
            !whose.is_empty() && within + 2 >= inside.len(),
        );
    let mut widths: Vec<f64> = questions
        .iter()
        .flat_map(|q| q.tried.iter().filter_map(|tried| tried.predicted))
        .map(|range| range.high / range.low)
        .collect();
    widths.sort_by(f64::total_cmp);
    let median = widths[widths.len() / 2];
    report.claim(
        format!("{whose}the median range has ends a factor of at most 1.5 apart"),
        median <= 1.5,
        format!("{median:.3}"),
    );
    let choices: Vec<(f64, bool)> =
        questions.iter().filter(|q| q.tried.len() > 1).map(Question::regret).collect();
    let good = choices.iter().filter(|(_, good)| *good).count();
    report
        .claim(
            format!(
                "{whose}in 90 % of the questions the choice is within 5 % or two standard errors of the best in hindsight"
            ),
            good as f64 >= 0.9 * choices.len() as f64,
            format!("{good} of {}", choices.len()),
        )
        .catches(&[Sabotage::ChoiceReversed]);
    let worst = choices.iter().map(|(factor, _)| *factor).fold(0.0, f64::max);
    report
        .claim(
            format!("{whose}no choice is worse than 1.5 times the best in hindsight"),
            worst <= 1.5,
            format!("{worst:.3} at worst"),
        )
        .catches(&[Sabotage::ChoiceReversed]);
    if whose.is_empty() {
        let searches = questions.iter().filter(|q| q.measure == Measure::Share);
        let inside: Vec<bool> = searches
            .flat_map(|q| q.tried.iter().filter_map(|tried| tried.inside(q.measure)))
            .collect();
        let within = inside.iter().filter(|x| **x).count();
        report
            .claim(
                "of the recalls alone 80 % are inside the predicted ranges",
                within as f64 >= 0.8 * inside.len() as f64,
                format!("{within} of {}", inside.len()),
            )
            .catches(&ANSWERS)
            .catches(&NOISE);
    }
}

fn table(seen: &[Question], unseen: &[Question]) -> Table {
    let mut table = Table::new(
        "measured",
        "Every combination: what was predicted, its range, what was measured with its standard error.",
        &[
            "goal",
            "data",
            "protects",
            "epsilon",
            "way",
            "predicted",
            "low",
            "high",
            "measured",
            "standard error",
            "inside",
        ],
    );
    for question in seen.iter().chain(unseen) {
        for tried in &question.tried {
            let number = |x: f64| format!("{x:.4}");
            let of = |part: fn(&Range) -> f64| {
                tried.predicted.as_ref().map_or("-".into(), |range| number(part(range)))
            };
            let (found, error) = tried.measured(question.measure);
            let inside = match tried.inside(question.measure) {
                Some(true) => "yes",
                Some(false) => "no",
                None => "-",
            };
            table.row([
                question.goal.to_owned(),
                question.data.clone(),
                question.protects.clone(),
                question.epsilon.to_string(),
                tried.way.clone(),
                of(|r| r.value),
                of(|r| r.low),
                of(|r| r.high),
                number(found),
                number(error),
                inside.to_owned(),
            ]);
        }
    }
    table
}

fn choices(seen: &[Question], unseen: &[Question]) -> Table {
    let mut table = Table::new(
        "choices",
        "Every question with several ways: the plan's choice, and by which factor it is worse than the best in hindsight.",
        &[
            "goal",
            "data",
            "epsilon",
            "ways",
            "choice",
            "factor",
            "within 5 % or two standard errors",
        ],
    );
    for question in seen.iter().chain(unseen).filter(|q| q.tried.len() > 1) {
        let (factor, good) = question.regret();
        table.row([
            question.goal.to_owned(),
            question.data.clone(),
            question.epsilon.to_string(),
            question.tried.len().to_string(),
            question.tried[0].way.clone(),
            format!("{factor:.3}"),
            if good { "yes" } else { "no" }.to_owned(),
        ]);
    }
    table
}

fn figure(context: &Context<'_>, seen: &[Question], unseen: &[Question]) -> Figure {
    let mut goals: Vec<&'static str> = Vec::new();
    for question in seen.iter().chain(unseen) {
        if !goals.contains(&question.goal) {
            goals.push(question.goal);
        }
    }
    let panel = |&goal: &&'static str| {
        let mut points: Vec<Point> = seen
            .iter()
            .chain(unseen)
            .filter(|q| q.goal == goal)
            .flat_map(|q| {
                q.tried.iter().filter_map(|tried| {
                    let (y, error) = tried.measured(q.measure);
                    Some(Point { x: tried.predicted?.value, y, error: Some(error) })
                })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let origin = |mechanism: &str| Origin {
            epsilon: Setting::None,
            delta: Setting::None,
            seeds: Seeds::Derived(context.seed),
            data: "all of the goal: see the table".into(),
            repetitions: releases(context) as usize,
            ..Origin::formula(mechanism)
        };
        let even = points.iter().map(|p| Point::exact(p.x, p.x)).collect();
        Panel {
            title: goal.into(),
            x: Axis::log("predicted"),
            y: Axis::log("measured"),
            curves: vec![
                Curve { label: "measured".into(), points, origin: origin("every way of the plan") },
                Curve {
                    label: "as predicted".into(),
                    points: even,
                    origin: Origin::formula("a line"),
                },
            ],
        }
    };
    Figure {
        name: "calibration".into(),
        caption: "Predicted and measured errors and recalls, every way that a plan compares."
            .into(),
        panels: goals.iter().map(panel).collect(),
        columns: 3,
    }
}
