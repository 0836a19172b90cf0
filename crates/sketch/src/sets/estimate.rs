//! Estimators of Jaccard similarity from agreeing positions, published and corrected.

use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval};
use dp_core::Probability;

/// How often positions agree: `Pr[agree] = at_zero + slope J^K`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollisionLaw {
    positions: usize,
    concatenation: usize,
    at_zero: f64,
    slope: f64,
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
        let b = alphabet as f64;
        let (p, q) = check_keep(alphabet, keep)?;
        // (p - q)^2 in place of the difference of the two rates, which cancels for small epsilons.
        let gain = (p.mul_add(b, -1.0) / (b - 1.0)).powi(2);
        let at_zero = 2.0 * p * q + (b - 2.0) * q * q + gain / b;
        Ok(Self { positions, concatenation, at_zero, slope: gain * (1.0 - 1.0 / b) })
    }

    /// Probability that two positions agree at similarity `j`.
    #[must_use]
    pub fn agree(&self, j: f64) -> f64 {
        self.at_zero + self.slope * j.powi(self.concatenation as i32)
    }

    /// Estimate of `J^K` from the number of agreeing positions: **unbiased**, not clamped.
    ///
    /// The standard error is the longer arm of Wilson's 95 % interval (with continuity correction) over
    /// 1.96: an upper estimate, above `sqrt(P(1-P)/L)/slope` by a tenth where the count is close to
    /// normal, by up to twice where few positions agree or few differ; never zero.
    #[must_use]
    pub fn power(&self, agreeing: u32) -> Estimate {
        self.signal(agreeing).estimate()
    }

    fn signal(&self, agreeing: u32) -> Signal {
        let n = self.positions as f64;
        let map = |rate: f64| (rate - self.at_zero) / self.slope;
        // Half an observation keeps the variance away from zero at the ends.
        let smooth = (f64::from(agreeing) + 0.5) / (n + 1.0);
        let (low, high) = wilson(f64::from(agreeing), n);
        Signal {
            value: map(f64::from(agreeing) / n),
            variance: smooth * (1.0 - smooth) / n / (self.slope * self.slope),
            low: map(low),
            high: map(high),
        }
    }

    /// The plain K-th root of [`CollisionLaw::power`], clamped to `[0, 1]`. Biased downwards for
    /// `K > 1` (the root is concave) and by the clamp.
    #[must_use]
    pub fn root(&self, agreeing: u32) -> Estimate {
        self.signal(agreeing).root(self.concatenation)
    }

    /// The K-th root with its second-order bias removed:
    /// `s^(1/K) - (1/2K)(1/K - 1) s^(1/K-2) Var(s)`.
    ///
    /// For `K = 1` this is [`CollisionLaw::power`], unbiased and not clamped. The correction is applied where
    /// `s` is at least two standard deviations above zero, and is not clamped above.
    #[must_use]
    pub fn jaccard(&self, agreeing: u32) -> Estimate {
        self.signal(agreeing).corrected_root(self.concatenation)
    }

    /// An interval in `[0, 1]` that holds the true similarity with probability at least `level`, whatever it is:
    /// Clopper-Pearson on the agreement rate, mapped through the law.
    #[must_use]
    pub fn interval(&self, agreeing: u32, level: Probability) -> Interval {
        // Rates that no similarity gives count as the nearest that one does: the interval only
        // grows, and is never a point.
        let n = self.positions as f64;
        let (least, most) = ((n * self.at_zero).floor(), (n * self.agree(1.0)).ceil());
        let counted = f64::from(agreeing).clamp(least, most.min(n)) as u32;
        let (low, high) =
            clopper_pearson(counted, self.positions as u32, 0.5 * (1.0 - level.get()));
        let map = |rate: f64| {
            let s = ((rate - self.at_zero) / self.slope).clamp(0.0, 1.0);
            s.powf(1.0 / self.concatenation as f64)
        };
        Interval { low: map(low), high: map(high) }
    }

    /// Standard error of the estimate of J at similarity `j`, to first order.
    #[must_use]
    pub(crate) fn standard_error_at(&self, j: f64) -> f64 {
        let (p, k) = (self.agree(j), self.concatenation as i32);
        let slope = self.slope * f64::from(k) * j.powi(k - 1);
        (p * (1.0 - p) / self.positions as f64).sqrt() / slope
    }
}

/// Probabilities that a symbol is kept, and that it becomes a given other one.
pub(super) fn check_keep(alphabet: u64, keep: Probability) -> Result<(f64, f64)> {
    let p = keep.get();
    if p * alphabet as f64 <= 1.0 {
        return Err(Error::invalid("keep probability", p, "(1/alphabet, 1]"));
    }
    Ok((p, (1.0 - p) / (alphabet - 1) as f64))
}

