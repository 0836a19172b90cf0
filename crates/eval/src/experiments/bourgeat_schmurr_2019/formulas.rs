//! Figures 4.1, 5.1, 5.2, 6.1 and table 5.1: formulas, beside what is true.

use crate::Table;
use crate::error::Result;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Setting, Study,
};
use dp_core::calibrate::Acceptance;
use dp_core::mechanism::Mechanism;
use dp_core::{Budget, Delta, Epsilon};
use sketch::sets::{NoisySecureMinHash, PrivMin, SetNeighbours, published_sensitivity};

pub(super) const BUDGET: Study = Study {
    id: "bourgeat-schmurr-2019/fig4-1-minhash-budget",
    title: "What MinHash without noise is claimed to protect, and what it does",
    reference: "Bourgeat and Schmurr 2019, theorem 4.1 and figure 4.1",
    run: budget,
};

pub(super) const OUTPUT: Study = Study {
    id: "bourgeat-schmurr-2019/fig5-output-probabilities",
    title: "Output probabilities of PrivMin and of Bucket PrivMin; the shrunk range",
    reference: "Bourgeat and Schmurr 2019, figures 5.1 and 5.2, table 5.1",
    run: output,
};

pub(super) const SENSITIVITY: Study = Study {
    id: "bourgeat-schmurr-2019/fig6-1-sensitivity",
    title: "Published sensitivity of Noisy Secure MinHash, its true tail and its true delta",
    reference: "Bourgeat and Schmurr 2019, section 6.2.1 and figure 6.1",
    run: sensitivity,
};

fn panel(title: &str, x: Axis, y: Axis, curves: Vec<Curve>) -> Panel {
    Panel { title: title.into(), x, y, curves }
}

fn curve(label: String, mechanism: &str, points: Vec<Point>) -> Curve {
    let origin = Origin { k: Setting::AxisX, ..Origin::formula(mechanism) };
    Curve { label, points, origin }
}

fn single(name: &str, caption: &str, panels: Vec<Panel>) -> Figure {
    let columns = panels.len().min(2);
    Figure { name: name.into(), caption: caption.into(), panels, columns }
}

fn budget(context: &Context<'_>) -> Result<Report> {
    context.progress.begin(1);
    let sizes = [10.0, 50.0, 100.0, 500.0];
    let slots = || (1..=50).map(|i| f64::from(4 * i));
    let lines = |what: &str, f: &dyn Fn(f64, f64) -> f64| -> Vec<Curve> {
        let of = |&tau: &f64| {
            let points = slots().map(|k| Point::exact(k, f(k, tau))).collect();
            curve(format!("tau = {tau}"), what, points)
        };
        sizes.iter().map(of).collect()
    };
    // An added item takes a slot with probability 1/(tau + 1), and is then seen for certain.
    let truth = |k: f64, tau: f64| -(k * (-1.0 / (tau + 1.0)).ln_1p()).exp_m1();
    let claimed = |k: f64, tau: f64| -(-k / tau).exp_m1();
    let mut report = Report::default();
    let k = Axis::linear("slots K");
    let panels = vec![
        panel(
            "claimed epsilon",
            k.clone(),
            Axis::log("epsilon"),
            lines("theorem 4.1", &|k, t| k / t),
        ),
        panel("claimed delta", k.clone(), Axis::linear("delta"), lines("theorem 4.1", &claimed)),
        panel(
            "true delta, at every epsilon",
            k,
            Axis::linear("delta"),
            lines("1 - (tau/(tau+1))^K: some slot differs", &truth),
        ),
    ];
    let caption = "MinHash alone: a slot that differs tells the sets apart for certain, so no epsilon lowers the true delta.";
    report.figures.push(single("fig4-1", caption, panels));
    let worst = slots()
        .flat_map(|k| sizes.map(|tau| truth(k, tau) - claimed(k, tau)))
        .fold(f64::NEG_INFINITY, f64::max);
    report
        .claim(
            "the true delta (sets of tau items, one added) is never above the claimed one",
            worst <= 0.0,
            format!("largest difference {worst:.2e}"),
        )
        .of("theorem 4.1, figure 4.1")
        .formula();
    report.claim(
        "smaller sets are protected less: at K = 100 delta is above 0.6 for tau = 100 and near 1 for tau = 10",
        truth(100.0, 100.0) > 0.6 && truth(100.0, 10.0) > 0.999,
        format!("{:.3} and {:.5}", truth(100.0, 100.0), truth(100.0, 10.0)),
    ).of("theorem 4.1, figure 4.1").formula();
    context.progress.step();
    Ok(report)
}

