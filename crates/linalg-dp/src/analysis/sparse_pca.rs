//! Sparse principal components by the truncated power method.

use super::square::{check_square, from_columns, norm, projected_power};
use crate::error::{Error, Result};
use faer::{Mat, MatRef};

/// Starts tried for each component: the columns with the largest diagonal entries.
const STARTS: usize = 8;
/// Iterations from each start.
const ITERATIONS: usize = 200;

/// `k` sparse components of `c` (d x d), each with at most `nonzeros` entries on
/// variables of its own, as a d x k matrix with orthonormal columns.
///
/// Truncated power method (Yuan & Zhang 2013): `x <- truncate(C x) / |.|`, from the
/// columns with the largest diagonal entries; later components use the variables that are
/// left, so that the columns are orthogonal. A heuristic for an NP-hard problem: it finds a
/// stationary point. A matrix that is not positive semidefinite (noise) is shifted, which
/// changes no maximiser.
///
/// # Errors
/// [`Error::Core`] unless `1 <= k`, `1 <= nonzeros` and `k * nonzeros <= d`.
pub fn sparse_pca(c: MatRef<'_, f64>, k: usize, nonzeros: usize) -> Result<Mat<f64>> {
    let d = check_square(c)?;
    if k == 0 || k > d {
        return Err(Error::invalid("components", k, format!("[1, {d}]")));
    }
    if nonzeros == 0 || nonzeros > d / k {
        return Err(Error::invalid("nonzeros", nonzeros, format!("[1, {}]", d / k)));
    }
    let mut free: Vec<usize> = (0..d).collect();
    let mut columns = Vec::with_capacity(k);
    for _ in 0..k {
        let reduced = Mat::from_fn(free.len(), free.len(), |i, j| c[(free[i], free[j])]);
        let x = leading(reduced.as_ref(), nonzeros);
        columns.push(scatter(d, &free, &x));
        let used: Vec<usize> = (0..free.len()).filter(|i| x[*i] != 0.0).map(|i| free[i]).collect();
        free.retain(|v| !used.contains(v));
    }
    Ok(from_columns(d, &columns))
}

/// Writes a vector on some variables into one on all of them.
pub(super) fn scatter(d: usize, variables: &[usize], x: &[f64]) -> Vec<f64> {
    let mut full = vec![0.0; d];
    for (variable, value) in variables.iter().zip(x) {
        full[*variable] = *value;
    }
    full
}

/// Unit vectors (or columns) at the largest diagonal entries.
pub(super) fn starts(c: MatRef<'_, f64>, column: impl Fn(usize) -> Vec<f64>) -> Vec<Vec<f64>> {
    let mut order: Vec<usize> = (0..c.nrows()).collect();
    order.sort_by(|a, b| c[(*b, *b)].total_cmp(&c[(*a, *a)]).then(a.cmp(b)));
    order.into_iter().take(STARTS).map(column).collect()
}

fn leading(c: MatRef<'_, f64>, nonzeros: usize) -> Vec<f64> {
    let d = c.nrows();
    let truncate = |x: &mut [f64]| {
        let mut order: Vec<usize> = (0..x.len()).collect();
        order.sort_by(|a, b| x[*b].abs().total_cmp(&x[*a].abs()).then(a.cmp(b)));
        order.into_iter().skip(nonzeros).for_each(|i| x[i] = 0.0);
    };
    let seeds = starts(c, |j| {
        let mut x: Vec<f64> = (0..d).map(|i| c[(i, j)]).collect();
        truncate(&mut x);
        let length = norm(&x);
        if length > 0.0 {
            x.iter_mut().for_each(|v| *v /= length);
        } else {
            x[j] = 1.0;
        }
        x
    });
    projected_power(c, &seeds, ITERATIONS, truncate)
}

#[cfg(test)]
mod tests {
    use super::super::square::form;
    use super::*;

    #[test]
    fn finds_planted_sparse_components() {
        let d = 30;
        let planted = [(0..4, 9.0), (10..14, 5.0)];
        let c = Mat::from_fn(d, d, |i, j| {
            let block: f64 = planted
                .iter()
                .filter(|(r, _)| r.contains(&i) && r.contains(&j))
                .map(|(_, v)| v / 4.0)
                .sum();
            block + if i == j { 0.5 } else { 0.05 * ((i * 7 + j * 7) as f64).sin() }
        });
        let v = sparse_pca(c.as_ref(), 2, 4).expect("valid");
        for (j, (range, value)) in planted.iter().enumerate() {
            let inside: f64 = range.clone().map(|i| v[(i, j)] * v[(i, j)]).sum();
            assert!((inside - 1.0).abs() < 1e-12, "component {j} sits elsewhere: {inside}");
            let column: Vec<f64> = (0..d).map(|i| v[(i, j)]).collect();
            let captured = form(c.as_ref(), &column);
            assert!(captured > *value, "{captured} of {value}");
        }
    }

    #[test]
    fn refuses_impossible_shapes() {
        let c = Mat::<f64>::identity(4, 4);
        for (k, s) in [(0, 1), (5, 1), (2, 3), (1, 0)] {
            let refused = sparse_pca(c.as_ref(), k, s);
            assert!(matches!(refused, Err(Error::Core(_))), "{k} {s}");
        }
    }
}
