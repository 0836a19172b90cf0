//! Trees of Gaussian, Wishart and JL nodes against private blocks.

use super::streams::{config, curve, nominal, origin};
use crate::error::Result;
use crate::framework::sabotage::NOISE;
use crate::framework::{Axis, Context, Figure, Panel, Report};
use linalg_dp::covariance::CovarianceNoise;
use linalg_dp::window::{BlockNoise, Keep, Schedule, WindowCovariance, WindowMechanism};

const D: usize = 5;
/// Blocks in a window, and levels of its tree.
const BLOCKS: u64 = 16;
const LEVELS: f64 = 5.0;
/// Nodes of a window that ends one block before a multiple of the window: 1 + 2 + 4 + 8 + 1.
const UNALIGNED: f64 = 5.0;

const KINDS: [(&str, BlockNoise); 3] = [
    ("Gaussian", BlockNoise::SymmetricGaussian),
    ("Wishart", BlockNoise::Wishart),
    ("JL, 100 rows", BlockNoise::JohnsonLindenstrauss { rows: 100 }),
];

/// Where in the stream a window ends.
#[derive(Clone, Copy)]
enum End {
    Aligned,
    Unaligned,
}

/// The three curves of one kind: block, aligned tree, unaligned tree; epsilon by epsilon.
struct Measured {
    label: &'static str,
    samples: [Vec<(f64, Vec<f64>)>; 3],
    stated: [Vec<f64>; 3],
}

pub(super) fn run(context: &Context<'_>) -> Result<Report> {
    let windows = context.pick(20u64, 100);
    let epsilons = context.pick(vec![0.3, 1.0, 10.0], vec![0.1, 0.3, 1.0, 3.0, 10.0]);
    context.progress.begin((KINDS.len() * epsilons.len()) as u64);
    let mut all = Vec::new();
    for (label, noise) in KINDS {
        let mut found = Measured { label, samples: Default::default(), stated: Default::default() };
        let cases = [
            (Schedule::Block { noise, keep: Keep::Blocks }, End::Aligned),
            (Schedule::Tree { noise }, End::Aligned),
            (Schedule::Tree { noise }, End::Unaligned),
        ];
        for &epsilon in &epsilons {
            for (n, (schedule, end)) in cases.into_iter().enumerate() {
                let part = format!("trees {label} {epsilon} {n}");
                let (errors, stated) = measure(context, &part, schedule, epsilon, end, windows)?;
                found.samples[n].push((epsilon, errors));
                found.stated[n].push(stated);
            }
            context.progress.step();
        }
        all.push(found);
    }
    let mut report = Report::default();
    figure(context, &mut report, &all, windows);
    claims(&mut report, &all, &epsilons, windows);
    Ok(report)
}

/// Absolute errors of the diagonal of disjoint windows of zero rows, and their stated deviation.
fn measure(
    context: &Context<'_>,
    part: &str,
    schedule: Schedule,
    epsilon: f64,
    end: End,
    windows: u64,
) -> Result<(Vec<f64>, f64)> {
    let mut rng = context.noise(part, 0);
    let mut stream =
        WindowMechanism::calibrate(config(D, BLOCKS, 1, epsilon, schedule)?)?.stream(&mut rng);
    let mut errors = Vec::new();
    let last = match end {
        End::Aligned => 0,
        End::Unaligned => BLOCKS - 1,
    };
    for t in 1..=(windows + 1) * BLOCKS + last {
        stream.push(&[0.0; D])?;
        if t > BLOCKS && t % BLOCKS == last {
            let release = stream.release()?;
            let c = release.payload().covariance().unbiased();
            errors.extend((0..D).map(|i| c[(i, i)].abs()));
        }
    }
    // What the budget asked for states, from a stream of its own.
    let nominal = nominal(D, BLOCKS, 1, epsilon, schedule)?;
    let mut asked = WindowMechanism::calibrate(nominal)?.stream(&mut rng);
    for _ in 0..2 * BLOCKS + last {
        asked.push(&[0.0; D])?;
    }
    let stated = deviation(asked.release()?.payload(), schedule, end)?;
    Ok((errors, stated))
}

