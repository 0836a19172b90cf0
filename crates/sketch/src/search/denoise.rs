//! Denoising of a release before it ranks, from the release alone.

use crate::error::{Error, Result};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};

/// Rows of `dim` numbers, each with independent noise of this variance a number, with every direction weighted by the share of
/// it that is signal (`docs/proofs/unit-vectors.md`, denoised ranking). A function of the release: it costs no budget, and its
/// numbers are no longer unbiased.
///
/// # Errors
/// [`Error::Undefined`] for numbers whose squares leave the range of double precision.
pub(super) fn denoised(values: &[f64], dim: usize, variance: f64) -> Result<Vec<f64>> {
    let n = values.len() / dim;
    let failed = |reason| Error::Undefined { what: "denoising", reason };
    if n == 0 {
        return Ok(Vec::new());
    }
    let rows = MatRef::from_row_major_slice(values, n, dim);
    let mut gram = Mat::<f64>::zeros(dim, dim);
    matmul(gram.as_mut(), Accum::Replace, rows.transpose(), rows, 1.0 / n as f64, Par::Seq);
    if !gram.col_iter().all(|column| column.iter().all(|x| x.is_finite())) || variance.is_infinite()
    {
        return Err(failed("squares leave the range of double precision; scale the data"));
    }
    let eigen = gram
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| failed("the eigenvalue iteration did not converge"))?;
    let lambda = eigen.S().column_vector();
    let lambda: Vec<f64> = (0..dim).map(|i| lambda[i]).collect();
    let weight = weights(&lambda, n, variance);
    let scaled = Mat::from_fn(dim, dim, |i, j| eigen.U()[(i, j)] * weight[j]);
    let mut filter = Mat::<f64>::zeros(dim, dim);
    matmul(filter.as_mut(), Accum::Replace, scaled.as_ref(), eigen.U().transpose(), 1.0, Par::Seq);
    let mut out = vec![0.0; values.len()];
    let left = MatMut::from_row_major_slice_mut(&mut out, n, dim);
    matmul(left, Accum::Replace, rows, filter.as_ref(), 1.0, Par::rayon(0));
    Ok(out)
}

