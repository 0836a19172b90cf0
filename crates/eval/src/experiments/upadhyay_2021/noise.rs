//! Noise of a window against the number of its blocks.

use super::streams::{DELTA, config, nominal, origin, schedules};
use crate::error::Result;
use crate::framework::sabotage::NOISE;
use crate::framework::{Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Setting};
use crate::metrics::mean_and_error;
use linalg_dp::window::{BlockNoise, Factorisation, Schedule, WindowMechanism, Workload};

const D: usize = 5;
const BLOCK: u64 = 8;

pub(super) fn run(context: &Context<'_>) -> Result<Report> {
    let windows: Vec<u64> =
        context.pick(vec![1, 4, 16, 64], vec![1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
    let repetitions = context.pick(24usize, 50);
    let names = ["Block, symmetric Gaussian", "Tree", "Factorised"];
    context.progress.begin((windows.len() * names.len()) as u64);
    let mut measured = vec![Vec::new(); names.len()];
    let mut theory = vec![Vec::new(); names.len()];
    let single = one_block_sigma()?;
    for &m in &windows {
        let horizon = 3 * m + 1;
        // Rows of zeros: everything released is noise.
        let data = vec![0.0; (horizon * BLOCK) as usize * D];
        for (n, name) in names.iter().enumerate() {
            let schedule = schedules(horizon)
                .into_iter()
                .find(|s| s.label == *name)
                .expect("named above")
                .schedule;
            let config = config(D, m * BLOCK, BLOCK, 1.0, schedule)?;
            let mut values = Vec::new();
            for repetition in 0..repetitions {
                let mut rng = context.noise(&format!("noise {name} {m}"), repetition as u64);
                let mut stream = WindowMechanism::calibrate(config)?.stream(&mut rng);
                stream.push(&data)?;
                let release = stream.release()?;
                let c = release.payload().covariance().unbiased();
                // Frobenius-isotropic: the diagonal has the stated deviation.
                values.extend((0..D).map(|i| c[(i, i)] * c[(i, i)]));
            }
            let (square, error) = mean_and_error(&values);
            let bar = 0.5 * error.unwrap_or(0.0) / square.sqrt() / single;
            measured[n].push((m, square.sqrt() / single, bar));
            theory[n].push((m, factor(n, m, horizon)?));
            context.progress.step();
        }
    }
    let mut report = Report::default();
    figure(context, &mut report, &names, &measured, &windows, repetitions);
    let worst = (0..names.len())
        .flat_map(|n| {
            measured[n].iter().zip(&theory[n]).map(|((_, a, _), (_, b))| (a / b - 1.0).abs())
        })
        .fold(0.0, f64::max);
    let allowed = 5.0 / (2.0 * (repetitions * D) as f64).sqrt();
    report
        .claim(
            format!(
                "The measured noise is that of one block times sqrt(m) for Block, the square root of levels times nodes for \
                 Tree, the factorisation's factor for Factorised (five standard errors, {allowed:.2})"
            ),
            worst < allowed,
            format!("largest relative gap {worst:.3}"),
        )
        .of("appendix D for the tree")
        .catches(&NOISE);
    report
        .claim(
            "One block alone has deviation 4.22468, the exact calibration of epsilon 1, delta 1e-6 at sensitivity 1 (within 1e-4)",
            (single / 4.224_678_889 - 1.0).abs() < 1e-4,
            format!("{single:.6}"),
        )
        .formula();
    let at = |n: usize, m: u64| {
        measured[n].iter().find(|(w, ..)| *w == m).map_or(f64::NAN, |(_, f, _)| *f)
    };
    report
        .claim(
            "Factorised noise beats Block and Tree from 16 blocks on, measured",
            [16, 64].iter().all(|m| at(2, *m) < at(0, *m) && at(2, *m) < at(1, *m)),
            format!(
                "64 blocks: Block {:.2}, Tree {:.2}, Factorised {:.2}",
                at(0, 64),
                at(1, 64),
                at(2, 64)
            ),
        )
        .of("ours, beside appendix D");
    let crossing = (1..=64)
        .map(|m| {
            Ok((m, Factorisation::new(Workload::Sliding { blocks: m }, 20 * m)?.noise_factor()))
        })
        .collect::<Result<Vec<(u64, f64)>>>()?
        .into_iter()
        .find(|(m, f)| *f < (*m as f64).sqrt());
    report.note(format!(
        "First window (in blocks) where the factorised noise is below Block's: {crossing:?}."
    ));
    report.note(
        "Naive: at each block end the exact window is released with a share of the budget; a row is in m releases, so \
         Gaussian composition asks for sqrt(m) times the noise. If a release is wanted at every row, the naive \
         cost is sqrt(W), the proven variant's stays.",
    );
    Ok(report)
}

/// What theory says of the noise of a window of `m` blocks that ends one block after a multiple of it.
fn factor(schedule: usize, m: u64, horizon: u64) -> Result<f64> {
    Ok(match schedule {
        0 => (m as f64).sqrt(),
        1 => {
            // A row is in one node a level, levels of 1, 2, ..., m blocks; the window of m blocks that begins one block
            // into a tree of m is every level's last node of one and the first block of the next.
            let levels = m.next_power_of_two().trailing_zeros() as f64 + 1.0;
            let nodes = if m == 1 { 1.0 } else { levels };
            (levels * nodes).sqrt()
        }
        _ => {
            let horizon = schedules(horizon)
                .into_iter()
                .find_map(|s| match s.schedule {
                    Schedule::Factorised { horizon } => Some(horizon),
                    _ => None,
                })
                .unwrap_or(horizon);
            Factorisation::new(Workload::Sliding { blocks: m }, horizon)?.noise_factor()
        }
    })
}

fn one_block_sigma() -> Result<f64> {
    let config =
        nominal(D, BLOCK, BLOCK, 1.0, Schedule::Tree { noise: BlockNoise::SymmetricGaussian })?;
    let exact =
        linalg_dp::covariance::GaussianCovariance::calibrate(D, config.adjacency, config.budget)?;
    Ok(exact.sigma().get())
}

fn figure(
    context: &Context<'_>,
    report: &mut Report,
    names: &[&str],
    measured: &[Vec<(u64, f64, f64)>],
    windows: &[u64],
    repetitions: usize,
) {
    let fixed = |origin: Origin| Origin { epsilon: Setting::Fixed(1.0), ..origin };
    let mut curves: Vec<Curve> = names
        .iter()
        .zip(measured)
        .map(|(name, points)| Curve {
            label: (*name).to_owned(),
            points: points
                .iter()
                .map(|(m, f, bar)| Point { x: *m as f64, y: *f, error: Some(*bar) })
                .collect(),
            origin: fixed(origin(context, name, "zero rows (noise only)", repetitions)),
        })
        .collect();
    let naive = windows.iter().map(|m| Point::exact(*m as f64, (*m as f64).sqrt())).collect();
    let formula = Origin {
        epsilon: Setting::Fixed(1.0),
        delta: Setting::Fixed(DELTA),
        ..Origin::formula("recompute at each block end, budget split")
    };
    curves.push(Curve { label: "naive, split budget".into(), points: naive, origin: formula });
    report.figures.push(Figure {
        name: "noise".into(),
        caption: "Standard deviation of a diagonal entry of the released window, over that of one block released alone; \
            one certificate at epsilon 1, delta 1e-6 for the whole stream."
            .into(),
        panels: vec![Panel {
            title: "noise of a window".into(),
            x: Axis::log("blocks in the window"),
            y: Axis::log("noise / noise of one block"),
            curves,
        }],
        columns: 1,
    });
}
