//! The chi-square (gamma) law in Loader's saddle-point form: errors do not grow with
//! the degrees of freedom.

use super::float::Compensated;
use core::f64::consts::PI;

/// `ln Gamma(n + 1)` minus Stirling's `n ln n - n + ln sqrt(2 pi n)`, for `n > 0`.
pub(crate) fn stirling_error(n: f64) -> f64 {
    // Below 16: step up with s(n) - s(n + 1) = (n + 1/2) ln(1 + 1/n) - 1.
    let mut n = n;
    let mut sum = 0.0;
    while n < 16.0 {
        sum += (n + 0.5) * (1.0 / n).ln_1p() - 1.0;
        n += 1.0;
    }
    let y = 1.0 / (n * n);
    let series = 1.0 / 12.0
        - y * (1.0 / 360.0
            - y * (1.0 / 1260.0
                - y * (1.0 / 1680.0
                    - y * (1.0 / 1188.0 - y * (691.0 / 360_360.0 - y * (1.0 / 156.0))))));
    sum + series / n
}

/// The coefficients 1/3, 1/5, 1/7, ... of [`deviance`]'s series.
const ODD: [f64; 31] = {
    let mut odd = [0.0; 31];
    let mut i = 0;
    while i < 31 {
        odd[i] = 1.0 / (2 * i + 3) as f64;
        i += 1;
    }
    odd
};

/// `x ln(x/m) + m - x` for `x, m > 0`: the deviance, without cancellation near `x = m`.
///
/// Its relative error is at most 1.2e-15 for `x` up to 2^53 (`docs/proofs/special-functions.md`).
pub(crate) fn deviance(x: f64, m: f64) -> f64 {
    let d = x - m;
    if d.abs() < 0.55 * (x + m) {
        // With v = (x - m)/(x + m): (x - m) v + 2 x v (v^2/3 + v^4/5 + ...), the series from its end.
        let v = d / (x + m);
        let square = v * v;
        let terms = match square {
            w if w < 1.0 / 16384.0 => 4,
            w if w < 1.0 / 256.0 => 7,
            w if w < 1.0 / 32.0 => 11,
            w if w < 1.0 / 8.0 => 18,
            _ => ODD.len(),
        };
        let series = ODD[..terms].iter().rev().fold(0.0, |sum, odd| odd + square * sum);
        d * v + 2.0 * x * v * square * series
    } else {
        let ratio = x / m;
        let ln = if ratio < f64::INFINITY { ratio.ln() } else { x.ln() - m.ln() };
        x * ln - d
    }
}

/// `ln(y^a e^-y / Gamma(a + 1))`, for `a, y > 0`.
pub(crate) fn ln_poisson_kernel(a: f64, y: f64) -> f64 {
    -stirling_error(a) - deviance(a, y) - 0.5 * (2.0 * PI * a).ln()
}

/// Log density of the chi-square law with `k` degrees of freedom, at `x > 0`: error at most 1e-12 plus 2e-15 of the value,
/// for `k` in `[1, 1e7]` and `x` in `[1e-300, 1e300]`.
#[must_use]
pub fn ln_chi_square_pdf(k: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let a = 0.5 * k;
    ln_poisson_kernel(a, 0.5 * x) + (a / x).ln()
}

/// ln Pr[chi2_k <= x].
///
/// Error at most 1e-12 plus 2e-15 of the value, for `k` in `[1, 1e7]` that is whole or at least 200
/// (`docs/proofs/special-functions.md`).
#[must_use]
pub fn ln_chi_square_cdf(k: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let (a, y) = (0.5 * k, 0.5 * x);
    if y < a + 1.0 { ln_lower(a, y) } else { super::ln_one_minus_exp(ln_upper(a, y).min(0.0)) }
}

/// `ln Pr[chi2_k > x]`; as [`ln_chi_square_cdf`].
#[must_use]
pub fn ln_chi_square_sf(k: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let (a, y) = (0.5 * k, 0.5 * x);
    if y < a + 1.0 { super::ln_one_minus_exp(ln_lower(a, y).min(0.0)) } else { ln_upper(a, y) }
}

/// ln P(a, y) by the power series: y^a e^-y / Gamma(a+1) * sum y^j / ((a+1)...(a+j)).
fn ln_lower(a: f64, y: f64) -> f64 {
    ln_poisson_kernel(a, y) + sum_of_products(|j| y / (a + j), f64::INFINITY).0.ln()
}

/// ln Q(a, y) for `y >= a + 1` by parts: y^a e^-y / Gamma(a+1) * a/y * sum (a-1)...(a-j) / y^j, over all j below a.
fn ln_upper(a: f64, y: f64) -> f64 {
    let last = a.ceil() - 1.0;
    let (sum, end) = sum_of_products(|j| (a - j) / y, last);
    // What is left after the last of them is Gamma(a - last, y), a - last in (0, 1].
    let rest = if end > 0.0 { end * (scaled_upper(a - last, y) - 1.0) } else { 0.0 };
    ln_poisson_kernel(a, y) + (a / y * (sum + rest)).ln()
}

/// The sum of 1, f(1), f(1) f(2), ... up to f(1)...f(last), all factors below one and falling, and the last product: zero where
/// the sum stops before, at a product below 1e-19 of the sum.
fn sum_of_products(factor: impl Fn(f64) -> f64, last: f64) -> (f64, f64) {
    let (mut term, mut sum, mut j) = (1.0, Compensated::of(1.0), 1.0);
    while j <= last {
        term *= factor(j);
        if term < 1e-19 * sum.add(term) {
            return (sum.value(), 0.0);
        }
        j += 1.0;
    }
    (sum.value(), term)
}

/// `Gamma(s, y) e^y y^(1 - s)` for s in (0, 1] and y from one on: one for 1, by `erfcx` for 1/2, else by the
/// continued fraction of Legendre (modified Lentz).
fn scaled_upper(s: f64, y: f64) -> f64 {
    if s == 1.0 {
        return 1.0;
    }
    if s == 0.5 {
        let root = y.sqrt();
        return PI.sqrt() * root * super::erfcx(root);
    }
    let mut b = y + 1.0 - s;
    let mut c = f64::INFINITY;
    let mut d = 1.0 / b;
    let mut h = d;
    for j in 1..1000 {
        let numerator = -f64::from(j) * (f64::from(j) - s);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        h *= d * c;
        if (d * c - 1.0).abs() < 4e-16 {
            break;
        }
    }
    y * h
}
