//! Matrices kept against the window.

use super::streams::{DELTA, gram, nominal, origin, schedules, turning};
use crate::Table;
use crate::error::Result;
use crate::framework::sabotage::{self, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting,
};
use crate::metrics::mean_and_error;
use faer::Mat;
use linalg_dp::dense::symmetric_eigen;
use linalg_dp::window::{PruneRule, SpectralHistogram, WindowMechanism};

const D: usize = 4;

pub(super) fn run(context: &Context<'_>) -> Result<Report> {
    let windows: Vec<u64> =
        context.pick(vec![256, 1024, 4096, 16384], vec![1000, 3000, 10_000, 30_000, 100_000]);
    let block = context.pick(32u64, 100);
    let named: Vec<&str> = schedules(1).iter().map(|s| s.label).collect();
    context.progress.begin(windows.len() as u64);
    let mut kept = vec![Vec::new(); named.len()];
    let (mut checkpoints, mut gaps) = (Vec::new(), Vec::new());
    for &window in &windows {
        let window = window / block * block;
        let rows = window as usize + window as usize / 4;
        let streams: Vec<Vec<f64>> = (0..REPETITIONS as u64)
            .map(|i| turning(rows, D, 2, context.data_seed(&format!("space stream {i}"), window)))
            .collect();
        for (n, schedule) in schedules(rows as u64 / block + 1).into_iter().enumerate() {
            let mechanism =
                WindowMechanism::calibrate(nominal(D, window, block, 1.0, schedule.schedule)?)?;
            // The number of blocks or nodes does not depend on the rows.
            let count = if n == HISTOGRAM { REPETITIONS } else { 1 };
            let held = |(i, data): (usize, &Vec<f64>)| {
                let mut rng = context.noise(&format!("space {n} {i}"), window);
                let mut stream = mechanism.stream(&mut rng);
                stream.push(data)?;
                Ok(stream.matrices() as f64)
            };
            let samples = streams.iter().take(count).enumerate().map(held);
            kept[n].push((window, samples.collect::<Result<Vec<_>>>()?));
        }
        let mut counts = Vec::new();
        for data in &streams {
            let (count, gap) = exact_checkpoints(data, window, context)?;
            counts.push(count);
            gaps.push(gap);
        }
        checkpoints.push((window, counts));
        context.progress.step();
    }
    let mut report = Report::default();
    let curve = |label: &str, points: &[Held], origin: Origin| {
        let repetitions = points[0].1.len();
        let seeds = if repetitions > 1 { origin.seeds.clone() } else { Seeds::None };
        Curve {
            label: label.to_owned(),
            points: points.iter().map(|(w, m)| Point::mean(*w as f64, m)).collect(),
            origin: Origin { seeds, repetitions, ..origin },
        }
    };
    let origin = |label: &str, about: &str| Origin {
        epsilon: Setting::Fixed(1.0),
        ..origin(context, label, about, REPETITIONS)
    };
    let about = format!("turning rank-2 stream, d = {D}, blocks of {block}");
    let mut curves: Vec<Curve> =
        named.iter().zip(&kept).map(|(n, points)| curve(n, points, origin(n, &about))).collect();
    let bare = Origin {
        epsilon: Setting::None,
        delta: Setting::None,
        ..origin("histogram of exact rows, rho 0.4 (not private)", &about)
    };
    curves.push(curve("exact rows, histogram", &checkpoints, bare));
    report.figures.push(Figure {
        name: "space".into(),
        caption: format!("Matrices of d x d numbers held at the end of the stream ({about}, delta {DELTA:e}); the exact window holds W rows."),
        panels: vec![Panel {
            title: "space".into(),
            x: Axis::log("window W (rows)"),
            y: Axis::log("matrices held"),
            curves,
        }],
        columns: 1,
    });
    let mut table = Table::new(
        "space",
        "Matrices held, by window; means over streams.",
        &[
            "W",
            "Block",
            "histogram of private blocks",
            "Tree",
            "Factorised",
            "histogram of exact rows",
        ],
    );
    let mean = |held: &Held| mean_and_error(&held.1).0;
    for (i, exact) in checkpoints.iter().enumerate() {
        let [block, histogram, tree, factorised] = [0, 1, 2, 3].map(|n: usize| mean(&kept[n][i]));
        table.row([exact.0 as f64, block, histogram, tree, factorised, mean(exact)]);
    }
    report.tables.push(table);
    claims(&mut report, &kept, &checkpoints, &gaps);
    report.note(super::lower_bound::LOWER_BOUND);
    Ok(report)
}

/// A window, and the matrices held at the end of each stream.
type Held = (u64, Vec<f64>);

/// Streams of every window.
const REPETITIONS: usize = 10;
/// The schedule whose matrices depend on the rows.
const HISTOGRAM: usize = 1;

