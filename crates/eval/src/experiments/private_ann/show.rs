//! What was measured, as figures and tables.

use super::kinds::Way;
use super::measure::{Cell, SEARCHES, Search, Setting, by_rule, in_hindsight, sizes};
use super::spaces::{RELEVANT, RETURNED, Space};
use crate::Table;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting as Value,
};
use crate::metrics::mean_and_error;
use sketch::plan::Asked;

/// `.041, .148`
pub(super) fn listed(numbers: impl IntoIterator<Item = f64>) -> String {
    let one = |x: f64| format!("{x:.3}");
    numbers.into_iter().map(one).collect::<Vec<_>>().join(", ")
}

fn queries(search: Search) -> &'static str {
    match (search.asked, search.denoise) {
        (Asked::Private, false) => "released",
        (Asked::Private, true) => "released, denoised",
        (Asked::Exact, false) => "exact",
        (Asked::Exact, true) => "exact, denoised",
    }
}

/// A figure and a table of everything.
pub(super) fn show(
    context: &Context<'_>,
    report: &mut Report,
    (spaces, setting, cells): (&[Space], &Setting<'_>, &[Cell]),
) {
    let mut panels = Vec::new();
    let epsilons = listed(setting.epsilons.iter().copied()).replace(".000", "");
    let head = format!("precision at epsilon {epsilons}");
    let mut table = Table::new(
        "found",
        &format!(
            "Share of the first {RETURNED} that are among the {RELEVANT} nearest (precision), share of the {RETURNED} nearest \
             among the first {RETURNED} (recall), at sizes k that public rows choose, and in hindsight (marked so: nobody \
             who has not looked knows that k)."
        ),
        &[
            "data",
            "method",
            "queries",
            "k",
            &head,
            "recall",
            "predicted recall",
            "k in hindsight",
            "precision in hindsight",
        ],
    );
    for space in spaces {
        for asked in [Asked::Private, Asked::Exact] {
            let mut curves = Vec::new();
            for search in SEARCHES.into_iter().filter(|s| s.asked == asked) {
                for &way in setting.ways {
                    let at = |&epsilon: &f64| {
                        let all = sizes(cells, (space.name, way, search, epsilon));
                        Some((by_rule(&all)?, in_hindsight(&all)?))
                    };
                    let Some(found) = setting.epsilons.iter().map(at).collect::<Option<Vec<_>>>()
                    else {
                        continue;
                    };
                    let rule: Vec<&Cell> = found.iter().map(|f| f.0).collect();
                    let best: Vec<&Cell> = found.iter().map(|f| f.1).collect();
                    let ks = |cells: &[&Cell]| {
                        let one = |c: &&Cell| c.k.map_or("-".into(), |k| k.to_string());
                        cells.iter().map(one).collect::<Vec<String>>().join(", ")
                    };
                    let predicted = rule.iter().map(|c| c.predicted.unwrap_or(f64::NAN));
                    let predicted = listed(predicted).replace("NaN", "-");
                    table.row([
                        space.name.to_owned(),
                        way.label(),
                        queries(search).to_owned(),
                        ks(&rule),
                        listed(rule.iter().map(|c| c.p10())),
                        listed(rule.iter().map(|c| c.r10())),
                        predicted,
                        ks(&best),
                        listed(best.iter().map(|c| c.p10())),
                    ]);
                    // Posterior means are denoised always; of the others the figure shows what is not.
                    if !search.denoise || way == Way::Groups {
                        curves.push(curve(context, setting, (space, way), &rule));
                    }
                }
            }
            let kind = if asked == Asked::Exact { "exact queries" } else { "released queries" };
            panels.push(Panel {
                title: format!("{}, {kind}", space.name),
                x: Axis::log("epsilon"),
                y: Axis::linear("precision at 10").between(0.0, 1.0),
                curves,
            });
        }
    }
    let rows = match setting.rows {
        1 => String::new(),
        m => format!(", {m} rows of one user"),
    };
    report.figures.push(Figure {
        name: "precision".into(),
        caption: format!(
            "Precision of ten rows returned against the {RELEVANT} nearest by exact cosine: {}{rows}; sizes are chosen by public \
             rows. Delta 1e-6 where Gaussian noise is used or a projection is fresh, otherwise 0.",
            setting.adjacency
        ),
        panels,
        columns: 2,
    });
    report.tables.push(table);
    report.note(format!(
        "Queries and database are drawn anew in every repetition, as projections and noise are; public rows ({}) are set aside \
         once, and never searched. The size k of a projection is the one of the largest recall that these rows predict; where \
         nothing is predicted (signs) it is the largest. Error bars: one standard error over repetitions.",
        spaces.iter().map(|s| format!("{} {}", s.public.n(), s.name)).collect::<Vec<_>>().join(", ")
    ));
}

fn curve(
    context: &Context<'_>,
    setting: &Setting<'_>,
    (space, way): (&Space, Way),
    cells: &[&Cell],
) -> Curve {
    let k = cells.iter().map(|c| c.k.unwrap_or(space.public.d()) as f64);
    let points = cells.iter().map(|c| Point::mean(c.epsilon, &c.precision));
    Curve {
        label: way.label(),
        points: points.collect(),
        origin: Origin {
            mechanism: way.label(),
            k: Value::PerPoint(k.collect()),
            epsilon: Value::AxisX,
            delta: Value::Fixed(if way.is_pure() { 0.0 } else { 1e-6 }),
            sigma: Value::PerPoint(cells.iter().map(|c| c.scale).collect()),
            seeds: Seeds::Derived(context.seed),
            data: format!(
                "{}: {} queries, {} in the database",
                space.private.name(),
                space.extent.queries,
                space.extent.database
            ),
            repetitions: setting.repetitions as usize,
        },
    }
}

/// The precision of a way at sizes chosen by public rows, at some epsilons.
pub(super) fn precision(
    cells: &[Cell],
    space: &str,
    (way, search): (Way, Search),
    epsilons: &[f64],
) -> Vec<f64> {
    chosen(cells, space, (way, search), epsilons).iter().map(|c| c.p10()).collect()
}

/// Its cells.
pub(super) fn chosen<'c>(
    cells: &'c [Cell],
    space: &str,
    (way, search): (Way, Search),
    epsilons: &[f64],
) -> Vec<&'c Cell> {
    let at = |&epsilon: &f64| by_rule(&sizes(cells, (space, way, search, epsilon)));
    epsilons.iter().filter_map(at).collect()
}

/// Mean and standard error of the lead of one way over another, repetition by repetition.
pub(super) fn lead(ours: &Cell, theirs: &Cell) -> (f64, f64) {
    let pairs = ours.precision.iter().zip(&theirs.precision);
    let (mean, error) = mean_and_error(&pairs.map(|(a, b)| a - b).collect::<Vec<_>>());
    (mean, error.unwrap_or(0.0))
}
