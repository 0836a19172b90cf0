//! Confidence intervals of squared lengths, and of what is made of two of them.
//!
//! Derivations: `docs/proofs/estimators.md`, "Intervals".

use crate::error::{Error, Result};
use crate::estimate::{Interval, two_sided_quantile};
use crate::projection::{Family, ProjectionSpec};
use dp_core::Probability;
use dp_core::numeric::{ln_chi_square_cdf, ln_chi_square_sf, ln_normal_cdf};

/// One minus the confidence, with the normal quantile that belongs to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Miss {
    probability: f64,
    quantile: f64,
}

impl Miss {
    pub(crate) fn of(confidence: Probability) -> Result<Self> {
        let probability = 1.0 - confidence.get();
        if probability > 0.0 && probability < 1.0 {
            Ok(Self { probability, quantile: two_sided_quantile(probability) })
        } else {
            Err(Error::invalid("confidence", confidence, "(0, 1)"))
        }
    }

    /// What the variance of a projection is multiplied by, so that a normal interval is as wide as
    /// Chebyshev's: `1/(miss z^2)`, at least one.
    fn chebyshev(self) -> f64 {
        (self.probability * self.quantile * self.quantile).recip()
    }
}

/// How far a projection's law of sums of squares can be from chi-square on sparse rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tails {
    /// Probability with which the image of a vector can vanish.
    hidden: f64,
    /// Whether few coordinates can make the tails heavier than those of chi-square.
    heavy: bool,
}

impl Tails {
    pub(crate) fn of(spec: ProjectionSpec) -> Self {
        let k = spec.k() as f64;
        match spec.family() {
            Family::Gaussian | Family::Identity | Family::Grouped { .. } | Family::Given { .. } => {
                Self { hidden: 0.0, heavy: false }
            }
            Family::Rademacher => Self { hidden: 0.5f64.powf(k), heavy: spec.k() < 16 },
            // The signs of 2^m equal entries are a character with probability 2^(m + 1 - 2^m): then one output of 2^m is not zero.
            Family::Srht { .. } => {
                let hidden = [1, 2, 3, 4, 5].map(|m: i32| {
                    let size = 2.0f64.powi(m);
                    (f64::from(m + 1) - size).exp2() * (1.0 - size.recip()).powf(k)
                });
                Self { hidden: hidden.iter().sum(), heavy: true }
            }
            // Two entries of three are zero: a sparse row's image has a binomial number of terms.
            Family::Achlioptas => Self { hidden: (2.0f64 / 3.0).powf(k), heavy: spec.k() < 128 },
            Family::VerySparse => {
                let zeros = (1.0 - (spec.d() as f64).sqrt().recip()).powf(k);
                Self { hidden: zeros.max(0.5 / k), heavy: true }
            }
            _ => Self { hidden: 0.5 * spec.moments().pair / k, heavy: true },
        }
    }

    /// Whether an image that vanished must be reckoned with, for `ways` different vectors.
    pub(crate) fn can_hide(self, ways: f64, miss: Miss) -> bool {
        ways * self.hidden > miss.probability
    }

    pub(crate) fn worse(self, other: Self) -> Self {
        Self { hidden: self.hidden.max(other.hidden), heavy: self.heavy || other.heavy }
    }
}

/// What is known of a sum of squares when the squared length is x: mean `x + floor`, variance
/// `a x^2 + b x + c`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Law {
    pub(crate) floor: f64,
    pub(crate) form: [f64; 3],
    pub(crate) tails: Tails,
    /// Degrees of freedom left of each, when a scale was estimated from the same rows.
    pub(crate) left: f64,
}

impl Law {
    /// Variance when the squared length is x.
    pub(crate) fn variance(&self, x: f64) -> f64 {
        let ([a, b, c], x) = (self.form, x.max(0.0));
        a * x * x + b * x + c
    }

    /// The law with the projection's part of the variance as an interval needs it.
    pub(crate) fn widened(mut self, miss: Miss) -> Self {
        if self.tails.heavy {
            self.form[0] *= miss.chebyshev();
        }
        self
    }

    /// ln of the lower and of the upper tail at `sum` when the mean is `mean`: of the scaled
    /// chi-square law of this mean and variance, `2 mean^2/variance` degrees of freedom.
    fn ln_tails(&self, mean: f64, sum: f64) -> [f64; 2] {
        let variance = self.variance(mean - self.floor);
        let freedom = self.left * (2.0 * mean) * (mean / variance.max(f64::MIN_POSITIVE));
        if freedom < 1e3 {
            let at = freedom * (sum / mean);
            return [ln_chi_square_cdf(freedom, at), ln_chi_square_sf(freedom, at)];
        }
        // Wilson and Hilferty: the cube root is normal, up to terms of order 1/freedom.
        let spread = 2.0 / (9.0 * freedom);
        let z = ((sum / mean).cbrt() - (1.0 - spread)) / spread.sqrt();
        [ln_normal_cdf(z), ln_normal_cdf(-z)]
    }

