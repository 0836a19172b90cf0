//! Quadratic forms of a released matrix.

use super::square::{check_square, form};
use crate::error::{Error, Result};
use faer::MatRef;

/// The variance of the data in a direction, `x^T C x / |x|^2`.
///
/// # Errors
/// [`Error::Shape`] when `x` has another length; [`Error::Core`] when it is
/// zero or not finite.
pub fn directional_variance(c: MatRef<'_, f64>, x: &[f64]) -> Result<f64> {
    let d = check_square(c)?;
    if x.len() != d {
        return Err(Error::shape("direction", x.len(), d));
    }
    let squared: f64 = x.iter().map(|v| v * v).sum();
    if !(squared.is_finite() && squared > 0.0) {
        return Err(Error::invalid("squared norm of the direction", squared, "(0, inf)"));
    }
    Ok(form(c, x) / squared)
}

/// The projection cost `tr(C) - tr(V^T C V)`, that is `|A - A V V^T|_F^2` when `C = A^T A`
/// and the columns of `V` (d x k) are orthonormal.
///
/// # Errors
/// [`Error::Shape`] for another number of rows; [`Error::Core`] when the columns are
/// not orthonormal to 1e-8.
pub fn projection_cost(c: MatRef<'_, f64>, v: MatRef<'_, f64>) -> Result<f64> {
    let d = check_square(c)?;
    if v.nrows() != d {
        return Err(Error::shape("basis", format!("{} rows", v.nrows()), d));
    }
    let column = |j: usize| (0..d).map(|i| v[(i, j)]).collect::<Vec<_>>();
    let columns: Vec<Vec<f64>> = (0..v.ncols()).map(column).collect();
    for (j, a) in columns.iter().enumerate() {
        for (l, b) in columns.iter().enumerate().take(j + 1) {
            let dot: f64 = a.iter().zip(b).map(|(x, y)| x * y).sum();
            let off = (dot - f64::from(u8::from(j == l))).abs();
            if off.is_nan() || off > 1e-8 {
                return Err(Error::invalid(
                    "basis",
                    format!("off by {off:e}"),
                    "orthonormal columns",
                ));
            }
        }
    }
    let trace: f64 = (0..d).map(|i| c[(i, i)]).sum();
    Ok(trace - columns.iter().map(|x| form(c, x)).sum::<f64>())
}

/// Constrained PCA over a set the caller gives: the index of the projection (as an
/// orthonormal basis, d x k) of least [`projection_cost`], and that cost. Ties go to the first.
///
/// Paper 5, theorem 7 (`Sliding-Priv-Constrained-PCP`): the set may be any, and is public.
///
/// # Errors
/// [`Error::Core`] for an empty set; as [`projection_cost`] for each member.
pub fn best_projection(c: MatRef<'_, f64>, set: &[MatRef<'_, f64>]) -> Result<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    for (index, v) in set.iter().enumerate() {
        let cost = projection_cost(c, *v)?;
        if best.is_none_or(|(_, least)| cost < least) {
            best = Some((index, cost));
        }
    }
    best.ok_or_else(|| Error::invalid("set of projections", "empty", "at least one"))
}

/// How far `estimate` is from `exact` in the sense of spectral approximation: the least `z >= 0`
/// with `(1-rho) exact - z I <= estimate <= (1+rho) exact + z I`.
///
/// # Errors
/// [`Error::Shape`] when the sizes differ; [`Error::Numerical`] when the eigenvalues do not converge.
pub fn spectral_distance(
    exact: MatRef<'_, f64>,
    estimate: MatRef<'_, f64>,
    rho: f64,
) -> Result<f64> {
    let d = check_square(exact)?;
    if check_square(estimate)? != d {
        return Err(Error::shape("estimate", format!("{} rows", estimate.nrows()), d));
    }
    let largest = |sign: f64, factor: f64| -> Result<f64> {
        let gap = faer::Mat::from_fn(d, d, |i, j| {
            sign * (0.5 * (estimate[(i, j)] + estimate[(j, i)]) - factor * exact[(i, j)])
        });
        let values = crate::dense::symmetric_eigen(gap.as_ref())?.values;
        Ok(values.first().copied().unwrap_or(0.0).max(0.0))
    };
    Ok(largest(1.0, 1.0 + rho)?.max(largest(-1.0, 1.0 - rho)?))
}
