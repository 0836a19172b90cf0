//! Flip rules: how likely a sign is turned over, given how far its value is from zero.

use crate::error::{Error, Result};
use dp_core::{Epsilon, Probability};
use serde::{Deserialize, Serialize};

/// How the flip probability depends on the level `L = ceil(|x| / step)`, where one
/// attribute moves x by at most `step`. A value of exactly zero is a fair coin.
///
/// With per-bit budget e, all three are e-DP for one bit (proof page
/// `docs/proofs/sign-flips.md`), and for every level
/// optimal <= published smooth <= randomised response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FlipRule {
    /// `1 / (1 + e^e)` at every level (Warner 1965; Li & Li 2023, algorithms 6 and 8).
    RandomizedResponse,
    /// `1 / (1 + e^(L e))` (Li & Li 2023, algorithms 7 and 8).
    PublishedSmooth,
    /// `e^(-(L - 1) e) / (1 + e^e)`: both likelihood ratios are met with equality, and no
    /// symmetric e-DP rule on levels flips less at any level.
    OptimalSmooth,
}

impl FlipRule {
    /// Name in certificates.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RandomizedResponse => "randomized-response",
            Self::PublishedSmooth => "published-smooth",
            Self::OptimalSmooth => "optimal-smooth",
        }
    }

    /// The rule's flip probability before rounding.
    fn exact(self, e: f64, level: u32) -> f64 {
        let above = f64::from(level - 1);
        match self {
            Self::RandomizedResponse => 1.0 / (1.0 + e.exp()),
            Self::PublishedSmooth => 1.0 / (1.0 + (f64::from(level) * e).exp()),
            Self::OptimalSmooth => (-above * e).exp() / (1.0 + e.exp()),
        }
    }
}

/// Levels of a table; later ones share the last probability.
const MOST_LEVELS: u32 = 4096;
/// Flip probabilities are not made smaller than this.
const LEAST_FLIP: f64 = f64::EPSILON / 2.0;

/// The flip probabilities of a rule, rounded so that the budget still holds.
///
/// Every entry is an `f64` taken as the exact dyadic rational it is, a multiple of
/// 2^-53 times a power of two at most 1/2, never below the rule's real value. The
/// constructor checks, with directed rounding, every pair of levels that adjacent inputs
/// can reach: (0, 1), (1, -1) and (L, L + 1), for both values of the published bit.
#[derive(Debug, Clone, PartialEq)]
pub struct FlipTable {
    rule: FlipRule,
    per_bit: Epsilon,
    /// `flips[L]`; `flips[0]` is the fair coin.
    flips: Vec<f64>,
}

impl FlipTable {
    /// Tabulates a rule for a per-bit budget.
    ///
    /// # Errors
    /// An invalid per-bit epsilon: must be in `[2^-30, 700]`.
    pub fn new(rule: FlipRule, per_bit: Epsilon) -> Result<Self> {
        let e = per_bit.get();
        if !(2f64.powi(-30)..=700.0).contains(&e) {
            return Err(Error::invalid("per-bit epsilon", e, "[2^-30, 700]"));
        }
        let low = factor_below(e);
        let mut flips = vec![0.5, first_flip(rule.exact(e, 1), low)];
        while rule != FlipRule::RandomizedResponse && flips.len() <= MOST_LEVELS as usize {
            let last = flips[flips.len() - 1];
            let next = rule.exact(e, flips.len() as u32).max(LEAST_FLIP);
            let next = raise(next * (1.0 + 4.0 * f64::EPSILON), |q| last <= below(low * q));
            if next >= last {
                break;
            }
            flips.push(next);
        }
        let table = Self { rule, per_bit, flips };
        if table.ratios_hold(low) {
            Ok(table)
        } else {
            Err(Error::invalid("per-bit epsilon", e, "such that rounded flips meet it"))
        }
    }

    /// The rule.
    #[must_use]
    pub fn rule(&self) -> FlipRule {
        self.rule
    }

    /// The budget of one bit.
    #[must_use]
    pub fn per_bit(&self) -> Epsilon {
        self.per_bit
    }

    /// The highest level with a probability of its own.
    #[must_use]
    pub fn highest_level(&self) -> u32 {
        self.flips.len() as u32 - 1
    }

