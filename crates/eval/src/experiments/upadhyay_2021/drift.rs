//! A drifting stream: the digits ordered by class.

use super::streams::{
    block_deviation, claim_noise, config, curve, gram, origin, residuals, schedules,
};
use crate::data::Points;
use crate::error::Result;
use crate::framework::sabotage::{self, Sabotage};
use crate::framework::{Axis, Context, Figure, Origin, Panel, Report, Setting};
use faer::{Mat, MatRef};
use linalg_dp::dense::symmetric_eigen;
use linalg_dp::window::WindowMechanism;

/// Side of the squares that pixels are averaged over.
const POOL: usize = 4;
const COMPONENTS: usize = 20;
const WINDOW: u64 = 500;
const BLOCK: u64 = 100;

pub(super) fn run(context: &Context<'_>) -> Result<Report> {
    let (data, d) = pooled(&context.images()?);
    let rows = data.len() / d;
    let epsilons = [1.0, 10.0];
    let repetitions = 10usize;
    let named = schedules(rows as u64 / BLOCK + 1);
    context.progress.begin((named.len() * epsilons.len() * repetitions) as u64);
    let exact: Vec<f64> = (1..=rows as u64 / BLOCK)
        .map(|block| {
            let end = (block * BLOCK) as usize;
            let truth = gram(&data, d, end.saturating_sub(WINDOW as usize), end);
            variance(leading(truth.as_ref())?.as_ref(), truth.as_ref())
        })
        .collect::<Result<_>>()?;
    let mut report = Report::default();
    let mut panels = Vec::new();
    let (mut means, mut noise, mut traces) = (Vec::new(), Vec::new(), Vec::new());
    for epsilon in epsilons {
        let mut curves = Vec::new();
        for schedule in &named {
            let mut samples: Vec<(f64, Vec<f64>)> = Vec::new();
            for repetition in 0..repetitions as u64 {
                let config = config(d, WINDOW, BLOCK, epsilon, schedule.schedule)?;
                let mut rng =
                    context.noise(&format!("drift {} {epsilon}", schedule.label), repetition);
                let mut stream = WindowMechanism::calibrate(config)?.stream(&mut rng);
                for (block, part) in data.chunks_exact(BLOCK as usize * d).enumerate() {
                    stream.push(&sabotage::data(part.to_vec()))?;
                    let end = (block + 1) * BLOCK as usize;
                    let truth = gram(&data, d, end.saturating_sub(WINDOW as usize), end);
                    let release = stream.release()?;
                    let noisy = release.payload().covariance().unbiased();
                    if schedule.label.ends_with("Gaussian") {
                        let blocks = (block as u64 + 1).min(WINDOW / BLOCK);
                        let deviation = block_deviation(d, epsilon, blocks)?;
                        noise.extend(residuals(noisy.as_ref(), truth.as_ref(), deviation));
                    }
                    let trace = |c: MatRef<'_, f64>| (0..d).map(|i| c[(i, i)]).sum::<f64>();
                    if schedule.label.ends_with("histogram") && epsilon == 10.0 {
                        traces.push(trace(noisy.as_ref()) / trace(truth.as_ref()));
                    }
                    let basis = sabotage::solved(
                        || leading(noisy.as_ref()),
                        || Mat::from_fn(d, COMPONENTS, |i, j| f64::from(u8::from(i == j))),
                    )?;
                    let share = variance(basis.as_ref(), truth.as_ref())? / exact[block];
                    if repetition == 0 {
                        samples.push((end as f64, Vec::new()));
                    }
                    samples[block].1.push(1.0 - share);
                }
                context.progress.step();
            }
            let all: Vec<f64> = samples.iter().flat_map(|(_, s)| s.iter().copied()).collect();
            means.push((epsilon, schedule.label, all.iter().sum::<f64>() / all.len() as f64));
            let about = format!("{rows} digits by class, pooled to {d} pixels, unit norm");
            let how = Origin {
                epsilon: Setting::Fixed(epsilon),
                k: Setting::Fixed(COMPONENTS as f64),
                ..origin(context, schedule.label, &about, repetitions)
            };
            curves.push(curve(schedule.label, &samples, how));
        }
        panels.push(Panel {
            title: format!("epsilon = {epsilon}"),
            x: Axis::linear("rows seen"),
            y: Axis::linear("share of the window's best 20-dimensional variance lost"),
            curves,
        });
    }
    report.figures.push(Figure {
        name: "drift".into(),
        caption: format!("PCA to {COMPONENTS} of {d} dimensions, window {WINDOW}, blocks of {BLOCK}, delta 1e-6 for the whole stream."),
        panels,
        columns: 2,
    });
    let mean = |epsilon: f64, label: &str| {
        means.iter().find(|(e, l, _)| *e == epsilon && *l == label).map_or(f64::NAN, |(_, _, m)| *m)
    };
    for schedule in &named {
        let (low, high) = (mean(1.0, schedule.label), mean(10.0, schedule.label));
        report
            .claim(
                format!(
                    "{}: at most half of the variance lost at epsilon 1 is lost at 10",
                    schedule.label
                ),
                high < 0.5 * low,
                format!("{low:.3} and {high:.3}"),
            )
            .of("theorem 6")
            .catches(&[Sabotage::NoNoise, Sabotage::DataIgnored, Sabotage::SolverConstant]);
    }
    let random = 1.0 - COMPONENTS as f64 / d as f64;
    report
        .claim(
            "At epsilon 10 every schedule but the histogram loses less than half of what a random subspace does",
            named
                .iter()
                .filter(|s| !s.label.ends_with("histogram"))
                .all(|s| mean(10.0, s.label) < 0.5 * random),
            format!("a random subspace loses about {random:.2}"),
        )
        .of("theorem 6")
        .catches(&[Sabotage::DataIgnored, Sabotage::SolverConstant]);
    let most = traces.iter().copied().fold(0.0, f64::max);
    report
        .claim(
            "The histogram's release at epsilon 10 holds at most 1/(1 - rho) = 1.25 of the window's trace, and 0.05 for noise",
            most < 1.3,
            format!("largest {most:.3}"),
        )
        .of("definition 3")
        .catches(&[Sabotage::CheckpointsDropped]);
    claim_noise(&mut report, "Block Gaussian", &noise);
    report.note(format!(
        "Digits are pooled over {POOL} x {POOL} pixels: with all 784 pixels the noise of any mechanism at these budgets \
         exceeds the signal of 500 rows (spectral norm of the noise about sigma sqrt(2 d))."
    ));
    Ok(report)
}

