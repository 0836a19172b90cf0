//! The curve of a plan: what the best few ways err by at other epsilons.

use crate::error::{Error, Result};
use crate::page::chart::{Axis, Chart, Line};
use clap::Args;
use dp_core::output::{Existing, Output};
use dp_core::{Budget, Epsilon};
use std::io::Write as _;
use std::path::PathBuf;

/// Ways that are drawn, and steps of half an octave to either side of the epsilon that was asked for.
const WAYS: usize = 3;
const STEPS: i32 = 6;

#[derive(Args)]
pub(super) struct CurveOptions {
    /// Draw the predicted error against epsilon here, as SVG, for the best few ways: from an eighth of the epsilon to eight times it.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl CurveOptions {
    /// Draws what `at` tells of every way at a budget, by name and best first.
    pub(super) fn draw(
        &self,
        budget: Budget,
        at: impl Fn(Budget) -> Result<Vec<(String, f64)>>,
    ) -> Result<()> {
        let Some(path) = &self.plot else { return Ok(()) };
        // Refused before anything is computed.
        let mut output = Output::create(path, Existing::Keep)?;
        let mut names: Vec<String> = Vec::new();
        for (name, _) in at(budget)? {
            if !names.contains(&name) && names.len() < WAYS {
                names.push(name);
            }
        }
        let mut lines = vec![Vec::new(); names.len()];
        for step in -STEPS..=STEPS {
            let epsilon = budget.epsilon.get() * (0.5 * f64::from(step)).exp2();
            let Ok(epsilon) = Epsilon::new(epsilon) else { continue };
            // A budget that no way meets has no point.
            let Ok(all) = at(Budget { epsilon, ..budget }) else { continue };
            for (name, line) in names.iter().zip(&mut lines) {
                let found = all.iter().find(|(other, error)| other == name && *error > 0.0);
                line.extend(found.map(|(_, error)| (epsilon.get().log10(), error.log10())));
            }
        }
        let (x, y) = (
            decades(lines.iter().flatten().map(|p| p.0)),
            decades(lines.iter().flatten().map(|p| p.1)),
        );
        let chart = Chart {
            title: "Predicted error against epsilon",
            says: "The predicted error of the best few ways on a logarithmic scale falls as epsilon grows.",
            x: Axis { label: "epsilon", ends: x.0, marks: x.1 },
            y: Axis { label: "predicted error", ends: y.0, marks: y.1 },
            lines: names
                .iter()
                .zip(lines)
                .enumerate()
                .map(|(i, (name, through))| Line { name, dashed: i > 0, through })
                .collect(),
            points: Vec::new(),
        };
        output.write_all(chart.alone().as_bytes()).map_err(|e| Error::io(path, e))?;
        output.commit()?;
        Ok(())
    }
}

/// The ends of an axis of logarithms, and marks at every 1, 2 and 5.
fn decades(values: impl Iterator<Item = f64>) -> ((f64, f64), Vec<(f64, String)>) {
    let (low, high) = values
        .filter(|x| x.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    let (low, high) = if low <= high { (low - 0.05, high + 0.05) } else { (0.0, 1.0) };
    let steps: &[f64] = if high - low > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = (low.floor() as i32..=high.ceil() as i32)
        .flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(d)))
        .filter(|x| (low..=high).contains(&x.log10()));
    let mark = |x: f64| {
        let plain = (1e-3..1e4).contains(&x);
        let text = if plain { format!("{}", (x * 1e6).round() / 1e6) } else { format!("{x:.0e}") };
        (x.log10(), text)
    };
    ((low, high), all.map(mark).collect())
}