/// Standard deviation of a diagonal entry of a window of zero rows. A sum of sketches has less than the
/// one sketch of the summed lift that the release's upper estimate speaks of.
fn deviation(release: &WindowCovariance, schedule: Schedule, end: End) -> Result<f64> {
    let parts = match (schedule, end) {
        (Schedule::Tree { .. }, End::Aligned) => 1.0,
        (Schedule::Tree { .. }, End::Unaligned) => UNALIGNED,
        _ => BLOCKS as f64,
    };
    Ok(match release.covariance().noise() {
        CovarianceNoise::JlSketch { rows, lift } => {
            lift.get() * lift.get() * (2.0 / (rows as f64 * parts)).sqrt()
        }
        _ => release.directional_sd()?,
    })
}

fn figure(context: &Context<'_>, report: &mut Report, all: &[Measured], windows: u64) {
    let names = ["Block", "Tree, aligned window", "Tree, unaligned window"];
    let panels = all
        .iter()
        .map(|m| Panel {
            title: m.label.to_owned(),
            x: Axis::log("epsilon"),
            y: Axis::log("mean absolute error of a diagonal entry"),
            curves: names
                .iter()
                .zip(&m.samples)
                .map(|(name, samples)| {
                    let about = "zero rows (noise only), blocks of one row";
                    curve(name, samples, origin(context, name, about, windows as usize))
                })
                .collect(),
        })
        .collect();
    report.figures.push(Figure {
        name: "trees".into(),
        caption: format!(
            "Noise of a window of {BLOCKS} blocks, d = {D}, delta 1e-6 for the whole stream: private blocks, and trees of              {LEVELS} levels whose nodes compose to the same budget. An aligned window is one node, the unaligned one {UNALIGNED}."
        ),
        panels,
        columns: 3,
    });
}

fn claims(report: &mut Report, all: &[Measured], epsilons: &[f64], windows: u64) {
    let root_mean = |s: &[f64]| (s.iter().map(|x| x * x).sum::<f64>() / s.len() as f64).sqrt();
    let mut gap = 0.0f64;
    for m in all {
        for (samples, stated) in m.samples.iter().zip(&m.stated) {
            for ((_, errors), sd) in samples.iter().zip(stated) {
                gap = gap.max((root_mean(errors) / sd - 1.0).abs());
            }
        }
    }
    let allowed = 5.0 / (2.0 * (windows as usize * D) as f64).sqrt();
    report
        .claim(
            "The measured noise of blocks and trees is what theory says of each law at the budget asked for (five standard \
             errors)",
            gap < allowed,
            format!("largest relative gap {gap:.3}, allowed {allowed:.3}"),
        )
        .catches(&NOISE);
    // Nodes need about sqrt(levels) times a block's deviation; a window sums one or five
    // of them where Block sums sixteen.
    let theory = |nodes: f64| (LEVELS * nodes / BLOCKS as f64).sqrt();
    for m in all {
        let mut found = Vec::new();
        let mut holds = true;
        for (i, epsilon) in epsilons.iter().enumerate() {
            for (n, nodes) in [(1, 1.0), (2, UNALIGNED)] {
                let ratio = m.stated[n][i] / m.stated[0][i] / theory(nodes);
                holds &= (0.7..1.3).contains(&ratio);
                found.push(format!("{ratio:.2} at {epsilon}"));
            }
        }
        report.claim(
            format!(
                "{}: Tree over Block is sqrt(levels nodes / blocks) to within 30 %, aligned and not",
                m.label
            ),
            holds,
            format!("ratio over theory: {}", found.join(", ")),
        )
        .formula();
    }
    report.note(
        "Gaussian nodes compose exactly to sqrt(levels). Sketches of one lift add their rows, exactly, so the lift          squared grows like sqrt(levels) while it is large against the bound. Wishart nodes are composed          numerically, and their degrees of freedom are chosen anew for the smaller share of the budget.",
    );
    report.note(
        "An aligned window is where a tree shines (0.56 of Block here); in the worst place it is 1.25 of Block with 16          blocks. Trees pay from about 64 blocks on everywhere; sliding sums alone are better served by Factorised.",
    );
}
