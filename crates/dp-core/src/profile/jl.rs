//! The Johnson-Lindenstrauss mechanism. Proof: `docs/proofs/jl-mechanism.md`.

use crate::special::ln_sum_exp;
use crate::special::quadrature::{Side, ln_chi_expectation, ln_chi_pdf, panel};

/// One row added or removed, `lambda = B^2/w^2`: an upper bound on ln delta.
pub(crate) fn ln_delta_add_remove(rows: u64, lambda: f64, epsilon: f64) -> f64 {
    let r = rows as f64;
    let shift = 0.5 * r * lambda.ln_1p();
    ln_one_way_down(r, lambda, shift, epsilon).max(ln_one_way_up(r, lambda, shift, epsilon)) + 1e-11
}

/// Loss under N(0, 1) against N(0, 1 + lambda): `shift - x lambda / (2 (1 + lambda))`, x ~ chi2_r.
fn ln_one_way_down(r: f64, lambda: f64, shift: f64, epsilon: f64) -> f64 {
    let c = 0.5 * lambda / (1.0 + lambda);
    let t = (shift - epsilon) / c;
    if t <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let z = t.sqrt();
    ln_chi_expectation(r, z, Side::Below, 2.0 * c * z, None, |y| c * (z - y) * (z + y))
}

/// Loss under N(0, 1 + lambda) against N(0, 1): `x lambda / 2 - shift`, x ~ chi2_r.
fn ln_one_way_up(r: f64, lambda: f64, shift: f64, epsilon: f64) -> f64 {
    ln_above(r, 0.5 * lambda, (shift + epsilon) / (0.5 * lambda))
}

/// `ln E[(1 - e^(-c (x - t)))_+]`, x ~ chi2_r, t >= 0.
fn ln_above(r: f64, c: f64, t: f64) -> f64 {
    let z = t.sqrt();
    ln_chi_expectation(r, z, Side::Above, 2.0 * c * z, None, |y| c * (y - z) * (y + z))
}

/// One row replaced: the sum of two independent losses, one each way.
///
/// The loss is `lambda/2 (x' - x/(1 + lambda))` with x, x' ~ chi2_r independent.
pub(crate) fn ln_delta_replace(rows: u64, lambda: f64, epsilon: f64) -> f64 {
    let r = rows as f64;
    let c = 0.5 * lambda;
    let inner = |z: f64| ln_above(r, c, epsilon / c + z * z / (1.0 + lambda));
    let ln = |z: f64| ln_chi_pdf(r, z) + inner(z);
    // Log-concave in z with curvature at least one: find the peak, cover ten widths.
    let (mut low, mut high) = (0.0, (r - 1.0).sqrt() + 1.0);
    for _ in 0..12 {
        let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
        if ln(a) < ln(b) { low = a } else { high = b }
    }
    let peak = 0.5 * (low + high);
    let top = ln(peak);
    let f = |z: f64| (ln(z) - top).exp();
    let mut total = f64::NEG_INFINITY;
    for j in -8..10 {
        let (a, b) = (peak + 1.2 * f64::from(j), peak + 1.2 * f64::from(j + 1));
        if b > 0.0 {
            total = ln_sum_exp(total, panel(a.max(0.0), b, &f).ln());
        }
    }
    top + total + 1e-11
}
