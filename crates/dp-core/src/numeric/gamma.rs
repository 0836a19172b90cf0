//! The chi-square (gamma) law in Loader's saddle-point form: errors do not grow with
//! the degrees of freedom.

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

/// `x ln(x/m) + m - x` for `x, m > 0`: the deviance, without cancellation near `x = m`.
pub(crate) fn deviance(x: f64, m: f64) -> f64 {
    let d = x - m;
    if d.abs() < 0.35 * (x + m) {
        let v = d / (x + m);
        let square = v * v;
        let mut power = 2.0 * x * v;
        let mut sum = d * v;
        for j in 1..1000 {
            power *= square;
            let next = sum + power / f64::from(2 * j + 1);
            if next == sum {
                break;
            }
            sum = next;
        }
        sum
    } else {
        x * (x / m).ln() + m - x
    }
}

/// `ln(y^a e^-y / Gamma(a + 1))`, for `a, y > 0`.
pub(crate) fn ln_poisson_kernel(a: f64, y: f64) -> f64 {
    -stirling_error(a) - deviance(a, y) - 0.5 * (2.0 * PI * a).ln()
}

/// Log density of the chi-square law with `k` degrees of freedom, at `x > 0`.
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
/// Error at most 1e-12 plus 1e-15 of the value, for `k` in `[1, 1e7]` wherever the value is above -1e4.
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

/// Terms enough for any argument: the sums below need about `10 sqrt(a)`.
fn cap(a: f64) -> u64 {
    10_000 + (60.0 * a.sqrt()) as u64
}

/// ln P(a, y) by the power series: y^a e^-y / Gamma(a+1) * sum y^j / ((a+1)...(a+j)).
fn ln_lower(a: f64, y: f64) -> f64 {
    let (mut term, mut sum, mut carry) = (1.0, 1.0, 0.0);
    for j in 1..cap(a) {
        term *= y / (a + j as f64);
        let corrected: f64 = term - carry;
        let next = sum + corrected;
        carry = (next - sum) - corrected;
        sum = next;
        if term < 1e-17 * sum {
            break;
        }
    }
    ln_poisson_kernel(a, y) + sum.ln()
}

/// ln Q(a, y) by the continued fraction of Legendre (modified Lentz).
fn ln_upper(a: f64, y: f64) -> f64 {
    let tiny = 1e-300;
    let mut b = y + 1.0 - a;
    let mut c = 1.0 / tiny;
    let mut d = 1.0 / b;
    let mut h = d;
    for j in 1..cap(a) {
        let j = j as f64;
        let numerator = -j * (j - a);
        b += 2.0;
        d = numerator * d + b;
        d = 1.0 / if d.abs() < tiny { tiny } else { d };
        c = b + numerator / c;
        if c.abs() < tiny {
            c = tiny;
        }
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < 2e-16 {
            break;
        }
    }
    ln_poisson_kernel(a, y) + (a * h).ln()
}
