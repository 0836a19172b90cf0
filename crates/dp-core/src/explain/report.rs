//! A guarantee in words and numbers.

use super::tradeoff::TradeOff;
use super::words::{not_protected, protected};
use crate::accounting::{Foreign, Ledger};
use crate::certificate::Certificate;
use crate::error::Result;
use crate::guarantee::{Guarantee, Provenance};
use crate::quantity::Probability;
use serde::Serialize;

/// Shares of false alarms that are shown.
const FALSE_ALARMS: [f64; 7] = [1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.5];
/// Changes at once that are shown.
const SEVERAL: [u64; 3] = [2, 10, 100];

/// Which guesses are followed.
#[derive(Debug, Clone, PartialEq)]
pub struct Questions {
    /// How probable each of them is before the release is seen.
    pub priors: Vec<Probability>,
    /// With what probability what is said of them afterwards may fail.
    pub failing: Probability,
}

impl Questions {
    /// From bare numbers.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] for what is no probability.
    pub fn new(priors: &[f64], failing: f64) -> Result<Self> {
        let priors = priors.iter().map(|&prior| Probability::new(prior)).collect::<Result<_>>()?;
        Ok(Self { priors, failing: Probability::new(failing)? })
    }
}

/// What a guarantee means, for whoever must sign it off.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// What is protected.
    pub protected: String,
    /// What is not.
    pub not_protected: Vec<&'static str>,
    /// At whose word.
    pub basis: String,
    /// What is learnt from the release alone.
    pub alone: Learned,
    /// Changes at once, and the advantage of whoever looks for them all: at most.
    pub several: Vec<(u64, f64)>,
    /// What is learnt from all that a ledger holds, and from this release.
    pub with_ledger: Option<Learned>,
}

/// What a bound on several releases rests on.
const PLANNED: &str =
    "all of this holds where every release's parameters were fixed before any answer was seen";

/// What the best attacker learns, in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Learned {
    /// True less false alarms of the best test, at most.
    pub advantage: f64,
    /// Whether some test is known to reach the bounds.
    pub reached: bool,
    /// False alarms against missed ones.
    pub alarms: Vec<Alarms>,
    /// Guesses, and what becomes of them.
    pub guesses: Vec<Guess>,
    /// The same in words.
    pub words: Vec<String>,
}

/// One point of the trade-off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Alarms {
    /// Share of false alarms.
    pub false_alarms: f64,
    /// Share of missed alarms, at least.
    pub missed_at_least: f64,
    /// Share of true alarms, at most.
    pub found_at_most: f64,
}

/// What becomes of a guess.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Guess {
    /// Its probability before the release is seen.
    pub prior: f64,
    /// How often the best guess is right, at most.
    pub right_at_most: f64,
    /// The probability rises to this at most,
    pub belief_at_most: f64,
    /// falls to this at least,
    pub belief_at_least: f64,
    /// and passes either of them with at most this probability.
    pub passed_with: f64,
}

impl Explanation {
    /// Of a guarantee. A published claim without a profile is taken at its word.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] for a profile outside its limits.
    pub fn of(guarantee: &Guarantee, asked: &Questions) -> Result<Self> {
        let adjacency = guarantee.adjacency();
        let alone = Learned::new(&TradeOff::of(guarantee, 1)?, asked);
        let several = SEVERAL.iter().map(|&changes| (changes, together(guarantee, changes)));
        let basis = match guarantee.provenance() {
            Provenance::Proven { theorem } => format!("proven: {theorem}"),
            Provenance::Published { source, caveat } if guarantee.profile().is_none() => {
                format!("a published claim, taken at its word: {source}; {caveat}")
            }
            Provenance::Published { source, caveat } => format!("published: {source}; {caveat}"),
            Provenance::Declared { by, reason } => format!("declared by {by}: {reason}"),
        };
        Ok(Self {
            protected: protected(adjacency),
            not_protected: not_protected(adjacency),
            basis,
            alone,
            several: several.collect(),
            with_ledger: None,
        })
    }

