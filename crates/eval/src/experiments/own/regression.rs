//! Linear regression: private Newton steps, sums that are published once, and AdaSSP, all calibrated exactly.

use super::laws::{Normals, gram, with_target};
use super::peers;
use crate::error::Result;
use crate::framework::sabotage::{self, NOISE, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, Study,
};
use dp_core::{Adjacency, Budget, L2Sensitivity, NoiseScale, NormBound, calibrate};
use faer::Mat;
use linalg_dp::analysis::{Regression, Ridge, denoised, regression};
use linalg_dp::covariance::GaussianCovariance;
use linalg_dp::dense::symmetric_eigen;
use linalg_dp::newton::{NewtonConfig, PrivateNewton};

pub(super) const STUDY: Study = Study {
    id: "own/regression",
    title: "Linear regression: private Newton steps, published sums, AdaSSP",
    reference: "Wang 2018 (AdaSSP); the other two are ours",
    run,
};

const EPSILONS: [f64; 3] = [0.3, 1.0, 3.0];
const DELTA: f64 = 1e-6;
const N: usize = 20_000;
const D: usize = 50;
/// Failure probability of AdaSSP's ridge, as in its paper's experiments.
const FAILURE: f64 = 0.05;

const METHODS: [&str; 4] = [
    "private Newton (rows at hand, one target)",
    "sums released once, adaptive ridge",
    "AdaSSP",
    "AdaSSP, denoised Gram matrix",
];

/// The mechanisms at one epsilon, and the scale of AdaSSP's noise.
struct Calibrated {
    epsilon: f64,
    newton: PrivateNewton,
    sums: GaussianCovariance,
    gram: GaussianCovariance,
    sigma: f64,
}

impl Calibrated {
    /// Rows with their target have norm root two at most. AdaSSP's three parts are composed exactly, a third of mu squared each.
    fn at(epsilon: f64) -> Result<Self> {
        let budget = sabotage::spent(Budget::new(epsilon, DELTA)?)?;
        let of = |bound: f64| -> Result<Adjacency> {
            Ok(Adjacency::AddRemoveRow { bound: NormBound::new(bound)? })
        };
        let (adjacency, label_bound) = (of(1.0)?, NormBound::new(1.0)?);
        let config = NewtonConfig { features: D, adjacency, label_bound, intercept: false };
        let sigma = 3f64.sqrt() * calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?.get();
        let of_gram = NoiseScale::new(sigma * 1.0001)?;
        Ok(Self {
            epsilon,
            newton: PrivateNewton::calibrate(config, budget)?,
            sums: GaussianCovariance::calibrate(D + 1, of(2f64.sqrt())?, budget)?,
            gram: GaussianCovariance::with_sigma(D, adjacency, budget, of_gram)?,
            sigma,
        })
    }
}

/// Excess risk over that of predicting zero of every method on one data set, at every epsilon.
fn risks(
    context: &Context<'_>,
    made: &[Calibrated],
    power: f64,
    repetition: u64,
) -> Result<Vec<[f64; 4]>> {
    let rows = with_target(N, D, power, context.data_seed(&law(power), repetition));
    let exact = gram(&rows, D + 1);
    let seconds = exact.get(..D, ..D);
    let best = regression(exact.as_ref(), D, Ridge::Fixed { lambda: 0.0 })?;
    let risk = |theta: &Mat<f64>| {
        let along = |i: usize| (0..D).map(|j| seconds[(i, j)] * theta[(j, 0)]).sum::<f64>();
        (0..D).map(|i| theta[(i, 0)] * along(i)).sum::<f64>()
    };
    let excess =
        |theta: &[f64]| risk(&Mat::from_fn(D, 1, |i, _| theta[i] - best[(i, 0)])) / risk(&best);
    let seen = sabotage::data(rows);
    let sums = gram(&seen, D + 1);
    let of_epsilon = |made: &Calibrated| -> Result<[f64; 4]> {
        let part = format!("{} {}", law(power), made.epsilon);
        let found = coefficients(context, (&seen, &sums), made, (&part, repetition))?;
        Ok(found.map(|theta| excess(&theta)))
    };
    made.iter().map(of_epsilon).collect()
}

