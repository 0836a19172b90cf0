//! The experiments on trial: which claims notice which sabotage.

use super::report::Kind;
use super::sabotage::{Sabotage, during};
use super::{Context, Experiment, Report, Verdict};
use crate::Table;
use crate::error::Result;

/// What the trial of one experiment found.
pub struct Trial {
    /// The experiment.
    pub id: &'static str,
    /// Claims that pass when nothing is broken, and all claims.
    pub passing: (usize, usize),
    /// The sabotages that can reach it: those that it asked for when nothing was broken.
    pub reached: Vec<Sabotage>,
    /// Each of them that was tried, with the claims that passed before and fail now, or why it did not run to its end.
    pub noticed: Vec<(Sabotage, Result<usize>)>,
    /// Claims that promised to notice a sabotage and did not.
    pub missed: Vec<(Sabotage, String)>,
    /// Claims on releases or samples that pass whatever is broken.
    pub deaf: Vec<String>,
    /// Claims that fail when nothing is broken, with the reason where it is known.
    pub failing: Vec<(String, Option<&'static str>)>,
}

/// Runs an experiment unbroken, and then under every sabotage that can reach it.
///
/// # Errors
/// Those of the unbroken run.
pub fn trial(
    experiment: &dyn Experiment,
    context: &Context<'_>,
    chosen: &[Sabotage],
) -> Result<Trial> {
    let (report, reached) = during(None, || experiment.run(context));
    let report = report?;
    let passed = |r: &Report, i: usize| r.claims.get(i).is_none_or(|c| c.verdict == Verdict::Pass);
    let count = report.claims.len();
    let passing: Vec<usize> = (0..count).filter(|&i| passed(&report, i)).collect();
    let mut found = Trial {
        id: experiment.id(),
        passing: (passing.len(), count),
        reached,
        noticed: Vec::new(),
        missed: Vec::new(),
        deaf: Vec::new(),
        failing: report
            .claims
            .iter()
            .filter(|c| c.verdict == Verdict::Fail)
            .map(|c| (c.text.clone(), c.reason))
            .collect(),
    };
    let mut heard = vec![false; count];
    for sabotage in found.reached.clone().into_iter().filter(|s| chosen.contains(s)) {
        let (broken, _) = during(Some(sabotage), || experiment.run(context));
        let broken = match broken {
            Ok(broken) => broken,
            Err(error) => {
                found.noticed.push((sabotage, Err(error)));
                continue;
            }
        };
        let failed = passing.iter().filter(|&&i| !passed(&broken, i)).count();
        found.noticed.push((sabotage, Ok(failed)));
        for &i in &passing {
            let claim = &report.claims[i];
            heard[i] |= !passed(&broken, i);
            if claim.catches.contains(&sabotage) && passed(&broken, i) {
                let measured = &broken.claims[i].measured;
                found.missed.push((sabotage, format!("{} ({measured})", claim.text)));
            }
        }
    }
    let deaf = |i: &&usize| !heard[**i] && report.claims[**i].kind == Kind::Measured;
    found.deaf = passing.iter().filter(deaf).map(|&i| report.claims[i].text.clone()).collect();
    Ok(found)
}

/// The table sabotage x experiment: claims that notice, of those that pass unbroken.
#[must_use]
pub fn table(trials: &[Trial], chosen: &[Sabotage]) -> Table {
    let mut heads = vec!["claims of", "pass"];
    heads.extend(chosen.iter().map(|s| s.name()));
    let mut table = Table::new(
        "sabotage",
        "Claims that notice each sabotage; - where it does not reach the experiment, ! where the experiment did not finish, ? where it was not tried.",
        &heads,
    );
    for trial in trials {
        let mut row = vec![trial.id.to_owned(), format!("{}/{}", trial.passing.0, trial.passing.1)];
        for sabotage in chosen {
            let cell = trial.noticed.iter().find(|(s, _)| s == sabotage);
            row.push(match cell {
                None => "-".into(),
                Some((_, Err(_))) => "!".into(),
                Some((_, Ok(n))) => n.to_string(),
            });
        }
        table.row(row);
    }
    table
}