/// Distortion of the histogram of exact rows.
const RHO: f64 = 0.4;

/// Checkpoints of the non-private histogram, a row a time step, and the largest share of the oldest checkpoint's
/// matrix, in any direction and over the second half of the stream, that is not in the window.
fn exact_checkpoints(data: &[f64], window: u64, context: &Context<'_>) -> Result<(f64, f64)> {
    // The longest windows would take minutes row by row; groups of rows keep the shape.
    let group = (window / context.pick(2048, 20_000)).max(1) as usize;
    let rho = sabotage::distortion(RHO);
    let mut histogram = SpectralHistogram::new(D, rho, PruneRule::UpdateApprox)?;
    let steps = data.len() / D / group;
    let mut share = 0.0f64;
    for (t, rows) in data.chunks(group * D).enumerate() {
        let increment = gram(rows, D, 0, rows.len() / D);
        let start = (t as u64 + 1).saturating_sub(window / group as u64);
        histogram.push(t as u64, increment.as_ref(), start)?;
        if t > steps / 2 && (t + 1) % (steps / 16).max(1) == 0 {
            let truth =
                gram(data, D, start as usize * group, ((t + 1) * group).min(data.len() / D));
            share = share.max(outside(&histogram.checkpoints()[0].matrix, &truth)?);
        }
    }
    Ok((histogram.checkpoints().len() as f64, share))
}

/// Largest `x^T (S - W) x / x^T S x`.
fn outside(oldest: &Mat<f64>, window: &Mat<f64>) -> Result<f64> {
    let eigen = symmetric_eigen(oldest.as_ref())?;
    let v = &eigen.vectors;
    let white = Mat::from_fn(D, D, |i, j| v[(i, j)] / eigen.values[j].max(1e-12).sqrt());
    let rest = white.transpose() * (oldest - window) * &white;
    Ok(symmetric_eigen(rest.as_ref())?.values[0])
}

fn claims(report: &mut Report, kept: &[Vec<Held>], checkpoints: &[Held], gaps: &[f64]) {
    let growth = |points: &[Held]| {
        let at = |held: &Held| mean_and_error(&held.1).0;
        at(&points[points.len() - 1]) / at(&points[0])
    };
    let windows = checkpoints[checkpoints.len() - 1].0 as f64 / checkpoints[0].0 as f64;
    let (blocks, histogram, exact) = (growth(&kept[0]), growth(&kept[1]), growth(checkpoints));
    report
        .claim(
            "Block keeps matrices in proportion to the window",
            (blocks / windows - 1.0).abs() < 0.05,
            format!("{blocks:.1} times more for {windows:.0} times the window"),
        )
        .of("ours, beside table 1 (space)");
    let least = checkpoints.iter().flat_map(|c| &c.1).copied().fold(f64::INFINITY, f64::min);
    let worst = gaps.iter().copied().fold(0.0, f64::max);
    report
        .claim(
            "The oldest checkpoint of exact rows holds the window and at most a share rho = 0.4 of itself beside it, in \
             every direction, at every window",
            worst <= RHO + 1e-9,
            format!("largest share outside the window {worst:.3}"),
        )
        .of("definition 3 and theorem 4: (1 - rho) S <= A'A <= S")
        .catches(&[Sabotage::CheckpointsDropped]);
    report.claim(
        "The histogram's checkpoints grow like the logarithm of the window (lemma 4)",
        exact < 1.0 + windows.ln() && histogram < 1.0 + windows.ln(),
        format!("exact rows {exact:.2} times, private blocks {histogram:.2} times more for {windows:.0} times the window"),
    )
    .of("table 1 (space), lemma 4")
    .fails_because(
        "private blocks have Gaussian noise, whose sums do not fall in the Loewner order that the lemma needs: plain sums \
         of blocks are kept beside the cut ones (up to twice the bound)",
        exact < 1.0 + windows.ln() && histogram < 2.0 * (1.0 + windows.ln()),
    );
    report
        .claim(
            "Of exact rows alone, which lemma 4 speaks of: at most 1 + ln(ratio of windows) times the checkpoints, and ten or more at \
             every window",
            exact < 1.0 + windows.ln() && least >= 10.0,
            format!("{exact:.2} times for {windows:.0} times the window; {least:.0} or more"),
        )
        .of("table 1 (space), lemma 4")
        .catches(&[Sabotage::CheckpointsDropped]);
    report.note(
        "Rows of the exact histogram enter in groups where W is above 20,000 (full) or 2,048 (quick).",
    );
    report.note(
        "Private blocks now have Gaussian noise, whose plain sums are kept beside the cut ones; lemma 4 speaks of \
         exact rows.",
    );
}