    /// Adds what is learnt from all that a ledger holds, and from a release besides, which is not entered
    /// yet. It holds where every release's parameters were fixed before any answer was seen.
    ///
    /// # Errors
    /// [`crate::Error::Mismatch`] for an adjacency that the ledger's changes do not make up;
    /// [`crate::Error::Calibration`] when everything may be lost at epsilon 100;
    /// [`crate::Error::InvalidParameter`] where there is nothing at all.
    pub fn with_ledger(
        mut self,
        ledger: &Ledger,
        besides: Option<&Certificate>,
        asked: &Questions,
    ) -> Result<Self> {
        let all = TradeOff::new(&Foreign::of_ledger_and(ledger, besides)?.profile()?)?;
        // The worst inputs of one release need not be those of another.
        let mut learned = Learned::new(&all.unreached(), asked);
        learned.words.extend(ledger.declared_parts().map(str::to_owned));
        learned.words.extend(ledger.at_their_word());
        learned.words.push(PLANNED.to_owned());
        self.with_ledger = Some(learned);
        Ok(self)
    }
}

/// The advantage when so many changes come together: at most. What leaves its limits is not bounded.
fn together(guarantee: &Guarantee, changes: u64) -> f64 {
    TradeOff::of(guarantee, changes).map_or(1.0, |best| best.advantage())
}

impl Learned {
    fn new(best: &TradeOff, asked: &Questions) -> Self {
        let failing = asked.failing;
        let alarms = FALSE_ALARMS.into_iter().filter_map(|false_alarms| {
            let missed_at_least = best.missed_alarms(Probability::new(false_alarms).ok()?);
            Some(Alarms { false_alarms, missed_at_least, found_at_most: 1.0 - missed_at_least })
        });
        let guesses = asked.priors.iter().map(|&prior| {
            let belief = best.belief(prior, failing);
            Guess {
                prior: prior.get(),
                right_at_most: best.right_guesses(prior),
                belief_at_most: belief.at_most,
                belief_at_least: belief.at_least,
                passed_with: failing.get(),
            }
        });
        let (advantage, reached) = (best.advantage(), best.is_reached());
        let (alarms, guesses) = (alarms.collect(), guesses.collect());
        let mut this = Self { advantage, reached, alarms, guesses, words: Vec::new() };
        this.words = this.in_words(best);
        this
    }

    fn in_words(&self, best: &TradeOff) -> Vec<String> {
        let half = Probability::new(0.5).map_or(1.0, |half| best.right_guesses(half));
        let mut words = vec![format!(
            "between two values that are equally likely, the best guess is right in at most {} of all cases \
             (a coin: 50 %)",
            up(half)
        )];
        if let Some(at) = self.alarms.iter().find(|at| at.false_alarms == 0.05) {
            words.push(format!(
                "a test that raises false alarms in 5 % of the cases finds at most {} of what it looks for \
                 (a test that saw nothing: 5 %)",
                up(at.found_at_most)
            ));
        }
        for guess in &self.guesses {
            words.push(format!(
                "a guess held at {} before the release is held at no more than {} and no less than {} \
                 afterwards; each of the two limits fails with a probability of at most {}",
                plain(guess.prior),
                up(guess.belief_at_most),
                down(guess.belief_at_least),
                plain(guess.passed_with)
            ));
        }
        words.push(
            match self.reached {
                true => {
                    "for the worst pair of inputs that differ by as much as is said some test reaches these bounds; none passes them"
                }
                false => "no test passes these bounds; whether one reaches them is not known",
            }
            .to_owned(),
        );
        words
    }
}

/// A share in per cent, rounded up: of what an attacker gains.
fn up(share: f64) -> String {
    per_cent(share, f64::ceil)
}

/// Rounded down.
fn down(share: f64) -> String {
    per_cent(share, f64::floor)
}

fn plain(share: f64) -> String {
    per_cent(share, f64::round)
}

/// Two digits after the first that is not zero, counted from the nearer end, so that 99.999 % is not 100 %.
fn per_cent(share: f64, round: fn(f64) -> f64) -> String {
    let nearer = share.min(1.0 - share).max(1e-12);
    let digits = (-(100.0 * nearer).log10()).ceil().max(0.0) as i32 + 1;
    let unit = 10f64.powi(digits);
    // Numbers that are whole but for their last bits are whole.
    let exact = 100.0 * share * unit;
    let whole = if (exact - exact.round()).abs() < 1e-9 * exact.abs() {
        exact.round()
    } else {
        round(exact)
    };
    let text = format!("{:.*}", digits as usize, (whole / unit).clamp(0.0, 100.0));
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{} %", if text.is_empty() { "0" } else { text })
}
