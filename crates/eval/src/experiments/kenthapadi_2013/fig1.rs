//! Figure 1: the (epsilon, delta) pairs that a given sigma affords.

use crate::error::Result;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Setting, Study,
};
use dp_core::{Budget, Epsilon, L2Sensitivity, NoiseScale, PrivacyProfile, Profile, calibrate};

pub(super) const STUDY: Study = Study {
    id: "kenthapadi-2013/fig1",
    title: "Feasible (epsilon, delta) for three noise scales",
    reference: "Kenthapadi et al. 2013, section 3.2.1, figure 1",
    run,
};

const SIGMAS: [f64; 3] = [0.5, 1.0, 2.0];

fn profile(sigma: f64) -> Result<Profile> {
    Ok(Profile::Gaussian { sensitivity: L2Sensitivity::new(1.0)?, sigma: NoiseScale::new(sigma)? })
}

fn run(context: &Context<'_>) -> Result<Report> {
    context.progress.begin(SIGMAS.len() as u64);
    let mut report = Report::default();
    let mut curves = Vec::new();
    for sigma in SIGMAS {
        let profile = profile(sigma)?;
        let points = (0..=120)
            .map(|i| {
                let epsilon = 0.05 * f64::from(i.max(1));
                let delta = profile.log_delta(Epsilon::new(epsilon)?).delta();
                Ok(Point::exact(epsilon, delta))
            })
            .collect::<Result<Vec<_>>>()?;
        curves.push(Curve {
            label: format!("sigma = {sigma}"),
            points,
            origin: Origin {
                epsilon: Setting::AxisX,
                delta: Setting::AxisY,
                sigma: Setting::Fixed(sigma),
                ..Origin::formula("Gaussian, exact profile, sensitivity 1")
            },
        });
        context.progress.step();
    }
    let falling = curves.iter().all(|c| c.points.windows(2).all(|w| w[1].y <= w[0].y));
    let ordered = (0..curves[0].points.len())
        .all(|i| curves.windows(2).all(|pair| pair[1].points[i].y < pair[0].points[i].y));
    report
        .claim(
            "delta falls with epsilon on every curve, and more noise lies below less noise",
            falling && ordered,
            "121 values of epsilon in [0.05, 6], three curves",
        )
        .of("figure 1")
        .formula();
    let sigma = calibrate::gaussian(Budget::new(1.0, 0.1)?, L2Sensitivity::new(1.0)?)?.get();
    report
        .claim(
            "(epsilon, delta) = (1, 0.1) needs sigma about 1.0 (within 0.15)",
            (sigma - 1.0).abs() < 0.15,
            format!("exact sigma {sigma:.4}"),
        )
        .of("figure 1")
        .formula();
    let panel = |title: &str, y: Axis| Panel {
        title: title.into(),
        x: Axis::linear("epsilon").between(0.0, 6.0),
        y,
        curves: curves.clone(),
    };
    report.figures.push(Figure {
        name: "feasible".into(),
        caption: "Every point on or above a curve is afforded by its sigma (sensitivity 1); on \
                  the right with a logarithmic delta."
            .into(),
        panels: vec![
            panel("linear", Axis::linear("delta").between(0.0, 0.6)),
            panel("logarithmic", Axis::log("delta").between(1e-12, 1.0)),
        ],
        columns: 2,
    });
    report.note("The paper names only sigma = 1, the middle one of three; ours are 0.5, 1 and 2.");
    Ok(report)
}