/// Half-width of the normal law's 95 % interval, in standard deviations.
pub(super) const Z95: f64 = 1.959_963_984_540_054;

/// A value with a standard error whose 95 % interval holds `[low, high]`.
pub(super) fn from_arms(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value, standard_error: (value - low).max(high - value) / Z95 }
}

/// The least interval in `[0, 1]` that holds every similarity which a test keeps, found from a grid, from `best` and by halving;
/// all of `[0, 1]` where nothing fits: what was seen is then far from what any sets give, and there is no claim.
pub(super) fn not_rejected(best: f64, keeps: impl Fn(f64) -> bool) -> Interval {
    const STEPS: u32 = 32;
    let grid = (0..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for j in grid.chain([best]).filter(|&j| keeps(j)) {
        (low, high) = (low.min(j), high.max(j));
    }
    if low > high {
        return Interval { low: 0.0, high: 1.0 };
    }
    let step = 1.0 / f64::from(STEPS);
    let edge = |inside: f64, outside: f64| {
        let (mut inside, mut outside) = (inside, outside.clamp(0.0, 1.0));
        if keeps(outside) {
            return outside;
        }
        for _ in 0..40 {
            let mid = 0.5 * (inside + outside);
            if keeps(mid) { inside = mid } else { outside = mid }
        }
        outside
    };
    Interval { low: edge(low, low - step), high: edge(high, high + step) }
}

/// An unbiased estimate of `J^K` with its variance and a 95 % interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signal {
    pub(super) value: f64,
    pub(super) variance: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Signal {
    pub(super) fn estimate(self) -> Estimate {
        from_arms(self.value, self.low, self.high)
    }

    /// Plain root, clamped: the interval's ends go through the same increasing map. A value outside
    /// `[0, 1]` counts as the nearest end with the arms it has, so that its error never vanishes.
    pub(super) fn root(self, concatenation: usize) -> Estimate {
        let value = self.value.clamp(0.0, 1.0);
        let moved = value - self.value;
        let map = |s: f64| s.clamp(0.0, 1.0).powf(1.0 / concatenation as f64);
        from_arms(map(value), map(self.low + moved), map(self.high + moved))
    }

    /// Root with its second-order bias removed.
    pub(super) fn corrected_root(self, concatenation: usize) -> Estimate {
        if concatenation == 1 {
            return self.estimate();
        }
        if self.value < 2.0 * self.variance.sqrt() {
            return self.root(concatenation);
        }
        let (s, k) = (self.value, concatenation as f64);
        let bias = 0.5 / k * (1.0 / k - 1.0) * s.powf(1.0 / k - 2.0) * self.variance;
        let map = |s: f64| s.clamp(0.0, 1.0).powf(1.0 / k);
        from_arms(s.powf(1.0 / k) - bias, map(self.low), map(self.high))
    }
}

/// Wilson's 95 % limits of a binomial probability, with continuity correction (Newcombe 1998, method 4).
fn wilson(successes: f64, n: f64) -> (f64, f64) {
    let (p, z2) = (successes / n, Z95 * Z95);
    let end = |sign: f64| {
        let inner = z2 + sign * 2.0 - 1.0 / n + 4.0 * p * (n * (1.0 - p) - sign);
        let reach = 1.0 + Z95 * inner.max(0.0).sqrt();
        (2.0 * successes + z2 + sign * reach) / (2.0 * (n + z2))
    };
    (if successes <= 0.0 { 0.0 } else { end(-1.0) }, if successes >= n { 1.0 } else { end(1.0) })
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

/// `Pr[Bin(n, p) <= k]`, summed downwards from k until the terms vanish.
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
    let mode = p * (f64::from(n) + 1.0);
    let mut term = binomial_pmf(k as u32, n, p);
    if term == 0.0 {
        return if k as f64 > mode { 1.0 } else { 0.0 };
    }
    let (mut sum, mut i) = (term, k as f64);
    while i > 0.0 && (i > mode || term > 1e-17 * sum) {
        term *= i / (f64::from(n) - i + 1.0) * ((1.0 - p) / p);
        sum += term;
        i -= 1.0;
    }
    sum.min(1.0)
}

/// `Pr[Bin(n, p) = k]` for p in (0, 1).
pub(super) fn binomial_pmf(k: u32, n: u32, p: f64) -> f64 {
    let (i, rest) = (f64::from(k), f64::from(n - k));
    let choose =
        libm::lgamma(f64::from(n) + 1.0) - libm::lgamma(i + 1.0) - libm::lgamma(rest + 1.0);
    (choose + i * p.ln() + rest * (-p).ln_1p()).exp()
}
