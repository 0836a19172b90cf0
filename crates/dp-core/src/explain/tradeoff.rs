//! From a profile to the trade-off of the best test. Proof: `docs/proofs/trade-off.md`.

use crate::adjacency::Steps;
use crate::budget::Epsilon;
use crate::error::Result;
use crate::guarantee::Guarantee;
use crate::profile::pld::Pld;
use crate::profile::{Event, PrivacyProfile, Profile};
use crate::quantity::Probability;

/// Largest epsilon that is looked at: beyond it no factor of `f64` is left.
const FARTHEST: f64 = 700.0;
/// Epsilons of the first look are this factor apart.
const APART: f64 = 1.5;
/// The least of them.
const NEAREST: f64 = 1.0 / 64.0;
/// Most steps of the second look: the bracket shrinks to `0.618^60` of itself.
const STEPS: u32 = 60;

/// What whoever tests one of two adjacent inputs against the other can reach: a bound on every test there
/// is, whatever the attacker knows besides.
#[derive(Debug, Clone)]
pub struct TradeOff {
    profile: Profile,
    /// Some epsilons from zero upwards, and their delta.
    seen: Vec<(f64, f64)>,
    reached: bool,
}

/// How sure anybody becomes of a guess.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Belief {
    /// The probability of the guess rises to this at most.
    pub at_most: f64,
    /// It falls to this at least.
    pub at_least: f64,
}

impl TradeOff {
    /// Of a profile.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] for a profile outside its limits.
    pub fn new(profile: &Profile) -> Result<Self> {
        profile.check_limits()?;
        let reached = Pld::new([&Event::once(profile.clone())]).is_reached_both_ways();
        let mut this = Self { profile: profile.clone(), seen: Vec::new(), reached };
        let mut epsilon = 0.0;
        while epsilon < FARTHEST {
            let delta = this.delta(epsilon);
            this.seen.push((epsilon, delta));
            // What follows is no lower.
            if delta == 0.0 {
                break;
            }
            epsilon = (epsilon * APART).max(NEAREST);
        }
        Ok(this)
    }

    /// Of a guarantee, for so many of its changes at once, of one row or of several: the theorem's exact factor, or group
    /// privacy. A published claim without a profile is taken at its word.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] when the profile leaves its limits.
    pub fn of(guarantee: &Guarantee, changes: u64) -> Result<Self> {
        let each = changes.max(1);
        let best = Self::new(&guarantee.profile_of_steps(Steps { each, groups: 1 })?)?;
        let theorem = guarantee.provenance().theorem();
        let attained = theorem.is_some_and(|of| of.is_attained(guarantee.adjacency().each()));
        Ok(if attained && each == 1 { best } else { best.unreached() })
    }

