//! Figure 16: linear classification by signs under individual differential privacy.

use super::classify::{ACCURACY, Judged, Method, Needs, Plan, Text, Trial, accuracy, measure};
use super::fig14::{OPTIMAL, bare};
use super::probe::{self, Law};
use super::sign_search::individual_signs;
use super::standing::{claim_above_chance, claim_ahead, leads};
use crate::error::Result;
use crate::framework::sabotage::ANSWERS;
use crate::framework::{Context, Report, Sabotage, Study, sabotage};
use sketch::projection::Family;
use sketch::signs::IndividualNoise;

pub(super) const STUDY: Study = Study {
    id: "li-li-2023/fig16-individual-svm",
    title: "Linear support vector machine on signs under individual (not differential) privacy",
    reference: "Li and Li 2023, section 6.3, figure 16, with optimal flips added (package synopses, \
                or WEBSPAM from --data)",
    run,
};

fn individual(trial: &Trial<'_>, family: Family, noise: IndividualNoise) -> Result<Judged> {
    let seed = trial.context.public_seed("projection", trial.repetition);
    let shape = (trial.rows.d(), trial.k);
    let signs = individual_signs(trial.projections, shape, seed, family, noise, trial.budget)?;
    let mut rng = trial.context.noise(&trial.noise, trial.repetition);
    let release = sabotage::with_rows(trial.rows, |rows| Ok(signs.release(rows, &mut rng)?))?;
    // The noise scale depends on the data and stays secret, also here.
    trial.judge_signs(release.payload().bits(), f64::NAN)
}

const fn method(
    label: &'static str,
    mechanism: &'static str,
    needs: Needs,
    judge: fn(&Trial<'_>) -> Result<Judged>,
) -> Method {
    Method { label, mechanism, needs, judge }
}

pub(super) const EXACT: Method = method(
    "SignRP, not private",
    "signs of a Rademacher projection, no privacy",
    Needs::Size,
    |trial| bare(trial, Family::Rademacher),
);
const GAUSSIAN: Method = method(
    "iDP-SignRP-G",
    "signs of a Rademacher projection, exact Gaussian noise on those in reach, individual DP",
    Needs::Both,
    |trial| individual(trial, Family::Rademacher, IndividualNoise::Gaussian),
);
pub(super) const RESPONSE: Method = method(
    "iDP-SignRP-RR",
    "signs of a Rademacher projection, responses for those in reach, individual DP, beta = 1",
    Needs::Both,
    |trial| individual(trial, Family::Rademacher, IndividualNoise::RandomizedResponse),
);
const BINS: Method = method(
    "iDP-SignOPORP-RR",
    "signs of OPORP, responses for those in reach, individual DP, beta = 1",
    Needs::Both,
    |trial| individual(trial, Family::Oporp, IndividualNoise::RandomizedResponse),
);
const METHODS: [Method; 5] = [EXACT, GAUSSIAN, RESPONSE, BINS, OPTIMAL];

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let plan = Plan {
        name: "svm",
        text: Text::Given,
        methods: &METHODS,
        sizes: context.pick(&[256][..], &[64, 256, 1024]),
        epsilons: context.pick(&[0.1, 1.0, 5.0, 20.0], &[0.1, 1.0, 2.0, 5.0, 10.0, 20.0]),
        delta: 1e-6,
        repetitions: 10,
        rows: context.pick(1000, 4000),
    };
    let cells = measure(context, &plan, &mut report)?;
    report.note(
        "Individual privacy hides the neighbours of the one data set that is released; it is not \
         differential privacy and does not compose with it. Its noise scales depend on the data \
         and are not reported.",
    );
    // The least accuracy is that at the largest k, the last.
    let (mut worst, mut flat, mut least) = (0.0f64, 0.0f64, f64::NAN);
    for &k in plan.sizes {
        least = f64::INFINITY;
        let at = |m: &Method, e: f64| accuracy(&cells, m, k, e);
        for method in [&GAUSSIAN, &RESPONSE] {
            let values: Vec<f64> = plan.epsilons.iter().map(|&e| at(method, e)).collect();
            worst = values.iter().map(|v| at(&EXACT, 1.0) - v).fold(worst, f64::max);
            let ends = values.iter().fold((1.0f64, 0.0f64), |(a, b), &v| (a.min(v), b.max(v)));
            (flat, least) = (flat.max(ends.1 - ends.0), least.min(ends.0));
        }
    }
    report
        .claim(
            "iDP-SignRP loses less than 0.05 of the accuracy of exact signs at every epsilon",
            worst < 0.05,
            format!("largest loss {worst:.4}"),
        )
        .of("figure 16")
        .catches(&[Sabotage::DataIgnored]);
    report
        .claim(
            "its curves are almost flat, and high: accuracy moves by less than 0.05 from epsilon 0.1 to 20, and is nowhere below \
             0.75 at the largest k",
            flat < 0.05 && least > 0.75,
            format!("largest range of {ACCURACY} {flat:.4}, least {least:.3}"),
        )
        .of("figure 16, section 6.3: almost flat")
        .catches(&ANSWERS);
    for (theirs, text) in [
        (&BINS, "iDP-SignRP-RR is more accurate than iDP-SignOPORP-RR at epsilon 1"),
        (&OPTIMAL, "iDP-SignRP-RR is more accurate than DP-SignOPORP at epsilon 1"),
    ] {
        let mut at_one = leads(&cells, RESPONSE.label, theirs.label);
        at_one.retain(|l| l.epsilon == 1.0);
        claim_ahead(&mut report, text, &at_one).of("figure 16");
    }
    for method in [&GAUSSIAN, &RESPONSE] {
        claim_above_chance(&mut report, &cells, method.label, ACCURACY, 1.0, 0.8)
            .of("figure 16, section 6.3: very high utility even at small epsilon");
    }
    let laws = [(&RESPONSE, Law::Individual), (&OPTIMAL, Law::Optimal(1))];
    probe::classifiers(context, &mut report, &laws)?;
    Ok(report)
}
