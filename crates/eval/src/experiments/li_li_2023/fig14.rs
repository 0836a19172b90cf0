//! Figure 14: linear classification by the signs of DP-SignOPORP.

use super::classify::{ACCURACY, Judged, Method, Needs, Plan, Text, Trial, measure};
use super::fig12::OPORP;
use super::probe::{self, Law};
use super::sign_search::{oporp_signs, single};
use super::standing::{claim_above_chance, claim_ahead, claim_not_behind, leads, table};
use crate::error::Result;
use crate::framework::{Context, Report, Study, sabotage};
use sketch::projection::Family;
use sketch::signs::FlipRule;

pub(super) const STUDY: Study = Study {
    id: "li-li-2023/fig14-sign-svm",
    title: "Linear support vector machine on private signs of sparse text",
    reference: "Li and Li 2023, section 5.3, figure 14, with optimal flips added (package synopses, \
                or WEBSPAM from --data)",
    run,
};

fn signs(trial: &Trial<'_>, rule: FlipRule, t: usize) -> Result<Judged> {
    let seed = trial.context.public_seed("projection", trial.repetition);
    let signs = oporp_signs((trial.rows.d(), trial.k), seed, rule, t, trial.budget)?;
    let mut rng = trial.context.noise(&trial.noise, trial.repetition);
    let release = sabotage::with_rows(trial.rows, |rows| Ok(signs.release(rows, &mut rng)?))?;
    trial.judge_signs(release.payload().bits(), signs.flips().keep().get())
}

/// Signs without privacy; those of empty bins are all equal.
pub(super) fn bare(trial: &Trial<'_>, family: Family) -> Result<Judged> {
    let seed = trial.context.public_seed("projection", trial.repetition);
    let sketch = single(trial.projections, family, (trial.rows.d(), trial.k), seed)?;
    trial.judge_signs(sketch.simhash(trial.rows)?.payload().bits(), 0.0)
}

const fn private(label: &'static str, judge: fn(&Trial<'_>) -> Result<Judged>) -> Method {
    let mechanism = "signs of OPORP (t of them with k/t bins and epsilon/t each), pure, beta = 1";
    Method { label, mechanism, needs: Needs::Both, judge }
}

pub(super) const BARE: Method = Method {
    label: "SignOPORP, not private",
    mechanism: "signs of OPORP, no privacy",
    needs: Needs::Size,
    judge: |trial| bare(trial, Family::Oporp),
};
pub(super) const RESPONSE: Method =
    private("DP-SignOPORP-RR, t = 1", |trial| signs(trial, FlipRule::RandomizedResponse, 1));
pub(super) const SMOOTH: Method =
    private("DP-SignOPORP-RR-smooth, t = 1", |trial| signs(trial, FlipRule::PublishedSmooth, 1));
pub(super) const OPTIMAL: Method =
    private("DP-SignOPORP, optimal flips, t = 1", |trial| signs(trial, FlipRule::OptimalSmooth, 1));
pub(super) const RESPONSE_4: Method =
    private("DP-SignOPORP-RR, t = 4", |trial| signs(trial, FlipRule::RandomizedResponse, 4));
pub(super) const SMOOTH_4: Method =
    private("DP-SignOPORP-RR-smooth, t = 4", |trial| signs(trial, FlipRule::PublishedSmooth, 4));
pub(super) const OPTIMAL_4: Method =
    private("DP-SignOPORP, optimal flips, t = 4", |trial| signs(trial, FlipRule::OptimalSmooth, 4));