    /// The probability of turning over a sign at this level; 1/2 at level 0.
    #[must_use]
    pub fn flip(&self, level: u32) -> Probability {
        Probability::new(self.raw(level)).expect("in [0, 1/2]")
    }

    pub(crate) fn raw(&self, level: u32) -> f64 {
        self.flips[(level as usize).min(self.flips.len() - 1)]
    }

    /// The largest flip probability of a nonzero value, as the probability of keeping it.
    #[must_use]
    pub fn least_keep(&self) -> Probability {
        Probability::new(1.0 - self.flips[1]).expect("in [1/2, 1]")
    }

    /// Checks every reachable pair of levels against `low <= e^e`.
    fn ratios_hold(&self, low: f64) -> bool {
        let first = self.flips[1];
        let coin = 0.5 <= below(low * first) && above(1.0 - first) <= below(low * 0.5);
        // `first_flip` made 1 - first exact.
        let across = 1.0 - first <= below(low * first);
        coin && across
            && self.flips[1..].windows(2).all(|w| {
                // A farther value flips less often and keeps more often.
                w[1] <= w[0]
                    && w[0] <= below(low * w[1])
                    && above(1.0 - w[1]) <= below(low * below(1.0 - w[0]))
            })
    }
}

/// A number just below the real value behind a rounded operation.
fn below(x: f64) -> f64 {
    x.next_down()
}

/// A number just above the real value behind a rounded operation.
fn above(x: f64) -> f64 {
    x.next_up()
}

/// A lower bound on `e^e`; the library's `exp` is within two ulps.
fn factor_below(e: f64) -> f64 {
    e.exp() * (1.0 - 2.0 * f64::EPSILON)
}

/// The flip probability of level 1: such that `1 - q` is exact in `f64`, too.
fn first_flip(exact: f64, low: f64) -> f64 {
    let unit = LEAST_FLIP;
    let holds = |q: f64| 1.0 - q <= below(low * q);
    let mut q = ((exact / unit).ceil() * unit).max(unit);
    while !holds(q) && q < 0.5 {
        q += unit;
    }
    q.min(0.5)
}

