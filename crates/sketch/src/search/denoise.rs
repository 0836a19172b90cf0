//! Denoising of a release before it ranks, from the release alone.

use crate::error::{Error, Result};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};

/// Rows of `dim` numbers, each with independent noise of this variance a number, with every direction weighted by the share of its
/// second moment that the noise does not explain: `max(0, lambda - v) / lambda`, lambda the eigenvalues of the mean of
/// `row^T row`. A function of the release: it costs no budget, and its numbers are no longer unbiased.
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
    let weight = |i: usize| match lambda[i] {
        l if l > variance => (l - variance) / l,
        _ => 0.0,
    };
    let scaled = Mat::from_fn(dim, dim, |i, j| eigen.U()[(i, j)] * weight(j));
    let mut filter = Mat::<f64>::zeros(dim, dim);
    matmul(filter.as_mut(), Accum::Replace, scaled.as_ref(), eigen.U().transpose(), 1.0, Par::Seq);
    let mut out = vec![0.0; values.len()];
    let left = MatMut::from_row_major_slice_mut(&mut out, n, dim);
    matmul(left, Accum::Replace, rows, filter.as_ref(), 1.0, Par::rayon(0));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_keep_the_share_that_noise_does_not_explain() {
        // Second moments 9 along (3, 4)/5 and 1 across.
        let (a, b) = ([1.8, 2.4], [-0.8, 0.6]);
        let root = 2f64.sqrt();
        let rows = [a[0] * root, a[1] * root, b[0] * root, b[1] * root];
        let found = denoised(&rows, 2, 0.9).unwrap();
        for (i, (x, share)) in rows.iter().zip([0.9, 0.9, 0.1, 0.1]).enumerate() {
            assert!((found[i] - share * x).abs() < 1e-12, "{found:?}");
        }
        let found = denoised(&rows, 2, 2.0).unwrap();
        assert!(found[2].abs() < 1e-12 && (found[0] - rows[0] * 7.0 / 9.0).abs() < 1e-12);
        assert!(denoised(&[1e200, 1.0], 2, 1.0).is_err());
        assert!(denoised(&[], 2, 1.0).unwrap().is_empty());
    }
}
