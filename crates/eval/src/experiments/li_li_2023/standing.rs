//! Which of two methods is ahead, and by how much.

use crate::Table;
use crate::framework::sabotage::ANSWERS;
use crate::framework::{Claim, Report};
use crate::metrics::mean_and_error;

/// What is measured.
pub(super) const ACCURACY: &str = "test accuracy";

/// One method's quality at one place, a sample a repetition; repetitions of all methods share
/// their rows.
pub(super) struct Cell {
    pub(super) label: &'static str,
    pub(super) k: usize,
    pub(super) measure: &'static str,
    pub(super) epsilon: f64,
    pub(super) samples: Vec<f64>,
}

/// How far one method is ahead of another at one place.
#[derive(Debug)]
pub(super) struct Lead {
    pub(super) k: usize,
    pub(super) measure: &'static str,
    pub(super) epsilon: f64,
    pub(super) mean: f64,
    /// Standard error of the mean over repetitions: its own, or where it is larger that of a
    /// quasi-binomial model, variance c (p(1 - p) + q(1 - q)) for means p and q with one c for all
    /// places of the same k and measure (a few repetitions alone estimate it badly).
    pub(super) error: f64,
    /// One difference a repetition.
    samples: Vec<f64>,
    /// The other method's quality here.
    level: f64,
}

/// How far behind a method may be on average and still count as not behind: fixed before any run.
const MARGIN: f64 = 0.01;
/// How far behind it may be at any one place.
const PLACE: f64 = 0.06;

/// What two methods that are held together must exceed somewhere, lest both of them guess: guesses find a tenth at most of
/// what a search asks for, and tell at most 0.6 of the texts.
fn above_guesses(measure: &str) -> f64 {
    if measure == ACCURACY { 0.7 } else { 0.15 }
}

/// Whether the method that others are held against is above guesses at one of the places, at least; and that level.
fn informed(leads: &[Lead]) -> (bool, f64) {
    let floor = leads.first().map_or(f64::NAN, |l| above_guesses(l.measure));
    (leads.iter().any(|l| l.level > above_guesses(l.measure)), floor)
}

impl Lead {
    /// Ahead by more than three standard errors.
    pub(super) fn is_ahead(&self) -> bool {
        self.mean > 3.0 * self.error
    }

    /// Behind by more than three standard errors.
    pub(super) fn is_behind(&self) -> bool {
        self.mean < -3.0 * self.error
    }

    /// Behind by more than any one place may be.
    fn is_far_behind(&self) -> bool {
        self.mean < -PLACE
    }
}

/// Leads of one method over another wherever both were measured, repetition by repetition.
pub(super) fn leads(cells: &[Cell], ours: &str, theirs: &str) -> Vec<Lead> {
    let mut found: Vec<(Lead, f64)> = Vec::new();
    for a in cells.iter().filter(|c| c.label == ours) {
        let place = |c: &Cell| (c.k, c.measure, c.epsilon);
        let other = |b: &&Cell| b.label == theirs && place(a) == place(b);
        let Some(b) = cells.iter().find(other) else { continue };
        let samples: Vec<f64> = a.samples.iter().zip(&b.samples).map(|(a, b)| a - b).collect();
        if samples.is_empty() {
            continue;
        }
        let (mean, error) = mean_and_error(&samples);
        let binomial = |c: &Cell| {
            let p = mean_and_error(&c.samples).0;
            p * (1.0 - p)
        };
        let Cell { k, measure, epsilon, .. } = *a;
        let error = error.unwrap_or(0.0);
        let level = mean_and_error(&b.samples).0;
        let lead = Lead { k, measure, epsilon, mean, error, samples, level };
        found.push((lead, binomial(a) + binomial(b)));
    }
    let dispersion: Vec<f64> = found
        .iter()
        .map(|(of, _)| {
            let same = found.iter().filter(|(l, _)| (l.k, l.measure) == (of.k, of.measure));
            let (e, v) = same.fold((0.0, 0.0), |(e, v), (l, w)| (e + l.error * l.error, v + w));
            if v > 0.0 { e / v } else { 0.0 }
        })
        .collect();
    let settle = |((lead, binomial), c): ((Lead, f64), f64)| {
        let error = lead.error.max((c * binomial).sqrt());
        Lead { error, ..lead }
    };
    found.into_iter().zip(dispersion).map(settle).collect()
}

