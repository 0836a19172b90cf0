//! What taking the noise out of a window's release changes, task by task.

use super::cuts::{self, VERTICES};
use super::streams::{
    block_deviation, claim_noise, config, curve, gram, last_release, origin, residuals, turning,
};
use super::table1::{risk, with_targets};
use crate::error::Result;
use crate::framework::sabotage::{self, Sabotage};
use crate::framework::{Axis, Context, Figure, Panel, Report};
use crate::metrics::mean_and_error;
use faer::{Mat, MatRef};
use linalg_dp::analysis::{
    DenoisedCovariance, Regression, Ridge, denoised, projection_cost, regression,
};
use linalg_dp::dense::symmetric_eigen;
use linalg_dp::window::{Factorisation, Schedule, WindowCovariance, Workload};

const RANK: usize = 4;
const EPSILONS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, 10.0];
const REPETITIONS: usize = 10;
/// Before and after, and what ignores the data.
const WAYS: [&str; 3] = ["as released, clipped at zero", "denoised", "zero (data ignored)"];
const TASKS: [&str; 6] = [
    "covariance: |C - A'A| (Frobenius)",
    "PCA: excess cost of the subspace",
    "PCA: variance stated for its directions (RMSE)",
    "low rank: |C_k - A'A| (Frobenius)",
    "regression: excess risk",
    "cuts: relative RMSE",
];

/// Errors by way, of one task and one run.
type Errors = [f64; WAYS.len()];

pub(super) fn run(context: &Context<'_>) -> Result<Report> {
    let d = context.pick(20, 100);
    let (window, block) = (context.pick(2048u64, 16384), context.pick(64u64, 256));
    let rows = 2 * window as usize;
    let edges = window + window / 2;
    let schedule = Schedule::Factorised { horizon: rows as u64 / block };
    // tasks x ways x epsilons -> repetitions
    let mut samples =
        vec![vec![EPSILONS.map(|e| (e, Vec::new())).to_vec(); WAYS.len()]; TASKS.len()];
    let (mut turned, mut noise) = (0.0f64, Vec::new());
    // Of the noise of one block, for the budget asked for.
    let workload = Workload::Sliding { blocks: window / block };
    let factor = Factorisation::new(workload, rows as u64 / block)?.noise_factor();
    context.progress.begin((REPETITIONS * EPSILONS.len()) as u64);
    for repetition in 0..REPETITIONS as u64 {
        let seed = context.data_seed("denoised stream", repetition);
        let data = with_targets(turning(rows, d, RANK, seed), d);
        let exact = gram(&data, d, rows - window as usize, rows);
        let graph = cuts::edges(edges, context.data_seed("denoised edges", repetition));
        let graph = cuts::rows(&graph)?;
        let laplacian = gram(&graph, VERTICES, (edges - window) as usize, edges as usize);
        for (e, epsilon) in EPSILONS.into_iter().enumerate() {
            let part = format!("denoised {epsilon}");
            let of = |d, data: &[f64], part: &str| {
                let config = config(d, window, block, epsilon, schedule)?;
                last_release(config, data, context, part, repetition)
            };
            let release = of(d, &data, &part)?;
            let deviation = block_deviation(d, epsilon, 1)? * factor;
            let noisy = release.covariance().unbiased();
            noise.extend(residuals(noisy.as_ref(), exact.as_ref(), deviation));
            let (errors, turn) = errors(&release, exact.as_ref())?;
            turned = turned.max(turn);
            let graph = of(VERTICES, &graph, &format!("{part} edges"))?;
            let of_cuts = cut_errors(&graph, laplacian.as_ref())?;
            for (task, errors) in errors.into_iter().chain([of_cuts]).enumerate() {
                for (way, error) in errors.into_iter().enumerate() {
                    samples[task][way][e].1.push(error);
                }
            }
            context.progress.step();
        }
    }
    let about = |task: usize| match task {
        5 => format!("{edges} edges of two drifting communities, W = {window}, blocks of {block}"),
        _ => format!("turning rank-{RANK} stream, {rows} x {d}, W = {window}, blocks of {block}"),
    };
    let ways = |task: usize| {
        let of = |(label, s): (&&str, &Vec<(f64, Vec<f64>)>)| {
            curve(
                label,
                s,
                origin(context, &format!("Factorised, {label}"), &about(task), REPETITIONS),
            )
        };
        WAYS.iter().zip(&samples[task]).map(of).collect()
    };
    let panel = |(task, title): (usize, &&str)| Panel {
        title: (*title).to_owned(),
        x: Axis::log("epsilon"),
        y: Axis::log("error"),
        curves: ways(task),
    };
    let mut report = Report::default();
    report.figures.push(Figure {
        name: "denoised".into(),
        caption: "Errors of six tasks on the last window of a factorised stream, from the release with its negative \
                  eigenvalues set to zero and from the denoised one; delta 1e-6, whole stream."
            .into(),
        panels: TASKS.iter().enumerate().map(panel).collect(),
        columns: 3,
    });
    claims(&mut report, &samples, turned);
    claim_noise(&mut report, "Factorised", &noise).of("ours, beside theorem 4");
    Ok(report)
}

