//! Segmentation of a release: k-means on private sketches against k-means on the data.

use crate::error::Result;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use crate::learning::{adjusted_rand_index, normalised_mutual_information, segment};
use crate::metrics::mean_and_error;
use dp_core::{Bound, Budget};
use sketch::RowsView;
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
    let repetitions: u64 = context.pick(2, 6);
    let epsilons = [1.0, 10.0, 100.0];
    let tries = context.pick(1, 4);
    let k = 64.min(d);
    let one = Bound::new(1.0)?;
    context.progress.begin(repetitions * epsilons.len() as u64);
    let systems = [System::DpRpGOptB, System::DpOporp];
    let mut quality = vec![[[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]]; epsilons.len()];
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
                let mechanism = system.mechanism(d, k, seed, one, one, budget)?;
                let mut rng = context.noise(&format!("{} {epsilon}", system.name()), repetition);
                let release = mechanism.release(RowsView::f64(n, d, values)?, &mut rng)?;
                let sketch = release.payload();
                sigma[s][e] = sketch.noise_variance().sqrt();
                let start = context.sub_seed("private", repetition);
                let found = segment(sketch.values(), sketch.k(), CLUSTERS, tries, start)?;
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
    report.claim(
        "the segmentation of a private projection approaches that of the data as epsilon grows",
        of(last, 0) > of(0, 0) + 0.1,
        format!("adjusted Rand index {:.3} at epsilon 1, {:.3} at 100", of(0, 0), of(last, 0)),
    );
    report.note(format!(
        "Two runs of k-means on the data itself agree with index {:.3}: no release can be expected to do better. \
         The guarantee protects one pixel of one image; segments are post-processing.",
        mean_and_error(&again).0
    ));
    Ok(report)
}
