//! Figure 11: retrieval by every real-valued method.

use super::probe::{self, Law};
use super::retrieval::{
    Found, Method, OPORP, PRECISION, Plan, RADEMACHER, RAW, Trial, found, measure, view,
};
use super::standing::{claim_above_chance, claim_ahead, claim_not_behind, leads};
use crate::data::Points;
use crate::error::Result;
use crate::framework::{Context, Report, Study, sabotage};
use dp_core::{Adjacency, EntryBound, Shift};
use sketch::RowsView;
use sketch::projection::Family;
use sketch::vectors::{AveragedProjection, System};

pub(super) const STUDY: Study = Study {
    id: "li-li-2023/fig11-all-methods",
    title: "Private search by cosine: every real-valued method, and averaged calibration",
    reference: "Li and Li 2023, section 5.1, figure 11 (on digits, or on a user's images)",
    run,
};

/// A named system of the library, queries and database released with one public matrix.
fn system(trial: &Trial<'_>, system: System) -> Result<Found> {
    let seed = trial.context.public_seed("projection", trial.repetition);
    let d = trial.split.database.d();
    let budget = probe::spent(system, trial.budget)?;
    let system = sabotage::system(system);
    let mechanism = trial.projections.mechanism(system, (d, trial.k), seed, budget)?;
    let mut rng = trial.context.noise(&trial.noise, trial.repetition);
    let mut release = |points: &Points| {
        sabotage::with_rows(view(points)?, |rows| Ok(mechanism.release(rows, &mut rng)?))
    };
    let (queries, database) = (release(&trial.split.queries)?, release(&trial.split.database)?);
    found(trial, &queries, &database)
}

/// DP-RP-G-OPT with averaged calibration: queries and database are one data set, because
/// the fresh matrix may be used once.
fn averaged(trial: &Trial<'_>) -> Result<Found> {
    let one = EntryBound::new(1.0)?;
    let (queries, database) = (&trial.split.queries, &trial.split.database);
    let (d, n) = (database.d(), queries.n() + database.n());
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0)? };
    let mechanism =
        AveragedProjection::gaussian(d, trial.k, adjacency, one, sabotage::spent(trial.budget)?)?;
    let fresh = trial.context.fresh_seed("fresh projection", trial.repetition);
    let mut rng = trial.context.noise(&trial.noise, trial.repetition);
    let both = [queries.values(), database.values()].concat();
    let release = sabotage::with_rows(RowsView::f64(n, d, &both)?, |rows| {
        Ok(mechanism.release(fresh, rows, &mut rng)?)
    })?;
    let (sketch, certificate) = release.into_parts();
    let cut = queries.n() * trial.k;
    let part = |values: &[f64]| -> Result<_> {
        let part = sketch::vectors::PrivateSketch::new(
            sketch.projection(),
            sketch.noise().clone(),
            values.to_vec(),
        )?;
        Ok(dp_core::Release::certified(part, certificate.clone()))
    };
    found(trial, &part(&sketch.values()[..cut])?, &part(&sketch.values()[cut..])?)
}

pub(super) const PUBLISHED: Method = Method {
    label: "DP-RP-G",
    mechanism: "Gaussian projection, noise by theorem 3.1, beta = 1",
    sketches: true,
    private: true,
    search: |trial| system(trial, System::DpRpG),
};
const ANALYTIC: Method = Method {
    label: "Analytic DP-RP-G",
    mechanism: "Gaussian projection, noise by theorem 3.4, beta = 1",
    sketches: true,
    private: true,
    search: |trial| system(trial, System::AnalyticDpRpG),
};
pub(super) const OPT: Method = Method {
    label: "DP-RP-G-OPT",
    mechanism: "Gaussian projection, exact Gaussian noise for the drawn matrix, beta = 1",
    sketches: true,
    private: true,
    search: |trial| system(trial, System::DpRpGOpt),
};
const AVERAGED: Method = Method {
    label: "DP-RP-G-OPT, averaged",
    mechanism: "fresh Gaussian projection, exact noise averaged over it, beta = 1",
    sketches: true,
    private: true,
    search: averaged,
};
pub(super) const LAPLACE: Method = Method {
    label: "DP-RP-L",
    mechanism: "Gaussian projection, Laplace noise for the drawn matrix (delta = 0), beta = 1",
    sketches: true,
    private: true,
    search: |trial| system(trial, System::DpRpL),
};
const OPORP_LAPLACE: Method = Method {
    label: "DP-OPORP, Laplace",
    mechanism: "OPORP, Laplace noise (delta = 0), beta = 1",
    sketches: true,
    private: true,
    search: |trial| system(trial, System::DpOporpLaplace),
};

/// What the releases of either data set must be.
pub(super) const LAWS: [(&Method, Law); 4] = [
    (&RAW, Law::Raw),
    (&PUBLISHED, Law::Theorem31),
    (&RADEMACHER, Law::Gaussian(Family::Rademacher)),
    (&OPORP, Law::Gaussian(Family::Oporp)),
];

const METHODS: [Method; 9] =
    [RAW, LAPLACE, PUBLISHED, ANALYTIC, OPT, AVERAGED, RADEMACHER, OPORP, OPORP_LAPLACE];

fn run(context: &Context<'_>) -> Result<Report> {
    let points = context.images()?;
    let mut report = Report::default();
    let epsilons = context.pick(&[1.0, 3.0, 5.0, 10.0, 20.0][..], &[1.0, 2.0, 5.0, 10.0, 20.0][..]);
    let plan = Plan {
        sizes: context.pick(&[256][..], &[64, 256, 512][..]),
        ..Plan::images(context, &points, (&METHODS, epsilons), (60, 1000))
    };
    let series = measure(context, &points, &plan, &mut report)?;
    let cells: Vec<_> = series.iter().flat_map(|s| s.cells(plan.epsilons)).collect();
    let against = |ours: &Method, theirs: &Method| leads(&cells, ours.label, theirs.label);
    for (ours, theirs) in [(&OPT, &PUBLISHED), (&RADEMACHER, &OPT), (&OPORP, &LAPLACE)] {
        let text = format!("{} is ahead of {}", ours.label, theirs.label);
        claim_ahead(&mut report, &text, &against(ours, theirs)).of("figure 11");
    }
    for (ours, theirs) in [(&OPT, &ANALYTIC), (&AVERAGED, &OPT)] {
        let text = format!("{} is nowhere behind {}", ours.label, theirs.label);
        claim_not_behind(&mut report, &text, &against(ours, theirs)).of("figure 11");
    }
    for method in [&RADEMACHER, &OPORP, &AVERAGED] {
        claim_above_chance(&mut report, &cells, method.label, PRECISION, 20.0, 0.5).of("figure 11");
    }
    probe::searches(context, &mut report, &LAWS)?;
    report.note(
        "The paper's figure 11 is on CIFAR, which is not embedded: photographs take its place in another experiment, and \
         any IDX images serve here with --images. Pure methods spend the same epsilon with delta = 0.",
    );
    Ok(report)
}
