//! Figure 14: linear classification by the signs of DP-SignOPORP.

use super::classify::{Judged, Method, Needs, Plan, Trial, measure};
use super::fig12::OPORP;
use super::sign_search::oporp_signs;
use super::standing::{claim_ahead, claim_not_behind, leads, table};
use crate::error::Result;
use crate::framework::{Context, Report, Study};
use sketch::projection::Family;
use sketch::signs::{FlipRule, SignSketch};

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
    let release = signs.release(trial.rows, &mut rng)?;
    trial.judge_signs(release.payload().bits(), signs.flips().keep().get())
}

/// Signs without privacy; those of empty bins are all equal.
pub(super) fn bare(trial: &Trial<'_>, family: Family) -> Result<Judged> {
    let seed = trial.context.public_seed("projection", trial.repetition);
    let sketch = SignSketch::single(family, trial.rows.d(), trial.k, seed)?;
    trial.judge_signs(sketch.simhash(trial.rows)?.payload().bits(), 0.0)
}

const fn private(label: &'static str, judge: fn(&Trial<'_>) -> Result<Judged>) -> Method {
    let mechanism = "signs of OPORP (t of them with k/t bins and epsilon/t each), pure, beta = 1";
    Method { label, mechanism, needs: Needs::Both, judge }
}

const BARE: Method = Method {
    label: "SignOPORP, not private",
    mechanism: "signs of OPORP, no privacy",
    needs: Needs::Size,
    judge: |trial| bare(trial, Family::Oporp),
};
const RESPONSE: Method =
    private("DP-SignOPORP-RR, t = 1", |trial| signs(trial, FlipRule::RandomizedResponse, 1));
const SMOOTH: Method =
    private("DP-SignOPORP-RR-smooth, t = 1", |trial| signs(trial, FlipRule::PublishedSmooth, 1));
pub(super) const OPTIMAL: Method =
    private("DP-SignOPORP, optimal flips, t = 1", |trial| signs(trial, FlipRule::OptimalSmooth, 1));
const RESPONSE_4: Method =
    private("DP-SignOPORP-RR, t = 4", |trial| signs(trial, FlipRule::RandomizedResponse, 4));
const SMOOTH_4: Method =
    private("DP-SignOPORP-RR-smooth, t = 4", |trial| signs(trial, FlipRule::PublishedSmooth, 4));
const OPTIMAL_4: Method =
    private("DP-SignOPORP, optimal flips, t = 4", |trial| signs(trial, FlipRule::OptimalSmooth, 4));
const METHODS: [Method; 8] =
    [BARE, OPORP, RESPONSE, SMOOTH, OPTIMAL, RESPONSE_4, SMOOTH_4, OPTIMAL_4];

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let plan = Plan {
        methods: &METHODS,
        sizes: context.pick(&[64, 256], &[64, 256, 512, 1024]),
        epsilons: context
            .pick(&[1.0, 2.0, 5.0, 10.0, 20.0], &[1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0]),
        delta: 1e-6,
        repetitions: context.pick(6, 10),
        rows: context.pick(2000, 4000),
    };
    let cells = measure(context, &plan, &mut report)?;
    report.note("DP-OPORP has delta = 1e-6; all sign methods are pure (delta = 0).");
    let names: Vec<_> = METHODS[2..].iter().map(|m| m.label).collect();
    report.tables.push(table("signs-against-oporp", &cells, &names, OPORP.label));
    for (ours, theirs) in
        [(SMOOTH, RESPONSE), (SMOOTH_4, RESPONSE_4), (OPTIMAL, SMOOTH), (OPTIMAL_4, SMOOTH_4)]
    {
        let text = format!("{} is nowhere behind {}", ours.label, theirs.label);
        claim_not_behind(&mut report, &text, &leads(&cells, ours.label, theirs.label));
    }
    let mut small = leads(&cells, OPTIMAL.label, OPORP.label);
    small.retain(|l| l.epsilon <= 5.0);
    let text = "signs with optimal flips are more accurate than DP-OPORP at epsilon 1 to 5";
    claim_ahead(&mut report, text, &small);
    Ok(report)
}