/// The share of each eigenvector of the second moments (eigenvalues lambda, rising) that is signal, rising too:
/// `1 - (v/n) (|n - k|/lambda_i + 2 sum_j g(lambda_i - lambda_j))`, `g(x) = x/(x^2 + h^2)`, over the min(n, k) largest, cut to
/// [0, 1]; `h = 2 v sqrt(k/n)/sqrt(min(n, k))`.
fn weights(lambda: &[f64], n: usize, variance: f64) -> Vec<f64> {
    let (rows, k) = (n as f64, lambda.len());
    let seen = &lambda[k - n.min(k)..];
    let width = 2.0 * variance * (k as f64 / rows / seen.len() as f64).sqrt();
    let pushed = |x: f64| match x.hypot(width) {
        0.0 => 0.0,
        distance => (variance / distance) * (x / distance),
    };
    let mut least = 1f64;
    let share = |&l: &f64| {
        let apart: f64 = seen.iter().map(|other| pushed(l - other)).sum();
        let noise = (rows - k as f64).abs() / l * variance + 2.0 * apart;
        least = if l > 0.0 { least.min(1.0 - noise / rows).max(0.0) } else { 0.0 };
        least
    };
    let mut found: Vec<f64> = seen.iter().rev().map(share).collect();
    found.resize(k, 0.0);
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::author::AUTHOR;
    use dp_core::noise::{AdditiveNoise, Grid};
    use dp_core::{NoiseRng, NoiseScale};

    /// Standard normal numbers.
    fn normals(count: usize, rng: &mut NoiseRng) -> Vec<f64> {
        let law = AUTHOR.gaussian(NoiseScale::new(1.0).unwrap(), Grid::new(-30).unwrap()).unwrap();
        let mut values = vec![0.0; count];
        law.add_to(rng, &mut values).unwrap();
        values
    }

    fn square(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
    }

    #[test]
    fn weights_are_those_of_the_formula() {
        // Three rows in two directions, lambda 9 and 1, v = .9, h = 2 * .9 * sqrt(2/3/2).
        let h2 = 3.24 / 3.0;
        let g = 8.0 / (64.0 + h2);
        let found = weights(&[1.0, 9.0], 3, 0.9);
        let expected = [1.0 - 0.3 * (1.0 / 1.0 - 2.0 * g), 1.0 - 0.3 * (1.0 / 9.0 + 2.0 * g)];
        assert!((found[0] - expected[0]).abs() < 1e-15 && (found[1] - expected[1]).abs() < 1e-15);
        // The lesser never weighs more; no noise, no change; what has no signal is gone.
        assert_eq!(weights(&[1.0, 9.0], 2, 0.9)[0], weights(&[1.0, 9.0], 2, 0.9)[1]);
        assert_eq!(weights(&[0.0, 1.0, 1.0], 7, 0.0), [0.0, 1.0, 1.0]);
        assert_eq!(weights(&[0.5, 0.5], 100, 1.0), [0.0, 0.0]);
        // One row: James and Stein's factor.
        let one = weights(&[0.0, 0.0, 0.0, 8.0], 1, 1.0);
        assert!(one[..3] == [0.0; 3] && (one[3] - 0.625).abs() < 1e-15, "{one:?}");
        for v in [5e-324, 1e-300, 1e300] {
            for lambda in [[0.0, 0.0], [5e-324, 1e-320], [1e-300, 1.0], [1e308, 1.7e308]] {
                for n in [1, 2, 5] {
                    let found = weights(&lambda, n, v);
                    assert!(found.iter().all(|w| (0.0..=1.0).contains(w)), "{v} {n}: {found:?}");
                }
            }
        }
    }

    /// Rows of five directions among many, twice as many rows as numbers and half as many: the squared error is less than a fifth
    /// above that of the best weights of these eigenvectors, and half of that of `1 - v/lambda`; of noise alone a fiftieth is left.
    #[test]
    fn rows_are_as_near_as_their_eigenvectors_allow() {
        let mut rng = NoiseRng::deterministic_not_private(5);
        for (n, k) in [(240, 120), (80, 160)] {
            let (left, right) = (normals(n * 5, &mut rng), normals(5 * k, &mut rng));
            let entry = |i: usize, j: usize| -> f64 {
                (0..5).map(|r| 0.2 * (5 - r) as f64 * left[i * 5 + r] * right[r * k + j]).sum()
            };
            let clear: Vec<f64> = (0..n * k).map(|at| entry(at / k, at % k)).collect();
            let noise = normals(n * k, &mut rng);
            let seen: Vec<f64> = clear.iter().zip(&noise).map(|(x, z)| x + z).collect();
            let found = denoised(&seen, k, 1.0).unwrap();

            let view = |rows| MatRef::from_row_major_slice(rows, n, k);
            let (y, x): (MatRef<'_, f64>, MatRef<'_, f64>) = (view(&seen), view(&clear));
            let gram = y.transpose() * y;
            let eigen = gram.self_adjoint_eigen(Side::Lower).unwrap();
            let (y, x) = (y * eigen.U(), x * eigen.U());
            let (mut best, mut soft) = (0.0, 0.0);
            for j in 0..k {
                let own: f64 = (0..n).map(|i| y[(i, j)].powi(2)).sum();
                let both: f64 = (0..n).map(|i| y[(i, j)] * x[(i, j)]).sum();
                let error =
                    |w: f64| (0..n).map(|i| (w * y[(i, j)] - x[(i, j)]).powi(2)).sum::<f64>();
                best += error(if own > 0.0 { both / own } else { 0.0 });
                soft += error(if own > 0.0 { (1.0 - n as f64 / own).max(0.0) } else { 0.0 });
            }
            let error = square(&found, &clear);
            assert!(error < 1.2 * best && error < 0.5 * soft, "{n} x {k}: {error} {best} {soft}");
            let left = square(&denoised(&noise, k, 1.0).unwrap(), &vec![0.0; n * k]);
            assert!(left < 0.02 * (n * k) as f64, "{n} x {k}: {left}");
        }
    }

    #[test]
    fn what_cannot_be_denoised_is_refused() {
        assert!(denoised(&[1e200, 1.0], 2, 1.0).is_err());
        assert!(denoised(&[1.0, 1.0], 2, f64::INFINITY).is_err());
        assert!(denoised(&[], 2, 1.0).unwrap().is_empty());
        assert_eq!(denoised(&[0.0; 6], 2, 1.0).unwrap(), [0.0; 6]);
    }
}
