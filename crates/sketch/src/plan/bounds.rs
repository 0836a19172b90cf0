//! Tail bounds of the papers, and the sketch size that suits a distance.

use crate::error::{Error, Result};
use dp_core::{NoiseScale, Probability};

fn failure(value: Probability) -> Result<f64> {
    let p = value.get();
    if p > 0.0 && p < 1.0 { Ok(p) } else { Err(Error::invalid("failure", p, "(0, 1)")) }
}

fn squared(r2: f64) -> Result<f64> {
    if r2.is_finite() && r2 >= 0.0 {
        Ok(r2)
    } else {
        Err(Error::invalid("squared distance", r2, "[0, inf)"))
    }
}

/// Bound on `|estimate - r^2|` of a private projection with Gaussian P (independent of sigma),
/// exceeded with probability at most `failure`, split evenly over the three causes
/// (Kenthapadi et al. 2013, theorem 2, part 3).
///
/// With thirds f of the failure: `lambda_JL = sqrt(6 ln(2/f)/k)`, `lambda_chi = sqrt(ln(2/f))`,
/// and lambda_N solves `exp(-l^2)/(l sqrt pi) = f`.
///
/// # Errors
/// When lambda_JL would reach 1/2 (k too small for the failure probability).
pub fn projection_tail_bound(
    squared_distance: f64,
    k: usize,
    sigma: NoiseScale,
    failure_probability: Probability,
) -> Result<f64> {
    let r2 = squared(squared_distance)?;
    let f = failure(failure_probability)? / 3.0;
    let jl = (6.0 * (2.0 / f).ln() / k as f64).sqrt();
    if jl >= 0.5 {
        let least = (24.0 * (2.0 / f).ln()).floor();
        return Err(Error::invalid("k", k, format!("({least}, d] for this failure probability")));
    }
    let chi = (2.0 / f).ln().sqrt();
    let (mut low, mut high) = (1e-6, 40.0);
    for _ in 0..100 {
        let mid: f64 = 0.5 * (low + high);
        let tail = (-mid * mid).exp() / (mid * core::f64::consts::PI.sqrt());
        if tail > f { low = mid } else { high = mid }
    }
    let (s, root) = (sigma.get(), (k as f64).sqrt());
    Ok(jl * r2
        + 4.0 * s * s * root * chi
        + 4.0 * s * s * chi * chi
        + 4.0 * s * (1.0 + jl) * high * r2.sqrt())
}

/// Bound on `|estimate - r^2|` of randomised response on d bits:
/// `sqrt(d ln(2/failure)) / (sqrt 2 (1-2p)^2)` (Kenthapadi et al. 2013, theorem 3, part 2).
///
/// # Errors
/// Unless p is in `[0, 1/2)` and the failure probability in `(0, 1)`.
pub fn response_tail_bound(
    d: usize,
    flip: Probability,
    failure_probability: Probability,
) -> Result<f64> {
    let f = failure(failure_probability)?;
    if flip.get() >= 0.5 {
        return Err(Error::invalid("flip probability", flip, "[0, 1/2)"));
    }
    let signal = (1.0 - 2.0 * flip.get()).powi(2);
    Ok((d as f64 * (2.0 / f).ln() / 2.0).sqrt() / signal)
}

/// `2 r^4/k + 8 sigma^2 r^2 + 8 sigma^4 k` (theorem 2, part 2).
#[must_use]
pub fn projection_variance(squared_distance: f64, k: usize, sigma: NoiseScale) -> f64 {
    let (r2, s2, k) = (squared_distance, sigma.get().powi(2), k as f64);
    2.0 * r2 * r2 / k + 8.0 * s2 * r2 + 8.0 * s2 * s2 * k
}

/// The k in `[1, d]` of least variance for a squared distance: the better integer beside
/// `r^2/(2 sigma^2)`.
///
/// # Errors
/// When the distance is negative or d is zero.
pub fn optimal_k(squared_distance: f64, sigma: NoiseScale, d: usize) -> Result<usize> {
    let r2 = squared(squared_distance)?;
    if d == 0 {
        return Err(Error::invalid("d", d, "[1, 2^32)"));
    }
    let best = (r2 / (2.0 * sigma.get().powi(2))).min(d as f64);
    let low = (best.floor() as usize).clamp(1, d);
    let high = (low + 1).min(d);
    let variance = |k| projection_variance(r2, k, sigma);
    Ok(if variance(high) < variance(low) { high } else { low })
}

/// The k in `[1, d]` of least tail bound for a squared distance and a failure probability
/// (the other reading of section 3.2.2): found by trying all k on a fine logarithmic scale.
///
/// # Errors
/// When no k up to d is large enough for the bound to hold.
pub fn optimal_k_tail(
    squared_distance: f64,
    sigma: NoiseScale,
    d: usize,
    failure_probability: Probability,
) -> Result<usize> {
    let f = failure(failure_probability)? / 3.0;
    let least = ((24.0 * (2.0 / f).ln()).floor() + 1.0) as usize;
    if least > d {
        return Err(Error::invalid("d", d, format!("[{least}, inf) for this failure probability")));
    }
    let bound = |k| projection_tail_bound(squared_distance, k, sigma, failure_probability);
    // The bound is a k^(-1/2) + b k^(1/2) + const: one minimum; ternary search on integers.
    let (mut low, mut high) = (least, d);
    while high - low > 2 {
        let third = (high - low) / 3;
        let (a, b) = (low + third, high - third);
        if bound(a)? <= bound(b)? { high = b } else { low = a }
    }
    let mut best = low;
    for k in low..=high {
        if bound(k)? < bound(best)? {
            best = k;
        }
    }
    Ok(best)
}
