//! Segmentation of a release: k-means on private sketches against k-means on the data.

use crate::error::Result;
use crate::framework::sabotage::{self, ANSWERS, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use crate::learning::{adjusted_rand_index, normalised_mutual_information, segment};
use crate::metrics::mean_and_error;
use dp_core::{Budget, EntryBound, L2Sensitivity, Shift, calibrate};
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

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let points = context.images()?;
    let n = context.pick(300, 2000).min(points.n());
    let d = points.d();
    let repetitions: u64 = 10;
    let epsilons = [1.0, 10.0, 100.0];
    let tries = context.pick(1, 4);
    let k = 64.min(d);
    let one = EntryBound::new(1.0)?;
    context.progress.begin(repetitions * epsilons.len() as u64);
    let systems = [System::DpRpGOptB, System::DpOporp];
    let mut quality = vec![[[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]]; epsilons.len()];
    let mut residuals = Vec::new();
    let (mut sigma, mut again) = (vec![vec![0.0; epsilons.len()]; 2], Vec::new());
    for repetition in 0..repetitions {
        let values = &points.values()[..n * d];
        let plain = segment(values, d, CLUSTERS, tries, context.sub_seed("plain", repetition))?;
        let other = segment(values, d, CLUSTERS, tries, context.sub_seed("again", repetition))?;
        again.push(adjusted_rand_index(&plain, &other));
        for (e, &epsilon) in epsilons.iter().enumerate() {
            for (s, system) in systems.iter().enumerate() {
                let budget = Budget::new(epsilon, 1e-6)?;
                let seed = context.public_seed("projection", repetition);
                let spent = sabotage::spent(budget)?;
                let named = sabotage::system(*system);
                let mechanism = named.mechanism(d, k, seed, Shift::new(1.0)?, one, spent)?;
                let mut rng = context.noise(&format!("{} {epsilon}", system.name()), repetition);
                let release = sabotage::with_rows(RowsView::f64(n, d, values)?, |rows| {
                    Ok(mechanism.release(rows, &mut rng)?)
                })?;
                let sketch = release.payload();
                sigma[s][e] = sketch.noise_variance().sqrt();
                let start = context.sub_seed("private", repetition);
                if repetition == 0 {
                    let exact = project(
                        &*ProjectionSpec::new(system.family(), d, k, seed)?.build(),
                        RowsView::f64(n, d, values)?,
                    )?;
                    let asked = calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?.get();
                    let square = sketch.values().iter().zip(&exact);
                    let mean = square.map(|(a, b)| ((a - b) / asked).powi(2)).sum::<f64>();
                    residuals.push(mean / exact.len() as f64);
                }
                let found = segment(sketch.values(), sketch.k(), CLUSTERS, tries, start)?;
                let found: Vec<_> = found
                    .into_iter()
                    .enumerate()
                    .map(|(i, c)| sabotage::answer(c as f64, 4.5, "segment", i as u64) as _)
                    .collect();
                quality[e][s][0].push(adjusted_rand_index(&plain, &found));
                quality[e][s][1].push(normalised_mutual_information(&plain, &found));
            }
            context.progress.step();
        }
    }
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
                    .zip(&quality)
                    .map(|(&x, v)| Point::mean(x, &v[s][q]))
                    .collect(),
                origin: Origin {
                    mechanism: format!("{}, k-means with {CLUSTERS} clusters", system.name()),
                    k: Setting::Fixed(k as f64),
                    epsilon: Setting::AxisX,
                    delta: Setting::Fixed(1e-6),
                    sigma: Setting::PerPoint(sigma[s].clone()),
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
    let of = |e: usize, s: usize| mean_and_error(&quality[e][s][0]).0;
    let last = epsilons.len() - 1;
    report
        .claim(
            "the segmentation of a private projection approaches that of the data as epsilon grows",
            of(last, 0) > of(0, 0) + 0.1,
            format!("adjusted Rand index {:.3} at epsilon 1, {:.3} at 100", of(0, 0), of(last, 0)),
        )
        .catches(&ANSWERS)
        .catches(&[Sabotage::NoNoise]);
    let worst = residuals.iter().map(|m| (m - 1.0).abs()).fold(0.0, f64::max);
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
