//! The Gaussian mechanism (Balle & Wang 2018).

use crate::budget::LogDelta;

/// ln of Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).
pub(crate) fn log_delta(mu: f64, epsilon: f64) -> LogDelta {
    let phi = |x: f64| 0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2);
    let a = phi(0.5 * mu - epsilon / mu);
    let b = phi(-0.5 * mu - epsilon / mu);
    let ratio = (epsilon + b.ln() - a.ln()).exp();
    LogDelta::saturating(a.ln() + (-ratio).ln_1p())
}
