//! One attribute protected: every value of a picture by itself, beside noise on random bins.

use crate::Table;
use crate::data::{Points, digits};
use crate::error::Result;
use crate::framework::sabotage::{self, ANSWERS, NOISE, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use crate::metrics::{mean_and_error, mean_precision_recall, nearest_by_cosine};
use dp_core::{Adjacency, Budget, EntryBound, Shift};
use rayon::prelude::*;
use sketch::RowsView;
use sketch::bounded::{BoundedConfig, BoundedLaw, BoundedQueries, PrivateBounded};
use sketch::distances::ValueRange;
use sketch::projection::{Family, ProjectionSpec};
use sketch::search::{BoundedIndex, Neighbours, Queries, Score, SketchIndex};
use sketch::vectors::PrivateProjection;

pub(super) const STUDY: Study = Study {
    id: "own/bounded",
    title: "Private nearest neighbours, one pixel protected: bounded values beside noise on random bins",
    reference: "piecewise and one-bit laws: Wang et al. 2019, Duchi, Jordan and Wainwright 2018; the task of Li and Li 2023, figure 10",
    run,
};

const EPSILONS: [f64; 3] = [1.0, 2.0, 3.0];
/// True neighbours of a query, and rows that a search returns.
const RELEVANT: usize = 50;
const RETURNED: usize = 10;
const REPETITIONS: u64 = 10;

/// How rows are released and ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Bounded {
        one_bit: bool,
        denoised: bool,
        exact: bool,
    },
    /// Staircase noise on random bins.
    Stairs {
        denoised: bool,
    },
}

const WAYS: [Way; 6] = [
    Way::Stairs { denoised: false },
    Way::Stairs { denoised: true },
    Way::Bounded { one_bit: false, denoised: false, exact: false },
    Way::Bounded { one_bit: false, denoised: true, exact: false },
    Way::Bounded { one_bit: false, denoised: true, exact: true },
    Way::Bounded { one_bit: true, denoised: true, exact: false },
];

impl Way {
    fn label(self) -> &'static str {
        match self {
            Self::Stairs { denoised: false } => "staircase on random bins",
            Self::Stairs { denoised: true } => "staircase on random bins, denoised",
            Self::Bounded { denoised: false, .. } => "bounded values",
            Self::Bounded { exact: true, .. } => "bounded values, denoised, exact queries",
            Self::Bounded { one_bit: true, .. } => "one bit a value, denoised",
            Self::Bounded { .. } => "bounded values, denoised",
        }
    }
}

fn listed(found: &Neighbours<f64>) -> Vec<Vec<usize>> {
    let row = |q| found.indices(q).iter().map(|&i| i as usize).collect();
    (0..found.n()).map(row).collect()
}

