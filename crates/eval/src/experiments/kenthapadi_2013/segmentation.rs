//! Segmentation of a release: k-means on private sketches against k-means on the data.

use crate::error::Result;
use crate::framework::sabotage::{self, ANSWERS, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use crate::learning::{adjusted_rand_index, normalised_mutual_information, segment};
use crate::metrics::mean_and_error;
use dp_core::{Budget, EntryBound, L2Sensitivity, Shift, calibrate};
use rayon::prelude::*;
use sketch::RowsView;
use sketch::projection::{ProjectionSpec, project};
use sketch::vectors::System;

pub(super) const STUDY: Study = Study {
    id: "kenthapadi-2013/segmentation",
    title: "User segmentation on a private projection against the segmentation of the data",
    reference: "Kenthapadi et al. 2013, sections 1 and 3.1 (use of the sketches)",
    run,
};

const CLUSTERS: usize = 10;

/// One release, segmented.
struct Segmented {
    /// Agreement with the segments of the data: adjusted Rand index, normalised mutual information.
    quality: [f64; 2],
    sigma: f64,
    /// Mean square of the noise over what the budget asks for, in the first repetition.
    residual: Option<f64>,
}

/// All releases of one repetition, epsilon by epsilon.
struct Repetition {
    /// Agreement of two segmentations of the data.
    again: f64,
    found: Vec<Segmented>,
}

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let points = context.images()?;
    let n = context.pick(300, 1000).min(points.n());
    let d = points.d();
    let repetitions: u64 = 10;
    let epsilons = [1.0, 10.0, 100.0];
    let k = 64.min(d);
    let one = EntryBound::new(1.0)?;
    context.progress.begin(repetitions * epsilons.len() as u64 * 2);
    let systems = [System::DpRpGOptB, System::DpOporp];
    let values = &points.values()[..n * d];
    let rows = RowsView::f64(n, d, values)?;
    let one_repetition = |repetition: u64| -> Result<Repetition> {
        let plain = segment(values, d, CLUSTERS, context.sub_seed("plain", repetition))?;
        let other = segment(values, d, CLUSTERS, context.sub_seed("again", repetition))?;
        let mut found = Vec::new();
        for (epsilon, system) in epsilons.iter().flat_map(|e| systems.map(|s| (*e, s))) {
            let budget = Budget::new(epsilon, 1e-6)?;
            let seed = context.public_seed("projection", repetition);
            let named = sabotage::system(system);
            let spent = sabotage::spent(budget)?;
            let mechanism = named.mechanism(d, k, seed, Shift::new(1.0)?, one, spent)?;
            let mut rng = context.noise(&format!("{} {epsilon}", system.name()), repetition);
            let release = sabotage::with_rows(rows, |rows| Ok(mechanism.release(rows, &mut rng)?))?;
            let sketch = release.payload();
            let residual = if repetition == 0 {
                let spec = ProjectionSpec::new(system.family(), d, k, seed)?;
                let exact = project(&*spec.build(), rows)?;
                let asked = calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?.get();
                let square = sketch.values().iter().zip(&exact);
                let mean = square.map(|(a, b)| ((a - b) / asked).powi(2)).sum::<f64>();
                Some(mean / exact.len() as f64)
            } else {
                None
            };
            let start = context.sub_seed("private", repetition);
            let segments: Vec<_> = segment(sketch.values(), sketch.k(), CLUSTERS, start)?
                .into_iter()
                .enumerate()
                .map(|(i, c)| sabotage::answer(c as f64, 4.5, "segment", i as u64) as _)
                .collect();
            found.push(Segmented {
                quality: [
                    adjusted_rand_index(&plain, &segments),
                    normalised_mutual_information(&plain, &segments),
                ],
                sigma: sketch.noise_variance().sqrt(),
                residual,
            });
            context.progress.step();
        }
        Ok(Repetition { again: adjusted_rand_index(&plain, &other), found })
    };
    let all: Vec<Repetition> =
        (0..repetitions).into_par_iter().map(one_repetition).collect::<Result<_>>()?;
    let again: Vec<f64> = all.iter().map(|r| r.again).collect();
    let place = |e: usize, s: usize| e * systems.len() + s;
    let quality = |e: usize, s: usize, q: usize| -> Vec<f64> {
        all.iter().map(|r| r.found[place(e, s)].quality[q]).collect()
    };
    let residuals = all.iter().flat_map(|r| &r.found).filter_map(|f| f.residual);
    let panels = ["adjusted Rand index", "normalised mutual information"].iter().enumerate();
    let panels = panels.map(|(q, title)| Panel {
        title: (*title).into(),
        x: Axis::log("epsilon"),
        y: Axis::linear(*title).between(0.0, 1.0),
        curves: systems
            .iter()
            .enumerate()
            .map(|(s, system)| Curve {
                label: system.name().into(),
                points: epsilons
                    .iter()
                    .enumerate()
                    .map(|(e, &x)| Point::mean(x, &quality(e, s, q)))
                    .collect(),
                origin: Origin {
                    mechanism: format!("{}, k-means with {CLUSTERS} clusters", system.name()),
                    k: Setting::Fixed(k as f64),
                    epsilon: Setting::AxisX,
                    delta: Setting::Fixed(1e-6),
                    sigma: Setting::PerPoint(
                        (0..epsilons.len()).map(|e| all[0].found[place(e, s)].sigma).collect(),
                    ),
                    seeds: Seeds::Derived(context.seed),
                    data: format!("{}: {n} rows, d = {d}", points.name()),
                    repetitions: repetitions as usize,
                },
            })
            .collect(),
    });
    report.figures.push(Figure {
        name: "segmentation".into(),
        caption: "Agreement of k-means on a release with k-means on the data.".into(),
        panels: panels.collect(),
        columns: 2,
    });
    let of = |e: usize, s: usize| mean_and_error(&quality(e, s, 0)).0;
    let last = epsilons.len() - 1;
    report
        .claim(
            "the segmentation of a private projection approaches that of the data as epsilon grows",
            of(last, 0) > of(0, 0) + 0.1,
            format!("adjusted Rand index {:.3} at epsilon 1, {:.3} at 100", of(0, 0), of(last, 0)),
        )
        .of("section 1: user segmentation")
        .catches(&ANSWERS)
        .catches(&[Sabotage::NoNoise]);
    let worst = residuals.map(|m| (m - 1.0).abs()).fold(0.0, f64::max);
    let allowed = 5.0 * (2.0 / (n * k) as f64).sqrt();
    report
        .claim(
            format!(
                "release minus the exact projection has the deviation that the budget asks for (mean square within five \
                 standard errors, {allowed:.3}, of 1)"
            ),
            worst < allowed,
            format!("largest deviation {worst:.4}"),
        )
        .of("theorem 1 (exact calibration)")
        .catches(&sabotage::NOISE)
        .catches(&[Sabotage::OtherFamily, Sabotage::DataIgnored]);
    report.note(format!(
        "Two runs of k-means on the data itself agree with index {:.3}: no release can be expected to do better. \
         The guarantee protects one pixel of one image; segments are post-processing.",
        mean_and_error(&again).0
    ));
    Ok(report)
}
