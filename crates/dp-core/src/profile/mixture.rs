//! A binomial number of differing coordinates. Proof: `docs/proofs/mixtures.md`.

use crate::numeric::binomial::{ln_pmf, raised};

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
    let term = |m: u64| {
        #[cfg(test)]
        crate::numeric::binomial::terms::add();
        ln_pmf(trials, p, q, m) + ln_delta(m)
    };
    // The largest term, over ever finer strides; then outwards until nothing is left.
    let mode = (((trials as f64 + 1.0) * p) as u64).clamp(1, trials);
    let mut stride = (trials / 4).max(1);
    let (mut top, mut best) = (mode, term(mode));
    loop {
        let mut moved = false;
        for m in [top.saturating_sub(stride).max(1), (top + stride).min(trials)] {
            let value = term(m);
            if value > best || (best == f64::NEG_INFINITY && m > top) {
                (top, best, moved) = (m, value, true);
            }
        }
        if !moved {
            if stride == 1 {
                break;
            }
            stride = (stride / 2).max(1);
        }
    }
    if best == f64::NEG_INFINITY {
        return best;
    }
    // Compensated: a plain sum of so many terms would itself be off by 1e-16 a term.
    let (mut sum, mut carry) = (1.0, 0.0);
    let mut add = |part: f64| {
        let corrected: f64 = part - carry;
        let next = sum + corrected;
        carry = (next - sum) - corrected;
        sum = next;
        next
    };
    // Upwards: delta is at most one and the pmf falls geometrically beyond its mode.
    for m in top + 1..=trials {
        let sum = add((term(m) - best).exp());
        let ratio = (trials - m) as f64 / (m + 1) as f64 * (p / q);
        if ratio < 1.0 {
            let rest = (ln_pmf(trials, p, q, m) - best).exp() * ratio / (1.0 - ratio);
            if rest < 1e-17 * sum {
                break;
            }
        }
    }
    // Downwards: below the mode both factors fall, so no later term passes this one.
    for m in (1..top).rev() {
        let part = (term(m) - best).exp();
        let sum = add(part);
        if m <= mode && part * (m as f64) < 1e-17 * sum {
            break;
        }
    }
    raised(best + sum.ln(), trials as f64)
}