fn output(context: &Context<'_>) -> Result<Report> {
    context.progress.begin(2);
    let mut report = Report::default();
    // Figure 5.1: without the shrinkage (average size 2 leaves the whole range).
    let exponential = |values: usize, slots: usize, epsilon: f64| -> Result<Vec<f64>> {
        let mechanism = PrivMin::published(slots, 2.0, Epsilon::new(epsilon)?)?;
        Ok(mechanism.probabilities(values))
    };
    let mut curves = Vec::new();
    for (values, slots, epsilon) in [(20, 1, 1.0), (20, 10, 1.0), (50, 1, 1.0), (20, 1, 0.1)] {
        let probabilities = exponential(values, slots, epsilon)?;
        let points =
            probabilities.iter().enumerate().map(|(r, &p)| Point::exact(r as f64 + 1.0, p));
        let label = format!("|X| = {values}, K = {slots}, epsilon = {epsilon}");
        curves.push(curve(label, "exponential mechanism over ranks", points.collect()));
    }
    let x = Axis::linear("rank of the hash value");
    let panels = vec![panel("PrivMin", x, Axis::log("output probability"), curves)];
    let caption = "How likely PrivMin answers with each hash value, smallest first, before its range is shrunk.";
    report.figures.push(single("fig5-1", caption, panels));
    context.progress.step();

    // Figure 5.2.
    let keep = |b: f64, e: f64| e.exp() / (e.exp() + b - 1.0);
    let curves = [0.1, 0.5, 1.0, 2.0, 5.0].map(|e| {
        let points = (2..=50).map(|b| Point::exact(f64::from(b), keep(f64::from(b), e))).collect();
        curve(format!("epsilon/K = {e}"), "k-ary response", points)
    });
    let panels =
        vec![panel("", Axis::linear("buckets B"), Axis::linear("probability"), curves.into())];
    report.figures.push(single(
        "fig5-2",
        "How likely Bucket PrivMin answers with the true bucket.",
        panels,
    ));

    let mut table = Table::new(
        "table5-1",
        "Hash values left by PrivMin's shrinkage, for sets of |X| items (average size |X|).",
        &["|X|", "0.1", "0.5", "1", "2", "5"],
    );
    let printed = [
        (10, [8.51, 4.47, 2.00, 0.40, 0.00]),
        (20, [15.88, 6.32, 2.00, 0.20, 0.00]),
        (50, [36.23, 9.99, 2.00, 0.08, 0.00]),
        (100, [67.61, 14.12, 2.00, 0.04, 0.00]),
    ];
    let mut worst = 0.0f64;
    for (size, row) in printed {
        let mut cells = vec![size.to_string()];
        for (epsilon, printed) in [0.1, 0.5, 1.0, 2.0, 5.0].into_iter().zip(row) {
            let found = PrivMin::published(1, size as f64, Epsilon::new(epsilon)?)?.range(size);
            worst = worst.max((found - printed).abs());
            cells.push(format!("{found:.2}"));
        }
        table.row(cells);
    }
    report.tables.push(table);
    report
        .claim(
            "table 5.1 as printed (within 0.011)",
            worst < 0.011,
            format!("largest difference {worst:.4}"),
        )
        .of("table 5.1")
        .formula();
    let least = PrivMin::published(100, 100.0, Epsilon::new(1.2)?)?.probabilities(100).len();
    report
        .claim(
            "from epsilon 1.2 on only the true minimum is left: PrivMin is MinHash without noise",
            least == 1,
            format!("{least} candidate of 100"),
        )
        .of("table 5.1, section 5.1")
        .formula();
    let flat = exponential(50, 100, 1.0)?;
    report.claim(
        "with K = 100 and epsilon 1 the minimum is hardly likelier than the last of 50 values (under 1.3 times)",
        flat[0] / flat[49] < 1.3,
        format!("{:.3} times", flat[0] / flat[49]),
    ).of("figure 5.1").formula();
    report
        .claim(
            "the true bucket's probability falls with the number of buckets",
            keep(2.0, 1.0) > keep(3.0, 1.0) && keep(10.0, 1.0) < 0.25,
            format!("{:.2} of 2, {:.2} of 10 at epsilon/K = 1", keep(2.0, 1.0), keep(10.0, 1.0)),
        )
        .of("figure 5.2")
        .formula();
    context.progress.step();
    Ok(report)
}

