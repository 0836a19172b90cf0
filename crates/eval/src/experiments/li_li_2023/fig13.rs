//! Figure 13: retrieval with DP-SignOPORP.

use super::probe::{self, Law};
use super::retrieval::{Method, OPORP, PRECISION, Plan, measure};
use super::sign_search::{OPTIMAL, OPTIMAL_4, RESPONSE, RESPONSE_4, SMOOTH, SMOOTH_4};
use super::standing::{
    Cell, Lead, claim_above_chance, claim_ahead, claim_not_behind, leads, least, table,
};
use crate::error::Result;
use crate::framework::sabotage::ANSWERS;
use crate::framework::{Context, Report, Sabotage, Study};
use sketch::projection::Family;

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
    let plan = Plan::images(context, &points, (&METHODS, &EPSILONS), (60, 1200));
    let series = measure(context, &points, &plan, &mut report)?;
    report.note("DP-OPORP has delta = 1e-6; all sign methods are pure (delta = 0).");
    let cells: Vec<_> = series.iter().flat_map(|s| s.cells(plan.epsilons)).collect();
    claims(&cells, &mut report);
    let laws = [
        (&RESPONSE, Law::Response(1)),
        (&SMOOTH, Law::Smooth(1)),
        (&OPTIMAL, Law::Optimal(1)),
        (&RESPONSE_4, Law::Response(4)),
        (&SMOOTH_4, Law::Smooth(4)),
        (&OPTIMAL_4, Law::Optimal(4)),
        (&OPORP, Law::Gaussian(Family::Oporp)),
    ];
    probe::searches(context, &mut report, &laws)?;
    Ok(report)
}

/// Says at which epsilon each sign method beats real-valued sketches, k by k and t by t.
fn claims(cells: &[Cell], report: &mut Report) {
    let names: Vec<_> = METHODS[1..].iter().map(|m| m.label).collect();
    report.tables.push(table("signs-against-oporp", cells, &names, OPORP.label));
    for (ours, theirs) in [(SMOOTH, RESPONSE), (OPTIMAL, SMOOTH)] {
        let text = format!("{} is not behind {}", ours.label, theirs.label);
        claim_not_behind(report, &text, &leads(cells, ours.label, theirs.label)).of("figure 13");
    }
    let text = "smooth flips are ahead of randomised response (t = 4)";
    claim_ahead(report, text, &leads(cells, SMOOTH_4.label, RESPONSE_4.label)).of(
        "figure 13, section 5.3 (i): smooth flipping considerably improves randomised response",
    );
    let text = "optimal flips are ahead of the published smooth ones (t = 4)";
    claim_ahead(report, text, &leads(cells, OPTIMAL_4.label, SMOOTH_4.label))
        .of("ours, beside figure 13")
        .catches(&[Sabotage::OptimalAsPublished]);
    let mut paper = leads(cells, SMOOTH_4.label, OPORP.label);
    paper.retain(|l| l.epsilon <= 10.0);
    let text =
        "the paper's own DP-SignOPORP-RR-smooth (t = 4) is ahead of DP-OPORP up to epsilon 10";
    claim_ahead(report, text, &paper).of("figure 13, section 5.3 (ii)");
    claim_above_chance(report, cells, OPTIMAL_4.label, PRECISION, 20.0, 0.5).of("figure 13");
    claim_above_chance(report, cells, RESPONSE_4.label, PRECISION, 20.0, 0.5).of("figure 13");
    for (method, epsilons) in [(OPTIMAL, [1.0, 2.0, 3.0]), (OPTIMAL_4, [5.0, 7.0, 10.0])] {
        let mut mine = leads(cells, method.label, OPORP.label);
        mine.retain(|l| epsilons.contains(&l.epsilon));
        report
            .claim(
                format!(
                    "{} (pure) is ahead of DP-OPORP (delta 1e-6) by more than 3 standard errors at \
                 epsilon {epsilons:?}, k = 256 and 512, in precision and recall",
                    method.label
                ),
                mine.len() == 12 && mine.iter().all(Lead::is_ahead),
                format!("smallest lead {}", least(&mine)),
            )
            .of("ours, beside figure 13")
            .catches(&ANSWERS)
            .catches(&[Sabotage::NoNoise]);
    }
    let mut large = leads(cells, OPORP.label, OPTIMAL_4.label);
    large.retain(|l| l.epsilon == 20.0);
    claim_ahead(report, "DP-OPORP is ahead of optimal flips (t = 4) at epsilon 20", &large)
        .of("figure 13");
    let mut late = leads(cells, OPTIMAL.label, OPTIMAL_4.label);
    let early: Vec<_> = late.extract_if(.., |l| l.epsilon <= 2.0).collect();
    late.retain(|l| l.epsilon >= 7.0);
    late.iter_mut().for_each(|l| l.mean = -l.mean);
    const FEWER: &str = "figure 13: fewer repetitions where epsilon is small";
    claim_ahead(report, "one repetition is better at epsilon up to 2 (optimal flips)", &early)
        .of(FEWER);
    claim_ahead(report, "four repetitions are better from epsilon 7 on (optimal flips)", &late)
        .of(FEWER);
}
