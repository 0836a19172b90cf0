//! Noise of a Gaussian projection: published rules, exact for the drawn matrix, and averaged.

use crate::Table;
use crate::error::Result;
use crate::framework::sabotage::{self, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use crate::metrics::mean_and_error;
use dp_core::calibrate::{Acceptance, PublishedRule, PublishedSetting};
use dp_core::{Adjacency, Budget, EntryBound, L2Sensitivity, Shift, calibrate};
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::{AveragedProjection, PrivateProjection, SketchNoise};

pub(super) const STUDY: Study = Study {
    id: "own/averaged-calibration",
    title: "Noise of a Gaussian projection of 784 features to 256: published, realised, averaged",
    reference: "Kenthapadi et al. 2013, theorem 1 and lemma 2, against exact calibrations",
    run,
};

const FEATURES: usize = 784;
const COLUMNS: usize = 256;
const DELTA: f64 = 1e-6;
const NAMES: [&str; 4] = ["lemma 2", "theorem 1, drawn matrix", "exact, drawn matrix", "averaged"];

fn sigma(noise: &SketchNoise) -> f64 {
    match noise {
        SketchNoise::Gaussian(noise) => noise.sigma().get(),
        other => unreachable!("Gaussian calibrations give Gaussian noise, not {other:?}"),
    }
}

/// Sigma of every calibration at one epsilon; one number a draw where the matrix counts.
fn scales(context: &Context<'_>, epsilon: f64, draws: u64) -> Result<[Vec<f64>; 4]> {
    let (budget, one) = (Budget::new(epsilon, DELTA)?, EntryBound::new(1.0)?);
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0)? };
    let (features, columns) = (FEATURES as u64, COLUMNS as u64);
    let shift = L2Sensitivity::new(1.0)?;
    let setting = PublishedSetting::GaussianProjection { features, columns, shift };
    let lemma = PublishedRule::KenthapadiLemma2;
    let lemma = lemma
        .calibrate(sabotage::published(budget)?, setting, Acceptance::AcceptTrueDelta)?
        .scale()
        .get();
    let (mut published, mut exact) = (Vec::new(), Vec::new());
    for draw in 0..draws {
        let seed = context.public_seed("projection", draw);
        let p = ProjectionSpec::new(sabotage::family(Family::Gaussian), FEATURES, COLUMNS, seed)?;
        let p = p.build();
        let rule = PublishedRule::KenthapadiTheorem1;
        let spent = sabotage::published(budget)?;
        let by_rule = PrivateProjection::published(p.clone(), rule, Shift::new(1.0)?, one, spent)?;
        published.push(sigma(&by_rule.noise()));
        let realised = PrivateProjection::gaussian(p, adjacency, one, budget)?;
        exact.push(sigma(&realised.noise()));
    }
    let averaged = AveragedProjection::gaussian(FEATURES, COLUMNS, adjacency, one, budget)?;
    Ok([vec![lemma], published, exact, vec![sigma(&averaged.noise())]])
}

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let draws = context.pick(10, 50);
    let steps = 9;
    let epsilons: Vec<f64> =
        (0..steps).map(|i| 10f64.powf(-1.0 + 2.0 * f64::from(i) / f64::from(steps - 1))).collect();
    context.progress.begin(epsilons.len() as u64);
    let columns = ["epsilon", "calibration", "sigma", "over averaged"];
    let caption = format!(
        "Noise for one attribute of {FEATURES} (beta = 1), {COLUMNS} columns, delta = {DELTA:e}; \
         mean over {draws} drawn matrices where the matrix counts."
    );
    let mut table = Table::new("noise", &caption, &columns);
    let mut curves = NAMES.map(|_| (Vec::new(), Vec::new()));
    let mut norms: Vec<f64> = Vec::new();
    let (mut ordered, mut floor, mut ceiling) = (true, f64::INFINITY, 0.0f64);
    for &epsilon in &epsilons {
        let found = scales(context, epsilon, draws)?;
        let averaged = found[3][0];
        let single = calibrate::gaussian(Budget::new(epsilon, DELTA)?, L2Sensitivity::new(1.0)?)?;
        floor = floor.min(averaged / single.get());
        ceiling = ceiling.max(averaged / single.get());
        for (i, sigmas) in found.iter().enumerate() {
            let ratios: Vec<f64> = sigmas.iter().map(|s| s / averaged).collect();
            let (sigma, ratio) = (mean_and_error(sigmas).0, mean_and_error(&ratios).0);
            curves[i].0.push(Point::mean(epsilon, &ratios));
            curves[i].1.push(sigma);
            if [0.1, 1.0, 10.0].iter().any(|e: &f64| (e / epsilon - 1.0).abs() < 1e-9) {
                let numbers = (format!("{sigma:.4}"), format!("{ratio:.3}"));
                table.row([format!("{epsilon:.1}"), NAMES[i].into(), numbers.0, numbers.1]);
            }
        }
        norms.extend(found[2].iter().map(|s| s / single.get()));
        // Every drawn matrix: theorem 1 above exact above averaged, and lemma 2 above all.
        for (published, exact) in found[1].iter().zip(&found[2]) {
            ordered &= found[0][0] > *published && published > exact && *exact > averaged;
        }
        context.progress.step();
    }
    report.claim(
        "lemma 2 > theorem 1 > exact for the drawn matrix > averaged, at every epsilon and draw",
        ordered,
        format!("{} values of epsilon, {draws} matrices each", epsilons.len()),
    )
    .of("theorem 1 and lemma 2");
    // The largest of 784 chi-squares with 256 degrees of freedom, over 256: 1 + 3.16 sqrt(2/256) + 9 (2/3)/256 = 1.30.
    let (least, most) =
        norms.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &x| (a.min(x), b.max(x)));
    report
        .claim(
            "the drawn Gaussian matrices need 1.14 times the noise of rows of norm one, the root of the largest of 784 \
             chi-squares over their 256 degrees of freedom (every draw within 0.07)",
            least > 1.07 && most < 1.21,
            format!("between {least:.3} and {most:.3}"),
        )
        .of("theorem 1: P from N(0, 1/k)")
        .catches(&[Sabotage::OtherFamily]);
    let lemma = scales(context, 1.0, 1)?[0][0];
    report
        .claim(
            "lemma 2 at epsilon 1, delta 1e-6 is 4 sqrt(ln 10^6) = 14.8678 (within 1e-4)",
            (lemma / 14.867_8 - 1.0).abs() < 1e-4,
            format!("{lemma:.4}"),
        )
        .of("lemma 2")
        .formula()
        .catches(&[Sabotage::PublishedDoubled]);
    report.claim(
        "averaging costs at most 3 % over a projection whose rows have norm one exactly, and is \
         never below it",
        floor >= 1.0 && ceiling < 1.03,
        format!("ratio between {floor:.4} and {ceiling:.4}"),
    );
    let origin = |i: usize, scales: Vec<f64>| Origin {
        k: Setting::Fixed(COLUMNS as f64),
        epsilon: Setting::AxisX,
        delta: Setting::Fixed(DELTA),
        sigma: Setting::PerPoint(scales),
        seeds: if matches!(i, 1 | 2) { Seeds::Derived(context.seed) } else { Seeds::None },
        repetitions: if matches!(i, 1 | 2) { draws as usize } else { 1 },
        ..Origin::formula(format!("Gaussian projection of {FEATURES} features, {}", NAMES[i]))
    };
    let curve = |(i, (points, scales)): (usize, (Vec<Point>, Vec<f64>))| Curve {
        label: NAMES[i].into(),
        points,
        origin: origin(i, scales),
    };
    report.figures.push(Figure {
        name: "ratio".into(),
        caption: "Sigma over that of averaged calibration, which needs a matrix drawn afresh and \
                  used once."
            .into(),
        panels: vec![Panel {
            title: "noise".into(),
            x: Axis::log("epsilon"),
            y: Axis::log("sigma / averaged"),
            curves: curves.into_iter().enumerate().map(curve).collect(),
        }],
        columns: 1,
    });
    report.tables.push(table);
    Ok(report)
}