fn law(power: f64) -> String {
    format!("regression i^-{power}")
}

/// What every method finds in rows and their Gram matrix.
fn coefficients(
    context: &Context<'_>,
    (rows, exact): (&[f64], &Mat<f64>),
    made: &Calibrated,
    (part, repetition): (&str, u64),
) -> Result<[Vec<f64>; 4]> {
    let zero = || vec![0.0; D];
    let mut rng = context.noise(part, repetition);
    let newton = sabotage::solved(
        || Ok(made.newton.release(rows, &mut rng)?.payload().coefficients().to_vec()),
        zero,
    )?;
    let release = made.sums.release(rows, &mut rng)?;
    let line = sabotage::solved(
        || Ok(Regression::of(release.payload(), D)?.coefficients().to_vec()),
        zero,
    )?;
    let [ada, denoised] = adassp(context, (rows, exact), made, (part, repetition))?;
    Ok([newton, line, ada, denoised])
}

/// AdaSSP with its three parts composed exactly (its paper splits epsilon and delta): the least eigenvalue, the Gram matrix, its product with the target. Then the same with the Gram matrix denoised.
fn adassp(
    context: &Context<'_>,
    (rows, exact): (&[f64], &Mat<f64>),
    made: &Calibrated,
    (part, repetition): (&str, u64),
) -> Result<[Vec<f64>; 2]> {
    let sigma = made.sigma;
    let mut normals = Normals::new(context.sub_seed(&format!("AdaSSP {part}"), repetition));
    let features: Vec<f64> = rows.chunks(D + 1).flat_map(|row| &row[..D]).copied().collect();
    let mut rng = context.noise(&format!("AdaSSP {part}"), repetition);
    let release = made.gram.release(&features, &mut rng)?;
    let cross = Mat::from_fn(D, 1, |i, _| exact[(i, D)] + sigma * normals.next());
    let seconds = exact.get(..D, ..D);
    let least = symmetric_eigen(seconds)?.values[D - 1] + sigma * normals.next();
    let least = (least - sigma * (2.0 * (6.0 / DELTA).ln()).sqrt()).max(0.0);
    let d = D as f64;
    let wanted = sigma * (d * (2.0 * d * d / FAILURE).ln()).sqrt();
    let lambda = (wanted - least).max(0.0);
    let solve = |matrix: &Mat<f64>| {
        let whole = Mat::from_fn(D + 1, D + 1, |i, j| match (i < D, j < D) {
            (true, true) => matrix[(i, j)],
            (true, false) => cross[(i, 0)],
            (false, true) => cross[(j, 0)],
            _ => 0.0,
        });
        // Where noise leaves the system indefinite AdaSSP has no answer: zero.
        let found = regression(whole.as_ref(), D, Ridge::Fixed { lambda });
        found.map_or(vec![0.0; D], |x| (0..D).map(|i| x[(i, 0)]).collect())
    };
    Ok([solve(&release.payload().unbiased()), solve(&denoised(release.payload())?.matrix())])
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    0.5 * (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2])
}

/// The median with half of the distance of the order statistics that hold it in two thirds of all cases.
fn point(x: f64, samples: &[f64]) -> Point {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (n, off) = (sorted.len(), (0.5 * (samples.len() as f64).sqrt()).ceil() as usize);
    let at = |i: usize| sorted[i.min(n - 1)];
    let error = 0.5 * (at(n / 2 + off) - at((n / 2).saturating_sub(off)));
    Point { x, y: median(samples), error: Some(error) }
}

