//! Randomised response: bits and larger alphabets. Proof: `docs/proofs/randomized-response.md`.

use super::kind::{Kind, TRIALS, count, letters};
use super::kinds::Profile;
use super::pld::{LossLaw, Merged};
use super::rule::{close, probability, whole};
use super::solve::{largest_keep, positive};
use super::sum::{LnSum, ln_mixture};
use crate::adjacency::Adjacency;
use crate::budget::{Budget, Epsilon};
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::numeric::binomial::{ln_expectation, ln_pmf, raised};
use crate::numeric::float::Compensated;
use crate::numeric::ln_one_minus_exp;
use crate::quantity::Probability;

/// The two probabilities of a bit's response, the larger first; their sum is one up to
/// an ulp of the larger, and the smaller is exact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bit {
    pub(crate) high: f64,
    pub(crate) low: f64,
    /// ln(high / low) to a few ulps, however small; infinite when the lower is zero.
    pub(crate) loss: f64,
}

impl Bit {
    /// From the very `f64` a sampler uses.
    pub(crate) fn keeping(keep: Probability) -> Self {
        let p = keep.get();
        let low = p.min(1.0 - p);
        // `1 - p` is exact above one half, and `1 - 2 low` is rounded once.
        Self { high: 1.0 - low, low, loss: ((1.0 - 2.0 * low) / low).ln_1p() }
    }

    /// ln delta(epsilon) of `bits` responses that all differ, an upper bound.
    pub(crate) fn ln_delta(self, bits: u64, epsilon: f64) -> f64 {
        if bits == 0 || self.loss == 0.0 {
            return f64::NEG_INFINITY;
        }
        if self.loss.is_infinite() {
            return 0.0;
        }
        // The safe side: a loss an ulp or two larger, an epsilon as much smaller.
        let loss = self.loss * (1.0 + 8.0 * f64::EPSILON);
        let epsilon = epsilon * (1.0 - 8.0 * f64::EPSILON);
        let n = bits as f64;
        // Of j kept bits, rounded once: right to a unit however small it is.
        let excess = |j: u64| (2.0 * j as f64 - n).mul_add(loss, -epsilon);
        if excess(bits) <= 0.0 {
            return f64::NEG_INFINITY;
        }
        // Loss of j kept bits: (2j - n) loss, above epsilon from the first j on.
        let first = (0.5 * (n + epsilon / loss)).floor() as u64;
        let weight = |j: u64| {
            let x = excess(j);
            if x > 0.0 { -(-x).exp_m1() } else { 0.0 }
        };
        let sum = if first >= bits {
            ln_pmf(bits, self.high, self.low, bits) + ln_one_minus_exp(-excess(bits))
        } else {
            ln_expectation(bits, self.high, self.low, first, bits, weight)
        };
        raised(sum, n)
    }