/// Rows ordered by class, pooled, scaled to norm one.
fn pooled(points: &Points) -> (Vec<f64>, usize) {
    let side = (points.d() as f64).sqrt() as usize;
    let small = side / POOL;
    let d = small * small;
    let mut order: Vec<usize> = (0..points.n()).collect();
    if let Some(labels) = points.labels() {
        order.sort_by_key(|i| labels[*i]);
    }
    let mut data = Vec::with_capacity(order.len() * d);
    for i in order {
        let row = points.row(i);
        let pooled: Vec<f64> = (0..d)
            .map(|cell| {
                let (y, x) = (cell / small * POOL, cell % small * POOL);
                (0..POOL * POOL).map(|p| row[(y + p / POOL) * side + x + p % POOL]).sum::<f64>()
            })
            .collect();
        let norm = pooled.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
        data.extend(pooled.iter().map(|x| x / norm));
    }
    (data, d)
}

/// The top components.
fn leading(estimate: MatRef<'_, f64>) -> Result<Mat<f64>> {
    Ok(symmetric_eigen(estimate)?.vectors.get(.., ..COMPONENTS).to_owned())
}

/// Variance of `truth` in a subspace.
fn variance(basis: MatRef<'_, f64>, truth: MatRef<'_, f64>) -> Result<f64> {
    let trace: f64 = (0..truth.nrows()).map(|i| truth[(i, i)]).sum();
    Ok(trace - linalg_dp::analysis::projection_cost(truth, basis)?)
}
