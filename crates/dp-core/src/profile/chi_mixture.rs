//! Fresh public Gaussian projection, then Gaussian noise. Proof: `docs/proofs/averaged-calibration.md`.

use super::gaussian;
use crate::numeric::gamma::{deviance, ln_poisson_kernel};
use crate::numeric::ln_normal_pdf;

/// `ln E[delta_gauss(eps; sqrt(scale^2 q + later^2))]`, `q ~ chi2_k`: an upper bound.
///
/// The integrand over `u = ln q` is analytic in a strip and falls exponentially on
/// both sides, so the trapezoidal rule converges geometrically in the number of points.
pub(crate) fn ln_delta(k: u64, scale: f64, later: f64, epsilon: f64) -> f64 {
    let a = 0.5 * k as f64;
    let constant = a.ln() + ln_poisson_kernel(a, a);
    let parts = |u: f64| {
        let q = u.exp();
        let first = scale * scale * q;
        let mu = (first + later * later).sqrt();
        let (delta, error) = gaussian::ln_delta(mu, epsilon);
        let ln = constant - deviance(a, 0.5 * q) + delta;
        // d ln(delta) / d ln(mu) = mu phi(a) / delta.
        let at = epsilon / mu - 0.5 * mu;
        let slope = (mu.ln() + ln_normal_pdf(at) - delta).exp() * 0.5 * first / (mu * mu);
        (ln, a - 0.5 * q + slope, error)
    };
    // The peak: where the slope changes sign, to a hundredth of the peak's width.
    let (mut low, mut high) = (-90.0, (2.0 * a + 200.0).ln() + 1.0);
    while parts(high).1 > 0.0 {
        high += 1.0;
        if high > 700.0 {
            return 0.0;
        }
    }
    for _ in 0..60 {
        let mid = 0.5 * (low + high);
        if parts(mid).1 > 0.0 {
            low = mid
        } else {
            high = mid
        }
        if high - low < 0.01 / a.sqrt() {
            break;
        }
    }
    let peak = 0.5 * (low + high);
    let (top, _, error) = parts(peak);
    let nudge = 0.05 / a.sqrt().max(1.0);
    let curvature = (parts(peak - nudge).1 - parts(peak + nudge).1) / (2.0 * nudge);
    let mut step = (0.5 / curvature.max(1e-6).sqrt()).min(0.25);
    for _ in 0..6 {
        let sum = |offset: f64| {
            let mut total = 0.0;
            for direction in [1.0, -1.0] {
                let mut at = if direction > 0.0 { offset } else { offset - 1.0 };
                loop {
                    let term = (parts(peak + 2.0 * step * at).0 - top).exp();
                    total += term;
                    if term < 1e-19 * total || at.abs() > 1e5 {
                        break;
                    }
                    at += direction;
                }
            }
            total
        };
        let (even, odd) = (sum(0.0), sum(0.5));
        if (even - odd).abs() < (1e-8 - 1e-14 * top) * even {
            // Halving the step squares the error: 1e-16 of the sum.
            return top + (step * (even + odd)).ln() + error + 1e-12;
        }
        step *= 0.5;
    }
    // Beyond any use rounding hides the shape: the integral is below e^5 of its largest value.
    if top < -1e6 { top * (1.0 - 2e-12) + 5.0 } else { 0.0 }
}
