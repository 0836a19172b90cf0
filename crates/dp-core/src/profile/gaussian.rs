//! The Gaussian mechanism (Balle & Wang 2018). Proof: `docs/proofs/gaussian.md`.

use crate::numeric::quadrature::panel_6;
use crate::numeric::{ln_normal_cdf, ln_normal_pdf, mills_ratio, mills_slope};

/// ln of `Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)`, and a bound on its error.
///
/// With `a = eps/mu - mu/2`, `b = a + mu` and Mills' ratio M this is `phi(a) (M(a) - M(b))`,
/// and where the two are close, the integral over `[a, b]` of the slope of M: nothing cancels.
pub(crate) fn ln_delta(mu: f64, epsilon: f64) -> (f64, f64) {
    if mu == 0.0 {
        return (f64::NEG_INFINITY, 0.0);
    }
    let (ratio, half) = (epsilon / mu, 0.5 * mu);
    let (a, b) = (ratio - half, ratio + half);
    let error = 2e-13 + 1e-15 * a.abs() * b;
    let value = if mu < 0.5 {
        ln_normal_pdf(a) + panel_6(ratio, half, mills_slope).ln()
    } else if a < 0.0 {
        let lost = ln_normal_cdf(a).exp() + ln_normal_pdf(a).exp() * mills_ratio(b);
        (-lost).ln_1p()
    } else {
        ln_normal_pdf(a) + (mills_ratio(a) - mills_ratio(b)).ln()
    };
    (value, error)
}

/// mu^2, which must not vanish by underflow: no sensitivity is zero.
pub(crate) fn square_of(mu: f64) -> f64 {
    (mu * mu).max(f64::MIN_POSITIVE)
}

/// A sum of `terms` positive numbers, rounded up: each was off by a few ulps, each addition by one.
pub(crate) fn added(sum: f64, terms: usize) -> f64 {
    sum * (1.0 + (terms as f64 + 8.0) * f64::EPSILON)
}

/// An upper bound.
pub(super) fn ln_gaussian(mu: f64, epsilon: f64) -> f64 {
    let (value, error) = ln_delta(mu, epsilon);
    value + error
}
