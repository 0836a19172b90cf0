//! Sums over a binomial number of differing coordinates. Proof: `docs/proofs/mixtures.md`.

use crate::numeric::binomial::{ln_pmf, raised};
use crate::numeric::float::Compensated;
use crate::numeric::ln_sum_exp;

/// The logarithm of a sum of numbers that are given by theirs.
#[derive(Debug, Default)]
pub(crate) struct LnSum {
    /// The sum is `parts e^scale`.
    parts: f64,
    scale: f64,
}

impl LnSum {
    pub(crate) fn add(&mut self, ln: f64) {
        if ln == f64::NEG_INFINITY {
            return;
        }
        if self.parts == 0.0 {
            self.scale = ln;
        } else if ln - self.scale > 200.0 {
            (self.parts, self.scale) = (self.parts * (self.scale - ln).exp(), ln);
        }
        self.parts += (ln - self.scale).exp();
    }

    pub(crate) fn ln(&self) -> f64 {
        self.scale + self.parts.ln()
    }
}

/// The likely values of a binomial number, for sums over it that are asked often.
pub(crate) struct Likely {
    trials: u64,
    /// The values from `first` on, and ln of their probabilities.
    first: u64,
    ln: Vec<f64>,
    /// ln of a bound on the probability of all others but zero.
    others: f64,
}

impl Likely {
    /// All values but some of probability about `e^least`.
    pub(crate) fn new(trials: u64, p: f64, least: f64) -> Self {
        if p >= 1.0 {
            return Self { trials, first: trials, ln: vec![0.0], others: f64::NEG_INFINITY };
        }
        let q = 1.0 - p;
        let mode = (((trials as f64 + 1.0) * p) as u64).clamp(1, trials);
        let (mut first, mut below) = (mode, Vec::new());
        let mut others = f64::NEG_INFINITY;
        // Below the mode every value is less likely than the next.
        while first > 1 {
            let next = ln_pmf(trials, p, q, first - 1);
            let rest = next + ((first - 1) as f64).ln();
            if rest < least {
                others = rest;
                break;
            }
            below.push(next);
            first -= 1;
        }
        let mut ln: Vec<f64> = below.into_iter().rev().collect();
        for m in mode..=trials {
            let this = ln_pmf(trials, p, q, m);
            ln.push(this);
            // The probabilities fall faster than geometrically from here on.
            let ratio = (trials - m) as f64 / (m + 1) as f64 * (p / q);
            let rest = this + (ratio / (1.0 - ratio)).ln();
            if ratio < 1.0 && rest < least {
                others = ln_sum_exp(others, rest);
                break;
            }
        }
        Self { trials, first, ln, others }
    }

    /// An upper bound on `ln sum_m Pr[m] delta_m`, for probabilities `delta_m` that are zero at m = 0; `ln_delta(m)` is
    /// the logarithm.
    pub(crate) fn ln_mixture(&self, ln_delta: impl Fn(u64) -> f64) -> f64 {
        let terms = self.ln.iter().zip(self.first..).map(|(ln, m)| ln + ln_delta(m));
        let terms: Vec<f64> = terms.collect();
        let top = terms.iter().copied().fold(self.others, f64::max);
        if top == f64::NEG_INFINITY {
            return top;
        }
        let sum: f64 = terms.iter().map(|term| (term - top).exp()).sum();
        let rounding = (terms.len() + 4) as f64 * f64::EPSILON;
        raised(top + (sum + (self.others - top).exp()).ln() + rounding, self.trials as f64)
    }
}

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
    let mut sum = Compensated::of(1.0);
    // Upwards: delta is at most one and the pmf falls geometrically beyond its mode.
    for m in top + 1..=trials {
        let sum = sum.add((term(m) - best).exp());
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
        let sum = sum.add(part);
        if m <= mode && part * (m as f64) < 1e-17 * sum {
            break;
        }
    }
    raised(best + sum.value().ln(), trials as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the sum that stops by what it adds up: never below it, and above by what was left out.
    #[test]
    fn likely_values_bound_the_sum() {
        for (trials, p) in
            [(1, 0.3), (1, 1.0), (7, 1e-9), (64, 0.02), (5_000, 0.5), (65_536, 0.999)]
        {
            for least in [-20.0, -80.0, -700.0] {
                let likely = Likely::new(trials, p, least);
                for scale in [1e-3, 0.1, 30.0] {
                    // Rises with m, up to one.
                    let ln_delta = |m: u64| -scale * (trials - m) as f64;
                    let (exact, found) =
                        (ln_mixture(trials, p, ln_delta), likely.ln_mixture(ln_delta));
                    let left = ln_sum_exp(exact, least + 2f64.ln()) + 1e-9;
                    assert!(found >= exact - 1e-12 * (1.0 + exact.abs()), "{trials} {p}: {found}");
                    assert!(found <= left, "{trials} {p} {least}: {found} above {exact}");
                }
            }
        }
        assert!(Likely::new(65_536, 0.02, -60.0).ln.len() < 1_000);
    }
}
