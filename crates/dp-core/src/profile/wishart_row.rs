//! One row under Wishart noise, added or removed. Proof: `docs/proofs/wishart.md`.

use super::curve::{Curve, Near};
use crate::budget::Epsilon;
use crate::numeric::ln_sum_exp;
use crate::numeric::quadrature::{Side, ln_chi_expectation};

/// `W_d(nu, s I)` noise against one row of squared norm `t s`.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneRow {
    /// `nu - d + 1`: degrees of freedom of the chi-square the loss depends on.
    k: f64,
    /// `(nu - d - 1) / 2`: exponent of the determinant.
    pub(super) a: f64,
    /// Squared norm of the row over the scale.
    pub(super) t: f64,
}

impl OneRow {
    /// `None` unless `dof > dim + 1`, where the density is log-concave and unbounded losses are rare.
    pub(super) fn new(dim: u64, dof: u64, t: f64) -> Option<Self> {
        (dim >= 1 && dof > dim.saturating_add(1)).then(|| Self {
            k: (dof - dim + 1) as f64,
            a: 0.5 * (dof - dim - 1) as f64,
            // Four units above a ratio that was rounded: delta rises with it.
            t: t * (1.0 + 4.0 * f64::EPSILON),
        })
    }

    /// Without the row against with it: `E[(1 - e^(eps - L))_+]`,
    /// `L = -a ln(1 - t/c) - t/2`, infinite for `c <= t`.
    pub(super) fn ln_delta_removed(self, epsilon: f64) -> f64 {
        let Self { a, t, .. } = self;
        let x = (epsilon + 0.5 * t) / a;
        // By how much the least certain c is below the largest that counts, from above.
        let gap = t / x.exp_m1() * (1.0 + (12.0 + 4.0 * x.min(1e3)) * f64::EPSILON);
        self.ln_mean(t, gap)
    }

    /// `E[1 - ((1 - t/c) / (1 - t/(t + gap)))^a]` over `c <= t + gap`, with one in place of the bracket for `c <= t`.
    pub(super) fn ln_mean(self, t: f64, gap: f64) -> f64 {
        let Self { k, a, .. } = self;
        let root = t.sqrt();
        let certain = gap / (root + (t + gap).sqrt());
        let z = root + certain;
        let width = certain * (root + z);
        let rate = 2.0 * a * t / (z * width);
        ln_chi_expectation(k, z, Side::Below, rate, Some(certain), |s, left| {
            if left <= 0.0 {
                return f64::INFINITY;
            }
            // `e^(-w/a)` is one less `rest`.
            let at = root + left;
            let rest = root / at * (root / at) * s * (z + at) / width;
            if rest < 0.5 {
                -a * (-rest).ln_1p()
            } else {
                -a * (z / at * (z / at) * left * (root + at) / width).ln()
            }
        })
    }

    /// With the row against without it: `L = t/2 - a ln(1 + t/c)`, at most `t/2`.
    pub(super) fn ln_delta_added(self, epsilon: f64) -> f64 {
        let Self { k, a, t } = self;
        let level = 0.5 * t - epsilon;
        if level <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let x = level / a;
        // The safe side: not above the root of the threshold.
        let z = (t / x.exp_m1()).sqrt() * (1.0 - (4.0 + x) * f64::EPSILON).max(0.0);
        let share = t / (z * z + t);
        let rate = 2.0 * a * share / z;
        ln_chi_expectation(k, z, Side::Above, rate, None, |s, _| {
            // `e^(-w/a)` is one less `rest`.
            let at = z + s;
            let rest = share * (s / at) * ((z + at) / at);
            if rest < 0.5 {
                -a * (-rest).ln_1p()
            } else {
                -a * (z / at * (z / at) * ((at * at + t) / (z * z + t))).ln()
            }
        })
    }

    /// One row added or removed: an upper bound on ln delta.
    pub(super) fn ln_delta_add_remove(self, epsilon: f64) -> f64 {
        self.ln_delta_removed(epsilon).max(self.ln_delta_added(epsilon)) + 1e-11
    }

