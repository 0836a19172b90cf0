//! The curve of a plan: what the best few ways are predicted to do at other epsilons, and which epsilon does what is asked.

use crate::commands::choice::{Measure, Way};
use crate::error::{Error, Result};
use crate::output::Record;
use crate::page::chart::{Axis, Chart, Line};
use clap::Args;
use dp_core::output::{Existing, Output};
use dp_core::{Budget, Epsilon};
use rayon::prelude::*;
use sketch::plan::least_epsilon;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Ways that are drawn, and steps of half an octave to either side of the epsilon that was asked for.
const WAYS: usize = 3;
const STEPS: i32 = 6;

#[derive(Args)]
pub(super) struct CurveOptions {
    /// Draw the prediction against epsilon here, as SVG, for the best few ways: from an eighth of the epsilon to eight times it.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Say also which epsilon it takes, at this delta, until the best way is predicted to do this: an error of at most, a recall
    /// of at least.
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    target: Option<f64>,
}

impl CurveOptions {
    /// Draws, and says which epsilon is needed, from what `at` predicts at a budget: every way by its name, best first.
    pub(super) fn answer(
        &self,
        budget: Budget,
        measure: Measure,
        at: impl Fn(Budget) -> Result<Vec<Way>> + Sync,
    ) -> Result<Record> {
        if let Some(path) = &self.plot {
            draw(path, budget, measure, &at)?;
        }
        let Some(target) = self.target else { return Ok(Record::new()) };
        let most = if matches!(measure, Measure::Share(_)) { 1.0 } else { f64::MAX };
        if !(target > 0.0 && target <= most) {
            let range = if most > 1.0 { "(0, inf)" } else { "(0, 1]" };
            return Err(Error::usage(format!(
                "--target {target} is not allowed: it takes a {} in {range}",
                measure.name()
            )));
        }
        let record = Record::new();
        Ok(match needed(budget, measure, target, at)? {
            Some(epsilon) => record.number("epsilon needed", epsilon.get()),
            None => record.text("epsilon needed", "above 64"),
        })
    }
}

/// The least epsilon at which the best way does what is asked; a budget that no way meets does not.
pub(super) fn needed(
    budget: Budget,
    measure: Measure,
    target: f64,
    at: impl Fn(Budget) -> Result<Vec<Way>>,
) -> Result<Option<Epsilon>> {
    least_epsilon(|epsilon| {
        let ways = at(Budget { epsilon, ..budget }).unwrap_or_default();
        Ok(ways.first().is_some_and(|(_, predicted)| measure.is_met(*predicted, target)))
    })
}

/// The same in words.
pub(super) fn needed_in_words(
    budget: Budget,
    measure: Measure,
    target: f64,
    at: impl Fn(Budget) -> Result<Vec<Way>>,
) -> Result<String> {
    Ok(match needed(budget, measure, target, at)? {
        Some(epsilon) => format!("an epsilon of about {:.2} would be needed", epsilon.get()),
        None => "no epsilon up to 64 is enough".into(),
    })
}

fn draw(
    path: &Path,
    budget: Budget,
    measure: Measure,
    at: &(impl Fn(Budget) -> Result<Vec<Way>> + Sync),
) -> Result<()> {
    // Refused before anything is computed.
    let mut output = Output::create(path, Existing::Keep)?;
    let mut names: Vec<String> = Vec::new();
    for (name, _) in at(budget)? {
        if !names.contains(&name) && names.len() < WAYS {
            names.push(name);
        }
    }
    let steps: Vec<(f64, Vec<Way>)> = (-STEPS..=STEPS)
        .into_par_iter()
        .filter_map(|step| {
            let epsilon = budget.epsilon.get() * (0.5 * f64::from(step)).exp2();
            let budget = Budget { epsilon: Epsilon::new(epsilon).ok()?, ..budget };
            // A budget that no way meets has no point.
            Some((epsilon, at(budget).ok()?))
        })
        .collect();
    let share = matches!(measure, Measure::Share(_));
    let line = |name: &String| -> Vec<(f64, f64)> {
        let points = steps.iter().filter_map(|(epsilon, ways)| {
            let (_, predicted) = ways.iter().find(|(other, _)| other == name)?;
            let y = if share { *predicted } else { predicted.log10() };
            y.is_finite().then_some((epsilon.log10(), y))
        });
        points.collect()
    };
    let lines: Vec<Vec<(f64, f64)>> = names.iter().map(line).collect();
    let x = decades(lines.iter().flatten().map(|p| p.0));
    let y = if share { fifths() } else { decades(lines.iter().flatten().map(|p| p.1)) };
    let name = measure.name();
    let moves = if matches!(measure, Measure::Error(_)) { "falls" } else { "rises" };
    let title = format!("Predicted {name} against epsilon");
    let says = format!("The predicted {name} of the best few ways {moves} as epsilon grows.");
    let label = format!("predicted {name}");
    let chart = Chart {
        title: &title,
        says: &says,
        x: Axis { label: "epsilon", ends: x.0, marks: x.1 },
        y: Axis { label: &label, ends: y.0, marks: y.1 },
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

/// An axis of shares.
fn fifths() -> ((f64, f64), Vec<(f64, String)>) {
    ((0.0, 1.0), (0..=5).map(|i| (f64::from(i) / 5.0, format!("{}", f64::from(i) / 5.0))).collect())
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
