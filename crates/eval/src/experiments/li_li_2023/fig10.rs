//! Figure 10: retrieval on digits.

use super::retrieval::{Method, OPORP, Plan, RADEMACHER, RAW, Series, measure};
use crate::error::Result;
use crate::framework::{Context, Report, Study};

pub(super) const STUDY: Study = Study {
    id: "li-li-2023/fig10-retrieval",
    title: "Private search by cosine on handwritten digits: precision and recall against epsilon",
    reference: "Li and Li 2023, section 5.1, figure 10",
    run,
};

const METHODS: [Method; 3] = [RAW, RADEMACHER, OPORP];
const EPSILONS: [f64; 8] = [0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0];

fn run(context: &Context<'_>) -> Result<Report> {
    let points = context.images()?;
    let mut report = Report::default();
    let queries = context.pick(200, 1000).min(points.n() / 2);
    let rest = points.n() - queries;
    let plan = Plan {
        methods: &METHODS,
        sizes: &[256, 512],
        epsilons: &EPSILONS,
        delta: 1e-6,
        repetitions: context.pick(3, 10),
        queries,
        database: Some(context.pick(4800.min(rest), rest)),
    };
    let series = measure(context, &points, &plan, &mut report)?;
    claims(&series, &plan, &mut report);
    Ok(report)
}

fn of<'a>(series: &'a [Series], label: &str) -> impl Iterator<Item = &'a Series> {
    let label = label.to_owned();
    series.iter().filter(move |s| s.label == label)
}

fn claims(series: &[Series], plan: &Plan<'_>, report: &mut Report) {
    // Largest distance, in points of precision or recall, beyond four standard errors.
    let mut worst = 0.0f64;
    let mut together = true;
    for (b, o) in of(series, RADEMACHER.label).zip(of(series, OPORP.label)) {
        for ((b, b_error), (o, o_error)) in b.means().zip(o.means()) {
            worst = worst.max((b - o).abs());
            together &= (b - o).abs() <= (4.0 * b_error.hypot(o_error)).max(0.03);
        }
    }
    report.claim(
        "DP-OPORP and DP-RP-G-OPT-B lie together (everywhere within 4 standard errors or 0.03)",
        together,
        format!("largest difference {worst:.4}"),
    );
    let mut least = f64::INFINITY;
    let mut above = true;
    for method in [RADEMACHER.label, OPORP.label] {
        for (ours, raw) in of(series, method).zip(of(series, RAW.label)) {
            let epsilons = plan.epsilons.iter().cycle();
            for (((ours, error), (raw, raw_error)), &epsilon) in
                ours.means().zip(raw.means()).zip(epsilons)
            {
                if epsilon >= 5.0 {
                    least = least.min(ours - raw);
                    above &= ours - raw > error.hypot(raw_error);
                }
            }
        }
    }
    report.claim(
        "both lie above Raw-data-G-OPT from epsilon 5 on, beyond the error bars",
        above,
        format!("smallest lead {least:.4}"),
    );
}