/// Precision of some ways that search releases of one mechanism, and the deviation of a number where it is largest.
fn found(
    context: &Context<'_>,
    all: &Points,
    (ways, epsilon): (&[Way], f64),
    repetition: u64,
) -> Result<(Vec<f64>, f64)> {
    let (asked, searched) = context.pick((100, 1000), (300, 3000));
    let seed = context.public_seed("split", repetition);
    let split = all.split(asked, Some(searched), seed)?;
    let d = all.d();
    let (queries, database) = (split.queries, split.database);
    let truth = nearest_by_cosine(queries.values(), database.values(), d, RELEVANT)?;
    let mut rng = context.noise(&format!("{} {epsilon}", ways[0].label()), repetition);
    let views = [&queries, &database].map(|p| RowsView::f64(p.n(), d, p.values()));
    let [own, items] = views;
    let (own, items, score) = (own?, items?, Score::Cosine);
    let beta = Shift::new(1.0)?;
    let pure = Budget::new(epsilon, 0.0)?;
    let precision = |hits: &Neighbours<f64>| {
        let answers = sabotage::answers(listed(hits), database.n());
        mean_precision_recall(&answers, &truth, RETURNED).0
    };
    if let Way::Bounded { one_bit, .. } = ways[0] {
        let range = ValueRange::new(0.0, 1.0)?;
        let config = BoundedConfig {
            d,
            range,
            beta,
            law: if one_bit { BoundedLaw::OneBit } else { BoundedLaw::LeastError },
            clip: false,
        };
        let mechanism = PrivateBounded::new(config, sabotage::spent_within(pure, 32.0)?)?;
        let mut release =
            |rows| sabotage::with_rows(rows, |rows| Ok(mechanism.release(rows, &mut rng)?));
        let (own_released, items) = (release(own)?, release(items)?);
        let items = items.payload();
        let rows: Vec<usize> = (0..queries.n()).collect();
        let released = BoundedQueries::released(own_released.payload(), &rows)?;
        let exact = BoundedQueries::exact(items, own)?;
        let (plain, better) =
            (BoundedIndex::new(items, score)?, BoundedIndex::denoised(items, score)?);
        let of = |&way: &Way| -> Result<f64> {
            let Way::Bounded { denoised, exact: held, .. } = way else {
                return Err(crate::Error::invalid("way", way.label(), "bounded values"));
            };
            let index = if denoised { &better } else { &plain };
            let sought = if held { &exact } else { &released };
            Ok(precision(&index.top_k(sought, RETURNED)?))
        };
        let precisions = ways.iter().map(of).collect::<Result<_>>()?;
        return Ok((precisions, mechanism.variance().sqrt()));
    }
    let k = context.pick(64, 256);
    let spec = ProjectionSpec::new(Family::Oporp, d, k, seed)?;
    let (adjacency, bound) = (Adjacency::Attribute { beta }, EntryBound::new(1.0)?);
    let budget = sabotage::spent_within(pure, 20.0)?;
    let mechanism = PrivateProjection::staircase(spec.build(), adjacency, bound, budget)?;
    let mut release =
        |rows| sabotage::with_rows(rows, |rows| Ok(mechanism.release(rows, &mut rng)?));
    let (own, items) = (release(own)?, release(items)?);
    let (own, items) = (Queries::all(own.payload()), items.payload());
    let of = |&way: &Way| -> Result<f64> {
        let index = match way {
            Way::Stairs { denoised: true } => SketchIndex::denoised(items, score)?,
            _ => SketchIndex::new(items, score)?,
        };
        Ok(precision(&index.top_k(&own, RETURNED)?))
    };
    Ok((ways.iter().map(of).collect::<Result<_>>()?, items.noise_variance().sqrt()))
}

/// One way over the epsilons.
struct Series {
    way: Way,
    precision: Vec<Vec<f64>>,
    deviation: Vec<f64>,
}

impl Series {
    fn means(&self) -> [f64; 3] {
        core::array::from_fn(|i| mean_and_error(&self.precision[i]).0)
    }
}

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    context.progress.begin(3 * EPSILONS.len() as u64);
    let all = digits();
    let all = context.pick(all.halved(), all);
    let mut series = Vec::new();
    // Ways that search the same releases.
    let groups = [&WAYS[..2], &WAYS[2..5], &WAYS[5..]];
    // One bit is for pictures that are mostly black and white, which halved ones are not.
    for ways in context.pick(&groups[..2], &groups[..]) {
        let ways = *ways;
        let empty = |&way: &Way| Series { way, precision: Vec::new(), deviation: Vec::new() };
        let mut these: Vec<Series> = ways.iter().map(empty).collect();
        for epsilon in EPSILONS {
            let one = |r: u64| found(context, &all, (ways, epsilon), r);
            let runs = (0..REPETITIONS).into_par_iter().map(one).collect::<Result<Vec<_>>>()?;
            for (i, series) in these.iter_mut().enumerate() {
                series.precision.push(runs.iter().map(|(found, _)| found[i]).collect());
                series.deviation.push(runs[0].1);
            }
            context.progress.step();
        }
        series.extend(these);
    }
    let mut table = Table::new(
        "precision",
        "Share of the 10 rows returned that are among the 50 nearest by cosine; one pixel may become any other, delta 0.",
        &["way", "epsilon 1", "2", "3"],
    );
    for series in &series {
        let numbers = series.means().map(|x| format!("{x:.3}"));
        table.row([series.way.label().to_owned()].into_iter().chain(numbers));
    }
    claims(&mut report, &series);
    report.note(format!(
        "Staircase noise has {} random bins, a number fixed before and not the best in hindsight. Signed groups from public rows find \
         more at small epsilon (private-ann/choice).",
        context.pick(64, 256)
    ));
    let curve = |series: &Series| Curve {
        label: series.way.label().into(),
        points: EPSILONS.iter().zip(&series.precision).map(|(&x, y)| Point::mean(x, y)).collect(),
        origin: Origin {
            k: Setting::Fixed(match series.way {
                Way::Stairs { .. } => context.pick(64.0, 256.0),
                Way::Bounded { .. } => all.d() as f64,
            }),
            epsilon: Setting::AxisX,
            delta: Setting::Fixed(0.0),
            sigma: Setting::PerPoint(series.deviation.clone()),
            seeds: Seeds::Derived(context.seed),
            data: all.name().to_owned(),
            repetitions: REPETITIONS as usize,
            ..Origin::formula(series.way.label())
        },
    };
    report.figures.push(Figure {
        name: "precision".into(),
        caption: "Precision at 10 among the 50 nearest, digits, one pixel protected, delta 0."
            .into(),
        panels: vec![Panel {
            title: all.name().to_owned(),
            x: Axis::log("epsilon"),
            y: Axis::linear("precision at 10").between(0.0, 1.0),
            curves: series.iter().map(curve).collect(),
        }],
        columns: 1,
    });
    report.tables.push(table);
    Ok(report)
}