fn sensitivity(context: &Context<'_>) -> Result<Report> {
    context.progress.begin(1);
    let mut report = Report::default();
    let neighbours = SetNeighbours::new(1, 100)?;
    let deltas = [1e-2, 1e-3, 1e-4, 1e-6];
    let lengths = || (1..=50).map(|i| 10 * i);
    let mut curves = [vec![], vec![]];
    for delta in deltas {
        let label = format!("delta = {delta:.0e}");
        let (mut bound, mut tail) = (vec![], vec![]);
        for l in lengths() {
            let claimed = Budget::new(1.0, delta)?;
            let rule = NoisySecureMinHash::published(
                l,
                1,
                neighbours,
                claimed,
                Acceptance::AcceptTrueDelta,
            )?;
            bound.push(Point::exact(l as f64, rule.sensitivity()));
            tail.push(Point::exact(l as f64, rule.tail()? / delta));
        }
        curves[0].push(curve(label.clone(), "equation 6.12, K = 1", bound));
        curves[1].push(curve(label, "exact binomial tail over claimed delta", tail));
    }
    let [bound, tail] = curves;
    let l = Axis::linear("length L");
    let panels = vec![
        panel("published sensitivity", l.clone(), Axis::linear("bits"), bound),
        panel("true tail / claimed delta", l, Axis::log("ratio"), tail),
    ];
    let caption = "alpha = 1, tau = 100. Right: above 1 more bits differ than the sensitivity allows, more often than delta.";
    report.figures.push(single("fig6-1", caption, panels));

    let mut table = Table::new(
        "true-delta",
        "What the published noise really gives (L = 100, K = 1, alpha = 1, tau = 100, claimed delta 1e-4).",
        &["epsilon", "tail", "true delta (upper bound)"],
    );
    let mut truth = vec![];
    for epsilon in [1.0, 4.0, 16.0, 64.0, 200.0] {
        let claimed = Budget::new(epsilon, 1e-4)?;
        let rule = NoisySecureMinHash::published(
            100,
            1,
            neighbours,
            claimed,
            Acceptance::AcceptTrueDelta,
        )?;
        let delta = rule.guarantee().true_delta().expect("it has a profile").delta();
        let tail = rule.tail()?;
        table.row([format!("{epsilon}"), format!("{tail:.3e}"), format!("{delta:.3e}")]);
        truth.push((epsilon, tail, delta));
    }
    report.tables.push(table);
    let beta = published_sensitivity(100, 1, neighbours, Delta::new(1e-4)?)? / 0.5 - 1.0;
    report
        .claim(
            "at L = 100, tau = 100, delta 1e-4 the Chernoff form is used far outside beta <= 1",
            (beta - 7.43).abs() < 0.01,
            format!("beta = {beta:.2}"),
        )
        .of("figure 6.1, equation 6.12")
        .formula();
    let tail = truth[0].1;
    report
        .claim(
            "there the published sensitivity is passed with a probability above the claimed delta",
            tail > 1e-4 && tail < 2e-4,
            format!("{tail:.3e} at the true similarity tau/(tau+1)"),
        )
        .of("figure 6.1, equation 6.12")
        .formula();
    report.claim(
        "the claim of the whole rule fails at large epsilon only: true delta below 1e-4 at 1, above at 200",
        truth[0].2 < 1e-4 && truth[4].2 > 1e-4,
        format!("{:.2e} and {:.2e}", truth[0].2, truth[4].2),
    ).of("equation 6.12").formula();
    let grows = published_sensitivity(500, 1, neighbours, Delta::new(1e-4)?)?
        / published_sensitivity(100, 1, neighbours, Delta::new(1e-4)?)?;
    report.claim(
        "the published sensitivity grows slower than the length (5 times the length: under 3 times)",
        grows < 3.0,
        format!("{grows:.2} times"),
    ).of("figure 6.1").formula();
    context.progress.step();
    Ok(report)
}
