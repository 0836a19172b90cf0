//! A binomial number of differing coordinates. Proof: `docs/proofs/mixtures.md`.

use crate::special::binomial::ln_pmf;
use crate::special::ln_sum_exp;

/// `ln sum_m Pr[Bin(trials, p) = m] delta_m`, an upper bound, for `delta_m` that does
/// not fall as m grows and is zero at m = 0; `ln_delta(m)` is its logarithm.
pub(crate) fn ln_mixture(trials: u64, p: f64, ln_delta: impl Fn(u64) -> f64) -> f64 {
    if trials == 0 || p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return ln_delta(trials);
    }
    let q = 1.0 - p;
    let mut total = f64::NEG_INFINITY;
    // From above: delta_m is largest there; what lies below the mode cannot outweigh it.
    let mode = ((trials as f64 + 1.0) * p) as u64;
    for m in (1..=trials).rev() {
        let weight = ln_pmf(trials, p, q, m);
        // The remaining m terms are each at most this weight's (m below the mode).
        if m < mode && weight + (m as f64).ln() < total - 40.0 {
            break;
        }
        if m > mode && weight < -800.0 {
            continue;
        }
        total = ln_sum_exp(total, weight + ln_delta(m));
    }
    total + 1e-12
}