fn run(context: &Context<'_>) -> Result<Report> {
    let repetitions = context.pick(12, 32);
    context.progress.begin(2 * repetitions);
    let mut report = Report::default();
    let mut panels = Vec::new();
    let mut ours = Vec::new();
    let made = EPSILONS.into_iter().map(Calibrated::at).collect::<Result<Vec<_>>>()?;
    for power in [0.0, 1.0] {
        // methods x epsilons -> samples
        let mut samples = vec![vec![Vec::new(); EPSILONS.len()]; METHODS.len()];
        for repetition in 0..repetitions {
            for (i, found) in risks(context, &made, power, repetition)?.into_iter().enumerate() {
                samples.iter_mut().zip(found).for_each(|(method, risk)| method[i].push(risk));
            }
            context.progress.step();
        }
        let medians: Vec<Vec<f64>> =
            samples.iter().map(|s| s.iter().map(|s| median(s)).collect()).collect();
        claims(&mut report, power, &medians);
        let about = format!("{N} x {D}, eigenvalues i^-{power}, signal .06, noise .04, drawn anew");
        let curve = |(label, samples): (&&str, &Vec<Vec<f64>>)| Curve {
            label: (*label).into(),
            points: EPSILONS.iter().zip(samples).map(|(x, s)| point(*x, s)).collect(),
            origin: Origin {
                epsilon: Setting::AxisX,
                delta: Setting::Fixed(DELTA),
                seeds: Seeds::Derived(context.seed),
                data: about.clone(),
                repetitions: repetitions as usize,
                ..Origin::formula(format!("{label}, one row added or removed"))
            },
        };
        panels.push(Panel {
            title: name(power).into(),
            x: Axis::log("epsilon"),
            y: Axis::log("excess risk over that of zero"),
            curves: METHODS.iter().zip(&samples).map(curve).collect(),
        });
        ours.extend(METHODS.into_iter().zip(medians).map(|(method, m)| (power, method, m)));
    }
    report.figures.push(Figure {
        name: "risk".into(),
        caption: format!(
            "Excess risk of least squares without privacy, over that of predicting zero: medians, delta {DELTA:e}. At 1 \
             nothing is learnt."
        ),
        panels,
        columns: 2,
    });
    report.tables.push(peers::regressions(&ours)?);
    report.note(peers::NOTE);
    report.note(
        "Newton steps answer for one target and publish no matrix that others can ask; sums answer for every column. \
         AdaSSP is calibrated by exact composition, which its paper is not, and has the same bounds on rows as Newton; \
         sums protect a row with its target as one vector of norm root two.",
    );
    Ok(report)
}

fn name(power: f64) -> &'static str {
    if power == 0.0 { "equal eigenvalues" } else { "eigenvalues 1/i" }
}

fn claims(report: &mut Report, power: f64, medians: &[Vec<f64>]) {
    let [newton, sums, ada, denoised] = medians else { unreachable!("four methods") };
    let shown = |m: &[f64]| m.iter().map(|x| format!("{x:.5}")).collect::<Vec<_>>().join(", ");
    let law = name(power);
    let measured = format!(
        "{} Newton; {} sums; {} AdaSSP; {} AdaSSP denoised",
        shown(newton),
        shown(sums),
        shown(ada),
        shown(denoised)
    );
    // Less than a quarter would be less noise than is paid for.
    let wanted = if power == 0.0 { [0.02, 0.002, 0.0003] } else { [0.025, 0.0045, 0.0006] };
    report
        .claim(
            format!(
                "{law}: Newton's risk is at most {} at epsilon .3, 1, 3, and at least a quarter",
                shown(&wanted)
            ),
            newton.iter().zip(wanted).all(|(n, w)| *n <= w && *n >= w / 4.0),
            measured.clone(),
        )
        .catches(&NOISE)
        .catches(&[Sabotage::DataIgnored, Sabotage::SolverConstant]);
    report
        .claim(
            format!(
                "{law}: Newton has at most half of the risk of every other method at every epsilon"
            ),
            [sums, ada, denoised]
                .iter()
                .all(|other| newton.iter().zip(*other).all(|(n, o)| *n <= 0.5 * o)),
            measured.clone(),
        )
        .catches(&[Sabotage::DataIgnored, Sabotage::SolverConstant]);
    report
        .claim(
            format!(
                "{law}: sums with the adaptive ridge have at most .8 of the risk of AdaSSP at epsilon .3 and 1"
            ),
            (0..2).all(|i| sums[i] <= 0.8 * ada[i]),
            measured,
        )
        .catches(&[Sabotage::SolverConstant]);
}