    /// ln delta(epsilon) when the number of differing bits is `Bin(trials, p)`, an upper bound: the delta of one bit more is that
    /// of m bits and what the walk of the loss brings across epsilon in one step. Proof: `docs/proofs/mixtures.md`.
    pub(crate) fn ln_mixture(self, trials: u64, p: f64, epsilon: f64) -> f64 {
        if p >= 1.0 || !(self.loss > 0.0 && self.loss.is_finite()) {
            return ln_mixture(trials, p, |m| self.ln_delta(m, epsilon));
        }
        // The same safe side as in `ln_delta`: the walk of the true loss at an epsilon that is smaller by both margins.
        let loss = self.loss * (1.0 + 8.0 * f64::EPSILON);
        let safe = epsilon * (1.0 - 8.0 * f64::EPSILON);
        let steps = (safe / loss).floor();
        if p <= 0.0 || steps >= trials as f64 {
            return f64::NEG_INFINITY;
        }
        // Of the sums of m steps up or down one is within a step of epsilon: so many steps up as `level` says.
        let level = steps as u64;
        let beyond = (-steps).mul_add(loss, safe).clamp(0.0, loss);
        let up = self.high * -(beyond - loss).exp_m1();
        let down = self.low * beyond.exp_m1();
        let (q, n) = (1.0 - p, trials as f64);
        let ln_mass = |m: u64| ln_pmf(trials, p, q, m);
        let start = self.least(trials, p, (level, epsilon));
        // Scaled by e^scale.
        let (mut m, mut delta, mut scale) = (level, Compensated::default(), f64::NEG_INFINITY);
        if start > level {
            (m, delta, scale) = (start, Compensated::of(1.0), self.ln_delta(start, epsilon));
        }
        let mut sum = LnSum::default();
        // In blocks, so that products do not drift: a block starts from logarithms.
        while m <= trials {
            let first = ln_mass(m);
            let ratio = (n - m as f64) / (m as f64 + 1.0) * (p / q);
            // Upwards: delta is at most one, and the masses fall geometrically beyond their mode.
            if ratio < 1.0 && first - (-ratio).ln_1p() < sum.ln() + NOTHING {
                break;
            }
            let mut ups = (m + level).div_ceil(2);
            let crossing = raised(ln_pmf(m, self.high, self.low, ups), n);
            if crossing - scale > WIDE.1.ln() {
                (delta, scale) = (delta.times((scale - crossing).exp()), crossing);
            }
            let mut crosses = (crossing - scale).exp();
            let (mut mass, mut part) = (1.0, 0.0);
            for _ in 0..BLOCK {
                #[cfg(test)]
                crate::numeric::binomial::terms::add();
                part += mass * delta.value();
                let next = (m + 1) as f64;
                mass *= (n - m as f64) / next * (p / q);
                if (m - level).is_multiple_of(2) {
                    delta.add(crosses * up);
                    ups += 1;
                    crosses *= next / ups as f64 * self.high;
                } else {
                    delta.add(crosses * down);
                    crosses *= next / (m + 1 - ups) as f64 * self.low;
                }
                m += 1;
                if m > trials || !(WIDE.0..WIDE.1).contains(&mass) || crosses > WIDE.1 {
                    break;
                }
            }
            sum.add(first + scale + part.ln());
        }
        raised(sum.ln(), n)
    }

    /// The least number of differing bits that counts in a mixture.
    fn least(self, trials: u64, p: f64, (level, epsilon): (u64, f64)) -> u64 {
        let (n, q) = (trials as f64, 1.0 - p);
        let term = |m: u64| ln_pmf(trials, p, q, m) + self.ln_delta(m, epsilon);
        let mode = ((n + 1.0) * p) as u64;
        let mut width = 10 + (10.0 * (n * p * q).sqrt()) as u64;
        if mode <= level + width {
            return level;
        }
        // Below the mode every term is less than the next.
        let most = term(mode);
        while mode > level + width {
            let start = mode - width;
            if term(start) + (start as f64).ln() < most + NOTHING {
                return start;
            }
            width *= 2;
        }
        level
    }
}

/// ln of what may be left out of a sum.
const NOTHING: f64 = -39.2;
/// Terms from one pair of logarithms to the next, and how far products may go meanwhile.
const BLOCK: u32 = 64;
const WIDE: (f64, f64) = (1e-100, 1e100);

/// One response over an alphabet: the value kept, and any one other value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Letter {
    /// The larger of the two probabilities, and the smaller.
    pub(crate) high: f64,
    pub(crate) low: f64,
    /// ln(high / low), as for a bit; never below it by more than a few ulps.
    pub(crate) loss: f64,
}