    /// Whether some pair of inputs is known whose best test reaches the bounds, but for rounding. Where not,
    /// nobody does better, and perhaps nobody does as well: the profile is an upper bound on its
    /// mechanism, or the two directions of a change are not equally easy to see. Of a guarantee it is said of one change, and
    /// where its theorem gives such a pair.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.reached
    }

    /// The same, where what it is of is bounded and not known.
    pub(super) fn unreached(self) -> Self {
        Self { reached: false, ..self }
    }

    /// The least share of missed alarms of any test with this share of false alarms: a lower bound.
    #[must_use]
    pub fn missed_alarms(&self, false_alarms: Probability) -> f64 {
        let alpha = false_alarms.get();
        // The lines of slope below minus one, and their mirror images.
        let line: &dyn Fn(f64, f64) -> f64 = if alpha <= 0.5 * (1.0 - self.advantage()) {
            &|epsilon, delta| 1.0 - delta - epsilon.exp() * alpha
        } else {
            &|epsilon, delta| (-epsilon).exp() * (1.0 - delta - alpha)
        };
        let missed = -self.least(|epsilon, delta| -line(epsilon, delta));
        (missed - 4.0 * f64::EPSILON).clamp(0.0, 1.0)
    }

    /// The largest gain of any test over guessing: true alarms less false alarms, delta at epsilon zero. An upper bound.
    #[must_use]
    pub fn advantage(&self) -> f64 {
        self.seen.first().map_or(1.0, |&(_, delta)| delta)
    }

    /// How often the best guess between two values is right, of which the first has the probability
    /// `prior` before the release is seen: an upper bound.
    #[must_use]
    pub fn right_guesses(&self, prior: Probability) -> f64 {
        let rarer = prior.get().min(1.0 - prior.get());
        if rarer == 0.0 {
            return 1.0;
        }
        // Down: delta does not rise.
        let epsilon = ((1.0 - rarer) / rarer).ln() * (1.0 - 4.0 * f64::EPSILON);
        (1.0 - rarer + rarer * self.delta(epsilon.max(0.0))).min(1.0)
    }

    /// How sure anybody becomes of a guess that has the probability `prior` before the release is
    /// seen. Each of the two ends is passed with at most the probability `failing`, over the noise.
    #[must_use]
    pub fn belief(&self, prior: Probability, failing: Probability) -> Belief {
        let (p, q) = (prior.get(), failing.get());
        // Odds grow by more than e^(e - ln(1 - delta(e) / q)) with probability q at most, for every e.
        let factor = self.least(|epsilon, delta| match delta < q {
            true => epsilon - (-delta / q).ln_1p(),
            // Nothing is lost beyond an epsilon that is reached for certain: zero, and not too small for a number.
            false if delta == 0.0 && self.is_certain(epsilon) => epsilon,
            false => f64::INFINITY,
        });
        let factor = (factor * (1.0 + 4.0 * f64::EPSILON)).exp();
        // Odds of zero or infinity stay what they are.
        let moved = |factor: f64| match p {
            0.0 | 1.0 => p,
            _ if factor == f64::INFINITY => 1.0,
            _ => p * factor / (1.0 - p + p * factor),
        };
        Belief { at_most: moved(factor).min(1.0), at_least: moved(1.0 / factor) }
    }

    /// Whether no loss is larger.
    fn is_certain(&self, epsilon: f64) -> bool {
        let at = Epsilon::new(epsilon).unwrap_or(Epsilon::ZERO);
        self.profile.log_delta(at).get() == f64::NEG_INFINITY
    }

    fn delta(&self, epsilon: f64) -> f64 {
        let at = Epsilon::new(epsilon).unwrap_or(Epsilon::ZERO);
        // Up by an ulp or two: the exponential was rounded.
        (self.profile.log_delta(at).delta() * (1.0 + 4.0 * f64::EPSILON)).min(1.0)
    }

    /// The least value over epsilon of what has one valley; whatever epsilon it is found at, it is a bound.
    fn least(&self, of: impl Fn(f64, f64) -> f64) -> f64 {
        let values: Vec<f64> = self.seen.iter().map(|&(e, d)| of(e, d)).collect();
        let lowest = (0..values.len()).min_by(|&i, &j| values[i].total_cmp(&values[j]));
        let Some(i) = lowest else { return f64::INFINITY };
        let at = |i: usize| self.seen[i.min(self.seen.len() - 1)].0;
        let (mut low, mut high) = (at(i.saturating_sub(1)), at(i + 1));
        let mut best = values[i];
        // The golden section.
        let inner = 0.5 * (3.0 - 5f64.sqrt());
        let look = |e: f64| (e, of(e, self.delta(e)));
        let mut left = look(low + inner * (high - low));
        let mut right = look(high - inner * (high - low));
        for _ in 0..STEPS {
            let lower = left.1.min(right.1);
            let flat = (left.1 - right.1).abs() <= 1e-13 * lower.abs().max(1e-3);
            best = best.min(lower);
            if flat && (lower - best).abs() <= 1e-13 && high - low < 1e-3 {
                break;
            }
            if left.1 < right.1 {
                (high, right) = (right.0, left);
                left = look(low + inner * (high - low));
            } else {
                (low, left) = (left.0, right);
                right = look(high - inner * (high - low));
            }
        }
        best
    }
}
