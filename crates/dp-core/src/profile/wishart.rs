//! The Wishart mechanism. Proof: `docs/proofs/wishart.md`.

use crate::numeric::ln_sum_exp;
use crate::numeric::quadrature::{Side, ln_chi_expectation};

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
        least_split(epsilon, removed_first).min(least_split(epsilon, added_first)) + 1e-11
    }
}

/// About the least value over `[0, epsilon]`: any split is a bound, so a grid and then a
/// golden section about its best point.
fn least_split(epsilon: f64, bound: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let values: [f64; 7] = core::array::from_fn(|i| bound(epsilon * i as f64 / 6.0));
    let (at, mut best) =
        values.iter().copied().enumerate().fold((0, 0.0), |m, v| if v.1 < m.1 { v } else { m });
    let point = |i: usize| epsilon * i as f64 / 6.0;
    let (mut low, mut high) = (point(at.saturating_sub(1)), point((at + 1).min(6)));
    let (mut a, mut b) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut fa, mut fb) = (bound(a), bound(b));
    for _ in 0..18 {
        if fa <= fb {
            (high, b, fb) = (b, a, fa);
            a = high - GOLDEN * (high - low);
            fa = bound(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + GOLDEN * (high - low);
            fb = bound(b);
        }
        best = best.min(fa).min(fb);
    }
    best
}
