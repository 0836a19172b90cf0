//! Figure 12: linear classification of high-dimensional sparse text by real-valued releases.

use super::classify::{
    ACCURACY, Judged, Method, Needs, PLAIN, Plan, Text, Trial, accuracy, measure,
};
use super::probe::{self, Law};
use super::standing::{
    Cell, claim_above_chance, claim_ahead, claim_ahead_by, claim_together, leads,
};
use crate::error::Result;
use crate::framework::sabotage::{self, ANSWERS, Sabotage};
use crate::framework::{Context, Report, Study};
use sketch::RowsView;
use sketch::projection::{Family, project};
use sketch::vectors::System;

pub(super) const STUDY: Study = Study {
    id: "li-li-2023/fig12-svm",
    title: "Linear support vector machine on private releases of sparse text",
    reference: "Li and Li 2023, section 5.2, figure 12 (package synopses, or WEBSPAM from --data)",
    run,
};

/// Releases all rows by a named system with one public matrix.
pub(super) fn system(trial: &Trial<'_>, system: System) -> Result<Judged> {
    let seed = trial.context.public_seed("projection", trial.repetition);
    let budget = probe::spent(system, trial.budget)?;
    let system = sabotage::system(system);
    let shape = (trial.rows.d(), trial.k);
    let mechanism = trial.projections.mechanism(system, shape, seed, budget)?;
    let mut rng = trial.context.noise(&trial.noise, trial.repetition);
    let release = sabotage::with_rows(trial.rows, |rows| Ok(mechanism.release(rows, &mut rng)?))?;
    let sketch = release.payload();
    let rows = RowsView::f64(trial.rows.n(), sketch.k(), sketch.values())?;
    trial.judge(rows, sketch.noise_variance().sqrt())
}

const fn private(
    label: &'static str,
    mechanism: &'static str,
    judge: fn(&Trial<'_>) -> Result<Judged>,
) -> Method {
    Method { label, mechanism, needs: Needs::Both, judge }
}

pub(super) const RAW: Method = Method {
    label: "Raw-data-G-OPT",
    mechanism: "exact Gaussian noise on all features, beta = 1",
    needs: Needs::BudgetAndRoom,
    judge: |trial| system(trial, System::RawDataGOpt),
};
const PUBLISHED: Method =
    private("DP-RP-G", "Gaussian projection, noise by theorem 3.1, beta = 1", |trial| {
        system(trial, System::DpRpG)
    });
const OPT: Method = private(
    "DP-RP-G-OPT",
    "Gaussian projection, exact Gaussian noise for the drawn matrix, beta = 1",
    |trial| system(trial, System::DpRpGOpt),
);
pub(super) const OPT_B: Method =
    private("DP-RP-G-OPT-B", "Rademacher projection, exact Gaussian noise, beta = 1", |trial| {
        system(trial, System::DpRpGOptB)
    });
pub(super) const OPORP: Method =
    private("DP-OPORP", "OPORP, exact Gaussian noise, beta = 1", |trial| {
        system(trial, System::DpOporp)
    });
pub(super) const SKETCH: Method = Method {
    label: "Rademacher projection, not private",
    mechanism: "Rademacher projection, no noise",
    needs: Needs::Size,
    judge: |trial| {
        let seed = trial.context.public_seed("projection", trial.repetition);
        let (n, d, k) = (trial.rows.n(), trial.rows.d(), trial.k);
        let family = sabotage::family(Family::Rademacher);
        let projection = trial.projections.get(family, (d, k), seed)?;
        let values = project(projection.as_ref(), trial.rows)?;
        trial.judge(RowsView::f64(n, k, &values)?, 0.0)
    },
};
const METHODS: [Method; 6] = [PLAIN, SKETCH, PUBLISHED, OPT, OPT_B, OPORP];

/// Measures noisy raw data beside projections of the same rows, fewer than those of the plan: noise on every column
/// makes the rows dense and the training slow.
pub(super) fn raw_rows(
    context: &Context<'_>,
    plan: &Plan<'_>,
    few: (&[Method], &[f64], usize),
    report: &mut Report,
) -> Result<Vec<Cell>> {
    let (methods, epsilons, rows) = few;
    let few = Plan { name: "raw-data", methods, sizes: &[256], epsilons, rows, ..*plan };
    let cells = measure(context, &few, report)?;
    // The note on training is that of the plan.
    report.notes.truncate(1);
    report.note(
        "Noise on every column makes the rows dense and the training slow: noisy raw data are measured on fewer rows, in a \
         figure of their own, beside projections of the same rows.",
    );
    Ok(cells)
}

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let plan = Plan {
        name: "svm",
        text: Text::Given,
        methods: &METHODS,
        sizes: context.pick(&[64, 256], &[64, 256, 1024]),
        epsilons: context.pick(&[1.0, 5.0, 10.0, 20.0], &[1.0, 2.0, 5.0, 10.0, 20.0]),
        delta: 1e-6,
        repetitions: 10,
        rows: context.pick(2000, 3000),
    };
    let cells = measure(context, &plan, &mut report)?;
    let few = (&[RAW, OPT_B, OPORP][..], &[5.0, 10.0, 20.0][..], context.pick(600, 1500));
    let raw = raw_rows(context, &plan, few, &mut report)?;
    let against = |ours: &Method, theirs: &Method| leads(&cells, ours.label, theirs.label);
    for (ours, theirs) in [(&OPT, &PUBLISHED), (&OPT_B, &OPT)] {
        let text = format!("{} is more accurate than {}", ours.label, theirs.label);
        claim_ahead(&mut report, &text, &against(ours, theirs)).of("figure 12");
    }
    let text = format!("{} and {} lie together", OPT_B.label, OPORP.label);
    claim_together(&mut report, &text, &against(&OPT_B, &OPORP)).of("figure 12, section 5.2");
    for ours in [&OPT_B, &OPORP] {
        let leads = leads(&raw, ours.label, RAW.label);
        // A user's own data may be too large for it.
        if leads.is_empty() {
            continue;
        }
        let text = format!(
            "{} (k = 256) is more accurate than Raw-data-G-OPT from epsilon 5 on",
            ours.label
        );
        claim_ahead_by(&mut report, &text, &leads, 0.02).of("figure 12");
    }
    let (first, last) = (plan.epsilons[0], plan.epsilons[plan.epsilons.len() - 1]);
    let k = plan.sizes[plan.sizes.len() - 1];
    let at = |method: &Method, epsilon| accuracy(&cells, method, k, epsilon);
    let (low, high) = (at(&OPORP, first), at(&OPORP, last));
    let (bare, plain) = (at(&SKETCH, last), at(&PLAIN, last));
    claim_above_chance(&mut report, &cells, OPORP.label, ACCURACY, last, 0.75).of("figure 12");
    report.claim(
        "privacy has its price: accuracy rises from small to large epsilon, to less than without \
         noise, which is less than with all features",
        low + 0.1 < high && high < bare && bare < plain,
        format!("DP-OPORP, k = {k}: {low:.3} at epsilon {first}, {high:.3} at {last}; {bare:.3}; {plain:.3}"),
    )
    .of("figure 12")
    .catches(&ANSWERS)
    .catches(&[Sabotage::NoNoise]);
    let laws = [
        (&PUBLISHED, Law::Theorem31),
        (&OPT_B, Law::Gaussian(Family::Rademacher)),
        (&OPORP, Law::Gaussian(Family::Oporp)),
    ];
    probe::classifiers(context, &mut report, &laws)?;
    Ok(report)
}
