//! Flip rules: how likely a sign is turned over, given how far its value is from zero.

use crate::error::{Error, Result};
use dp_core::{Budget, Epsilon, Probability, calibrate};
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

impl core::fmt::Display for FlipRule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

impl core::str::FromStr for FlipRule {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|one| one.name() == name)
            .ok_or_else(|| Error::invalid("flip rule", name, Self::ALL.map(Self::name).join(", ")))
    }
}

impl FlipRule {
    /// Every rule.
    pub const ALL: [Self; 3] =
        [Self::RandomizedResponse, Self::PublishedSmooth, Self::OptimalSmooth];

    /// Name in certificates.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RandomizedResponse => "randomized-response",
            Self::PublishedSmooth => "published-smooth",
            Self::OptimalSmooth => "optimal-smooth",
        }
    }
}

/// Levels of a table; later ones share the last probability.
const MOST_LEVELS: usize = 4096;
/// Flip probabilities are not made smaller than this.
const LEAST_FLIP: f64 = f64::EPSILON / 2.0;

/// The flip probabilities of a rule, rounded so that the budget still holds.
///
/// The per-bit budget is that of a randomised response that keeps a bit with probability
/// p, `e = ln(p / (1 - p))`, where p is the very `f64` of the sampler: every ratio below is
/// compared with p/(1 - p), not with a rounded exponential. Every entry is an `f64` taken
/// as the exact dyadic rational it is, never below the rule's real value. The constructor
/// checks, with directed rounding, every pair of levels that adjacent inputs can reach:
/// (0, 1), (1, -1) and (L, L + 1), for both values of the published bit.
#[derive(Debug, Clone, PartialEq)]
pub struct FlipTable {
    rule: FlipRule,
    keep: Probability,
    /// `flips[L]`; `flips[0]` is the fair coin.
    flips: Vec<Probability>,
}

impl FlipTable {
    /// Tabulates a rule whose per-bit budget is that of a randomised response keeping
    /// bits with probability `keep`.
    ///
    /// # Errors
    /// An invalid `keep`: must be in `[1/2, 1)`.
    pub fn new(rule: FlipRule, keep: Probability) -> Result<Self> {
        let p = keep.get();
        if !(0.5..1.0).contains(&p) {
            return Err(Error::invalid("keep probability", p, "[1/2, 1)"));
        }
        // Exact: p is at least 1/2.
        let first = 1.0 - p;
        let ratio = p / first;
        let mut flips = vec![0.5, first];
        while rule != FlipRule::RandomizedResponse && flips.len() <= MOST_LEVELS {
            let last = flips[flips.len() - 1];
            let wanted = match rule {
                FlipRule::PublishedSmooth => 1.0 / (1.0 + ratio.powi(flips.len() as i32)),
                _ => last / ratio,
            };
            let start = wanted.max(LEAST_FLIP) * (1.0 - 8.0 * f64::EPSILON);
            let next = raise(start, |q| last <= below(below(ratio) * q));
            // Nothing farther out can be gained once the floor is reached.
            if next >= last || last <= LEAST_FLIP {
                break;
            }
            flips.push(next);
        }
        if !ratios_hold(&flips, ratio) {
            return Err(Error::invalid("keep probability", p, "such that rounded flips meet it"));
        }
        let flips = flips.into_iter().map(Probability::new).collect::<Result<_, _>>()?;
        Ok(Self { rule, keep, flips })
    }

    /// As [`FlipTable::new`] for a per-bit budget.
    ///
    /// # Errors
    /// When the calibration fails.
    pub fn for_epsilon(rule: FlipRule, per_bit: Epsilon) -> Result<Self> {
        Self::new(rule, calibrate::randomized_response(Budget::pure(per_bit), 1)?)
    }

    /// The rule.
    #[must_use]
    pub fn rule(&self) -> FlipRule {
        self.rule
    }

    /// The probability of keeping a sign at level 1, the least of all nonzero levels;
    /// it fixes the per-bit budget `ln(keep / (1 - keep))`.
    #[must_use]
    pub fn keep(&self) -> Probability {
        self.keep
    }

    /// The highest level with a probability of its own.
    #[must_use]
    pub fn highest_level(&self) -> u32 {
        self.flips.len() as u32 - 1
    }

    /// The probability of turning over a sign at this level; 1/2 at level 0.
    #[must_use]
    #[inline]
    pub fn flip(&self, level: u32) -> Probability {
        self.flips[(level as usize).min(self.flips.len() - 1)]
    }
}

/// Checks every reachable pair of levels against p/(1 - p), of which `ratio` is a
/// rounded value.
fn ratios_hold(flips: &[f64], ratio: f64) -> bool {
    let low = below(ratio);
    // (1, -1) holds with equality: the flips of level 1 are the response itself. The
    // coin lies between the two: 1/2 <= r (1 - p) = p, and p <= r/2 since 1 - p <= 1/2.
    flips[0] == 0.5
        && flips[1] <= 0.5
        && flips[1..].windows(2).all(|w| {
            // A farther value flips less often, and keeps more often.
            w[1] <= w[0]
                && (w[1] == w[0]
                    || w[0] <= below(low * w[1])
                        && above(1.0 - w[1]) <= below(low * below(1.0 - w[0])))
        })
}

/// A number just below the real value behind a rounded operation.
fn below(x: f64) -> f64 {
    x.next_down()
}

