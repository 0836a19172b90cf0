//! Figures 7.1 to 7.4: mean squared error of similarity estimates.

use super::sweep::{
    ALPHA, Errors, Facts, Known, LENGTH, Method, Task, at_most, data_sets, origin, release,
};
use crate::error::Result;
use crate::framework::sabotage::{ANSWERS, NOISE, Sabotage};
use crate::framework::{Axis, Context, Curve, Figure, Panel, Point, Report, Study};
use crate::metrics::mean_and_error;
use rayon::prelude::*;

pub(super) const STUDY: Study = Study {
    id: "bourgeat-schmurr-2019/fig7-1-to-7-4-error",
    title: "Mean squared error of private similarity estimates against epsilon",
    reference: "Bourgeat and Schmurr 2019, section 7.2.1, figures 7.1 to 7.4",
    run,
};

/// Epsilons of a quick run, and of a full one.
const FEW: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 32.0, 200.0];
const ALL: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 200.0];

struct Series {
    method: Method,
    epsilons: &'static [f64],
    /// By epsilon: one entry a repetition.
    errors: Vec<Vec<Errors>>,
    noise: Vec<f64>,
}

impl Series {
    /// Repetitions of the published (or corrected) error at an epsilon.
    fn samples(&self, i: usize, published: bool) -> Vec<f64> {
        let value =
            |e: &Errors| if published { e.published.unwrap_or(f64::NAN) } else { e.corrected };
        self.errors[i].iter().map(value).collect()
    }

    /// Mean published and corrected error.
    fn at(&self, epsilon: f64) -> (f64, f64) {
        let i = self.epsilons.iter().position(|&e| e == epsilon).unwrap_or(0);
        (mean_and_error(&self.samples(i, true)).0, mean_and_error(&self.samples(i, false)).0)
    }

