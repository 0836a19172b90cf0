//! Quantiles of the normal law.

use crate::error::{Error, Result};
use dp_core::Probability;
use dp_core::numeric::ln_normal_cdf;

/// The probability that an interval does not hold.
pub(crate) fn checked(failure: Probability) -> Result<f64> {
    let p = failure.get();
    if p > 0.0 && p < 1.0 { Ok(p) } else { Err(Error::invalid("failure probability", p, "(0, 1)")) }
}

/// z with `P(Z > z) = p` for a standard normal Z, p at most 1/2.
pub(crate) fn upper_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let mid = 0.5 * (low + high);
        if ln_normal_cdf(-mid) > p.ln() { low = mid } else { high = mid }
    }
    high
}
