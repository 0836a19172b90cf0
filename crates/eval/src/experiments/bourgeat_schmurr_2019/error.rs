//! Figures 7.1 to 7.4: mean squared error of similarity estimates.

use super::sweep::{Errors, Method, Task, data_sets, origin, release};
use crate::error::Result;
use crate::framework::{Axis, Context, Curve, Figure, Panel, Point, Report, Study};
use rayon::prelude::*;

pub(super) const STUDY: Study = Study {
    id: "bourgeat-schmurr-2019/fig7-1-to-7-4-error",
    title: "Mean squared error of private similarity estimates against epsilon",
    reference: "Bourgeat and Schmurr 2019, section 7.2.1, figures 7.1 to 7.4",
    run,
};

const EPSILONS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 200.0];

struct Series {
    method: Method,
    errors: Vec<Errors>,
    noise: Vec<f64>,
}

impl Series {
    fn at(&self, epsilon: f64) -> (f64, f64) {
        let i = EPSILONS.iter().position(|&e| e == epsilon).unwrap_or(0);
        (self.errors[i].published.unwrap_or(f64::NAN), self.errors[i].corrected)
    }

    fn curve(&self, context: &Context<'_>, task: &Task<'_>, published: bool) -> Curve {
        let which = if published { "as published" } else { "corrected" };
        let label = format!("{} ({which})", self.method.label());
        let value =
            |e: &Errors| if published { e.published.unwrap_or(f64::NAN) } else { e.corrected };
        let points = EPSILONS.iter().zip(&self.errors).map(|(&x, e)| Point::exact(x, value(e)));
        Curve {
            points: points.collect(),
            origin: origin(
                context,
                task,
                label.clone(),
                self.method.delta(),
                self.noise.clone(),
                1,
            ),
            label,
        }
    }
}

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let data = data_sets(context, &mut report)?;
    let bucket = [2, 3, 4, 8].map(|buckets| Method::Bucket { buckets });
    let noisy = [1, 2, 4].map(|concatenation| Method::Noisy { concatenation, delta: 1e-4 });
    let ours = [
        Method::Mixture { positions: 100, concatenation: 1, alphabet: 2, delta: 1e-4 },
        Method::Bins { bins: 100, values: 4 },
    ];
    let methods: Vec<Method> = bucket.into_iter().chain(noisy).chain(ours).collect();
    context.progress.begin((data.len() * methods.len()) as u64);
    let mut panels: [Vec<Panel>; 3] = Default::default();
    for sets in &data {
        let task = Task::new(sets, context.pick(40, 400));
        let all: Result<Vec<Series>> = methods
            .iter()
            .map(|&method| {
                let found: Result<Vec<(Errors, f64)>> = EPSILONS
                    .par_iter()
                    .map(|&e| {
                        let released = release(context, &task, method, e, 0)?;
                        Ok((released.errors(&task)?, released.noise()))
                    })
                    .collect();
                context.progress.step();
                let (errors, noise) = found?.into_iter().unzip();
                Ok(Series { method, errors, noise })
            })
            .collect();
        let all = all?;
        let panel = |curves| Panel {
            title: sets.name.clone(),
            x: Axis::log("epsilon"),
            y: Axis::log("mean squared error"),
            curves,
        };
        let published = |range: core::ops::Range<usize>| -> Vec<Curve> {
            all[range].iter().map(|s| s.curve(context, &task, true)).collect()
        };
        panels[0].push(panel(published(0..4)));
        panels[1].push(panel(published(4..7)));
        let mut both = published(0..2);
        both.push(all[4].curve(context, &task, true));
        both.extend([0, 4, 7, 8].map(|i| all[i].curve(context, &task, false)));
        panels[2].push(panel(both));
        claims(&mut report, &sets.name, &all);
    }
    for ((name, caption), panels) in [
        ("fig7-1", "Bucket PrivMin, the estimator as printed (equation 5.8)."),
        ("fig7-2-and-7-3", "Noisy Secure MinHash, the estimator as printed, clamped roots."),
        ("fig7-4", "Published and corrected estimators, and our mechanisms."),
    ]
    .into_iter()
    .zip(panels)
    {
        let columns = panels.len().min(2);
        report.figures.push(Figure { name: name.into(), caption: caption.into(), panels, columns });
    }
    report.note("Corrected estimators are unbiased and may leave [0, 1]: with little budget their error is all variance.");
    Ok(report)
}

fn claims(report: &mut Report, name: &str, all: &[Series]) {
    let (low, high) = (all[3].at(8.0).0, all[0].at(8.0).0);
    report.claim(
        format!("{name}: more buckets make the published error larger (8 against 2, epsilon 8)"),
        low > high,
        format!("{low:.3} against {high:.3}"),
    );
    let noisy: Vec<f64> = all[4..7].iter().map(|s| s.at(32.0).0).collect();
    report.claim(
        format!("{name}: Noisy Secure MinHash has a published error below 1 from epsilon 32 on"),
        noisy.iter().all(|&e| e < 1.0),
        format!("{noisy:.3?} for K = 1, 2, 4"),
    );
    let falling = EPSILONS.windows(2).all(|w| all[4].at(w[1]).1 < all[4].at(w[0]).1);
    report.claim(
        format!("{name}: its error falls with epsilon (K = 1, corrected)"),
        falling,
        format!("{:.3} at 1, {:.4} at 200", all[4].at(1.0).1, all[4].at(200.0).1),
    );
    let (printed, corrected) = all[0].at(200.0);
    report.claim(
        format!("{name}: at epsilon 200 the corrected Bucket estimate has at most a fifth of the printed one's error"),
        corrected < 0.2 * printed,
        format!("{corrected:.4} against {printed:.4}"),
    );
    let (bins, noisy) = (all[8].at(4.0).1, all[4].at(32.0).1);
    report.claim(
        format!("{name}: bins at epsilon 4 estimate better than noisy bits at 32"),
        bins < noisy,
        format!("{bins:.4} against {noisy:.4}"),
    );
}
