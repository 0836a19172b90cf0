//! The binomial law.

use super::float::Compensated;
use super::gamma::{deviance, stirling_error};
use core::f64::consts::PI;

/// ln Pr[Bin(n, p) = j] where `q = 1 - p` is given apart: the smaller of the two counts, the
/// other is its complement.
///
/// Loader's saddle-point form with n p and n q in two floats each: for n up to 2^53 the error is
/// at most 1e-14 plus 1.5e-15 of the value, of which 1 - the smaller of p and q is the other (`docs/proofs/special-functions.md`).
pub(crate) fn ln_pmf(n: u64, p: f64, q: f64, j: u64) -> f64 {
    if j > n {
        return f64::NEG_INFINITY;
    }
    let (nf, jf) = (n as f64, j as f64);
    let rest = (n - j) as f64;
    if p == 0.0 || q == 0.0 {
        let certain = if p == 0.0 { 0 } else { n };
        return if j == certain { 0.0 } else { f64::NEG_INFINITY };
    }
    if j == 0 {
        return nf * ln_complement(q, p);
    }
    if j == n {
        return nf * ln_complement(p, q);
    }
    let small = p.min(q);
    let large = 1.0 - small;
    let few = two_product(nf, small);
    let (high, low) = two_product(nf, large);
    let many = (high, low + nf * ((1.0 - large) - small));
    let (np, nq) = if p <= q { (few, many) } else { (many, few) };
    // The deviances last, as each sum rounds what is large.
    let rest_of_it = stirling_error(nf) - stirling_error(jf) - stirling_error(rest)
        + 0.5 * (nf / (2.0 * PI * jf * rest)).ln()
        - (beside(jf, np) + beside(rest, nq));
    rest_of_it - (deviance(jf, np.0) + deviance(rest, nq.0))
}

/// What the lower of two floats adds to the deviance from a mean; its slope in the mean is `1 - x/m`. Nearest rounding of
/// the mean alone would cost about `1e-16 |x - m|`, which grows like sqrt(n).
fn beside(x: f64, (m, low): (f64, f64)) -> f64 {
    low * ((m - x) / m)
}

/// a b as its nearest float and the rest (Dekker 1971), barring over- and underflow.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let halves = |x: f64| {
        let shifted = 134_217_729.0 * x; // 2^27 + 1
        let high = shifted - (shifted - x);
        (high, x - high)
    };
    let product = a * b;
    let ((ah, al), (bh, bl)) = (halves(a), halves(b));
    (product, ((ah * bh - product) + ah * bl + al * bh) + al * bl)
}

/// Raises the logarithm of a sum over a binomial law of `n` trials above its rounding. Proof: `docs/proofs/mixtures.md`.
pub(crate) fn raised(ln_sum: f64, n: f64) -> f64 {
    if ln_sum == f64::NEG_INFINITY {
        return ln_sum;
    }
    ln_sum + (1e-12 + 1e-15 * n.sqrt() + 2e-15 * ln_sum.abs())
}

/// ln x where `x = 1 - y`: through the smaller of the two.
fn ln_complement(x: f64, y: f64) -> f64 {
    if y < 0.5 { (-y).ln_1p() } else { x.ln() }
}

/// ln Pr[Bin(n, p) = j]: error at most 1e-14 plus 1.5e-15 of the value, for `n` up to 2^53 and p from 6e-309 on.
#[must_use]
pub fn ln_binomial_pmf(n: u64, p: f64, j: u64) -> f64 {
    ln_pmf(n, p, 1.0 - p, j)
}

/// ln Pr[Bin(n, p) <= j].
///
/// Error at most `1e-12 + 3e-15 sqrt(n)` plus 2e-15 of the value, for `n` up to 2^25 (`docs/proofs/mixtures.md`).
#[must_use]
pub fn ln_binomial_cdf(n: u64, p: f64, j: u64) -> f64 {
    if j >= n {
        return 0.0;
    }
    if (j as f64) < n as f64 * p {
        ln_window(n, p, 0, j)
    } else {
        super::ln_one_minus_exp(ln_window(n, p, j + 1, n).min(0.0))
    }
}

/// ln Pr[Bin(n, p) > j]; as [`ln_binomial_cdf`].
#[must_use]
pub fn ln_binomial_sf(n: u64, p: f64, j: u64) -> f64 {
    if j >= n {
        return f64::NEG_INFINITY;
    }
    if (j as f64) < n as f64 * p {
        super::ln_one_minus_exp(ln_window(n, p, 0, j).min(0.0))
    } else {
        ln_window(n, p, j + 1, n)
    }
}

fn ln_window(n: u64, p: f64, low: u64, high: u64) -> f64 {
    ln_expectation(n, p, 1.0 - p, low, high, |_| 1.0)
}

/// `ln sum_{j = low..=high} Pr[Bin(n, p) = j] weight(j)` for weights in `[0, 1]`.
///
/// Starts at the likeliest j of the range and goes both ways until what is left is
/// below 1e-18 of the sum (the weights at most double from one j to the next there,
/// or are bounded by one).
pub(crate) fn ln_expectation(
    n: u64,
    p: f64,
    q: f64,
    low: u64,
    high: u64,
    weight: impl Fn(u64) -> f64,
) -> f64 {
    let high = high.min(n);
    if low > high {
        return f64::NEG_INFINITY;
    }
    let mode = (((n as f64 + 1.0) * p) as u64).clamp(low, high);
    let reference = ln_pmf(n, p, q, mode);
    if reference == f64::NEG_INFINITY {
        return reference;
    }
    let odds = p / q;
    let mut sum = Compensated::default();
    let mut mass = 1.0;
    for j in mode..=high {
        #[cfg(test)]
        terms::add();
        if mass < 1e-18 * sum.add(mass * weight(j)) {
            break;
        }
        mass *= (n - j) as f64 / (j + 1) as f64 * odds;
    }
    mass = 1.0;
    for j in (low..mode).rev() {
        #[cfg(test)]
        terms::add();
        mass *= (j + 1) as f64 / ((n - j) as f64 * odds);
        if mass < 1e-18 * sum.add(mass * weight(j)) {
            break;
        }
    }
    reference + sum.value().ln()
}

/// How many terms of binomial sums were evaluated, and losses composed: what a limit on their parameters promises.
#[cfg(test)]
pub(crate) mod terms {
    use std::cell::Cell;

    thread_local! {
        static COUNT: Cell<u64> = const { Cell::new(0) };
    }

    pub(crate) fn add() {
        COUNT.with(|count| count.set(count.get() + 1));
    }

    /// Those of one computation.
    pub(crate) fn of<T>(compute: impl FnOnce() -> T) -> (u64, T) {
        let before = COUNT.with(Cell::get);
        let value = compute();
        (COUNT.with(Cell::get) - before, value)
    }
}
