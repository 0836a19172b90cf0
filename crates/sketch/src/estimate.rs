//! What every estimate of this crate is: a value with its error, an interval, and the normal law behind both.

use crate::error::{Error, Result};
use core::f64::consts::FRAC_1_SQRT_2;
use dp_core::Probability;
use dp_core::numeric::{ln_binomial_cdf, ln_binomial_pmf, ln_binomial_sf};

/// A value with the standard error of its projection and noise together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error, estimated from the release.
    pub standard_error: f64,
}

impl Estimate {
    /// A value known without error.
    pub(crate) const fn known(value: f64) -> Self {
        Self { value, standard_error: 0.0 }
    }

    /// The interval `value +- z standard_error` of the normal law: for estimates that are sums of many
    /// small terms. Those of [`crate::vectors::Pairs`] have intervals of their own, which hold for small k too.
    ///
    /// # Errors
    /// When the confidence is not in `(0, 1)`.
    pub fn interval(&self, confidence: Probability) -> Result<Interval> {
        let miss = 1.0 - confidence.get();
        if !(miss > 0.0 && miss < 1.0) {
            return Err(Error::invalid("confidence", confidence, "(0, 1)"));
        }
        let reach = two_sided_quantile(miss) * self.standard_error;
        Ok(Interval { low: self.value - reach, high: self.value + reach })
    }
}

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end; infinite where the release sets no limit.
    pub high: f64,
}

impl Interval {
    /// Whether the interval holds a value.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The part of it in `[low, high]`; when nothing is left, the nearest end.
    pub(crate) fn within(self, low: f64, high: f64) -> Self {
        Self { low: self.low.clamp(low, high), high: self.high.clamp(low, high) }
    }
}

/// z with Pr[|N(0,1)| > z] = `miss`, for `miss` in `(0, 1]`; by bisection to full precision.
pub(crate) fn two_sided_quantile(miss: f64) -> f64 {
    let (mut low, mut high) = (0.0, 39.0);
    for _ in 0..80 {
        let mid = 0.5 * (low + high);
        if libm::erfc(mid * FRAC_1_SQRT_2) > miss { low = mid } else { high = mid }
    }
    high
}

/// `Pr[N(0, 1) > x]`.
pub(crate) fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// x with `Pr[N(0, 1) > x] = tail`.
pub(crate) fn upper_quantile(tail: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..80 {
        let mid = 0.5 * (low + high);
        if upper_tail(mid) > tail { low = mid } else { high = mid }
    }
    0.5 * (low + high)
}

/// ln of half the probability of missing.
pub(crate) fn ln_tail(confidence: Probability) -> Result<f64> {
    let miss = 1.0 - confidence.get();
    if miss > 0.0 && miss < 1.0 {
        Ok((0.5 * miss).ln())
    } else {
        Err(Error::invalid("confidence", confidence, "(0, 1)"))
    }
}

/// The law of the number of ones among k bits when `m` were ones before each was flipped with
/// probability `1/2 - signal/2`.
pub(crate) struct FlippedCount {
    m: u64,
    k: u64,
    signal: f64,
}

impl FlippedCount {
    /// The numbers of ones before flipping, in `[0, k]`, that an exact two-sided test does not reject
    /// when so many were seen afterwards.
    pub(crate) fn interval(seen: u64, k: u64, signal: f64, ln_tail: f64) -> Interval {
        // The more were ones before, the more are afterwards.
        let law = |m| Self { m, k, signal };
        let fewest = first(k, |m| law(m).ln_at_least(seen) > ln_tail);
        let fewest_zeros = first(k, |h| law(k - h).ln_at_most(seen) > ln_tail);
        let (low, high) = (fewest as f64, (k - fewest_zeros) as f64);
        Interval { low: low.min(high), high: high.max(low) }
    }

    fn ln_at_least(&self, seen: u64) -> f64 {
        let lower = |n, p, j| if j == 0 { 0.0 } else { ln_binomial_sf(n, p, j - 1) };
        self.sum(|kept, n, p| lower(n, p, seen.saturating_sub(kept)))
    }

    fn ln_at_most(&self, seen: u64) -> f64 {
        self.sum(|kept, n, p| match seen.checked_sub(kept) {
            Some(j) => ln_binomial_cdf(n, p, j),
            None => f64::NEG_INFINITY,
        })
    }

    /// ln of the mean of `tail(kept, k - m, 1/2 - signal/2)` over the ones that stay ones,
    /// Bin(m, 1/2 + signal/2), cut where less than 1e-20 is left.
    fn sum(&self, tail: impl Fn(u64, u64, f64) -> f64) -> f64 {
        let (keep, turn) = (0.5 + 0.5 * self.signal, 0.5 - 0.5 * self.signal);
        let mean = self.m as f64 * keep;
        let reach = 10.0 * (self.m as f64 * keep * turn).sqrt() + 50.0;
        let from = (mean - reach).max(0.0) as u64;
        let to = ((mean + reach).ceil() as u64).min(self.m);
        let terms = (from..=to).map(|kept| {
            (ln_binomial_pmf(self.m, keep, kept) + tail(kept, self.k - self.m, turn)).exp()
        });
        terms.sum::<f64>().ln()
    }
}

/// The least number up to `most` for which a condition that then stays true holds; `most` if none.
fn first(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let mid = low + (high - low) / 2;
        if holds(mid) { high = mid } else { low = mid + 1 }
    }
    low
}

/// `sum (a - b)^2`, eight sums at a time: one alone waits for each addition.
pub(crate) fn sum_of_squared_differences(a: &[f64], b: &[f64]) -> f64 {
    // Compiled again for wider registers; the bits are the same.
    pulp::Arch::new().dispatch(|| eight_sums(a, b))
}

#[inline(always)]
fn eight_sums(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += (a - b) * (a - b);
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| (a - b) * (a - b));
    sums.into_iter().chain(rest).sum()
}

#[cfg(test)]
mod tests {
    use super::{eight_sums, sum_of_squared_differences, two_sided_quantile};

    #[test]
    fn sums_have_the_same_bits_in_wider_registers() {
        for length in 0..100 {
            let a: Vec<f64> = (0..length).map(|i| (f64::from(i) * 1.7).sin() / 3.0).collect();
            let b: Vec<f64> = (0..length).map(|i| (f64::from(i) * 0.3).cos() * 7.0).collect();
            let (wide, plain) = (sum_of_squared_differences(&a, &b), eight_sums(&a, &b));
            let one: f64 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
            assert_eq!(wide.to_bits(), plain.to_bits(), "{length}");
            assert!((wide - one).abs() <= 1e-13 * one, "{length}");
        }
    }

    #[test]
    fn quantiles_match_tables() {
        // mpmath: sqrt(2) erfinv(1 - miss).
        for (miss, z) in
            [(0.05, 1.959963984540054), (0.01, 2.575829303548901), (0.5, 0.674489750196082)]
        {
            assert!((two_sided_quantile(miss) - z).abs() < 1e-12, "{miss}");
        }
    }
}