    fn curve(&self, context: &Context<'_>, task: &Task<'_>, published: bool) -> Curve {
        let which = if published { "as published" } else { "corrected" };
        let label = format!("{} ({which})", self.method.label());
        let point = |(i, &x): (usize, &f64)| Point::mean(x, &self.samples(i, published));
        Curve {
            points: self.epsilons.iter().enumerate().map(point).collect(),
            origin: origin(
                context,
                task,
                label.clone(),
                self.method.delta(),
                self.noise.clone(),
                self.errors[0].len(),
            ),
            label,
        }
    }
}

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let (most, epsilons) = context.pick((300, &FEW[..]), (3000, &ALL[..]));
    let data = data_sets(context, &mut report)?.into_iter().map(|sets| at_most(sets, most));
    let data: Vec<_> = data.collect();
    let positions = LENGTH;
    let bucket = [2, 3, 4, 8].map(|buckets| Method::Bucket { positions, buckets });
    let noisy = |concatenation, delta| Method::Noisy { positions, concatenation, delta };
    let noisy = [
        noisy(1, 1e-4),
        noisy(2, 1e-4),
        noisy(4, 1e-4),
        noisy(1, 5.6e-6),
        noisy(1, 5.6e-4),
        noisy(1, 5.1e-3),
    ];
    let ours = [
        Method::Mixture { positions, concatenation: 1, alphabet: 2, delta: 1e-4 },
        Method::Bins { bins: LENGTH, values: 4, alpha: ALPHA, facts: Facts::Public },
        Method::Bins { bins: LENGTH, values: 4, alpha: LENGTH as u64, facts: Facts::Public },
    ];
    let methods: Vec<Method> = bucket.into_iter().chain(noisy).chain(ours).collect();
    let repetitions = 10u64;
    context.progress.begin((data.len() * methods.len()) as u64);
    let mut panels: [Vec<Panel>; 3] = Default::default();
    for sets in &data {
        let task = Task::new(sets, context.pick(12, 50));
        let all: Result<Vec<Series>> = methods
            .iter()
            .map(|&method| {
                let found: Result<Vec<(Vec<Errors>, f64)>> = epsilons
                    .par_iter()
                    .map(|&e| {
                        let (mut errors, known) = (Vec::new(), Known::default());
                        let mut noise = f64::NAN;
                        for repetition in 0..repetitions {
                            let released = release(context, &task, method, e, repetition)?;
                            errors.push(released.errors(&task, &known)?);
                            noise = released.noise();
                        }
                        Ok((errors, noise))
                    })
                    .collect();
                context.progress.step();
                let (errors, noise) = found?.into_iter().unzip();
                Ok(Series { method, epsilons, errors, noise })
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
        panels[1].push(panel(published(4..10)));
        let mut both = published(0..2);
        both.push(all[4].curve(context, &task, true));
        both.extend([0, 4, 10, 11, 12].map(|i| all[i].curve(context, &task, false)));
        panels[2].push(panel(both));
        claims(&mut report, &sets.name, task.min_size, &all);
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

fn claims(report: &mut Report, name: &str, min_size: u64, all: &[Series]) {
    let (low, high) = (all[3].at(8.0).0, all[0].at(8.0).0);
    report
        .claim(
            format!("{name}: more buckets make the published error larger (8 against 2, epsilon 8: by 2 or more)"),
            low > 2.0 * high,
            format!("{low:.3} against {high:.3}"),
        )
        .of("figure 7.1")
        .catches(&[Sabotage::NoNoise]);
    let noisy: Vec<f64> = all[4..7].iter().map(|s| s.at(32.0).0).collect();
    report
        .claim(
            format!(
                "{name}: Noisy Secure MinHash has a published error below 1 from epsilon 32 on"
            ),
            noisy.iter().all(|&e| e < 1.0),
            format!("{noisy:.3?} for K = 1, 2, 4"),
        )
        .of("figures 7.2 to 7.4: MSE between 0 and 1 from epsilon 30 on");
    let deltas: Vec<f64> = [7, 4, 8, 9].map(|i: usize| all[i].at(32.0).0).to_vec();
    report
        .claim(
            format!("{name}: from delta 5.6e-6 to 5.1e-3 the published error at epsilon 32 moves by less than 0.3"),
            deltas.iter().all(|e| (e - deltas[0]).abs() < 0.3),
            format!("{deltas:.3?}"),
        )
        .of("figures 7.2 and 7.3, section 7.2.1: delta makes minuscule differences when epsilon rises");
    let mut pairs = all[4].epsilons.windows(2);
    let falling = pairs.all(|w| all[4].at(w[1]).1 < all[4].at(w[0]).1);
    report
        .claim(
            format!("{name}: its error falls with epsilon (K = 1, corrected)"),
            falling,
            format!("{:.3} at 1, {:.4} at 200", all[4].at(1.0).1, all[4].at(200.0).1),
        )
        .of("figures 7.2 and 7.3")
        .catches(&[Sabotage::NoNoise, Sabotage::ConstantAnswers, Sabotage::RandomAnswers]);
    // Equation 6.12, typed in: E = L (1 - (J' + 1)/2) with J' = 1 - 1/tau, and delta 1e-4.
    let l = LENGTH as f64;
    let expected = l * 0.5 / min_size as f64;
    let b = expected * (1.0 + (3.0 * 1e4f64.ln() / expected).sqrt()) / 4.0;
    // A position is (x - y + d)^2 with Laplace x, y: variance 56 b^4 + 16 b^2 d^2, and the bits differ in half of the places.
    let said = 4.0 * (56.0 * b.powi(4) + 8.0 * b * b + 0.25) / l;
    let found = all[4].at(4.0).1;
    report
        .claim(
            format!(
                "{name}: at epsilon 4 the corrected error of noisy bits is 4 (56 b^4 + 8 b^2 + 1/4) / L, b by \
                 equation 6.12 (within 25 per cent)"
            ),
            (found / said - 1.0).abs() < 0.25,
            format!("{found:.3} against {said:.3}"),
        )
        .of("equation 6.12, theorems 6.2 and A.1, section 7.2.1: variance 2 (sensitivity / epsilon)^2")
        .catches(&NOISE)
        .catches(&[Sabotage::PublishedDoubled, Sabotage::ConstantAnswers, Sabotage::RandomAnswers]);
    let (printed, corrected) = all[0].at(200.0);
    report
        .claim(
            format!("{name}: at epsilon 200 the corrected Bucket estimate has at most a fifth of the printed one's error"),
            corrected < 0.2 * printed,
            format!("{corrected:.4} against {printed:.4}"),
        )
        .of("equation 5.8")
        .catches(&ANSWERS);
    let (bins, noisy) = (all[11].at(4.0).1, all[4].at(32.0).1);
    report
        .claim(
            format!(
                "{name}: one item protected, bins at epsilon 4 (delta 0) estimate better than noisy bits at 32"
            ),
            bins < noisy,
            format!("{bins:.4} against {noisy:.4}"),
        )
        .of("ours, beside figure 7.4")
        .catches(&[Sabotage::ConstantAnswers]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_sets_are_spread_over_all() {
        let all = crate::data::package_sets();
        let some = at_most(all.clone(), 4);
        let n = all.sets.len();
        assert!(some.sets == [0, n / 4, n / 2, 3 * n / 4].map(|i| all.sets[i].clone()));
        assert!(some.rule.ends_with(&format!("; 4 of {n} sets")), "{}", some.rule);
        assert!(at_most(all.clone(), n).sets == all.sets);
    }
}
