//! The Wishart mechanism. Proof: `docs/proofs/wishart.md`.

use crate::special::ln_sum_exp;
use crate::special::quadrature::{Side, ln_chi_expectation};

/// `W_d(nu, s I)` noise against one row of squared norm `t s`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wishart {
    /// `nu - d + 1`: degrees of freedom of the chi-square the loss depends on.
    k: f64,
    /// `(nu - d - 1) / 2`: exponent of the determinant.
    a: f64,
    /// Squared norm of the row over the scale.
    t: f64,
}

impl Wishart {
    /// `None` unless `dof > dim + 1`, where the density is log-concave and unbounded losses are rare.
    pub(crate) fn new(dim: u64, dof: u64, t: f64) -> Option<Self> {
        (dim >= 1 && dof > dim.saturating_add(1)).then(|| Self {
            k: (dof - dim + 1) as f64,
            a: 0.5 * (dof - dim - 1) as f64,
            t,
        })
    }

    /// Without the row against with it: `E[(1 - e^(eps - L))_+]`,
    /// `L = -a ln(1 - t/c) - t/2`, infinite for `c <= t`.
    pub(crate) fn ln_delta_removed(self, epsilon: f64) -> f64 {
        let Self { k, a, t } = self;
        let level = epsilon + 0.5 * t;
        let threshold = t / -(-level / a).exp_m1();
        let rate = 2.0 * a * t / (threshold.sqrt() * (threshold - t).max(1e-300));
        ln_chi_expectation(k, threshold.sqrt(), Side::Below, rate, Some(t.sqrt()), |z| {
            let rest = t / (z * z);
            if rest >= 1.0 { f64::INFINITY } else { -a * (-rest).ln_1p() - level }
        })
    }

    /// With the row against without it: `L = t/2 - a ln(1 + t/c)`, at most `t/2`.
    pub(crate) fn ln_delta_added(self, epsilon: f64) -> f64 {
        let Self { k, a, t } = self;
        let level = 0.5 * t - epsilon;
        if level <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let threshold = t / (level / a).exp_m1();
        let rate = 2.0 * a * t / (threshold.sqrt() * (threshold + t));
        ln_chi_expectation(k, threshold.sqrt(), Side::Above, rate, None, |z| {
            level - a * (t / (z * z)).ln_1p()
        })
    }

    /// One row added or removed: an upper bound on ln delta.
    pub(crate) fn ln_delta_add_remove(self, epsilon: f64) -> f64 {
        self.ln_delta_removed(epsilon).max(self.ln_delta_added(epsilon)) + 1e-11
    }

    /// One row replaced: the best of the two-step bounds
    /// `delta_1(e) + e^e delta_2(epsilon - e)` over the order of the steps and the split.
    pub(crate) fn ln_delta_replace(self, epsilon: f64) -> f64 {
        let removed_first =
            |e: f64| ln_sum_exp(self.ln_delta_removed(e), e + self.ln_delta_added(epsilon - e));
        let added_first =
            |e: f64| ln_sum_exp(self.ln_delta_added(e), e + self.ln_delta_removed(epsilon - e));
        let n = 32;
        (0..=n)
            .map(|i| epsilon * f64::from(i) / f64::from(n))
            .map(|e| removed_first(e).min(added_first(e)))
            .fold(0.0, f64::min)
            + 1e-11
    }
}