const METHODS: [Method; 8] =
    [BARE, OPORP, RESPONSE, SMOOTH, OPTIMAL, RESPONSE_4, SMOOTH_4, OPTIMAL_4];

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let plan = Plan {
        name: "svm",
        text: Text::Given,
        methods: &METHODS,
        sizes: context.pick(&[64, 256], &[64, 256, 1024]),
        epsilons: context.pick(&[1.0, 2.0, 5.0, 10.0, 20.0], &[1.0, 2.0, 5.0, 10.0, 20.0]),
        delta: 1e-6,
        repetitions: 10,
        rows: context.pick(2000, 4000),
    };
    let cells = measure(context, &plan, &mut report)?;
    report.note("DP-OPORP has delta = 1e-6; all sign methods are pure (delta = 0).");
    let names: Vec<_> = METHODS[2..].iter().map(|m| m.label).collect();
    report.tables.push(table("signs-against-oporp", &cells, &names, OPORP.label));
    for (ours, theirs) in [(SMOOTH, RESPONSE), (OPTIMAL, SMOOTH), (OPTIMAL_4, SMOOTH_4)] {
        let text = format!("{} is not behind {}", ours.label, theirs.label);
        claim_not_behind(&mut report, &text, &leads(&cells, ours.label, theirs.label))
            .of("figure 14");
    }
    let text = "smooth flips are ahead of randomised response (t = 4)";
    claim_ahead(&mut report, text, &leads(&cells, SMOOTH_4.label, RESPONSE_4.label))
        .of("figure 14, section 5.3: the advantage of the smooth flipping probability");
    let text = "signs with optimal flips (t = 1) are more accurate than DP-OPORP at epsilon 1 to 5";
    let by = |from: f64, to: f64| {
        let mut some = leads(&cells, OPTIMAL.label, OPORP.label);
        some.retain(|l| (from..=to).contains(&l.epsilon));
        some
    };
    claim_ahead(&mut report, text, &by(1.0, 5.0)).of("figure 14");
    let text = "signs with optimal flips (t = 1) are not behind DP-OPORP at epsilon 10 and 20";
    let late = by(10.0, 20.0);
    let mean = late.iter().map(|l| l.mean).sum::<f64>() / late.len() as f64;
    claim_not_behind(&mut report, text, &late)
        .of("figure 14: the advantage of DP-SignOPORP over DP-OPORP")
        .fails_because(
            "on this text a sign keeps less than the number does once the noise is small (behind by up to 0.08 on average)",
            mean > -0.08,
        );
    report.notes.insert(
        0,
        format!("On this text signs lose to DP-OPORP at epsilon 10 and 20: mean lead {mean:.4}."),
    );
    claim_above_chance(&mut report, &cells, OPTIMAL.label, ACCURACY, 20.0, 0.75).of("figure 14");
    let at_five = |label: &str| {
        let mine = |c: &&super::standing::Cell| c.label == label && c.epsilon == 5.0 && c.k == 256;
        cells.iter().find(mine).map_or(f64::NAN, |c| crate::metrics::mean_and_error(&c.samples).0)
    };
    let accuracy = at_five(SMOOTH.label).max(at_five(SMOOTH_4.label));
    report
        .claim(
            "the paper's DP-SignOPORP reaches 0.95 where Raw-data-G-OPT is near 0.6 (here: epsilon 5, k = 256)",
            accuracy >= 0.95,
            format!("accuracy {accuracy:.3}; Raw-data-G-OPT is in figure 12"),
        )
        .of("figure 14, section 5.3: 95 % against around 60 %")
        .fails_because(
            "package synopses stand in for WEBSPAM: a few thousand features instead of 250,000, and without any privacy the \
             signs reach 0.95 only just (with it, 0.75 or more)",
            accuracy >= 0.75,
        );
    let laws = [
        (&RESPONSE, Law::Response(1)),
        (&SMOOTH, Law::Smooth(1)),
        (&OPTIMAL, Law::Optimal(1)),
        (&RESPONSE_4, Law::Response(4)),
        (&OPTIMAL_4, Law::Optimal(4)),
        (&OPORP, Law::Gaussian(Family::Oporp)),
    ];
    probe::classifiers(context, &mut report, &laws)?;
    Ok(report)
}