/// Mean lead over several places, and its standard error: that of the repetitions' means, or, where
/// it is larger, that of independent places.
fn average(leads: &[Lead]) -> (f64, f64) {
    let n = leads.len() as f64;
    let repetitions = leads.iter().map(|l| l.samples.len()).min().unwrap_or(0);
    let mean_of = |r: usize| leads.iter().map(|l| l.samples[r]).sum::<f64>() / n;
    let error = mean_and_error(&(0..repetitions).map(mean_of).collect::<Vec<_>>()).1;
    let independent = leads.iter().map(|l| l.error * l.error).sum::<f64>().sqrt() / n;
    let mean = leads.iter().map(|l| l.mean).sum::<f64>() / n;
    (mean, error.unwrap_or(0.0).max(independent))
}

/// Smallest lead and where it is, for a claim's measurement.
pub(super) fn least(leads: &[Lead]) -> String {
    match leads.iter().min_by(|a, b| a.mean.total_cmp(&b.mean)) {
        None => "not measured".into(),
        Some(l) => {
            let Lead { k, measure, epsilon, mean, error, .. } = l;
            format!("{mean:.4} +- {error:.4} ({measure}, k = {k}, epsilon {epsilon})")
        }
    }
}

/// Claims that one method is ahead of another on average, beyond three standard errors, and at no place
/// behind by more than [`PLACE`].
pub(super) fn claim_ahead<'r>(report: &'r mut Report, text: &str, leads: &[Lead]) -> &'r mut Claim {
    claim_ahead_by(report, text, leads, 0.0)
}

/// The same by more than a margin.
pub(super) fn claim_ahead_by<'r>(
    report: &'r mut Report,
    text: &str,
    leads: &[Lead],
    margin: f64,
) -> &'r mut Claim {
    let (mean, error) = average(leads);
    let more = if margin > 0.0 { format!("{margin} and ") } else { String::new() };
    report
        .claim(
            format!(
                "{text}: on average by more than {more}3 standard errors, and at no place behind by {PLACE}"
            ),
            mean > margin + 3.0 * error && !leads.iter().any(Lead::is_far_behind),
            format!("mean lead {mean:.4} +- {error:.4}, smallest {}", least(leads)),
        )
        .catches(&ANSWERS)
}

/// Claims that one method is not behind another: the mean lead less three of its standard errors is above
/// [`MARGIN`] behind, so that few repetitions cannot pass, no place is behind by more than [`PLACE`], and the other
/// is above guesses somewhere.
pub(super) fn claim_not_behind<'r>(
    report: &'r mut Report,
    text: &str,
    leads: &[Lead],
) -> &'r mut Claim {
    let (mean, error) = average(leads);
    let (informed, floor) = informed(leads);
    report
        .claim(
            format!(
                "{text} (mean lead less 3 standard errors above -{MARGIN}, no place below -{PLACE}, the other above {floor} \
                 somewhere)"
            ),
            mean - 3.0 * error > -MARGIN && !leads.iter().any(Lead::is_far_behind) && informed,
            format!("mean lead {mean:.4} +- {error:.4}; smallest {}", least(leads)),
        )
        .catches(&ANSWERS)
}

/// Claims that two methods lie together: the mean lead, with three of its standard errors on either side, is
/// within twice [`MARGIN`], no place is apart by more than [`PLACE`], and they are above guesses somewhere.
pub(super) fn claim_together<'r>(
    report: &'r mut Report,
    text: &str,
    leads: &[Lead],
) -> &'r mut Claim {
    let (mean, error) = average(leads);
    let most = leads.iter().map(|l| l.mean.abs()).fold(0.0, f64::max);
    let (informed, floor) = informed(leads);
    report
        .claim(
            format!(
                "{text} (mean lead and 3 standard errors within {}, no place apart by {PLACE}, above {floor} somewhere)",
                2.0 * MARGIN
            ),
            mean.abs() + 3.0 * error < 2.0 * MARGIN && most < PLACE && informed,
            format!("mean lead {mean:.4} +- {error:.4}; largest distance {most:.4}"),
        )
        .catches(&ANSWERS)
}

/// Means of a method's quality at one epsilon, by k.
fn means(cells: &[Cell], label: &str, measure: &str, epsilon: f64) -> Vec<f64> {
    let mine = |c: &&Cell| c.label == label && c.measure == measure && c.epsilon == epsilon;
    cells.iter().filter(mine).map(|c| mean_and_error(&c.samples).0).collect()
}

/// The last of them, that of the largest k.
pub(super) fn at_largest(cells: &[Cell], label: &str, measure: &str, epsilon: f64) -> f64 {
    means(cells, label, measure, epsilon).last().copied().unwrap_or(f64::NAN)
}

/// Claims that a method's quality at one epsilon is above a fixed level, far above chance, at the largest k.
pub(super) fn claim_above_chance<'r>(
    report: &'r mut Report,
    cells: &[Cell],
    label: &str,
    measure: &str,
    epsilon: f64,
    level: f64,
) -> &'r mut Claim {
    let all = means(cells, label, measure, epsilon);
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let last = at_largest(cells, label, measure, epsilon);
    report
        .claim(
            format!("{label}: {measure} at epsilon {epsilon} is above {level} at the largest k"),
            last > level,
            format!("smallest over k {least:.3}, at the largest k {last:.3}"),
        )
        .catches(&ANSWERS)
}

