//! What is read from a released covariance: the denoised matrix, components, and components under a chosen bound.

use super::super::laws::{gram, power_law};
use super::super::peers;
use crate::error::{Error, Result};
use crate::framework::sabotage::{self, NOISE, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting,
};
use crate::metrics::mean_and_error;
use dp_core::{Adjacency, Budget, NormBound, Probability, Release};
use faer::{Mat, MatRef};
use linalg_dp::analysis::{denoised, pca};
use linalg_dp::covariance::{
    GaussianCovariance, PrivateCovariance, QuantileConfig, QuantileCovariance,
};
use linalg_dp::dense::symmetric_eigen;

/// Announced to the progress: one a panel and epsilon.
pub(super) const STEPS: u64 = 9;
const EPSILONS: [f64; 3] = [0.3, 1.0, 3.0];
const DELTA: f64 = 1e-6;
/// Columns, components and rows of the power law.
const D: usize = 100;
const K: usize = 10;
const N: usize = 10_000;
/// Pixels of a side.
const SIDE: usize = 28;

/// Samples of one curve, an epsilon each.
type Samples = Vec<Vec<f64>>;

/// The share of the energy of the best k directions that these capture.
fn captured(exact: &Mat<f64>, directions: MatRef<'_, f64>, best: f64) -> f64 {
    let along = |j: usize| {
        let v = directions.col(j);
        let product = |i: usize| (0..v.nrows()).map(|l| exact[(i, l)] * v[l]).sum::<f64>();
        (0..v.nrows()).map(|i| v[i] * product(i)).sum::<f64>()
    };
    (0..directions.ncols()).map(along).sum::<f64>() / best
}

fn components(release: &Release<PrivateCovariance>, k: usize) -> Result<Mat<f64>> {
    let d = release.payload().dim();
    sabotage::solved(
        || Ok(pca(release, k)?.payload().directions().to_owned()),
        || Mat::from_fn(d, k, |i, j| f64::from(u8::from(i == j))),
    )
}

fn frobenius(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (a - b).norm_l2()
}

/// Errors of the whole matrix, and energy of its components, on the power law.
struct PowerLaw {
    raw: Samples,
    clipped: Samples,
    denoised: Samples,
    energy: Samples,
    five: Samples,
    zero: f64,
}

fn of_power_law(context: &Context<'_>, repetitions: u64) -> Result<PowerLaw> {
    let empty = || vec![Vec::new(); EPSILONS.len()];
    let mut found = PowerLaw {
        raw: empty(),
        clipped: empty(),
        denoised: empty(),
        energy: empty(),
        five: empty(),
        zero: 0.0,
    };
    let adjacency = Adjacency::ReplaceRow { bound: NormBound::new(1.0)? };
    for repetition in 0..repetitions {
        for (d, k) in [(D, K), (5, 2)] {
            let rows = power_law(N, d, context.data_seed(&format!("power law {d}"), repetition))?;
            let exact = gram(&rows, d);
            let values = symmetric_eigen(exact.as_ref())?.values;
            let best: f64 = values[..k].iter().sum();
            let seen = sabotage::data(rows);
            for (i, epsilon) in EPSILONS.into_iter().enumerate() {
                let budget = sabotage::spent(Budget::new(epsilon, DELTA)?)?;
                let mechanism = GaussianCovariance::calibrate(d, adjacency, budget)?;
                let mut rng = context.noise(&format!("read {d} {epsilon}"), repetition);
                let release = mechanism.release(&seen, &mut rng)?;
                let energy = captured(&exact, components(&release, k)?.as_ref(), best);
                if d != D {
                    found.five[i].push(energy);
                    continue;
                }
                found.energy[i].push(energy);
                let payload = release.payload();
                found.raw[i].push(frobenius(&payload.unbiased(), &exact));
                found.clipped[i].push(frobenius(&payload.positive()?, &exact));
                let matrix =
                    sabotage::solved(|| Ok(denoised(payload)?.matrix()), || Mat::zeros(d, d))?;
                found.denoised[i].push(frobenius(&matrix, &exact));
                found.zero += exact.norm_l2() / (repetitions * EPSILONS.len() as u64) as f64;
            }
        }
    }
    Ok(found)
}

/// Energy on images whose norms nobody declared: under the bound of pixels in [0, 1], and under a chosen one.
fn of_images(context: &Context<'_>, repetitions: u64) -> Result<([Samples; 2], String)> {
    let images = context.images()?;
    if images.d() != SIDE * SIDE {
        let reason = format!("{} pixels an image, not {SIDE} x {SIDE}", images.d());
        return Err(Error::Malformed { what: images.name().to_owned(), reason });
    }
    let side = context.pick(SIDE / 2, SIDE);
    let name = format!("{}, {side} x {side}", images.name());
    let images = context.pick(images.halved(), images);
    let values = images.values().to_vec();
    let d = side * side;
    let exact = gram(&values, d);
    let best: f64 = symmetric_eigen(exact.as_ref())?.values[..K].iter().sum();
    let seen = sabotage::data(values);
    let adjacency = Adjacency::ReplaceRow { bound: NormBound::new(side as f64)? };
    let mut found = [vec![Vec::new(); EPSILONS.len()], vec![Vec::new(); EPSILONS.len()]];
    for (i, epsilon) in EPSILONS.into_iter().enumerate() {
        let budget = sabotage::spent(Budget::new(epsilon, DELTA)?)?;
        let declared = GaussianCovariance::calibrate(d, adjacency, budget)?;
        let within = Probability::new(0.9)?;
        let config = QuantileConfig { dim: d, adjacency, within, means: false };
        let chosen = QuantileCovariance::calibrate(config, budget)?;
        for repetition in 0..repetitions {
            let mut rng = context.noise(&format!("images {epsilon}"), repetition);
            let releases = [declared.release(&seen, &mut rng)?, chosen.release(&seen, &mut rng)?];
            for (found, release) in found.iter_mut().zip(&releases) {
                found[i].push(captured(&exact, components(release, K)?.as_ref(), best));
            }
        }
        context.progress.step();
    }
    Ok((found, name))
}