fn claims(report: &mut Report, all: &[Series]) {
    let [_, stairs, _, denoised, asked, bit @ ..] = all else { unreachable!("five ways") };
    let [stairs, found, exact] = [stairs, denoised, asked].map(Series::means);
    let shown = |x: &[f64]| x.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ");
    let against =
        |ours: &[f64], theirs: &[f64]| format!("{} against {}", shown(ours), shown(theirs));
    // Of the full run alone.
    if let [bit] = bit {
        let bit = bit.means();
        report
            .claim(
                "bounded values, denoised, find at least .424, .862 and .979 at epsilon 1, 2 and 3, as a prototype did",
                found.iter().zip([0.424, 0.862, 0.979]).all(|(a, b)| *a >= b),
                shown(&found),
            )
            .fails_because(
                "the prototype asked 1,000 queries, shrank them too, learned from all 4,000 rows and measured the noise on the rows \
                 themselves; here 300 queries stay as they were released, and all comes from the 3,000 rows searched",
                found[0] > 0.28 && found[1] >= 0.862 && found[2] >= 0.979,
            );
        report
            .claim(
                "at least .30, .86 and .97 (limits set after the first run; fresh draws each seed)",
                found.iter().zip([0.30, 0.86, 0.97]).all(|(a, b)| *a >= b),
                shown(&found),
            )
            .catches(&ANSWERS)
            .catches(&[Sabotage::DoubleNoise]);
        report
            .claim(
                "one bit a value finds no less than .02 below that, for most pixels are black",
                (0..3).all(|i| bit[i] >= found[i] - 0.02) && bit[2] > 0.5,
                against(&bit, &found),
            )
            .catches(&ANSWERS);
    }
    report
        .claim(
            "denoised, bounded values find at least .03 more than staircase noise on random bins, denoised too, at epsilon 1, 2 and 3",
            found.iter().zip(&stairs).all(|(a, b)| *a >= b + 0.03),
            against(&found, &stairs),
        )
        .catches(&ANSWERS);
    report
        .claim(
            "queries held by the asker find at least .05 more at epsilon 1",
            exact[0] >= found[0] + 0.05,
            against(&exact[..1], &found[..1]),
        )
        .catches(&ANSWERS)
        .catches(&[Sabotage::NoNoise]);
    // The largest of any value, cell by cell in other hands: a scan of 20,000 values a step.
    let known = [1.170_674f64, 0.249_980, 0.094_729];
    let off = denoised.deviation.iter().zip(known).map(|(s, v)| (s * s / v - 1.0).abs());
    let off = off.fold(0.0, f64::max);
    report
        .claim(
            "a value has the variance 1.170674, .249980 and .094729 at most, to 1e-5",
            off < 1e-5,
            format!("deviation {off:.1e}"),
        )
        .catches(&NOISE);
}