impl Letter {
    /// From the `f64` a sampler uses; `None` for an alphabet below two.
    pub(crate) fn keeping(alphabet: u64, keep: Probability) -> Option<Self> {
        let p = keep.get();
        if alphabet < 2 {
            return None;
        }
        let (letters, others) = (alphabet as f64, (alphabet - 1) as f64);
        let other = (1.0 - p) / others;
        // The difference, `(alphabet p - 1) / (alphabet - 1)`, is rounded once however small it
        // is; an alphabet beyond 2^53 is itself rounded.
        let inexact = if alphabet > 1 << 53 { f64::EPSILON * letters * p } else { 0.0 };
        let apart = (letters.mul_add(p, -1.0).abs() + inexact) / others;
        let (high, low) = (p.max(other), p.min(other));
        Some(Self { high, low, loss: (apart / low).ln_1p() })
    }

    /// Probability that a response carries any loss, and the bit it then is.
    fn informative(self) -> (f64, Bit) {
        let Self { high, low, loss } = self;
        let mass = (high + low).min(1.0);
        let low = low / mass;
        (mass, Bit { high: 1.0 - low, low, loss })
    }

    /// ln delta(epsilon) when the number of differing responses is `Bin(trials, p)`, an upper bound.
    pub(crate) fn ln_mixture(self, trials: u64, p: f64, epsilon: f64) -> f64 {
        if p <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let (mass, bit) = self.informative();
        // Up by more than its rounding, and from subnormal numbers: more responses that carry a loss lose more.
        let p = (p * mass * (1.0 + 3.0 * f64::EPSILON)).clamp(1e-290, 1.0);
        let ln = bit.ln_mixture(trials, p, epsilon);
        if ln == f64::NEG_INFINITY { ln } else { ln + (2e-12 + 2e-15 * ln.abs()) }
    }

    /// ln delta(epsilon) of `responses` that all differ.
    pub(crate) fn ln_delta(self, responses: u64, epsilon: f64) -> f64 {
        self.ln_mixture(responses, 1.0, epsilon)
    }
}

/// [`Profile::RandomizedResponse`].
pub(super) struct Bits {
    pub(super) bits: u64,
    pub(super) keep: Probability,
}

/// Most bits.
const BITS: u64 = 1 << 24;

impl Kind for Bits {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        Bit::keeping(self.keep).ln_delta(self.bits, epsilon)
    }

    fn check_limits(&self) -> Result<()> {
        count("bits", self.bits, BITS)
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        let Bit { low, loss, .. } = Bit::keeping(self.keep);
        all.bits(low, loss, u128::from(self.bits) * u128::from(runs));
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        bit_given_by(self.keep, noise)
    }
}