/// The first `f64` from `from` on that satisfies a condition true above some point near it.
fn raise(from: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let mut q = from;
    while !holds(q) {
        q = q.next_up();
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_int::UBig;

    /// A positive finite f64 as mantissa / 2^shift.
    fn dyadic(x: f64) -> (UBig, usize) {
        let mut shift = 0;
        let mut m = x;
        while m.fract() != 0.0 {
            m *= 2.0;
            shift += 1;
        }
        (UBig::from(m as u128), shift)
    }

    /// Lower and upper bounds of e^x as integers over 2^`bits`, by Taylor's series.
    fn exp_bounds(x: f64, bits: usize) -> (UBig, UBig) {
        let (m, s) = dyadic(x);
        let (mut term, mut sum) = (UBig::ONE << bits, UBig::ONE << bits);
        let mut i = 1u32;
        loop {
            term = ((term * &m) >> s) / UBig::from(i);
            if term == UBig::ZERO {
                // Each of i terms lost less than 2 units, and the tail is below 4 units once i > 2x.
                assert!(f64::from(i) > 2.0 * x);
                let slack = UBig::from(4 * i + 4);
                return (sum.clone(), sum + (slack << (2.0 * x) as usize));
            }
            sum += &term;
            i += 1;
        }
    }

    /// Probability of publishing +1, as an exact fraction over 2^`BITS`.
    const BITS: usize = 1200;
    fn plus(table: &FlipTable, signed_level: i64) -> UBig {
        let (m, s) = dyadic(table.raw(signed_level.unsigned_abs() as u32));
        let flip = m << (BITS - s);
        if signed_level > 0 { (UBig::ONE << BITS) - flip } else { flip }
    }

    fn signed_level(x: i64, beta: i64) -> i64 {
        x.signum() * ((x.abs() + beta - 1) / beta)
    }

    const RULES: [FlipRule; 3] =
        [FlipRule::RandomizedResponse, FlipRule::PublishedSmooth, FlipRule::OptimalSmooth];

    #[test]
    fn every_adjacent_pair_meets_the_ratio_exactly() {
        // x and x' on a grid of beta / 16, all pairs within beta, the zero included.
        let beta = 16;
        for rule in RULES {
            for e in [1e-6, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0] {
                let table = FlipTable::new(rule, Epsilon::new(e).expect("valid")).expect("valid");
                let (low, high) = exp_bounds(e, 160);
                let one = UBig::ONE << BITS;
                let mut tight = [false; 2];
                for x in -20 * beta..=20 * beta {
                    let p = plus(&table, signed_level(x, beta));
                    for y in x - beta..=x + beta {
                        let q = plus(&table, signed_level(y, beta));
                        for (side, (a, b)) in
                            [(p.clone(), q.clone()), (&one - &p, &one - &q)].iter().enumerate()
                        {
                            // a <= e^e b, with e^e replaced by its lower bound.
                            assert!((a.clone() << 160) <= b * &low, "{rule:?} {e} {x} {y}");
                            // a (1 + 1e-12) >= e^e b somewhere: nothing is given away.
                            let scale = UBig::from(1_000_000_000_000u64);
                            tight[side] |=
                                ((a * (&scale + UBig::ONE)) << 160) >= b * &high * &scale;
                        }
                    }
                }
                // At epsilon 20 the first flip is held at a multiple of 2^-53.
                assert!(tight[0] && tight[1] || e == 20.0, "{rule:?} {e} is not tight");
            }
        }
    }

    #[test]
    fn the_optimal_rule_is_tight_at_every_level_and_the_published_is_not() {
        for e in [0.01, 0.1, 1.0] {
            let get = |rule| FlipTable::new(rule, Epsilon::new(e).expect("valid")).expect("valid");
            let (best, published) = (get(FlipRule::OptimalSmooth), get(FlipRule::PublishedSmooth));
            for level in 1..10 {
                let ratio = best.raw(level) / best.raw(level + 1);
                assert!((ratio.ln() / e - 1.0).abs() < 1e-12, "{e} {level}");
                let ratio = published.raw(level) / published.raw(level + 1);
                // It gives away less the farther out the level is.
                assert!(ratio.ln() / e < 0.995 || f64::from(level) * e > 3.0, "{e} {level}");
            }
            assert!(((1.0 - best.raw(1)) / best.raw(1)).ln() / e > 1.0 - 1e-12);
        }
    }

    #[test]
    fn optimal_never_flips_more() {
        for e in [1e-6, 1e-3, 0.1, 0.7, 1.0, 3.0, 10.0, 40.0, 100.0] {
            let tables = RULES
                .map(|rule| FlipTable::new(rule, Epsilon::new(e).expect("valid")).expect("valid"));
            for level in 1..5000 {
                let [rr, published, best] = [0, 1, 2].map(|i| tables[i].raw(level));
                // The last one: rounding up, and the floor at level 1.
                assert!(best <= published * (1.0 + 1e-15 * f64::from(level)), "{e} {level}");
                assert!(published <= rr, "{e} {level}");
            }
        }
        // The gain named in the documentation: signal 1 - 2 flip, per bit.
        let signal = |rule, e, level| {
            let e = Epsilon::new(e).expect("valid");
            1.0 - 2.0 * FlipTable::new(rule, e).expect("valid").raw(level)
        };
        let gain = |e, level| {
            signal(FlipRule::OptimalSmooth, e, level) / signal(FlipRule::PublishedSmooth, e, level)
        };
        assert!(gain(0.1, 12) > 1.2);
        assert!(gain(1e-3, 40) > 1.9);
    }

    #[test]
    fn a_table_with_a_broken_ratio_is_caught() {
        let e = Epsilon::new(0.5).expect("valid");
        let mut table = FlipTable::new(FlipRule::OptimalSmooth, e).expect("valid");
        let low = factor_below(0.5);
        assert!(table.ratios_hold(low));
        let good = table.flips[3];
        table.flips[3] *= 1.0 - 1e-12;
        assert!(!table.ratios_hold(low), "a flip too rare by one part in 1e12");
        table.flips[3] = good;
        table.flips[1] *= 1.0 - 1e-12;
        assert!(!table.ratios_hold(low));
    }

    #[test]
    fn per_bit_budgets_outside_the_range_are_refused() {
        for e in [1e-10, 701.0] {
            let e = Epsilon::new(e).expect("valid");
            assert!(FlipTable::new(FlipRule::OptimalSmooth, e).is_err());
        }
    }
}
