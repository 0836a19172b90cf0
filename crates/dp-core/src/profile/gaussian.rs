//! The Gaussian mechanism (Balle & Wang 2018). Proof: `docs/proofs/gaussian.md`.

use crate::special::quadrature::panel_6;
use crate::special::{ln_normal_cdf, ln_normal_pdf, mills_ratio, mills_slope};

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
