//! The normal law: scaled erfc, log cdf, Mills ratio and its slope.

use core::f64::consts::{FRAC_1_SQRT_2, PI};

/// ln sqrt(2 pi).
pub(crate) const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_7;
/// sqrt(pi / 2).
const SQRT_HALF_PI: f64 = 1.253_314_137_315_500_3;

/// Scaled complementary error function `e^(x^2) erfc(x)`.
///
/// Relative error at most 1e-15 for `x >= -5`; infinite below about -26.6.
#[must_use]
pub fn erfcx(x: f64) -> f64 {
    if x > 25.0 {
        // Asymptotic series: the first term left out is 2.9e-17 at 25.
        let y = 1.0 / (2.0 * x * x);
        let series = 1.0
            - y * (1.0
                - 3.0 * y * (1.0 - 5.0 * y * (1.0 - 7.0 * y * (1.0 - 9.0 * y * (1.0 - 11.0 * y)))));
        return series / (x * PI.sqrt());
    }
    // x^2 = head^2 + rest with head^2 exact, so that no digit of the exponent is lost.
    let head = f64::from_bits(x.to_bits() & !((1 << 27) - 1));
    let rest = (x - head) * (x + head);
    let factor = 1.0 + rest * (1.0 + rest * (0.5 + rest / 6.0));
    (head * head).exp() * factor * libm::erfc(x)
}

/// Mills ratio `Phi(-t) / phi(t)`.
///
/// Relative error at most 1.2e-15 for `t >= 0` and 6e-15 for `t >= -5`; infinite below about -37.6.
#[must_use]
pub fn mills_ratio(t: f64) -> f64 {
    SQRT_HALF_PI * erfcx(t * FRAC_1_SQRT_2)
}

/// `1 - t M(t)`, minus the slope of the [`mills_ratio`] M: positive, and about `1/t^2`
/// for large t, where the plain difference would cancel.
///
/// Relative error at most 2.5e-14 for `t >= -5`.
#[must_use]
pub fn mills_slope(t: f64) -> f64 {
    if t < 4.0 {
        return 1.0 - t * mills_ratio(t);
    }
    // M(t) = 1/(t + c), c = 1/(t + 2/(t + 3/(t + ...))); so 1 - t M = c/(t + c).
    // So many terms leave less than 2e-16.
    let terms = (10.0 + 470.0 / (t * t)) as u32;
    let mut tail = 0.0;
    for j in (2..terms).rev() {
        tail = f64::from(j) / (t + tail);
    }
    let c = 1.0 / (t + tail);
    c / (t + c)
}

/// `ln Phi(x)`, the normal log cdf.
///
/// Error at most 1e-15 absolute plus 4e-16 relative, for `x` above -1e120.
#[must_use]
pub fn ln_normal_cdf(x: f64) -> f64 {
    if x > 0.0 {
        (-0.5 * libm::erfc(x * FRAC_1_SQRT_2)).ln_1p()
    } else if x > -2.0 {
        (0.5 * libm::erfc(-x * FRAC_1_SQRT_2)).ln()
    } else {
        ln_normal_pdf(x) + mills_ratio(-x).ln()
    }
}

/// `ln phi(x)`.
pub(crate) fn ln_normal_pdf(x: f64) -> f64 {
    -0.5 * x * x - LN_SQRT_2PI
}
