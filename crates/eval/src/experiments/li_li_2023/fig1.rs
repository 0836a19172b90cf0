//! Figure 1: sigma against epsilon, published and optimal.

use crate::error::Result;
use crate::framework::sabotage::{self, NOISE, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Setting, Study,
};
use dp_core::calibrate::{self, Acceptance, PublishedRule, PublishedSetting};
use dp_core::{Budget, L2Sensitivity};

pub(super) const STUDY: Study = Study {
    id: "li-li-2023/fig1-sigma",
    title: "Gaussian noise against epsilon: optimal and published",
    reference: "Li and Li 2023, section 3.2, figure 1",
    run,
};

const DELTAS: [f64; 3] = [1e-3, 1e-6, 1e-10];

fn optimal(epsilon: f64, delta: f64) -> Result<f64> {
    Ok(calibrate::gaussian(
        sabotage::spent(Budget::new(epsilon, delta)?)?,
        L2Sensitivity::new(1.0)?,
    )?
    .get())
}

fn published(epsilon: f64, delta: f64) -> Result<f64> {
    let setting = PublishedSetting::Shift { sensitivity: L2Sensitivity::new(1.0)? };
    let rule = PublishedRule::KenthapadiTheorem1;
    let budget = sabotage::published(Budget::new(epsilon, delta)?)?;
    Ok(rule.calibrate(budget, setting, Acceptance::RequireTarget)?.scale().get())
}

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let epsilons: Vec<f64> = (0..=60).map(|i| 10f64.powf(-1.0 + f64::from(i) / 20.0)).collect();
    context.progress.begin(DELTAS.len() as u64);
    let mut panels = Vec::new();
    let mut gains = Vec::new();
    for delta in DELTAS {
        let curve = |label: &str, mechanism: &str, sigma: fn(f64, f64) -> Result<f64>| {
            let points = epsilons
                .iter()
                .map(|&e| Ok(Point::exact(e, sigma(e, delta)?)))
                .collect::<Result<Vec<_>>>()?;
            let origin = Origin {
                epsilon: Setting::AxisX,
                delta: Setting::Fixed(delta),
                sigma: Setting::AxisY,
                ..Origin::formula(mechanism)
            };
            Ok::<_, crate::Error>(Curve { label: label.into(), points, origin })
        };
        let curves = vec![
            curve(
                "published (theorem 3.1)",
                "Gaussian, rule of Kenthapadi et al., theorem 1, sensitivity 1",
                published,
            )?,
            curve("optimal (theorem 3.5)", "Gaussian, exact calibration, sensitivity 1", optimal)?,
        ];
        gains.extend(curves[0].points.iter().zip(&curves[1].points).map(|(p, o)| p.y / o.y));
        panels.push(Panel {
            title: format!("delta = {delta:e}"),
            x: Axis::log("epsilon"),
            y: Axis::log("sigma").between(0.05, 100.0),
            curves,
        });
        context.progress.step();
    }
    let (least, most) =
        gains.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &g| (a.min(g), b.max(g)));
    report
        .claim(
            "the optimal mechanism needs less noise than the published rule everywhere",
            least > 1.0,
            format!("published/optimal between {least:.3} and {most:.3}"),
        )
        .of("figure 1")
        .formula();
    let (rule, exact) = (published(1.0, 1e-6)?, optimal(1.0, 1e-6)?);
    report
        .claim(
            "at epsilon 1, delta 1e-6: theorem 3.1 gives sqrt(2 (ln 500000 + 1)) = 5.31458, theorem 3.5 gives 4.22468 (found by \
             bisection with 60 digits; within 1e-4)",
            (rule / 5.314_58 - 1.0).abs() < 1e-4 && (exact / 4.224_68 - 1.0).abs() < 1e-4,
            format!("{rule:.5} and {exact:.5}"),
        )
        .of("theorems 3.1 and 3.5")
        .formula()
        .catches(&NOISE)
        .catches(&[Sabotage::PublishedDoubled]);
    let slope = |a: f64, b: f64| -> Result<f64> {
        Ok((optimal(b, 1e-6)? / optimal(a, 1e-6)?).ln() / (b / a).ln())
    };
    let (small, large) = (slope(1e-3, 1e-2)?, slope(1e3, 1e4)?);
    report.claim(
        "sigma falls as 1/epsilon for small epsilon and as 1/sqrt(epsilon) for large (exponents within 0.1)",
        (small + 1.0).abs() < 0.1 && (large + 0.5).abs() < 0.1,
        format!("exponents {small:.3} and {large:.3} at delta 1e-6"),
    )
    .of("figure 1, remark 3.1")
    .formula();
    let needed = bisect(|e| Ok(optimal(e, 1e-6)? > 0.1), 1.0, 1e3)?;
    report
        .claim(
            "sigma = 0.1 at delta 1e-6 asks for an epsilon far beyond common use (above 50)",
            needed > 50.0,
            format!("epsilon {needed:.2}"),
        )
        .of("section 3.6")
        .formula();
    report.figures.push(Figure {
        name: "sigma".into(),
        caption: "Standard deviation of Gaussian noise for sensitivity 1.".into(),
        panels,
        columns: 3,
    });
    Ok(report)
}

/// Where `above` turns from true to false.
fn bisect(above: impl Fn(f64) -> Result<bool>, mut low: f64, mut high: f64) -> Result<f64> {
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        *(if above(middle)? { &mut low } else { &mut high }) = middle;
    }
    Ok(high)
}
