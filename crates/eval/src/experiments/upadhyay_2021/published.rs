//! The published algorithms beside the proven variant.

use super::streams::{DELTA, config, curve, gram, last_release, origin, schedules, turning};
use crate::error::Result;
use crate::framework::{Axis, Context, Figure, Panel, Report};
use crate::metrics::mean_and_error;
use crate::published::{PublishedAlgorithm, PublishedConfig, PublishedStream};
use dp_core::{Bound, Budget};
use linalg_dp::analysis::spectral_distance;

const D: usize = 6;

pub(super) fn run(context: &Context<'_>) -> Result<Report> {
    let window = context.pick(256u64, 2048);
    let rows = window as usize * 3 / 2;
    let repetitions = context.pick(2usize, 8);
    let epsilons = [0.3, 1.0, 10.0];
    let data = turning(rows, D, 2, Context::data_seed("published stream", 0));
    let exact = gram(&data, D, rows - window as usize, rows);
    let algorithms = [
        (
            "Sliding-Priv-Approx (published, no proof)",
            PublishedAlgorithm::SlidingPrivApprox { sketch_rows: 60 },
        ),
        ("Sliding-Priv-PCP (published, no proof)", PublishedAlgorithm::SlidingPrivPcp { rank: 2 }),
        ("Sliding-Priv, Wishart (published, no proof)", PublishedAlgorithm::SlidingPriv),
    ];
    context.progress.begin(((algorithms.len() + 1) * epsilons.len()) as u64);
    let about = format!("turning rank-2 stream, {rows} x {D}, W = {window}");
    let mut curves = Vec::new();
    let mut means = Vec::new();
    for (label, algorithm) in algorithms {
        let mut samples = Vec::new();
        for epsilon in epsilons {
            let mut run = Vec::new();
            for repetition in 0..repetitions as u64 {
                let mut rng = context.noise(&format!("{label} {epsilon}"), repetition);
                let mut stream = PublishedStream::new(PublishedConfig {
                    dim: D,
                    window,
                    rho: 0.4,
                    bound: Bound::new(1.0)?,
                    claimed: Budget::new(epsilon, DELTA)?,
                    algorithm,
                })?;
                for row in data.chunks_exact(D) {
                    stream.push(row, &mut rng)?;
                }
                let release = stream.release()?;
                run.push(spectral_distance(exact.as_ref(), release.payload().1.as_ref(), 0.0)?);
            }
            samples.push((epsilon, run));
            context.progress.step();
        }
        means.push(mean_and_error(&samples[1].1).0);
        curves.push(curve(label, &samples, origin(context, label, &about, repetitions)));
    }
    for schedule in schedules(rows as u64 / 16)
        .into_iter()
        .filter(|s| ["Block, symmetric Gaussian", "Factorised"].contains(&s.label))
    {
        let mut samples = Vec::new();
        for epsilon in epsilons {
            let mut run = Vec::new();
            for repetition in 0..repetitions as u64 {
                let config = config(D, window, 16, epsilon, schedule.schedule)?;
                let part = format!("proven {} {epsilon}", schedule.label);
                let release = last_release(config, &data, context, &part, repetition)?;
                run.push(spectral_distance(exact.as_ref(), release.unbiased().as_ref(), 0.0)?);
            }
            samples.push((epsilon, run));
        }
        context.progress.step();
        means.push(mean_and_error(&samples[1].1).0);
        curves.push(curve(
            schedule.label,
            &samples,
            origin(context, schedule.label, &about, repetitions),
        ));
    }
    let mut report = Report::default();
    report.figures.push(Figure {
        name: "published".into(),
        caption: format!("Spectral error of the last window: {about}; delta 1e-6."),
        panels: vec![Panel {
            title: "published and proven".into(),
            x: Axis::log("epsilon"),
            y: Axis::log("spectral error"),
            curves,
        }],
        columns: 1,
    });
    report.claim(
        "The proven variant has less error than each published algorithm at epsilon 1, and a proof",
        means[3..].iter().all(|ours| means[..3].iter().all(|theirs| ours < theirs)),
        format!(
            "published {:.0}, {:.0}, {:.0}; proven {:.1} and {:.1}",
            means[0], means[1], means[2], means[3], means[4]
        ),
    );
    let gap = revealed(context)?;
    report.claim(
        "Two looks at the published state reveal the direction of the row between them",
        gap < 1e-6,
        format!("distance of the direction read off to the true one: {gap:.1e}"),
    );
    report.note(crate::published::CAVEAT);
    Ok(report)
}

/// Reads a row's direction off the sketches before and after it; distance to the truth.
fn revealed(context: &Context<'_>) -> Result<f64> {
    let mut stream = PublishedStream::new(PublishedConfig {
        dim: 3,
        window: 20,
        rho: 0.3,
        bound: Bound::new(1.0)?,
        claimed: Budget::new(1.0, DELTA)?,
        algorithm: PublishedAlgorithm::SlidingPrivApprox { sketch_rows: 30 },
    })?;
    let mut rng = context.noise("revealed", 0);
    stream.push(&[0.2, -0.1, 0.4], &mut rng)?;
    let before = stream.exposed_sketches();
    let secret = [0.64, 0.48, -0.6];
    stream.push(&secret, &mut rng)?;
    let after = stream.exposed_sketches();
    let line: Vec<f64> = (0..3).map(|j| after[0].1[(0, j)] - before[0].1[(0, j)]).collect();
    let length = line.iter().map(|x| x * x).sum::<f64>().sqrt();
    let sign = (line[0] * secret[0]).signum();
    Ok(line.iter().zip(secret).map(|(x, s)| (sign * x / length - s).abs()).fold(0.0, f64::max))
}
