//! Exact row norms and certified spectral norms of a projection.

use super::dense::{Cache, RowSource, for_each_panel};
use crate::error::{Error, Result};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par, Side};
use rayon::prelude::*;

/// Rounds a computed value up past its own rounding errors (a few ulps).
pub(crate) fn up(value: f64) -> f64 {
    value * (1.0 + 8.0 * f64::EPSILON)
}

/// Largest row norms of a matrix, rounded up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowNorms {
    pub(crate) l1: f64,
    pub(crate) l2: f64,
}

impl RowNorms {
    /// Generates every row of `scale` times the matrix once. O(d k) time, O(k) memory.
    pub(crate) fn scan(source: &dyn RowSource, scale: f64) -> Self {
        (0..source.d())
            .into_par_iter()
            .map_init(|| vec![0.0; source.k()], |row, i| Self::of_row(source, i, scale, row))
            .reduce(
                || Self { l1: 0.0, l2: 0.0 },
                |x, y| Self { l1: x.l1.max(y.l1), l2: x.l2.max(y.l2) },
            )
    }

    /// Those of one row, generated into `row` (k numbers).
    pub(crate) fn of_row(source: &dyn RowSource, i: usize, scale: f64, row: &mut [f64]) -> Self {
        source.fill(i, row);
        let add = |(a, s): (f64, f64), &v: &f64| (a + v.abs(), s + v * v);
        let (l1, squares) = row.iter().fold((0.0, 0.0), add);
        // k additions of positive numbers err by at most k ulps, relatively.
        let slack = 1.0 + row.len() as f64 * f64::EPSILON;
        Self { l1: up(l1 * scale * slack), l2: up(squares.sqrt() * scale * slack) }
    }
}

/// A certified upper bound on the spectral norm of `scale` times the matrix.
///
/// The Gram matrix G = P^T P is accumulated panel by panel; a candidate t slightly above
/// its largest computed eigenvalue is accepted only when the Cholesky factorisation of
/// t I - G succeeds in floating point. Success bounds the smallest eigenvalue of t I - G
/// from below by `-gamma_{k+1} tr(t I - G)/(1 - gamma_{k+1})` (Rump 2006); the
/// accumulation of G adds at most `gamma_{d+1} |P|_F^2`.
pub(crate) fn spectral_norm_bound(
    source: &dyn RowSource,
    cache: &Cache,
    scale: f64,
) -> Result<f64> {
    let (d, k) = (source.d(), source.k());
    let mut gram = Mat::<f64>::zeros(k, k);
    for_each_panel(source, cache, |_, panel| {
        let p = MatRef::from_row_major_slice(panel, panel.len() / k, k);
        matmul(gram.as_mut(), Accum::Add, p.transpose(), p, 1.0, Par::Seq);
    });
    certified_largest_eigenvalue(&gram, d).map(|t| up(t.sqrt() * scale))
}

/// Bound on the largest eigenvalue of a Gram matrix computed as a sum of `terms` products an entry.
pub(crate) fn certified_largest_eigenvalue(gram: &Mat<f64>, terms: usize) -> Result<f64> {
    let failed = |reason| Error::Undefined { what: "spectral norm", reason };
    let k = gram.nrows();
    let trace: f64 = (0..k).map(|i| gram[(i, i)]).sum();
    if trace == 0.0 {
        return Ok(0.0);
    }
    let unit = 0.5 * f64::EPSILON;
    let gamma = |m: usize| 1.01 * m as f64 * unit;
    if terms.max(k) as f64 * unit > 1e-3 {
        return Err(failed("the matrix is too large for double precision"));
    }
    let eigenvalues = gram
        .self_adjoint_eigenvalues(Side::Lower)
        .map_err(|_| failed("the eigenvalue iteration did not converge"))?;
    let largest = eigenvalues.iter().fold(0.0, |a: f64, &b| a.max(b));
    let mut slack = 1e-12_f64.max(k as f64 * f64::EPSILON * 4.0);
    for _ in 0..20 {
        let candidate = largest * (1.0 + slack);
        let mut shifted = Mat::<f64>::from_fn(k, k, |i, j| -0.5 * (gram[(i, j)] + gram[(j, i)]));
        for i in 0..k {
            shifted[(i, i)] += candidate;
        }
        if shifted.llt(Side::Lower).is_ok() {
            let shifted_trace = k as f64 * candidate - trace;
            let cholesky = gamma(k + 3) * shifted_trace.abs();
            let accumulation = gamma(terms + 3) * trace * 1.01;
            return Ok(up(candidate + cholesky + accumulation + 4.0 * unit * candidate));
        }
        slack *= 8.0;
    }
    Err(failed("no candidate bound could be verified"))
}