/// The errors of all tasks but the cuts; and how far the subspaces of both ways are apart.
fn errors(release: &WindowCovariance, exact: MatRef<'_, f64>) -> Result<([Errors; 5], f64)> {
    let d = exact.nrows();
    let found = denoised(release.covariance())?;
    let zero = || Mat::zeros(d, d);
    let [clipped, cleaned] = [release.covariance().positive()?, found.matrix()];
    let cleaned = sabotage::solved(|| Ok(cleaned), zero)?;
    let distance = |c: &Mat<f64>| (c - exact).norm_l2();
    let cost = |c: &Mat<f64>| -> Result<f64> {
        let eigen = symmetric_eigen(c.as_ref())?;
        Ok(projection_cost(exact, eigen.vectors.get(.., ..RANK))?)
    };
    let (best, zero_cost) =
        (cost(&exact.to_owned())?, exact_trace(exact) * (1.0 - RANK as f64 / d as f64));
    let subspace = [cost(&clipped)? - best, cost(&cleaned)? - best, zero_cost - best];
    let truncated = |c: &Mat<f64>| -> Result<Mat<f64>> {
        let eigen = symmetric_eigen(c.as_ref())?;
        let v = eigen.vectors.get(.., ..RANK);
        let scaled = Mat::from_fn(d, RANK, |i, j| v[(i, j)] * eigen.values[j].max(0.0));
        Ok(scaled * v.transpose())
    };
    let [low_clipped, low_cleaned] = [truncated(&clipped)?, truncated(&cleaned)?];
    let (ridge, features) = (Ridge::NoiseLevel { sd: release.directional_sd()? }, d - 1);
    let plain = regression(clipped.as_ref(), features, ridge)?;
    let fitted = sabotage::solved(
        || Ok(Regression::of(release.covariance(), features)?.coefficients().to_vec()),
        || vec![0.0; features],
    )?;
    let fitted = Mat::from_fn(features, 1, |i, _| fitted[i]);
    let ordinary = regression(exact, features, Ridge::Fixed { lambda: 0.0 })?;
    let least = risk(exact, ordinary.as_ref());
    let excess = |x: &Mat<f64>| risk(exact, x.as_ref()) - least;
    let norm = exact.norm_l2();
    let all = [
        [distance(&clipped), distance(&cleaned), norm],
        subspace,
        variances(&found, exact),
        [distance(&low_clipped), distance(&low_cleaned), norm],
        [excess(&plain), excess(&fitted), excess(&Mat::zeros(features, 1))],
    ];
    Ok((all, (subspace[0] - subspace[1]).abs() / exact_trace(exact)))
}

fn exact_trace(c: MatRef<'_, f64>) -> f64 {
    (0..c.nrows()).map(|i| c[(i, i)]).sum()
}

/// How far the stated variances of the leading directions are from those that they have.
fn variances(found: &DenoisedCovariance, exact: MatRef<'_, f64>) -> Errors {
    let truth = |l: usize| {
        let v = found.vectors().get(.., l..l + 1);
        (v.transpose() * exact * v)[(0, 0)]
    };
    let of = |stated: &dyn Fn(usize) -> f64| {
        let square = (0..RANK).map(|l| (stated(l) - truth(l)).powi(2)).sum::<f64>();
        (square / RANK as f64).sqrt()
    };
    let (released, values) = (found.released_values(), found.values());
    [of(&|l| released[l].max(0.0)), of(&|l| values[l]), of(&|_| 0.0)]
}

