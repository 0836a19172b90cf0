//! Figure 3: variance of inner products from noisy raw data over that from sketches.

use crate::error::Result;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Setting, Study,
};

pub(super) const STUDY: Study = Study {
    id: "li-li-2023/fig3-variance-ratio",
    title: "Variance of noisy raw data over variance of a private projection",
    reference: "Li and Li 2023, section 3.6, equation (23) and figure 3",
    run,
};

/// Equation (23) for unit vectors: how many times larger the variance of an inner product is
/// after noise on the `p` raw coordinates than after noise on `k` projections.
fn ratio(p: f64, k: f64, sigma: f64) -> f64 {
    let (s2, s4) = (sigma.powi(2), sigma.powi(4));
    (2.0 * s2 + p * s4) / (1.0 / k + 2.0 * s2 + k * s4)
}

fn run(context: &Context<'_>) -> Result<Report> {
    let dimensions = [100.0, 1_000.0, 10_000.0, 100_000.0];
    let sizes = [50.0, 100.0, 256.0, 512.0];
    context.progress.begin(dimensions.len() as u64);
    let mut report = Report::default();
    let mut panels = Vec::new();
    for p in dimensions.into_iter().filter(|&p| p >= 1000.0).chain([784.0]) {
        let curves = sizes.iter().map(|&k| {
            let points = (0..=80)
                .map(|i| {
                    let sigma = 10f64.powf(-3.0 + f64::from(i) / 20.0);
                    Point::exact(sigma, ratio(p, k, sigma))
                })
                .collect();
            Curve {
                label: format!("k = {k}"),
                points,
                origin: Origin {
                    k: Setting::Fixed(k),
                    sigma: Setting::AxisX,
                    ..Origin::formula(format!("equation (23), p = {p}"))
                },
            }
        });
        panels.push(Panel {
            title: format!("p = {p}"),
            x: Axis::log("sigma"),
            y: Axis::log("variance ratio"),
            curves: curves.collect(),
        });
        context.progress.step();
    }
    let by_hand = [(10_000.0, 100.0, 10.0, 99.980_2), (1_000.0, 256.0, 0.1, 2.423_94)];
    let worst = by_hand.map(|(p, k, s, said)| (ratio(p, k, s) / said - 1.0).abs());
    report
        .claim(
            "equation (23) at two places, worked out by hand (within 1e-4); measured in theorems-3-8-to-3-10",
            worst.iter().all(|w| *w < 1e-4),
            format!("deviations {worst:?}"),
        )
        .of("figure 3, equation (23)")
        .formula();
    let limit = ratio(10_000.0, 100.0, 10.0);
    report
        .claim(
            "with p/k = 100 and much noise the ratio is roughly 100 (within 5 %)",
            (limit / 100.0 - 1.0).abs() < 0.05,
            format!("{limit:.2} at p = 10000, k = 100, sigma = 10"),
        )
        .of("figure 3, section 3.6")
        .formula();
    let small = ratio(1_000.0, 256.0, 0.02);
    let large = ratio(1_000.0, 256.0, 0.1);
    report
        .claim(
            "with little noise the raw data is better: the ratio is below 1",
            small < 1.0 && large > 1.0,
            format!("{small:.3} at sigma = 0.02 and {large:.3} at 0.1 (p = 1000, k = 256)"),
        )
        .of("figure 3, section 3.6")
        .formula();
    report.figures.push(Figure {
        name: "ratio".into(),
        caption: "Above 1 the projection is better; unit vectors.".into(),
        panels,
        columns: 2,
    });
    Ok(report)
}
