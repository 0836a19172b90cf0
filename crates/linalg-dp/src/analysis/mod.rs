//! Questions to a released second-moment matrix. All of it is post-processing: nothing
//! here sees data or draws noise.

mod cuts;
mod nonnegative_pca;
mod pca;
mod quadratic;
mod regression;
mod sparse_pca;

pub use cuts::{Cut, edge_row};
pub use nonnegative_pca::nonnegative_pca;
pub use pca::{PrivatePca, pca, subspace_distance};
pub use quadratic::{best_projection, directional_variance, projection_cost, spectral_distance};
pub use regression::{Ridge, regression};
pub use sparse_pca::sparse_pca;

use crate::error::{Error, Result};
use faer::{Mat, MatRef};

/// Refuses anything but a finite square matrix.
fn check_square(c: MatRef<'_, f64>) -> Result<usize> {
    let d = c.nrows();
    if d == 0 || c.ncols() != d {
        return Err(Error::shape("matrix", format!("{d} x {}", c.ncols()), "d x d, d >= 1"));
    }
    let finite = (0..d).all(|j| (0..d).all(|i| c[(i, j)].is_finite()));
    if finite { Ok(d) } else { Err(Error::NotFinite { what: "the matrix" }) }
}

/// `C x`.
fn times(c: MatRef<'_, f64>, x: &[f64]) -> Vec<f64> {
    (0..c.nrows()).map(|i| (0..c.ncols()).map(|j| c[(i, j)] * x[j]).sum()).collect()
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// A shift `t` such that `C + t I` is positive semidefinite (Gershgorin).
fn semidefinite_shift(c: MatRef<'_, f64>) -> f64 {
    let d = c.nrows();
    (0..d)
        .map(|i| (0..d).filter(|j| *j != i).map(|j| c[(i, j)].abs()).sum::<f64>() - c[(i, i)])
        .fold(0.0, f64::max)
}

/// Power iteration `x <- shape(C x) / |shape(C x)|` from several starts; the best by
/// `x^T C x`.
fn projected_power(
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
        let value = quadratic::form(c, &x);
        if value > best.0 {
            best = (value, x);
        }
    }
    best.1
}

/// Columns as a matrix.
fn from_columns(dim: usize, columns: &[Vec<f64>]) -> Mat<f64> {
    Mat::from_fn(dim, columns.len(), |i, j| columns[j][i])
}