/// Of the release as it is (a cut asks for one direction, where clipping only adds bias), of the denoised one, and of
/// none.
fn cut_errors(release: &WindowCovariance, exact: MatRef<'_, f64>) -> Result<Errors> {
    let release = release.covariance();
    let [plain, cleaned] = [release.unbiased(), denoised(release)?.matrix()];
    let (mut squares, mut total) = ([0.0; 3], 0.0);
    let all = cuts::queries()?;
    for (number, cut) in all.iter().enumerate() {
        let truth = cut.weight(exact)?;
        let answer = |x: f64| sabotage::answer(x, 0.5 * truth, "denoised cut", number as u64);
        let answers = [
            answer(cut.centred_weight(plain.as_ref())?),
            answer(cut.centred_weight(cleaned.as_ref())?),
            0.0,
        ];
        squares.iter_mut().zip(answers).for_each(|(s, a)| *s += (a - truth).powi(2));
        total += truth;
    }
    let count = all.len() as f64;
    Ok(squares.map(|s| (s / count).sqrt() / (total / count)))
}

/// Samples of one task by way and epsilon.
type Samples = Vec<Vec<(f64, Vec<f64>)>>;

fn claims(report: &mut Report, samples: &[Samples], turned: f64) {
    let mean = |task: usize, way: usize, e: usize| mean_and_error(&samples[task][way][e].1).0;
    // Of denoised over as released.
    let ratios = |task: usize| {
        EPSILONS.iter().enumerate().map(move |(e, _)| mean(task, 1, e) / mean(task, 0, e))
    };
    let text = |task: usize| {
        let all: Vec<String> = ratios(task).map(|r| format!("{r:.3}")).collect();
        format!("denoised over released at epsilon 0.1 to 10: {}", all.join(", "))
    };
    for (task, most) in [(0, 0.8), (2, 0.8)] {
        report
            .claim(
                format!(
                    "{}: the denoised window errs by less than {most} of the clipped one at epsilon 1, and nowhere by more \
                     than 1.02",
                    TASKS[task]
                ),
                ratios(task).nth(2).is_some_and(|r| r < most) && ratios(task).all(|r| r < 1.02),
                text(task),
            )
            .of("ours, beside theorem 4")
            .catches(if task == 0 { &[Sabotage::NoNoise, Sabotage::SolverConstant] } else { &[Sabotage::NoNoise] })
            .fails_because(
                "where the leading eigenvalues stand far above the noise, or there are few columns, little is left to \
                 take out (nowhere above 1.05: an extent set after 1.030 had been seen, seed 4 of the quick run)",
                ratios(task).all(|r| r < 1.05),
            );
    }
    report
        .claim(
            format!("{}: both subspaces are the same (costs within 1e-9 of the trace)", TASKS[1]),
            turned < 1e-9,
            format!("largest difference {turned:.1e}"),
        )
        .of("ours, beside theorem 6: eigenvalues are denoised, eigenvectors stay")
        .catches(&[Sabotage::SolverConstant])
        .fails_because(
            "under much noise several denoised eigenvalues are equal, and whoever decomposes the matrix again turns \
             within their directions; those of the release stay as they are (by at most 0.2 of the trace)",
            turned < 0.2,
        );
    report
        .claim(
            format!("{}: nowhere more than 1.02 of the clipped window's", TASKS[3]),
            ratios(3).all(|r| r < 1.02),
            text(3),
        )
        .of("ours, beside theorem 5")
        .catches(&[Sabotage::SolverConstant]);
    report
        .claim(
            format!("{}: with the ridge that adapts to the noise less than 0.5 of that of the fixed one at epsilon 1", TASKS[4]),
            ratios(4).nth(2).is_some_and(|r| r < 0.5),
            text(4),
        )
        .of("ours, beside theorem 8")
        .catches(&[Sabotage::NoNoise, Sabotage::SolverConstant])
        .fails_because(
            "with 99 columns it is 0.64 at epsilon 1, and below 0.3 from 3 on (nowhere above 1)",
            ratios(4).all(|r| r < 1.0),
        );
    report
        .claim(
            format!("{}: denoised, less than the release at epsilon 0.1", TASKS[5]),
            ratios(5).next().is_some_and(|r| r < 1.0),
            text(5),
        )
        .of("ours, beside corollary 2")
        .catches(&[Sabotage::ConstantAnswers]);
    let helps = |task: usize| {
        let at: Vec<String> = EPSILONS
            .iter()
            .zip(ratios(task))
            .filter(|(_, r)| *r >= 0.98)
            .map(|(e, r)| format!("{e} ({r:.2})"))
            .collect();
        format!("{}: {}", TASKS[task], if at.is_empty() { "none".into() } else { at.join(", ") })
    };
    report.notes.push(format!(
        "Where it does not help (at least 0.98 of the error as released), by epsilon: {}.",
        (0..TASKS.len()).map(helps).collect::<Vec<_>>().join("; ")
    ));
}
