//! Figure 15: retrieval under individual differential privacy.

use super::probe::{self, Law};
use super::retrieval::{Method, PRECISION, Plan, measure};
use super::sign_search::{EXACT, INDIVIDUAL_G, INDIVIDUAL_OPORP, INDIVIDUAL_RR, OPTIMAL};
use super::standing::claim_above_chance;
use crate::error::Result;
use crate::framework::sabotage::ANSWERS;
use crate::framework::{Context, Report, Sabotage, Study};

pub(super) const STUDY: Study = Study {
    id: "li-li-2023/fig15-individual-retrieval",
    title: "Search by signs under individual (not differential) privacy: precision and recall",
    reference: "Li and Li 2023, section 6.3, figure 15, with optimal flips added",
    run,
};

const METHODS: [Method; 5] = [EXACT, INDIVIDUAL_G, INDIVIDUAL_RR, INDIVIDUAL_OPORP, OPTIMAL];
const EPSILONS: [f64; 6] = [0.1, 0.5, 1.0, 5.0, 10.0, 20.0];

fn run(context: &Context<'_>) -> Result<Report> {
    let points = context.images()?;
    let mut report = Report::default();
    let plan = Plan::images(context, &points, (&METHODS, &EPSILONS), (60, 1200));
    let series = measure(context, &points, &plan, &mut report)?;
    report.note(
        "Individual privacy hides the neighbours of the one data set that is released; it is not \
         differential privacy and does not compose with it. Its noise scales depend on the data \
         and are not reported.",
    );
    let (mut worst, mut flat, mut oporp) = (0.0f64, 0.0f64, f64::INFINITY);
    // At the largest k, the last.
    let mut least = f64::INFINITY;
    for &k in plan.sizes {
        let of = |method: &Method| -> Vec<f64> {
            let mine = series.iter().find(|s| s.label == method.label && s.k == k);
            mine.expect("measured").means().map(|m| m.0).collect()
        };
        let exact = of(&EXACT);
        for method in [&INDIVIDUAL_G, &INDIVIDUAL_RR] {
            let values = of(method);
            let lost = |i: usize| exact[i] - values[i];
            worst = (0..exact.len()).map(lost).fold(worst, f64::max);
            let half = EPSILONS.len();
            flat = flat.max((values[half - 1] - values[0]).abs());
            if Some(&k) == plan.sizes.last() {
                least = values[..half].iter().copied().fold(least, f64::min);
            }
        }
        let (rp, bins) = (of(&INDIVIDUAL_RR), of(&INDIVIDUAL_OPORP));
        // At epsilon 1.
        oporp = oporp.min(rp[2] - bins[2]);
    }
    report.claim(
        "iDP-SignRP stays within 0.05 of exact signs, in precision and recall, at every epsilon",
        worst < 0.05,
        format!("largest loss {worst:.4}"),
    )
    .of("figure 15")
    .catches(&[Sabotage::DataIgnored]);
    report
        .claim(
            "its curves are almost flat, and high: precision at epsilon 0.1 and 20 differs by less than 0.05, and is nowhere \
             below 0.5 at the largest k",
            flat < 0.05 && least > 0.5,
            format!("largest difference {flat:.4}, least precision {least:.3}"),
        )
        .of("figure 15, section 6.3: almost flat")
        .catches(&ANSWERS);
    report
        .claim(
            "iDP-SignOPORP is worse than iDP-SignRP at epsilon 1",
            oporp > 0.0,
            format!("smallest lead in precision {oporp:.4}"),
        )
        .of("figure 15, section 6.2: iDP-SignOPORP is considerably worse")
        .catches(&[Sabotage::OtherFamily]);
    let cells: Vec<_> = series.iter().flat_map(|s| s.cells(plan.epsilons)).collect();
    for method in [&INDIVIDUAL_G, &INDIVIDUAL_RR] {
        claim_above_chance(&mut report, &cells, method.label, PRECISION, 1.0, 0.5)
            .of("figure 15, section 6.3: very high utility even at small epsilon");
    }
    let laws = [(&INDIVIDUAL_RR, Law::Individual), (&OPTIMAL, Law::Optimal(1))];
    probe::searches(context, &mut report, &laws)?;
    Ok(report)
}
