//! Non-negative principal components.

use super::sparse_pca::{scatter, starts};
use super::square::{check_square, from_columns, projected_power};
use crate::error::{Error, Result};
use faer::{Mat, MatRef};

/// Entries below this share of a component's largest are set to zero.
const NEGLIGIBLE: f64 = 1e-9;

/// `k` non-negative components of `c` (d x d) as a d x k matrix with orthonormal columns
/// (non-negative orthogonal vectors have disjoint supports).
///
/// Projected power iteration `x <- max(C x, 0) / |.|` from the unit vectors with the
/// largest diagonal entries and the uniform vector; later components use the variables that are
/// left. A component's weakest variables are left to later components only when they are negligible,
/// so fewer than `k` may be found: the result then has fewer columns.
///
/// # Errors
/// [`Error::Core`] unless `1 <= k <= d`.
pub fn nonnegative_pca(c: MatRef<'_, f64>, k: usize) -> Result<Mat<f64>> {
    let d = check_square(c)?;
    if k == 0 || k > d {
        return Err(Error::invalid("components", k, format!("[1, {d}]")));
    }
    let mut free: Vec<usize> = (0..d).collect();
    let mut columns = Vec::with_capacity(k);
    while columns.len() < k && !free.is_empty() {
        let n = free.len();
        let reduced = Mat::from_fn(n, n, |i, j| c[(free[i], free[j])]);
        let mut seeds =
            starts(reduced.as_ref(), |j| (0..n).map(|i| f64::from(u8::from(i == j))).collect());
        seeds.push(vec![1.0 / (n as f64).sqrt(); n]);
        let clip = |x: &mut [f64]| {
            let largest = x.iter().copied().fold(0.0, f64::max);
            x.iter_mut().filter(|v| **v <= NEGLIGIBLE * largest).for_each(|v| *v = 0.0);
        };
        let x = projected_power(reduced.as_ref(), &seeds, 500, clip);
        columns.push(scatter(d, &free, &x));
        let used: Vec<usize> = (0..n).filter(|i| x[*i] != 0.0).map(|i| free[i]).collect();
        free.retain(|v| !used.contains(v));
    }
    Ok(from_columns(d, &columns))
}

#[cfg(test)]
mod tests {
    use super::super::square::form;
    use super::*;

    #[test]
    fn beats_clipping_the_unconstrained_component() {
        // Two opposed groups: the unconstrained component has both signs.
        let d = 8;
        let side = |i: usize| if i < 5 { 1.0 } else { -1.0 };
        let c = Mat::from_fn(d, d, |i, j| side(i) * side(j) + if i == j { 0.1 } else { 0.0 });
        let v = nonnegative_pca(c.as_ref(), 2).expect("valid");
        assert_eq!(v.ncols(), 2);
        for j in 0..2 {
            assert!((0..d).all(|i| v[(i, j)] >= 0.0));
        }
        let value = |j: usize| {
            let x: Vec<f64> = (0..d).map(|i| v[(i, j)]).collect();
            form(c.as_ref(), &x)
        };
        // The best non-negative vectors are the groups themselves: 5 + 0.1 and 3 + 0.1.
        assert!((value(0) - 5.1).abs() < 1e-9, "{}", value(0));
        assert!((value(1) - 3.1).abs() < 1e-9, "{}", value(1));
    }
}
