//! Coherence of a matrix and of a subspace.
//!
//! These read the data: they are for analysis and experiments, not for release. Of a
//! public basis (a released W) they are public.

use crate::dense;
use crate::error::{Error, Result};
use crate::products;
use faer::MatRef;
use sketch::rows::RowsView;

/// The least C for which A is C-coherent: `sqrt m max_i ||A_i|| / ||A||_F`, in `[1, sqrt m]`.
///
/// # Errors
/// [`Error::Core`] for a zero matrix, whose coherence is not defined.
///
/// # References
/// Hardt & Roth 2012, Definition 5.1.
pub fn c_coherence(a: &RowsView<'_>) -> Result<f64> {
    let norms = products::row_norms(a);
    let total = norms.iter().map(|x| x * x).sum::<f64>().sqrt();
    if total == 0.0 {
        return Err(Error::invalid("matrix", "all zeros", "matrices with a nonzero entry"));
    }
    let largest = norms.iter().fold(0.0f64, |m, &x| m.max(x));
    Ok((a.n() as f64).sqrt() * largest / total)
}

/// `mu0(U) = (m / r) max_j ||U_j||^2` of an orthonormal basis U, m x r: in `[1, m / r]`.
///
/// # References
/// Hardt & Roth 2012, Definition 5.5.
#[must_use]
pub(crate) fn mu0_of_basis(u: MatRef<'_, f64>) -> f64 {
    let h = largest_row_norm(u);
    u.nrows() as f64 / u.ncols() as f64 * h * h
}

/// mu0 of the span of the leading `rank` left singular vectors of A, exactly (a dense
/// eigendecomposition of size m).
///
/// # Errors
/// `rank` outside `[1, min(m, n)]`; [`Error::Numerical`].
pub fn mu0_exact(a: &RowsView<'_>, rank: usize) -> Result<f64> {
    check_rank(a, rank)?;
    let gram = products::row_gram(a);
    let eigen = dense::symmetric_eigen(gram.as_ref())?;
    Ok(mu0_of_basis(eigen.vectors.get(.., ..rank)))
}

/// mu0 of the leading left singular space estimated from a sketch `Y = A Omega` (m x k,
/// k >= rank): of the leading left singular vectors of Y.
///
/// # Errors
/// `rank` outside `[1, k]`; [`Error::Numerical`].
pub fn mu0_from_sketch(sketch: MatRef<'_, f64>, rank: usize) -> Result<f64> {
    let (m, k) = sketch.shape();
    if rank == 0 || rank > k.min(m) {
        return Err(Error::invalid("rank", rank, format!("[1, {}]", k.min(m))));
    }
    let svd = dense::thin_svd(sketch)?;
    Ok(mu0_of_basis(svd.u.get(.., ..rank)))
}

/// The largest l2 norm of a row.
#[must_use]
pub(crate) fn largest_row_norm(w: MatRef<'_, f64>) -> f64 {
    w.row_iter().map(|r| r.iter().map(|x| x * x).sum::<f64>()).fold(0.0f64, f64::max).sqrt()
}

/// Refuses a rank that no matrix of this size has.
pub(super) fn check_rank(a: &RowsView<'_>, rank: usize) -> Result<()> {
    let largest = a.n().min(a.d());
    if rank == 0 || rank > largest {
        return Err(Error::invalid("rank", rank, format!("[1, {largest}]")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_row_counts() {
        let unit = faer::Mat::<f64>::identity(3, 3);
        assert_eq!(largest_row_norm(unit.as_ref()), 1.0);
        let rows = faer::Mat::from_fn(2, 2, |i, j| [[0.6, 0.0], [3.0, -4.0]][i][j]);
        assert_eq!(largest_row_norm(rows.as_ref()), 5.0);
    }
}