/// Whether bits kept with this probability come from this noise.
pub(super) fn bit_given_by(keep: Probability, noise: &NoiseLaw) -> Result<bool> {
    match noise {
        NoiseLaw::BitFlip { keep: stated }
        | NoiseLaw::KaryResponse { alphabet: 2, keep: stated } => probability(*stated, keep)?,
        // A smooth rule leaks its epsilon for each bit, like a response of that epsilon.
        NoiseLaw::SmoothBitFlip { epsilon, .. } => {
            let loss = (keep.get() / (1.0 - keep.get())).ln();
            close("noise.epsilon", epsilon.get(), loss, 1e-6)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// [`Profile::KaryResponse`].
pub(super) struct Letters {
    pub(super) responses: u64,
    pub(super) alphabet: u64,
    pub(super) keep: Probability,
}

impl Kind for Letters {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        let letter = Letter::keeping(self.alphabet, self.keep);
        letter.map_or(0.0, |l| l.ln_delta(self.responses, epsilon))
    }

    fn check_limits(&self) -> Result<()> {
        count("responses", self.responses, TRIALS)?;
        letters(self.alphabet)
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        let responses = u128::from(self.responses) * u128::from(runs);
        compose_letters(all, self.alphabet, self.keep, 1.0, responses);
    }

    fn given_by(&self, noise: &NoiseLaw, _: Adjacency) -> Result<bool> {
        match noise {
            NoiseLaw::BitFlip { keep: stated } if self.alphabet == 2 => {
                probability(*stated, self.keep)?;
                Ok(true)
            }
            _ => letter_given_by(self.alphabet, self.keep, noise),
        }
    }
}

/// Whether letters kept with this probability come from this noise.
pub(super) fn letter_given_by(alphabet: u64, keep: Probability, noise: &NoiseLaw) -> Result<bool> {
    let NoiseLaw::KaryResponse { alphabet: stated, keep: kept } = noise else { return Ok(false) };
    whole("noise.alphabet", *stated, alphabet)?;
    probability(*kept, keep)?;
    Ok(true)
}

/// Adds `n` letters, each of them different with probability `p`.
pub(super) fn compose_letters(all: &mut Merged, alphabet: u64, keep: Probability, p: f64, n: u128) {
    match Letter::keeping(alphabet, keep) {
        Some(Letter { high, low, loss }) => compose_response(all, p * high, p * low, loss, n),
        None => all.unknown(),
    }
}

/// Adds `n` responses of probabilities `high` and `low`.
pub(super) fn compose_response(all: &mut Merged, high: f64, low: f64, loss: f64, n: u128) {
    if loss > 0.0 && n > 0 {
        let size = if loss.is_finite() { loss } else { 0.0 };
        all.law(LossLaw::Response { high, low, loss }, n, size);
    }
}

/// The largest probability of keeping each of `bits` bits that may all differ.
///
/// # Errors
/// [`Error::InvalidParameter`] when `bits` is zero.
pub fn randomized_response(budget: Budget, bits: u64) -> Result<Probability> {
    positive("bits", bits)?;
    largest_keep("randomized response", budget, 2, |keep| Profile::RandomizedResponse {
        bits,
        keep,
    })
}

/// The largest probability of keeping each of `responses` letters that may all differ.
///
/// # Errors
/// [`Error::InvalidParameter`] when `responses` is zero or the alphabet has fewer than two letters.
pub fn kary_response(budget: Budget, responses: u64, alphabet: u64) -> Result<Probability> {
    positive("responses", responses)?;
    largest_keep("k-ary response", budget, alphabet, |keep| Profile::KaryResponse {
        responses,
        alphabet,
        keep,
    })
}

/// The epsilon of one letter of [`Profile::KaryResponse`] kept with this probability,
/// rounded up: `ln(keep (alphabet - 1) / (1 - keep))`.
///
/// # Errors
/// [`Error::InvalidParameter`] unless `keep` is in `(1/alphabet, 1)`.
pub fn response_epsilon(alphabet: u64, keep: Probability) -> Result<Epsilon> {
    let kept = |l: &Letter| l.high == keep.get() && l.loss.is_finite() && l.loss > 0.0;
    match Letter::keeping(alphabet, keep).filter(kept) {
        Some(letter) => Epsilon::new(letter.loss * (1.0 + 8.0 * f64::EPSILON)),
        None => Err(Error::invalid("keep probability", keep, "(1/alphabet, 1)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::binomial::terms;

    /// The walk against the sum of the profiles of all numbers of bits: the same but for rounding, at every end of the parameters, and
    /// far fewer terms.
    #[test]
    fn the_walk_is_the_mixture() {
        let (mut by_walk, mut by_sums) = (0, 0);
        for trials in [1, 2, 7, 64, 2000] {
            for p in [1e-12, 1e-4, 0.03, 0.5, 0.999_999, 1.0 - 1e-16] {
                for loss in [1e-9, 3e-3, 0.3, 4.0, 60.0] {
                    let bit = Bit {
                        high: 1.0 / (1.0 + f64::exp(-loss)),
                        low: 1.0 / (1.0 + f64::exp(loss)),
                        loss,
                    };
                    let most = trials as f64 * loss;
                    // At a sum itself only what rounding adds is left of some terms.
                    let epsilons = [
                        1.3e-9,
                        1.1e-3,
                        0.7,
                        50.0,
                        0.51 * loss,
                        1.001 * loss,
                        0.01303 * most,
                        0.400_07 * most,
                        0.98 * most + 0.3 * loss,
                    ];
                    for epsilon in epsilons.into_iter().filter(|e| *e < 0.99 * most) {
                        let sums = || ln_mixture(trials, p, |m| bit.ln_delta(m, epsilon));
                        let (many, exact) = terms::of(sums);
                        let (few, walk) = terms::of(|| bit.ln_mixture(trials, p, epsilon));
                        let room = 1e-11 + 1e-14 * exact.abs() + 1e-14 * epsilon / loss;
                        assert!(
                            (walk - exact).abs() <= room,
                            "{trials} {p} {loss} {epsilon}: {walk}, {exact}"
                        );
                        (by_walk, by_sums) = (by_walk + few, by_sums + many);
                    }
                }
            }
        }
        assert!(20 * by_walk < by_sums, "{by_walk} {by_sums}");
    }

    /// Where all of many letters must be kept, the rounding of the probability that a response carries a loss counts once a letter: to
    /// nearest, these were stated 1.1e-12 below the truth.
    #[test]
    fn many_letters_are_never_below() {
        for (alphabet, keep, epsilon, truth) in [
            (1 << 32, 0.999_902_487_035_831_2, 2_058_872.278_012_698_3, -6.390_921_374_354_32),
            (1 << 32, 0.999_997_855_594_339_7, 2_309_035.586_325_431_7, -0.140_535_942_378_856_28),
            (1 << 20, 0.999_993_357_639_227_9, 1_689_831.500_091_439, -0.435_317_718_206_507),
        ] {
            let letter = Letter::keeping(alphabet, Probability::new(keep).unwrap()).unwrap();
            let above = letter.ln_delta(1 << 16, epsilon) - truth;
            assert!((1e-12..1e-10).contains(&above), "{alphabet} {keep}: {above:e}");
        }
    }

    /// Where every bit differs for certain, and where none can cross epsilon.
    #[test]
    fn the_walk_ends_where_it_must() {
        let bit = Bit::keeping(Probability::new(0.75).unwrap());
        assert_eq!(bit.ln_mixture(9, 1.0, 2.0), bit.ln_delta(9, 2.0));
        assert_eq!(bit.ln_mixture(9, 0.5, 9.001 * bit.loss), f64::NEG_INFINITY);
        assert_eq!(bit.ln_mixture(9, 0.5, f64::MAX), f64::NEG_INFINITY);
        let fair = Bit::keeping(Probability::new(0.5).unwrap());
        assert_eq!(fair.ln_mixture(9, 0.5, 1e-3), f64::NEG_INFINITY);
        let certain = Bit::keeping(Probability::new(1.0).unwrap());
        assert!((certain.ln_mixture(2, 0.5, 3.0) - 0.75f64.ln()).abs() < 1e-11);
    }

    /// A bit of a smooth rule loses its epsilon, which is `ln(keep / (1 - keep))`.
    #[test]
    fn a_smooth_rule_of_the_same_epsilon_gives_the_bits() {
        let keep = Probability::new(0.75).unwrap();
        let given = |epsilon: f64| {
            let epsilon = Epsilon::new(epsilon).unwrap();
            bit_given_by(keep, &NoiseLaw::SmoothBitFlip { epsilon, rule: String::new() })
        };
        assert!(given(3f64.ln()).unwrap());
        assert!(given(3f64.ln() * 1.001).is_err() && given(3f64.ln() * 0.999).is_err());
    }

    /// Letters that are kept no more often than others come are not composed.
    #[test]
    fn responses_that_tell_nothing_add_nothing() {
        let keep = Probability::new(0.25).unwrap();
        let runs = |alphabet| {
            let profile = Profile::KaryResponse { responses: 3, alphabet, keep };
            let event = crate::profile::Event::new(profile, 2).unwrap();
            crate::profile::pld::Pld::new([&event]).pure_runs().unwrap()
        };
        assert_eq!(runs(4), []);
        assert!((runs(5)[0].0 / (4.0f64 / 3.0).ln() - 1.0).abs() < 1e-12 && runs(5)[0].1 == 6.0);
    }
}
