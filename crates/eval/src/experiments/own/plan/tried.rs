//! One question to a plan, and what became of every way that it could have chosen.

use crate::error::Result;
use crate::metrics::mean_and_error;

/// How the samples of a way make its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// The root mean square of errors: less is better.
    Error,
    /// The mean of a loss: less is better.
    Loss,
    /// The mean of a share found: more is better.
    Share,
}

/// What was predicted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// One way, and a sample a release.
#[derive(Debug, Clone)]
pub(super) struct Tried {
    pub(super) way: String,
    /// None for a size or shape that the plan did not choose, tried beside it.
    pub(super) predicted: Option<Range>,
    pub(super) samples: Vec<f64>,
}

/// One question: the ways in the order of the plan, its choice first.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) goal: &'static str,
    pub(super) data: String,
    pub(super) protects: String,
    pub(super) epsilon: f64,
    pub(super) measure: Measure,
    pub(super) tried: Vec<Tried>,
}

impl Tried {
    /// Samples of as many releases.
    pub(super) fn of(
        way: impl Into<String>,
        predicted: Option<Range>,
        releases: u64,
        one: impl FnMut(u64) -> Result<f64>,
    ) -> Result<Self> {
        let samples = (0..releases).map(one).collect::<Result<_>>()?;
        Ok(Self { way: way.into(), predicted, samples })
    }

    /// What was measured, and its standard error.
    pub(super) fn measured(&self, measure: Measure) -> (f64, f64) {
        if measure != Measure::Error {
            let (mean, error) = mean_and_error(&self.samples);
            return (mean, error.unwrap_or(0.0));
        }
        let squares: Vec<f64> = self.samples.iter().map(|x| x * x).collect();
        let (mean, error) = mean_and_error(&squares);
        let root = mean.sqrt();
        (root, error.unwrap_or(0.0) / (2.0 * root).max(f64::MIN_POSITIVE))
    }

    /// Whether what was measured is in the range.
    pub(super) fn inside(&self, measure: Measure) -> Option<bool> {
        let range = self.predicted?;
        // Rounding alone decides where nothing is random.
        let room = 1e-9 * range.high.abs();
        let found = self.measured(measure).0;
        Some(found >= range.low - room && found <= range.high + room)
    }
}

impl Question {
    /// By which factor the choice is worse than the best in hindsight, and whether by no more than 5 per cent or two standard errors.
    pub(super) fn regret(&self) -> (f64, bool) {
        let found: Vec<(f64, f64)> = self.tried.iter().map(|t| t.measured(self.measure)).collect();
        let better = |a: &&(f64, f64), b: &&(f64, f64)| match self.measure {
            Measure::Share => b.0.total_cmp(&a.0),
            _ => a.0.total_cmp(&b.0),
        };
        let chosen = found[0];
        let best = *found.iter().min_by(better).expect("a way");
        let factor = match self.measure {
            Measure::Share => best.0 / chosen.0.max(1e-12),
            _ => chosen.0 / best.0.max(f64::MIN_POSITIVE),
        };
        let apart = (chosen.0 - best.0).abs() <= 2.0 * chosen.1.hypot(best.1);
        (factor, factor <= 1.05 || apart)
    }
}
