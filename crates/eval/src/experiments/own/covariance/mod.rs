//! Covariance mechanisms: the Wishart frontier against the symmetric Gaussian, the published choices, and what is read
//! from a release.

mod read;

use crate::Table;
use crate::error::Result;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Setting, Study,
};
use dp_core::calibrate::{Acceptance, PublishedRule, PublishedSetting};
use dp_core::{Adjacency, Budget, NormBound, SquaredNorm};
use linalg_dp::covariance::{
    CovarianceMechanism, GaussianCovariance, JlCovariance, WishartCovariance, WishartShape,
};

pub(super) const STUDY: Study = Study {
    id: "own/covariance",
    title: "Covariance mechanisms: Wishart frontier, symmetric Gaussian, JL; what is read from a release",
    reference: "Sheffet 2019; Dwork, Talwar, Thakurta & Zhang 2014",
    run,
};

const DIM: usize = 100;

fn run(context: &Context<'_>) -> Result<Report> {
    context.progress.begin(3 + read::STEPS);
    let mut report = Report::default();
    let (budget, bound) = (Budget::new(1.0, 1e-6)?, NormBound::new(1.0)?);
    let trace = SquaredNorm::new(1.0)?;
    let adjacency = Adjacency::AddRemoveRow { bound };
    let wishart = |shape| WishartCovariance::calibrate(DIM, adjacency, budget, shape);
    let gaussian = GaussianCovariance::calibrate(DIM, adjacency, budget)?;
    let mut centred = Vec::new();
    let mut norm = Vec::new();
    for power in 1..=16 {
        let extra = 1u64 << power;
        let m = wishart(WishartShape::Dof(DIM as u64 + extra))?;
        centred.push(Point::exact(extra as f64, m.expected_frobenius_error(trace)));
        norm.push(Point::exact(extra as f64, m.typical_norm()));
    }
    context.progress.step();
    let flat = |y: f64| vec![Point::exact(2.0, y), Point::exact(65_536.0, y)];
    let curve = |label: &str, points| Curve {
        label: label.into(),
        points,
        origin: Origin {
            epsilon: Setting::Fixed(1.0),
            delta: Setting::Fixed(1e-6),
            ..Origin::formula(format!(
                "{label}, d = {DIM}, rows of norm at most 1, add or remove one"
            ))
        },
    };
    let limit = gaussian.expected_frobenius_error(trace);
    let last = centred[centred.len() - 1].y / limit;
    report.claim(
        "for many degrees of freedom the centred Wishart error falls towards the symmetric Gaussian's, from above",
        centred.windows(2).all(|w| w[1].y < w[0].y) && (1.0..1.2).contains(&last),
        format!("ratio {last:.4} at 65,536 degrees over d"),
    ).formula();
    let best = wishart(WishartShape::LeastSpectralNorm)?;
    let least = wishart(WishartShape::LeastDof)?;
    let rule = PublishedRule::SheffetWishart.calibrate(
        budget,
        PublishedSetting::Wishart { dim: DIM as u64, bound },
        Acceptance::AcceptTrueDelta,
    )?;
    let published = rule.dof().unwrap_or(0) - DIM as u64;
    report.claim(
        "at scale B^2 the exact profile needs 42 degrees of freedom over d, the published rule 425 or so",
        least.dof() - DIM as u64 == 42 && (424..=427).contains(&published),
        format!("{} and {published}; the published one really gives {}", least.dof() - DIM as u64, rule.true_delta()),
    ).formula();
    context.progress.step();
    let mut table = Table::new(
        "mechanisms",
        "d = 100, rows of norm at most 1, epsilon 1, delta 1e-6, one row added or removed.",
        &["mechanism", "parameters", "Frobenius error after centring", "typical norm of the noise"],
    );
    for (name, m) in [("Wishart, least norm", &best), ("Wishart, scale B^2", &least)] {
        let parameters = format!("nu = {}, s = {:.4}", m.dof(), m.scale().get());
        let error = m.expected_frobenius_error(trace);
        table.rows.push(vec![
            name.into(),
            parameters,
            format!("{error:.1}"),
            format!("{:.1}", m.typical_norm()),
        ]);
    }
    let sigma = gaussian.sigma().get();
    table.rows.push(vec![
        "symmetric Gaussian".into(),
        format!("sigma = {sigma:.4}"),
        format!("{limit:.1}"),
        format!("{:.1}", sigma * (2.0 * DIM as f64).sqrt()),
    ]);
    let jl = JlCovariance::calibrate(DIM, 400, adjacency, budget)?;
    table.rows.push(vec![
        "JL, 400 rows".into(),
        format!("w^2 = {:.2}", jl.lift().get().powi(2)),
        format!("{:.1} on nearly empty data", jl.expected_frobenius_error(trace)),
        "relative to the data".into(),
    ]);
    report
        .claim(
            "the default shape has a smaller noise norm than scale B^2",
            best.typical_norm() < 0.6 * least.typical_norm(),
            format!("{:.1} against {:.1}", best.typical_norm(), least.typical_norm()),
        )
        .formula();
    report.tables.push(table);
    context.progress.step();
    read::add(&mut report, context)?;
    let x = || Axis::log("degrees of freedom over d");
    report.figures.push(Figure {
        name: "frontier".into(),
        caption: "Every point of a Wishart curve meets epsilon 1, delta 1e-6 exactly (d = 100). Left: error once the \
                  public mean is subtracted. Right: the noise itself, positive definite."
            .into(),
        panels: vec![
            Panel {
                title: "centred".into(),
                x: x(),
                y: Axis::log("Frobenius error"),
                curves: vec![
                    curve("Wishart", centred),
                    curve("symmetric Gaussian", flat(limit)),
                ],
            },
            Panel {
                title: "uncentred".into(),
                x: x(),
                y: Axis::log("typical spectral norm"),
                curves: vec![curve("Wishart", norm)],
            },
        ],
        columns: 2,
    });
    Ok(report)
}
