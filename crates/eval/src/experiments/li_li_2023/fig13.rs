//! Figure 13: retrieval with DP-SignOPORP.

use super::retrieval::{Method, OPORP, Plan, Series, measure};
use super::sign_search::{OPTIMAL, OPTIMAL_4, RESPONSE, RESPONSE_4, SMOOTH, SMOOTH_4};
use crate::error::Result;
use crate::framework::{Context, Report, Study, Table};

pub(super) const STUDY: Study = Study {
    id: "li-li-2023/fig13-sign-retrieval",
    title: "Private search by signs on handwritten digits: precision and recall against epsilon",
    reference: "Li and Li 2023, section 5.3, figure 13, with optimal flips added",
    run,
};

const METHODS: [Method; 7] = [OPORP, RESPONSE, SMOOTH, OPTIMAL, RESPONSE_4, SMOOTH_4, OPTIMAL_4];
const EPSILONS: [f64; 7] = [1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0];

fn run(context: &Context<'_>) -> Result<Report> {
    let points = context.images()?;
    let mut report = Report::default();
    let queries = context.pick(150, 1000).min(points.n() / 2);
    let rest = points.n() - queries;
    let plan = Plan {
        methods: &METHODS,
        sizes: &[256, 512],
        epsilons: &EPSILONS,
        delta: 1e-6,
        repetitions: context.pick(2, 10),
        queries,
        database: Some(context.pick(4800.min(rest), rest)),
    };
    let series = measure(context, &points, &plan, &mut report)?;
    report.note("DP-OPORP has delta = 1e-6; all sign methods are pure (delta = 0).");
    lead_table(&series, &plan, &mut report);
    claims(&series, &plan, &mut report);
    Ok(report)
}

fn find<'a>(series: &'a [Series], method: &Method, k: usize) -> &'a Series {
    let mine = |s: &&Series| s.label == method.label && s.k == k;
    series.iter().find(mine).expect("measured")
}

/// Says at which epsilon signs beat real-valued sketches.
fn lead_table(series: &[Series], plan: &Plan<'_>, report: &mut Report) {
    let columns =
        ["k", "measure", "epsilon", "DP-OPORP", "best sign method", "its value", "winner"];
    let caption = "The best sign method against DP-OPORP; a winner leads by two standard errors.";
    let mut table = Table::new("signs-against-oporp", caption, &columns);
    for &k in plan.sizes {
        let oporp: Vec<_> = find(series, &OPORP, k).means().collect();
        for (at, &(value, error)) in oporp.iter().enumerate() {
            let epsilon = plan.epsilons[at % plan.epsilons.len()];
            let measure = ["precision at 10", "recall at 100"][at / plan.epsilons.len()];
            let (label, (best, best_error)) = METHODS[1..]
                .iter()
                .map(|m| (m.label, find(series, m, k).means().nth(at).expect("measured")))
                .max_by(|a, b| a.1.0.total_cmp(&b.1.0))
                .expect("sign methods");
            let beyond = 2.0 * error.hypot(best_error);
            let winner = match best - value {
                lead if lead > beyond => "signs",
                lead if lead < -beyond => "DP-OPORP",
                _ => "neither",
            };
            table.row([
                k.to_string(),
                measure.into(),
                epsilon.to_string(),
                format!("{value:.3}"),
                label.into(),
                format!("{best:.3}"),
                winner.into(),
            ]);
        }
    }
    report.tables.push(table);
}

/// Smallest and mean lead of one method over another, over all k, measures and epsilons.
fn leads(series: &[Series], plan: &Plan<'_>, ours: &Method, theirs: &Method) -> (f64, f64, bool) {
    let (mut least, mut sum, mut count, mut never_behind) = (f64::INFINITY, 0.0, 0.0, true);
    for &k in plan.sizes {
        let pairs = find(series, ours, k).means().zip(find(series, theirs, k).means());
        for ((a, a_error), (b, b_error)) in pairs {
            least = least.min(a - b);
            sum += a - b;
            count += 1.0;
            never_behind &= a - b > -(4.0 * a_error.hypot(b_error)).max(0.01);
        }
    }
    (least, sum / count, never_behind)
}

fn claims(series: &[Series], plan: &Plan<'_>, report: &mut Report) {
    for (ours, theirs, text) in [
        (SMOOTH, RESPONSE, "smooth flips beat randomised response on average (t = 1)"),
        (SMOOTH_4, RESPONSE_4, "smooth flips beat randomised response on average (t = 4)"),
        (OPTIMAL, SMOOTH, "optimal flips beat the published smooth ones on average (t = 1)"),
        (OPTIMAL_4, SMOOTH_4, "optimal flips beat the published smooth ones on average (t = 4)"),
    ] {
        let (least, mean, never_behind) = leads(series, plan, &ours, &theirs);
        report.claim(
            format!("{text} and are nowhere behind beyond 4 standard errors or 0.01"),
            mean > 0.0 && never_behind,
            format!("mean lead {mean:.4}, smallest {least:.4}"),
        );
    }
    let at = |method: &Method, k, epsilon: f64| {
        let i = plan.epsilons.iter().position(|&e| e == epsilon).expect("measured");
        find(series, method, k).means().nth(i).expect("measured").0
    };
    let leads: Vec<f64> = plan
        .sizes
        .iter()
        .flat_map(|&k| [1.0, 2.0, 3.0, 5.0].map(|e| at(&OPTIMAL, k, e) - at(&OPORP, k, e)))
        .collect();
    let least = leads.iter().copied().fold(f64::INFINITY, f64::min);
    report.claim(
        "signs with optimal flips have a higher precision than DP-OPORP at epsilon 1 to 5, \
         although they are pure",
        least > 0.0,
        format!("smallest lead {least:.4}"),
    );
}
