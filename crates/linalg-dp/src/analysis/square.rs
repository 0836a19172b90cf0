//! Square matrices: checks, forms and power iteration.

use crate::error::{Error, Result};
use faer::{Mat, MatRef};

/// Refuses anything but a finite square matrix.
pub(super) fn check_square(c: MatRef<'_, f64>) -> Result<usize> {
    let d = c.nrows();
    if d == 0 || c.ncols() != d {
        return Err(Error::shape("matrix", format!("{d} x {}", c.ncols()), "d x d, d >= 1"));
    }
    let finite = (0..d).all(|j| (0..d).all(|i| c[(i, j)].is_finite()));
    if finite { Ok(d) } else { Err(Error::NotFinite { what: "the matrix" }) }
}

/// `x^T C x`.
pub(super) fn form(c: MatRef<'_, f64>, x: &[f64]) -> f64 {
    (0..c.ncols()).map(|j| x[j] * (0..c.nrows()).map(|i| x[i] * c[(i, j)]).sum::<f64>()).sum()
}

/// `C x`.
pub(super) fn times(c: MatRef<'_, f64>, x: &[f64]) -> Vec<f64> {
    (0..c.nrows()).map(|i| (0..c.ncols()).map(|j| c[(i, j)] * x[j]).sum()).collect()
}

pub(super) fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// A shift `t` such that `C + t I` is positive semidefinite (Gershgorin).
pub(super) fn semidefinite_shift(c: MatRef<'_, f64>) -> f64 {
    let d = c.nrows();
    (0..d)
        .map(|i| (0..d).filter(|j| *j != i).map(|j| c[(i, j)].abs()).sum::<f64>() - c[(i, i)])
        .fold(0.0, f64::max)
}

/// Power iteration `x <- shape(C x) / |shape(C x)|` from several starts; the best by
/// `x^T C x`.
pub(super) fn projected_power(
    c: MatRef<'_, f64>,
    starts: &[Vec<f64>],
    iterations: usize,
    shape: impl Fn(&mut [f64]),
) -> Vec<f64> {
    let shift = semidefinite_shift(c);
    let mut best = (f64::NEG_INFINITY, vec![0.0; c.nrows()]);
    for start in starts {
        let mut x = start.clone();
        for _ in 0..iterations {
            let mut next = times(c, &x);
            next.iter_mut().zip(&x).for_each(|(n, x)| *n += shift * x);
            shape(&mut next);
            let length = norm(&next);
            if length == 0.0 {
                break;
            }
            next.iter_mut().for_each(|v| *v /= length);
            let moved = next.iter().zip(&x).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            x = next;
            if moved < 1e-12 {
                break;
            }
        }
        let value = form(c, &x);
        if value > best.0 {
            best = (value, x);
        }
    }
    best.1
}

/// Columns as a matrix.
pub(super) fn from_columns(dim: usize, columns: &[Vec<f64>]) -> Mat<f64> {
    Mat::from_fn(dim, columns.len(), |i, j| columns[j][i])
}
