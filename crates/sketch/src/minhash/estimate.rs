//! Estimators of Jaccard similarity from agreeing positions, published and corrected.

use crate::error::{Error, Result};
use crate::private::{Estimate, Interval};
use dp_core::Probability;

/// How often positions agree: `Pr[agree] = at_zero + (at_one - at_zero) J^K`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollisionLaw {
    positions: usize,
    concatenation: usize,
    at_zero: f64,
    at_one: f64,
}

impl CollisionLaw {
    /// Positions of `K` minima hashed to `B` symbols, each kept with probability `p`, else
    /// replaced by any other symbol with `q = (1-p)/(B-1)`:
    ///
    /// `Pr[agree] = s (p^2 + (B-1) q^2) + (1-s)(2pq + (B-2) q^2)`, `s = J^K + (1 - J^K)/B`.
    ///
    /// `keep = 1` is the signature without noise.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] when nothing can be learnt: no position, fewer than two symbols, or `keep <= 1/B`.
    pub fn new(
        positions: usize,
        concatenation: usize,
        alphabet: u64,
        keep: Probability,
    ) -> Result<Self> {
        if positions == 0 || concatenation == 0 || alphabet < 2 {
            let shape = format!("{positions} x {concatenation} x {alphabet}");
            return Err(Error::invalid(
                "positions x concatenation x alphabet",
                shape,
                "[1, inf) x [1, inf) x [2, inf)",
            ));
        }
        let (b, p) = (alphabet as f64, keep.get());
        if p <= 1.0 / b {
            return Err(Error::invalid("keep probability", p, "(1/alphabet, 1]"));
        }
        let q = (1.0 - p) / (b - 1.0);
        let (same, other) = (p * p + (b - 1.0) * q * q, 2.0 * p * q + (b - 2.0) * q * q);
        let at_zero = other + (same - other) / b;
        Ok(Self { positions, concatenation, at_zero, at_one: same })
    }

    /// Probability that two positions agree at similarity `j`.
    #[must_use]
    pub fn agree(&self, j: f64) -> f64 {
        self.at_zero + (self.at_one - self.at_zero) * j.powi(self.concatenation as i32)
    }

    /// Estimate of `J^K` from the number of agreeing positions: **unbiased**, standard error
    /// `sqrt(P(1-P)/L)/slope` at the observed rate.
    #[must_use]
    pub fn power(&self, agreeing: u32) -> Estimate {
        let n = self.positions as f64;
        let rate = f64::from(agreeing) / n;
        // Half an observation keeps the error away from zero at the ends.
        let smooth = (f64::from(agreeing) + 0.5) / (n + 1.0);
        let slope = self.at_one - self.at_zero;
        Estimate {
            value: (rate - self.at_zero) / slope,
            standard_error: (smooth * (1.0 - smooth) / n).sqrt() / slope,
        }
    }

    /// The plain K-th root of [`CollisionLaw::power`], clamped to `[0, 1]`. Biased downwards for
    /// `K > 1` (the root is concave) and by the clamp.
    #[must_use]
    pub fn root(&self, agreeing: u32) -> Estimate {
        root(self.power(agreeing), self.concatenation)
    }

    /// The K-th root with its second-order bias removed:
    /// `s^(1/K) - (1/2K)(1/K - 1) s^(1/K-2) Var(s)`.
    ///
    /// For `K = 1` this is [`CollisionLaw::power`], unbiased and not clamped. The correction is applied where
    /// `s` is at least two standard errors above zero, and is not clamped above.
    #[must_use]
    pub fn jaccard(&self, agreeing: u32) -> Estimate {
        corrected_root(self.power(agreeing), self.concatenation)
    }

    /// An interval that holds the true similarity with probability at least `level`, whatever it is:
    /// Clopper-Pearson on the agreement rate, mapped through the law.
    #[must_use]
    pub fn interval(&self, agreeing: u32, level: Probability) -> Interval {
        let (low, high) =
            clopper_pearson(agreeing, self.positions as u32, 0.5 * (1.0 - level.get()));
        let map = |rate: f64| {
            let s = ((rate - self.at_zero) / (self.at_one - self.at_zero)).clamp(0.0, 1.0);
            s.powf(1.0 / self.concatenation as f64)
        };
        Interval { low: map(low), high: map(high) }
    }