fn means(samples: &Samples) -> Vec<f64> {
    samples.iter().map(|s| mean_and_error(s).0).collect()
}

fn shown(numbers: &[f64]) -> String {
    let digits = if numbers.iter().any(|x| *x > 10.0) { 0 } else { 3 };
    numbers.iter().map(|x| format!("{x:.digits$}")).collect::<Vec<_>>().join(", ")
}

pub(super) fn add(report: &mut Report, context: &Context<'_>) -> Result<()> {
    let law = of_power_law(context, context.pick(10, 16))?;
    (0..6).for_each(|_| context.progress.step());
    let (images, name) = of_images(context, 10)?;
    claims(report, &law, &images);
    let curve = |label: &str, samples: &Samples, data: &str| Curve {
        label: label.into(),
        points: EPSILONS.iter().zip(samples).map(|(x, y)| Point::mean(*x, y)).collect(),
        origin: Origin {
            epsilon: Setting::AxisX,
            delta: Setting::Fixed(DELTA),
            seeds: Seeds::Derived(context.seed),
            data: data.into(),
            repetitions: samples[0].len(),
            ..Origin::formula(format!("{label}, symmetric Gaussian noise, one row replaced"))
        },
    };
    let about = format!("{N} x {D}, eigenvalues 1/i, drawn anew");
    let of = |label: &str, samples: &Samples| curve(label, samples, &about);
    let panel = |title: &str, y: Axis, curves| Panel {
        title: title.into(),
        x: Axis::log("epsilon"),
        y,
        curves,
    };
    report.figures.push(Figure {
        name: "read".into(),
        caption: format!(
            "What is read from one release, delta {DELTA:e}, one row replaced. Left: the whole matrix; predicting zero \
             has an error of {:.0}. Middle and right: energy of {K} components over that of the best.",
            law.zero
        ),
        panels: vec![
            panel(
                "Frobenius error, 1/i",
                Axis::log("Frobenius error"),
                vec![
                    of("as released", &law.raw),
                    of("clipped at zero", &law.clipped),
                    of("denoised", &law.denoised),
                ],
            ),
            panel(
                "components, 1/i",
                Axis::linear("energy over the best").between(0.0, 1.0),
                vec![of("components", &law.energy)],
            ),
            panel(
                &format!("components, {name}"),
                Axis::linear("energy over the best").between(0.0, 1.0),
                vec![
                    curve("bound from the range of pixels", &images[0], &name),
                    curve("chosen bound", &images[1], &name),
                ],
            ),
        ],
        columns: 3,
    });
    let ours = [(5, 2, means(&law.five)), (D, K, means(&law.energy))];
    report.tables.push(peers::components(&ours)?);
    report.tables.push(peers::audits()?);
    report.note(peers::NOTE);
    Ok(())
}

fn claims(report: &mut Report, law: &PowerLaw, images: &[Samples; 2]) {
    let [raw, clipped, denoised] = [&law.raw, &law.clipped, &law.denoised].map(means);
    // sigma sqrt(d (d + 1) / 2), one row replaced.
    let noise = 5.9747 * (50.0f64 * 101.0).sqrt();
    report
        .claim(
            "at epsilon 1 the released matrix has the error that its noise says, within 3 %",
            (raw[1] / noise - 1.0).abs() < 0.03,
            format!("{:.1}; sigma sqrt(d (d + 1)/2) = {noise:.1}", raw[1]),
        )
        .catches(&NOISE)
        .catches(&[Sabotage::DataIgnored]);
    report
        .claim(
            "the denoised matrix has at most .7 of the error of the released one at epsilon 1, and nowhere more than that \
             or the clipped one",
            denoised[1] <= 0.7 * raw[1]
                && denoised.iter().zip(&raw).all(|(d, r)| d <= r)
                && denoised.iter().zip(&clipped).all(|(d, c)| d <= c),
            format!(
                "{} denoised; {} clipped; {} as released; zero {:.0}",
                shown(&denoised),
                shown(&clipped),
                shown(&raw),
                law.zero
            ),
        )
        .catches(&[Sabotage::NoNoise, Sabotage::DataIgnored, Sabotage::SolverConstant]);
    let [declared, chosen] = [&images[0], &images[1]].map(means);
    report
        .claim(
            "on digits, where only the range of pixels is known, a chosen bound captures at least .1 more of the energy at \
             epsilon 1 and 3, and is not worse by more than .01 at .3",
            chosen[0] >= declared[0] - 0.01 && (1..3).all(|i| chosen[i] >= declared[i] + 0.1),
            format!("{} with a chosen bound, {} with that of the range", shown(&chosen), shown(&declared)),
        )
        .catches(&[Sabotage::NoNoise, Sabotage::DataIgnored, Sabotage::SolverConstant]);
}