    /// All x that a two-sided test does not reject, negative ones included (down to `-floor`).
    pub(crate) fn invert(&self, sum: f64, miss: Miss) -> Interval {
        let tail = (0.5 * miss.probability).ln();
        let start = sum.max(self.floor).max(f64::MIN_POSITIVE);
        // The upper tail grows with the mean, the lower one falls.
        let low = root(start, |mean| self.ln_tails(mean, sum)[1] - tail);
        let high = root(start, |mean| tail - self.ln_tails(mean, sum)[0]);
        Interval { low: low - self.floor, high: high - self.floor }
    }
}

/// The positive root of an increasing function: a bracket around the start, then the Illinois form of
/// the secant rule in the logarithm. Zero or infinity beyond `1e-250` to `1e250` times the start.
fn root(start: f64, f: impl Fn(f64) -> f64) -> f64 {
    const FAR: f64 = 576.0;
    let at = |log: f64| f(start * log.exp());
    let below = |value: f64| value < 0.0 || value.is_nan();
    let (mut step, first) = (0.5, at(0.0));
    let [mut low, mut high] = [(0.0, first); 2];
    while below(high.1) {
        if high.0 >= FAR {
            return f64::INFINITY;
        }
        low = high;
        high.0 += step;
        high.1 = at(high.0);
        step *= 2.0;
    }
    while !below(low.1) {
        if low.0 <= -FAR {
            return 0.0;
        }
        high = low;
        low.0 -= step;
        low.1 = at(low.0);
        step *= 2.0;
    }
    let mut side = 0;
    for _ in 0..200 {
        if high.0 - low.0 < 1e-12 {
            break;
        }
        let secant = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
        let inside = secant > low.0 && secant < high.0;
        let mid = if inside { secant } else { 0.5 * (low.0 + high.0) };
        let value = at(mid);
        if value.abs() < 1e-11 {
            return start * mid.exp();
        }
        // An end that is kept twice counts half.
        if below(value) {
            low = (mid, value);
            high.1 *= if side < 0 { 0.5 } else { 1.0 };
            side = -1;
        } else {
            high = (mid, value);
            low.1 *= if side > 0 { 0.5 } else { 1.0 };
            side = 1;
        }
    }
    start * high.0.exp()
}

/// The squared lengths of `u + c v` and `u - c v` as a release shows them: unbiased values, their
/// intervals, and the correlation of their errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polar {
    pub(crate) values: [f64; 2],
    pub(crate) intervals: [Interval; 2],
    pub(crate) correlation: f64,
}

impl Polar {
    /// Ends of an interval of `p |u + cv|^2 - m |u - cv|^2` (Zou and Donner 2008: the distances of
    /// the estimate from the ends of the two intervals are added like standard errors).
    pub(crate) fn difference(&self, p: f64, m: f64) -> Interval {
        let [plus, minus] = self.values;
        let [i, j] = self.intervals;
        let reach = |x: f64, y: f64| {
            // An end without limit counts for nothing with factor zero.
            let times = |factor: f64, x: f64| if factor == 0.0 { 0.0 } else { factor * x.abs() };
            let (x, y) = (times(p, x - plus), times(m, y - minus));
            if x.is_infinite() || y.is_infinite() {
                return f64::INFINITY;
            }
            (x * x + y * y - 2.0 * self.correlation * x * y).max(0.0).sqrt()
        };
        let value = p * plus - m * minus;
        Interval { low: value - reach(i.low, j.high), high: value + reach(i.high, j.low) }
    }

    /// All cosines in `[-1, 1]` for which the interval of
    /// `(1 - cosine) |u + cv|^2 - (1 + cosine) |u - cv|^2`, zero for the true one, holds zero.
    pub(crate) fn cosines(&self, estimate: f64) -> Interval {
        let test = |cosine: f64| self.difference(1.0 - cosine, 1.0 + cosine);
        let end = |from: f64, rejected: &dyn Fn(f64) -> bool| {
            let (mut out, mut kept) = (from, estimate);
            if !rejected(from) {
                return from;
            }
            for _ in 0..50 {
                let mid = 0.5 * (out + kept);
                if rejected(mid) { out = mid } else { kept = mid }
            }
            out
        };
        Interval {
            low: end(-1.0, &|cosine| test(cosine).low > 0.0),
            high: end(1.0, &|cosine| test(cosine).high < 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::Sampling;
    use dp_core::PublicSeed;

    /// From how many numbers on intervals of lengths, and of products and cosines, say something: the changelog's.
    #[test]
    fn intervals_of_srht_have_ends_from_there_on() {
        let family = Family::Srht { sampling: Sampling::WithoutReplacement };
        let seen = |k, ways, confidence| {
            let spec = ProjectionSpec::new(family, 100, k, PublicSeed::new(1)).unwrap();
            let miss = Miss::of(Probability::new(confidence).unwrap()).unwrap();
            !Tails::of(spec).can_hide(ways, miss)
        };
        for (confidence, length, product) in [(0.95, 10, 13), (0.99, 18, 22), (0.999, 32, 38)] {
            for (ways, least) in [(1.0, length), (2.0, product)] {
                assert!(seen(least, ways, confidence) && !seen(least - 1, ways, confidence));
            }
        }
    }
}