/// Where each method is ahead of one other, and where behind: epsilons by k and measure.
pub(super) fn table(name: &str, cells: &[Cell], ours: &[&'static str], theirs: &str) -> Table {
    let columns = ["k", "measure", "method", "ahead at epsilon", "behind at epsilon", "undecided"];
    let caption = format!(
        "At which epsilon each method is ahead of {theirs}, or behind, by more than three \
         standard errors of the difference."
    );
    let mut table = Table::new(name, &caption, &columns);
    let mut places: Vec<(usize, &str)> = Vec::new();
    for cell in cells {
        if !places.contains(&(cell.k, cell.measure)) {
            places.push((cell.k, cell.measure));
        }
    }
    for (k, measure) in places {
        for label in ours {
            let mut mine = leads(cells, label, theirs);
            mine.retain(|l| (l.k, l.measure) == (k, measure));
            let where_is = |test: fn(&Lead) -> bool| {
                let at: Vec<_> =
                    mine.iter().filter(|l| test(l)).map(|l| l.epsilon.to_string()).collect();
                if at.is_empty() { "-".to_owned() } else { at.join(", ") }
            };
            let undecided = where_is(|l| !l.is_ahead() && !l.is_behind());
            let (ahead, behind) = (where_is(Lead::is_ahead), where_is(Lead::is_behind));
            let method = (*label).to_owned();
            table.row([k.to_string(), measure.into(), method, ahead, behind, undecided]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(label: &'static str, epsilon: f64, samples: &[f64]) -> Cell {
        Cell { label, k: 8, measure: "m", epsilon, samples: samples.to_vec() }
    }

    #[test]
    fn leads_are_paired_and_their_errors_pooled() {
        let cells = [
            cell("a", 1.0, &[0.5, 0.7, 0.9]),
            cell("b", 1.0, &[0.4, 0.6, 0.8]),
            cell("a", 2.0, &[0.5, 0.6]),
            cell("b", 2.0, &[0.7, 0.6]),
            cell("a", 3.0, &[]),
        ];
        let found = leads(&cells, "a", "b");
        assert_eq!(found.len(), 2);
        // Differences 0.1, 0.1, 0.1 and -0.2, 0: errors 0 and 0.1. Means 0.7, 0.6 and 0.55, 0.65.
        let (v, w) = (0.7 * 0.3 + 0.6 * 0.4, 0.55 * 0.45 + 0.65 * 0.35);
        let c = 0.01 / (v + w);
        assert!((found[0].mean - 0.1).abs() < 1e-12 && (found[1].mean + 0.1).abs() < 1e-12);
        assert!((found[0].error - f64::sqrt(c * v)).abs() < 1e-12);
        assert!((found[1].error - 0.1).abs() < 1e-12);
        assert!(!found[0].is_ahead() && !found[1].is_behind());
        // Repetitions' means -0.05, 0.05 have error 0.05; independent places have more.
        let (mean, error) = average(&found);
        assert!(mean.abs() < 1e-12 && (error - 0.5 * f64::sqrt(c * v + 0.01)).abs() < 1e-12);
        let table = table("t", &cells, &["a"], "b");
        assert_eq!(table.rows, [["8", "m", "a", "-", "-", "1, 2"]]);
    }

    #[test]
    fn claims_fail_when_they_should() {
        let lead = |mean| {
            let samples = vec![mean - 0.01, mean + 0.01];
            Lead { k: 1, measure: "m", epsilon: 1.0, mean, error: 0.01, samples, level: 0.4 }
        };
        let verdicts = |leads: &[Lead]| {
            let mut report = Report::default();
            claim_ahead(&mut report, "", leads);
            claim_not_behind(&mut report, "", leads);
            [0, 1].map(|i| report.claims[i].verdict == crate::framework::Verdict::Pass)
        };
        assert_eq!(verdicts(&[lead(0.1), lead(-0.02)]), [true, true]);
        assert_eq!(verdicts(&[lead(0.025), lead(0.025)]), [false, true]);
        // One place far behind; a mean that is not known well enough to exclude the margin.
        assert_eq!(verdicts(&[lead(0.3), lead(-0.07)]), [false, false]);
        assert_eq!(verdicts(&[lead(0.0)]), [false, false]);
        assert_eq!(verdicts(&[]), [false, false]);
        // Two methods that both guess are not held together.
        assert_eq!(verdicts(&[Lead { level: 0.1, ..lead(0.1) }]), [true, false]);
    }
}