    /// Standard error of the estimate of J at similarity `j`, to first order.
    #[must_use]
    pub fn standard_error_at(&self, j: f64) -> f64 {
        let (p, k) = (self.agree(j), self.concatenation as i32);
        let slope = (self.at_one - self.at_zero) * f64::from(k) * j.powi(k - 1);
        (p * (1.0 - p) / self.positions as f64).sqrt() / slope
    }
}

/// Plain root of an estimate of `J^K`, clamped.
pub(super) fn root(power: Estimate, concatenation: usize) -> Estimate {
    let k = concatenation as f64;
    let value = power.value.clamp(0.0, 1.0).powf(1.0 / k);
    let standard_error = if concatenation == 1 {
        power.standard_error
    } else {
        // First order where it makes sense; the whole range where s may be zero.
        let s = power.value.max(power.standard_error).min(1.0);
        (power.standard_error * s.powf(1.0 / k - 1.0) / k).min(1.0)
    };
    Estimate { value, standard_error }
}

/// Root of an estimate of `J^K` with its second-order bias removed.
pub(super) fn corrected_root(power: Estimate, concatenation: usize) -> Estimate {
    if concatenation == 1 {
        return power;
    }
    let plain = root(power, concatenation);
    if power.value < 2.0 * power.standard_error {
        return plain;
    }
    let (s, k) = (power.value, concatenation as f64);
    let variance = power.standard_error * power.standard_error;
    let bias = 0.5 / k * (1.0 / k - 1.0) * s.powf(1.0 / k - 2.0) * variance;
    Estimate { value: s.powf(1.0 / k) - bias, ..plain }
}

/// The published Bucket PrivMin estimator (Bourgeat & Schmurr 2019, eq. 5.8), as printed:
/// `(B C - 2 K q (p - q)) / (B K p^2)` with `q = 1 - p`, from `C` agreements among `K` positions.
///
/// # Deviation
/// **Biased.** It leaves out equal buckets of different items, and expands the product of
/// the two responses wrongly. [`CollisionLaw::jaccard`] is the correct inversion.
#[must_use]
pub fn published_bucket(agreeing: u32, positions: usize, alphabet: u64, keep: Probability) -> f64 {
    let (c, k, b, p) = (f64::from(agreeing), positions as f64, alphabet as f64, keep.get());
    let q = 1.0 - p;
    (b * c - 2.0 * k * q * (p - q)) / (b * k * p * p)
}

/// Exact binomial limits at tail probability `tail` on each side.
pub(super) fn clopper_pearson(successes: u32, trials: u32, tail: f64) -> (f64, f64) {
    let solve = |low_side: bool| {
        let (mut a, mut b) = (0.0f64, 1.0f64);
        for _ in 0..60 {
            let p = 0.5 * (a + b);
            // Upper tail grows with p; lower tail falls.
            let right = if low_side {
                1.0 - binomial_cdf(successes as i64 - 1, trials, p) > tail
            } else {
                binomial_cdf(i64::from(successes), trials, p) < tail
            };
            if right { b = p } else { a = p }
        }
        if low_side { a } else { b }
    };
    let low = if successes == 0 { 0.0 } else { solve(true) };
    let high = if successes == trials { 1.0 } else { solve(false) };
    (low, high)
}

/// `Pr[Bin(n, p) <= k]`.
pub(super) fn binomial_cdf(k: i64, n: u32, p: f64) -> f64 {
    if k < 0 {
        return 0.0;
    }
    if k >= i64::from(n) || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    (0..=k).map(|i| binomial_pmf(i as u32, n, p)).sum::<f64>().min(1.0)
}

/// `Pr[Bin(n, p) = k]` for p in (0, 1).
pub(super) fn binomial_pmf(k: u32, n: u32, p: f64) -> f64 {
    let (i, rest) = (f64::from(k), f64::from(n - k));
    let choose =
        libm::lgamma(f64::from(n) + 1.0) - libm::lgamma(i + 1.0) - libm::lgamma(rest + 1.0);
    (choose + i * p.ln() + rest * (-p).ln_1p()).exp()
}
