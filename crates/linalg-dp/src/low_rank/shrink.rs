//! Shrinkage of singular values to a known noise level: post-processing.

use crate::dense;
use crate::error::Result;
use faer::{Mat, MatRef};

/// How far above its typical edge pure noise may reach and still be cut to zero: a
/// Gaussian matrix's norm is 1-Lipschitz, and in practice concentrates much better.
const MARGIN: f64 = 2.0;

/// The optimal shrinker for Frobenius loss of a k x n signal in noise of unit variance per
/// entry: `sqrt((y^2 - n - k)^2 - 4 n k) / y`, and zero up to the noise's edge
/// `sqrt n + sqrt k`, plus 2 for the edge's fluctuation.
///
/// # References
/// Gavish & Donoho 2017, "Optimal shrinkage of singular values", eq. 7.
#[must_use]
pub fn shrink_value(y: f64, k: usize, n: usize) -> f64 {
    let (k, n) = (k as f64, n as f64);
    let edge = n.sqrt() + k.sqrt() + MARGIN;
    if y <= edge {
        return 0.0;
    }
    ((y * y - n - k).powi(2) - 4.0 * n * k).max(0.0).sqrt() / y
}

/// The k x k matrix M that shrinks white coefficients `C = X + Z` (given as C^T, n x k
/// row-major; Z of N(0, 1) entries) to `M C`, and the number of components kept.
///
/// # Errors
/// [`crate::Error::Numerical`] when an eigendecomposition fails.
pub(super) fn shrinker(coefficients: &[f64], k: usize) -> Result<(Mat<f64>, usize)> {
    let n = coefficients.len() / k;
    let gram = blocked_gram(MatRef::from_row_major_slice(coefficients, n, k));
    let eigen = dense::symmetric_eigen(gram.as_ref())?;
    let factors: Vec<f64> = eigen
        .values
        .iter()
        .map(|&x| {
            let y = x.max(0.0).sqrt();
            if y > 0.0 { shrink_value(y, k, n) / y } else { 0.0 }
        })
        .collect();
    let kept = factors.iter().filter(|f| **f > 0.0).count();
    let v = &eigen.vectors;
    let scaled = Mat::from_fn(k, k, |i, j| v[(i, j)] * factors[j]);
    Ok((dense::product(scaled.as_ref(), v.transpose()), kept))
}

/// `C C^T` of C^T given n x k, in fixed blocks.
fn blocked_gram(transposed: MatRef<'_, f64>) -> Mat<f64> {
    let (n, k) = transposed.shape();
    let mut sum = Mat::zeros(k, k);
    for from in (0..n).step_by(4096) {
        let block = transposed.subrows(from, 4096.min(n - from));
        dense::product_into(sum.as_mut(), faer::Accum::Add, block.transpose(), block);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::author::AUTHOR;
    use dp_core::noise::{AdditiveNoise, Grid};
    use dp_core::{NoiseRng, NoiseScale};

    /// Mean squared error of raw, shrunk and zero over repetitions, for a signal of rank
    /// r with singular values `strength (sqrt n + sqrt k)`.
    fn errors(strength: f64, r: usize, k: usize, n: usize) -> [f64; 3] {
        let mut rng = NoiseRng::deterministic_not_private(17);
        let unit = AUTHOR.gaussian(NoiseScale::new(1.0).unwrap(), Grid::new(-30).unwrap()).unwrap();
        let size = strength * ((n as f64).sqrt() + (k as f64).sqrt());
        let signal: Vec<f64> = (0..n * k)
            .map(|i| {
                if i % k < r && (i / k) % r == i % k {
                    size * (r as f64 / n as f64).sqrt()
                } else {
                    0.0
                }
            })
            .collect();
        let mut sums = [0.0; 3];
        let repetitions = 20;
        for _ in 0..repetitions {
            let mut noisy = signal.clone();
            unit.add_to(&mut rng, &mut noisy).unwrap();
            let (l, _) = shrinker(&noisy, k).unwrap();
            let c = MatRef::from_row_major_slice(&noisy, n, k);
            let shrunk = dense::product(c, l.transpose());
            for i in 0..n * k {
                sums[0] += (noisy[i] - signal[i]).powi(2);
                sums[1] += (shrunk[(i / k, i % k)] - signal[i]).powi(2);
                sums[2] += signal[i].powi(2);
            }
        }
        sums.map(|s| s / f64::from(repetitions))
    }

    #[test]
    fn never_worse_than_raw_or_zero() {
        for (r, k, n) in [(1, 8, 2000), (3, 10, 1000), (5, 11, 4000)] {
            for strength in [0.0, 0.3, 0.8, 1.0, 1.2, 2.0, 10.0] {
                let [raw, shrunk, zero] = errors(strength, r, k, n);
                assert!(shrunk < raw, "{strength}: {shrunk} against {raw}");
                assert!(shrunk <= 1.001 * zero + 1e-6 * raw, "{strength}: {shrunk} against {zero}");
            }
        }
    }

    #[test]
    fn strong_signals_lose_only_the_noise_outside_their_rank() {
        let (r, k, n) = (5, 11, 4000);
        let [raw, shrunk, _] = errors(50.0, r, k, n);
        let expected = (r * n + r * (k - r)) as f64 / (k * n) as f64;
        assert!((shrunk / raw / expected - 1.0).abs() < 0.02, "{}", shrunk / raw);
    }
}