/// A number just above the real value behind a rounded operation.
fn above(x: f64) -> f64 {
    x.next_up()
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
        let (m, s) = dyadic(table.flip(signed_level.unsigned_abs() as u32).get());
        let flip = m << (BITS - s);
        if signed_level > 0 { (UBig::ONE << BITS) - flip } else { flip }
    }

    fn signed_level(x: i64, beta: i64) -> i64 {
        x.signum() * ((x.abs() + beta - 1) / beta)
    }

    fn table(rule: FlipRule, e: f64) -> FlipTable {
        FlipTable::for_epsilon(rule, Epsilon::new(e).expect("valid")).expect("valid")
    }

    const RULES: [FlipRule; 3] =
        [FlipRule::RandomizedResponse, FlipRule::PublishedSmooth, FlipRule::OptimalSmooth];

    #[test]
    fn every_adjacent_pair_meets_the_ratio_exactly() {
        // x and x' on a grid of beta / 16, all pairs within beta, the zero included.
        let beta = 16;
        for rule in RULES {
            for e in [1e-6, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0] {
                let table = table(rule, e);
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
                            // a (1 + 1e-6) >= e^e b somewhere: nothing but the calibration's
                            // safety margin is given away.
                            let scale = UBig::from(1_000_000u64);
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
            let get = |rule| table(rule, e);
            let (best, published) = (get(FlipRule::OptimalSmooth), get(FlipRule::PublishedSmooth));
            for level in 1..10 {
                let ratio = best.flip(level).get() / best.flip(level + 1).get();
                let bit = (best.keep().get() / best.flip(1).get()).ln();
                // Tight for the very response; the calibration of that keeps its own margin.
                assert!((ratio.ln() / bit - 1.0).abs() < 1e-12, "{e} {level}");
                let ratio = published.flip(level).get() / published.flip(level + 1).get();
                // It gives away less the farther out the level is.
                assert!(ratio.ln() / e < 0.995 || f64::from(level) * e > 3.0, "{e} {level}");
            }
            assert!(((1.0 - best.flip(1).get()) / best.flip(1).get()).ln() / e > 1.0 - 1e-6);
        }
    }

    #[test]
    fn optimal_never_flips_more() {
        for e in [1e-6, 1e-3, 0.1, 0.7, 1.0, 3.0, 10.0, 40.0, 100.0] {
            let tables = RULES.map(|rule| table(rule, e));
            for level in 1..5000 {
                let [rr, published, best] = [0, 1, 2].map(|i| tables[i].flip(level).get());
                // The last one: rounding up, and the floor at level 1.
                assert!(best <= published * (1.0 + 1e-15 * f64::from(level)), "{e} {level}");
                assert!(published <= rr, "{e} {level}");
            }
        }
        // The gain named in the documentation: signal 1 - 2 flip, per bit.
        let signal = |rule, e, level| 1.0 - 2.0 * table(rule, e).flip(level).get();
        let gain = |e, level| {
            signal(FlipRule::OptimalSmooth, e, level) / signal(FlipRule::PublishedSmooth, e, level)
        };
        assert!(gain(0.1, 5) > 1.45);
        assert!(gain(1e-3, 40) > 1.9);
    }

    #[test]
    fn a_table_with_a_broken_ratio_is_caught() {
        let table = table(FlipRule::OptimalSmooth, 0.5);
        let ratio = table.keep().get() / table.flip(1).get();
        let flips: Vec<f64> = table.flips.iter().map(|q| q.get()).collect();
        assert!(ratios_hold(&flips, ratio));
        for level in [2, 3, 20] {
            let mut broken = flips.clone();
            broken[level] *= 1.0 - 1e-12;
            assert!(!ratios_hold(&broken, ratio), "level {level} too rare by 1e-12");
        }
    }

    #[test]
    fn keep_probabilities_outside_the_range_are_refused() {
        for keep in [0.0, 0.49, 1.0] {
            let keep = Probability::new(keep).expect("a probability");
            assert!(FlipTable::new(FlipRule::OptimalSmooth, keep).is_err());
        }
        let coin = Probability::new(0.5).expect("a probability");
        let table = FlipTable::new(FlipRule::OptimalSmooth, coin).expect("no budget at all");
        assert_eq!(table.flip(100), coin);
    }

    /// Each level up to the highest has a probability of its own, and those above have that one's.
    #[test]
    fn the_highest_level_is_the_last_that_differs() {
        for rule in [FlipRule::PublishedSmooth, FlipRule::OptimalSmooth] {
            let table = table(rule, 0.5);
            let highest = table.highest_level();
            assert!(table.flip(highest) < table.flip(highest - 1), "{rule:?}");
            assert_eq!(table.flip(highest), table.flip(highest + 1), "{rule:?}");
        }
    }

    /// Level 0 is a fair coin, no level is more than that, and no two in a row are too far apart.
    #[test]
    fn tables_that_break_the_ratio_are_told() {
        assert!(ratios_hold(&[0.5, 0.5], 2.0) && ratios_hold(&[0.5, 0.4, 0.21], 2.0));
        let bad: [&[f64]; 5] =
            [&[0.4, 0.4], &[0.5, 0.6], &[0.4, 0.6], &[0.5, 0.4, 0.19], &[0.5, 0.3, 0.4]];
        for flips in bad {
            assert!(!ratios_hold(flips, 2.0), "{flips:?}");
        }
    }
}