    /// One row replaced in two steps, a share of epsilon for the one that removes a row: the better order of the two.
    /// An upper bound on ln delta, wider than that of `wishart_replaced` and a hundred times as quick.
    pub(super) fn ln_delta_in_two_steps(self, epsilon: f64, share: f64) -> f64 {
        let removing = share * epsilon;
        // The safe side: both together not above epsilon.
        let adding = (epsilon - removing) * (1.0 - 4.0 * f64::EPSILON);
        let (removed, added) = (self.ln_delta_removed(removing), self.ln_delta_added(adding));
        let first = ln_sum_exp(removed, removing + added);
        first.min(ln_sum_exp(added, adding + removed)) + 2e-11
    }

    /// The same at many epsilons, with the share that is best near one delta.
    pub(super) fn in_two_steps(self, near: Near) -> Curve {
        let with = |share: f64, near: f64| {
            let bound = move |epsilon| self.ln_delta_in_two_steps(epsilon, share);
            Curve { near, bound: Box::new(bound) }
        };
        let halves = with(0.5, self.t.max(1e-3));
        let at = halves.epsilon(near.delta).map_or(halves.near, Epsilon::get);
        let shares = (1..16).map(|i| f64::from(i) / 16.0);
        let found = shares.map(|share| (self.ln_delta_in_two_steps(at, share), share));
        let best = found.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.5, |(_, share)| share);
        with(best, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By `F_k(t/q) - e^eps F_k(t (1-q)/q)` to 200 digits (mpmath 1.3): also where what is not certain changes within a
    /// hundredth of the threshold's distance from the certain point.
    #[test]
    fn a_row_removed_is_bounded_closely() {
        for (a, t, epsilon, truth) in [
            (1000.0, 1.0, 5000.0, -6_606.622_786_758_157),
            (100.0, 1.0, 300.0, -433.802_206_586_726_4),
            (200.0, 2.0, 400.0, -840.757_774_369_337),
        ] {
            let above = OneRow { k: 2.0 * a + 2.0, a, t }.ln_delta_removed(epsilon) - truth;
            assert!((-1e-11..1e-9).contains(&above), "{a} {t} {epsilon}: {above:e}");
        }
    }

    /// The page takes the gap `2 (12 + 4 x) u` up. One root is rounded to a hundred times what a unit of it is, so that only
    /// some of many epsilons show how far.
    #[test]
    fn the_gap_is_raised_by_what_it_may_be_off() {
        let k = 1e9;
        let a = 0.5 * k - 1.0;
        for i in 0..200 {
            let x = 2.4 + 1e-3 * f64::from(i);
            let t = 0.999 * k / (1.0 + 1.0 / x.exp_m1());
            let epsilon = a * x - 0.5 * t;
            let this = OneRow { k, a, t };
            // One unit less than the page's, for what this x is off.
            let x = (epsilon + 0.5 * t) / a;
            let gap = t / x.exp_m1() * (1.0 + (11.0 + 4.0 * x) * f64::EPSILON);
            let (said, least) = (this.ln_delta_removed(epsilon), this.ln_mean(t, gap));
            assert!(said >= least - 1e-12 && said < least + 1e-8, "{x}: {said} {least}");
        }
    }

    /// By `e^(-c/2) (1 + c/2 - e^-x (1 + (c + t)/2))`, `c = t/(e^x - 1)`, `x = t/2 - eps` (k = 4, a = 1) to 300 digits
    /// (mpmath 1.3): so far out that a threshold rounded up would be seen.
    #[test]
    fn a_row_added_far_out_is_not_below_the_truth() {
        for (power, x, truth) in
            [(49, 20.0, -580_163.169_068_784_8), (59, 32.0, -3_650.197_199_863_009_7)]
        {
            let t = 2f64.powi(power);
            let above = OneRow { k: 4.0, a: 1.0, t }.ln_delta_added(0.5 * t - x) - truth;
            assert!((0.0..1e-6).contains(&above), "{x}: {above:e}");
        }
    }
}
