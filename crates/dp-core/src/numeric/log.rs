//! Sums of numbers given by their logarithms.

/// `ln(1 - e^x)` for `x <= 0`; negative infinity at zero, NaN above.
#[must_use]
pub(crate) fn ln_one_minus_exp(x: f64) -> f64 {
    if x > -core::f64::consts::LN_2 { (-x.exp_m1()).ln() } else { (-x.exp()).ln_1p() }
}

/// `ln(e^a + e^b)`.
#[must_use]
pub(crate) fn ln_sum_exp(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// Raises a logarithm of a few operations above their rounding: by 1e-14, or two units in its last place where those are more.
#[must_use]
pub(crate) fn above(ln: f64) -> f64 {
    if ln == f64::NEG_INFINITY { ln } else { ln + (5e-16 * ln.abs()).max(1e-14) }
}
