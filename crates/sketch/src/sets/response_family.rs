//! The family of k-ary responses on a random number of differing coordinates.

use super::neighbours::SetNeighbours;
use super::secure::SymbolShape;
use crate::error::{Error, Result};
use dp_core::profile::CoordinateProfile;
use dp_core::{Budget, PrivacyProfile, Probability, Profile};

/// `coordinates` symbols, each differing between neighbours with probability `differ`
/// (independently), each answered by a k-ary response.
///
/// The privacy loss is `e (N+ - N-)`, `e = ln(keep/other)`, where a coordinate counts in `N+` with
/// probability `differ keep`, in `N-` with `differ other`, `other = (1-keep)/(B-1)`:
/// `delta(epsilon) = sum Pr[N+, N-] (1 - exp(epsilon - e (N+ - N-)))_+`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResponseFamily {
    pub(super) coordinates: u64,
    pub(super) differ: Probability,
    pub(super) alphabet: u64,
}

impl ResponseFamily {
    /// Hashed minima under fresh hash functions.
    pub(super) fn mixture(shape: SymbolShape, neighbours: SetNeighbours) -> Result<Self> {
        let alphabet = u64::from(shape.alphabet());
        let differ = neighbours.differ_probability(shape.concatenation(), alphabet)?;
        Ok(Self { coordinates: shape.positions() as u64, differ, alphabet })
    }

    /// Buckets of any two sets: all may differ.
    pub(super) fn buckets(shape: SymbolShape) -> Result<Self> {
        let differ = Probability::new(1.0)?;
        let (coordinates, alphabet) = (shape.positions() as u64, u64::from(shape.alphabet()));
        Ok(Self { coordinates, differ, alphabet })
    }

    /// Bins of `values` symbols besides "empty": alpha items touch at most alpha of them.
    pub(super) fn bins(bins: usize, values: u32, alpha: u64) -> Result<Self> {
        let differ = Probability::new(1.0)?;
        Ok(Self { coordinates: alpha.min(bins as u64), differ, alphabet: u64::from(values) + 1 })
    }
}

/// No response keeps with a higher probability: `1 - keep` stays well inside an `f64`.
const MOST_KEEP: f64 = 1.0 - 1.0 / (1u64 << 40) as f64;

impl ResponseFamily {
    /// The probability of keeping at a per-symbol loss, rounded down.
    fn keep(&self, loss: f64) -> f64 {
        let others = (self.alphabet - 1) as f64;
        let keep = 1.0 / (1.0 + others * (-loss).exp());
        (keep * (1.0 - 4.0 * f64::EPSILON)).clamp(1.0 / self.alphabet as f64, MOST_KEEP)
    }

    /// ln delta by direct summation: fast, rounded to nearest. Proposals only; what a
    /// certificate states comes from its profile.
    pub(super) fn log_delta(&self, keep: f64, epsilon: f64) -> f64 {
        let p = self.differ.get();
        let other = (1.0 - keep) / (self.alphabet - 1) as f64;
        let loss = (keep / other).ln();
        if loss.is_nan() || loss <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let still = 1.0 - p * (keep + other);
        let (ln_up, ln_down) = ((p * keep).ln(), (p * other).ln());
        let ln_still = if still > 0.0 { still.ln() } else { f64::NEG_INFINITY };
        let n = self.coordinates;
        let ln_factorial = |k: u64| libm::lgamma(k as f64 + 1.0);
        let mut sum = 0.0f64;
        let first = (epsilon / loss).floor().max(0.0) as u64 + 1;
        for up in first..=n {
            let before = sum;
            for down in 0..=(n - up) {
                let net = loss * (up as f64 - down as f64) - epsilon;
                let rest = n - up - down;
                if net <= 0.0 {
                    break;
                }
                let ln_rest = if rest == 0 { 0.0 } else { rest as f64 * ln_still };
                let ln_term =
                    ln_factorial(n) - ln_factorial(up) - ln_factorial(down) - ln_factorial(rest)
                        + up as f64 * ln_up
                        + down as f64 * ln_down
                        + ln_rest;
                let term = ln_term.exp() * -(-net).exp_m1();
                sum += term;
                if down as f64 > n as f64 * p * other && term < 1e-18 * sum {
                    break;
                }
            }
            if up as f64 > n as f64 * p * keep && sum - before < 1e-18 * sum {
                break;
            }
        }
        sum.ln()
    }

    /// The largest probability of keeping that meets the budget.
    pub(super) fn calibrate(&self, budget: Budget) -> Result<Probability> {
        let (epsilon, target) = (budget.epsilon.get(), budget.delta.ln().get());
        // All coordinates differ at worst: epsilon / coordinates always holds.
        let mut low = epsilon / self.coordinates as f64;
        if budget.delta.get() > 0.0 {
            let mut high = low.max(1e-6);
            while self.log_delta(self.keep(high), epsilon) <= target && high < 60.0 {
                low = high;
                high *= 1.5;
            }
            while high - low > 1e-12 * high {
                let mid = 0.5 * (low + high);
                if mid <= low || mid >= high {
                    break;
                }
                if self.log_delta(self.keep(mid), epsilon) <= target {
                    low = mid
                } else {
                    high = mid
                }
            }
        }
        // The profile of the certificate has the last word.
        let mut loss = low;
        for step in 0..40 {
            let keep = self.keep(loss);
            let useful = keep > 1.0 / self.alphabet as f64;
            if useful
                && self.profile(Probability::new(keep)?).log_delta(budget.epsilon)
                    <= budget.delta.ln()
            {
                return Ok(Probability::new(keep)?);
            }
            loss *= 1.0 - 1e-13 * 2f64.powi(step);
        }
        Err(Error::Core(dp_core::Error::Calibration {
            family: "k-ary response on differing coordinates",
            budget,
            reason: "no response that tells anything meets it".into(),
        }))
    }

    /// The exact profile as data.
    pub(super) fn profile(&self, keep: Probability) -> Profile {
        let Self { coordinates, differ, alphabet } = *self;
        if differ.get() >= 1.0 {
            Profile::KaryResponse { responses: coordinates, alphabet, keep }
        } else {
            let coordinate = CoordinateProfile::KaryResponse { alphabet, keep };
            Profile::BinomialMixture { trials: coordinates, probability: differ, coordinate }
        }
    }
}
