//! Matrices kept against the window.

use super::streams::{DELTA, config, origin, schedules, turning};
use crate::error::Result;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Setting, Table,
};
use linalg_dp::window::{PruneRule, SpectralHistogram, WindowMechanism};

const D: usize = 4;

pub(super) fn run(context: &Context<'_>) -> Result<Report> {
    let windows: Vec<u64> =
        context.pick(vec![256, 1024, 4096, 16384], vec![1000, 3000, 10_000, 30_000, 100_000]);
    let block = context.pick(32u64, 100);
    let named: Vec<&str> = schedules(1).iter().map(|s| s.label).collect();
    context.progress.begin(windows.len() as u64);
    let mut kept = vec![Vec::new(); named.len()];
    let mut checkpoints = Vec::new();
    for &window in &windows {
        let window = window / block * block;
        let rows = window as usize + window as usize / 4;
        let data = turning(rows, D, 2, Context::data_seed("space stream", window));
        for (n, schedule) in schedules(rows as u64 / block + 1).into_iter().enumerate() {
            let mut rng = context.noise(&format!("space {n}"), window);
            let mut stream =
                WindowMechanism::calibrate(config(D, window, block, 1.0, schedule.schedule)?)?
                    .stream(&mut rng);
            stream.push(&data)?;
            kept[n].push((window, stream.matrices() as f64));
        }
        checkpoints.push((window, exact_checkpoints(&data, window, context)?));
        context.progress.step();
    }
    let mut report = Report::default();
    let curve = |label: &str, points: &[(u64, f64)], origin: Origin| Curve {
        label: label.to_owned(),
        points: points.iter().map(|(w, m)| Point::exact(*w as f64, *m)).collect(),
        origin: Origin { epsilon: Setting::Fixed(1.0), ..origin },
    };
    let about = format!("turning rank-2 stream, d = {D}, blocks of {block}");
    let mut curves: Vec<Curve> = named
        .iter()
        .zip(&kept)
        .map(|(n, points)| curve(n, points, origin(context, n, &about, 1)))
        .collect();
    let bare = Origin {
        epsilon: Setting::None,
        delta: Setting::None,
        ..origin(context, "histogram of exact rows, rho 0.4 (not private)", &about, 1)
    };
    curves.push(curve(
        "exact rows, histogram",
        &checkpoints,
        Origin { epsilon: Setting::None, ..bare },
    ));
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
        "Matrices held, by window.",
        &[
            "W",
            "Block",
            "histogram of private blocks",
            "Tree",
            "Factorised",
            "histogram of exact rows",
        ],
    );
    for (i, (window, exact)) in checkpoints.iter().enumerate() {
        table.row([*window as f64, kept[0][i].1, kept[1][i].1, kept[2][i].1, kept[3][i].1, *exact]);
    }
    report.tables.push(table);
    claims(&mut report, &kept, &checkpoints);
    report.note(super::LOWER_BOUND);
    Ok(report)
}

/// Checkpoints of the non-private histogram, a row a time step.
fn exact_checkpoints(data: &[f64], window: u64, context: &Context<'_>) -> Result<f64> {
    // The longest windows would take minutes row by row; groups of rows keep the shape.
    let group = (window / context.pick(2048, 20_000)).max(1) as usize;
    let mut histogram = SpectralHistogram::new(D, 0.4, PruneRule::UpdateApprox)?;
    for (t, rows) in data.chunks(group * D).enumerate() {
        let increment = super::streams::gram(rows, D, 0, rows.len() / D);
        let start = (t as u64 + 1).saturating_sub(window / group as u64);
        histogram.push(t as u64, increment.as_ref(), start)?;
    }
    Ok(histogram.checkpoints().len() as f64)
}

fn claims(report: &mut Report, kept: &[Vec<(u64, f64)>], checkpoints: &[(u64, f64)]) {
    let growth = |points: &[(u64, f64)]| points[points.len() - 1].1 / points[0].1;
    let windows = checkpoints[checkpoints.len() - 1].0 as f64 / checkpoints[0].0 as f64;
    let (blocks, histogram, exact) = (growth(&kept[0]), growth(&kept[1]), growth(checkpoints));
    report.claim(
        "Block keeps matrices in proportion to the window",
        (blocks / windows - 1.0).abs() < 0.05,
        format!("{blocks:.1} times more for {windows:.0} times the window"),
    );
    report.claim(
        "The histogram's checkpoints grow like the logarithm of the window (lemma 4)",
        exact < 1.0 + windows.ln() && histogram < 1.0 + windows.ln(),
        format!("exact rows {exact:.2} times, private blocks {histogram:.2} times more for {windows:.0} times the window"),
    );
    report.note(
        "Private blocks now have Gaussian noise, whose plain sums are kept beside the cut ones; lemma 4 speaks of \
         exact rows.",
    );
}
