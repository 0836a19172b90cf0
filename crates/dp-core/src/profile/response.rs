//! Randomised response: bits and larger alphabets. Proof: `docs/proofs/randomized-response.md`.

use crate::numeric::binomial::{ln_expectation, ln_pmf, raised};
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
        if n * loss <= epsilon {
            return f64::NEG_INFINITY;
        }
        // Loss of j kept bits: (2j - n) loss, above epsilon from the first j on.
        let first = (0.5 * (n + epsilon / loss)).floor() as u64;
        let excess = |j: u64| (2.0 * j as f64 - n) * loss - epsilon;
        let weight = |j: u64| {
            let x = excess(j);
            if x > 0.0 { -(-x).exp_m1() } else { 0.0 }
        };
        let sum = if first >= bits {
            ln_pmf(bits, self.high, self.low, bits) + ln_one_minus_exp(-excess(bits).max(0.0))
        } else {
            ln_expectation(bits, self.high, self.low, first, bits, weight)
        };
        raised(sum, n)
    }
}

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
        (mass, Bit { high: high / mass, low: low / mass, loss })
    }

    /// ln delta(epsilon) when the number of differing responses is `Bin(trials, p)`.
    pub(crate) fn ln_mixture(self, trials: u64, p: f64, epsilon: f64) -> f64 {
        let (mass, bit) = self.informative();
        super::mixture::ln_mixture(trials, p * mass, |m| bit.ln_delta(m, epsilon))
    }

    /// ln delta(epsilon) of `responses` that all differ.
    pub(crate) fn ln_delta(self, responses: u64, epsilon: f64) -> f64 {
        self.ln_mixture(responses, 1.0, epsilon)
    }
}

/// ln of the pure mechanism's `(e^pure - e^eps) / (1 + e^pure)`.
pub(crate) fn ln_pure(pure: f64, epsilon: f64) -> f64 {
    if epsilon >= pure {
        f64::NEG_INFINITY
    } else {
        ln_one_minus_exp(epsilon - pure) - (-pure).exp().ln_1p() + 1e-14
    }
}
