//! Sequential dense factorisations, each with its residual checked.
//!
//! faer's parallel kernels differ in their last bits from the sequential ones, so
//! everything that ends in a release runs with one thread or in fixed blocks.

use crate::error::{Error, Result};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::{cholesky::llt, evd, householder, matmul, qr, svd};
use faer::{Accum, Conj, Mat, MatMut, MatRef, Par, Spec};

/// Largest residual allowed, in units of the machine epsilon times the size.
const RESIDUAL: f64 = 200.0;

/// `||Q^T Q - I||_F` of a basis from [`orthonormal_basis`] is at most this times m.
pub(crate) const ORTHONORMAL: f64 = RESIDUAL * f64::EPSILON;

/// `out <- out + left right` (or `=` with [`Accum::Replace`]), one thread.
pub(crate) fn product_into(
    out: MatMut<'_, f64>,
    accum: Accum,
    left: MatRef<'_, f64>,
    right: MatRef<'_, f64>,
) {
    matmul::matmul(out, accum, left, right, 1.0, Par::Seq);
}

/// The upper triangle of `out + rows^T rows` (or of `rows^T rows` with [`Accum::Replace`]), one thread; what is below
/// stays.
pub(crate) fn gram_into(out: MatMut<'_, f64>, accum: Accum, rows: MatRef<'_, f64>) {
    let (upper, whole) = (BlockStructure::TriangularUpper, BlockStructure::Rectangular);
    let columns = rows.transpose();
    triangular::matmul(out, upper, accum, columns, whole, rows, whole, 1.0, Par::Seq);
}

/// Copies what is below the diagonal of a d x d matrix, row-major, to above it: in tiles, so that neither side
/// leaves the cache.
pub(crate) fn mirror_lower(matrix: &mut [f64], d: usize) {
    const TILE: usize = 16;
    for top in (0..d).step_by(TILE) {
        let bottom = d.min(top + TILE);
        for left in (0..bottom).step_by(TILE) {
            for i in top..bottom {
                for j in left..i.min(left + TILE) {
                    matrix[j * d + i] = matrix[i * d + j];
                }
            }
        }
    }
}

/// `left right`, in one thread: the same bits everywhere.
///
/// # Panics
/// When the shapes do not fit.
#[must_use]
pub fn product(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(left.nrows(), right.ncols());
    product_into(out.as_mut(), Accum::Replace, left, right);
    out
}

/// Singular value decomposition `U diag(s) V^T` with `s` falling.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ThinSvd {
    /// Left singular vectors, m x min(m, n).
    pub u: Mat<f64>,
    /// Singular values, falling.
    pub s: Vec<f64>,
    /// Right singular vectors, n x min(m, n).
    pub v: Mat<f64>,
}

/// The thin singular value decomposition.
///
/// # Errors
/// [`Error::NotFinite`] for NaN or infinity; [`Error::Numerical`] when the iteration
/// fails or `||A - U S V^T||_F` exceeds rounding.
pub fn thin_svd(a: MatRef<'_, f64>) -> Result<ThinSvd> {
    let what = "singular value decomposition";
    all_finite(a, what)?;
    let (m, n) = a.shape();
    first_reliable(|threshold| {
        let mut params: Spec<svd::SvdParams, f64> = Spec::default();
        params.recursion_threshold = threshold.unwrap_or(params.recursion_threshold);
        let size = m.min(n);
        let (mut u, mut v, mut s) = (Mat::zeros(m, size), Mat::zeros(n, size), Diag::zeros(size));
        let thin = svd::ComputeSvdVectors::Thin;
        let scratch = svd::svd_scratch::<f64>(m, n, thin, thin, Par::Seq, params);
        svd::svd(
            a,
            s.as_mut(),
            Some(u.as_mut()),
            Some(v.as_mut()),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
            params,
        )
        .map_err(|e| Error::Numerical { what, reason: format!("{e:?}") })?;
        let s: Vec<f64> = s.column_vector().iter().copied().collect();
        let scaled = Mat::from_fn(m, size, |i, j| u[(i, j)] * s[j]);
        let mut residual = a.to_owned();
        matmul::matmul(&mut residual, Accum::Add, &scaled, v.transpose(), -1.0, Par::Seq);
        check(what, residual.norm_l2(), a.norm_l2(), m.max(n))?;
        Ok(ThinSvd { u, s, v })
    })
}

/// Runs a decomposition by divide and conquer, and by plain QR iteration when that
/// leaves too large a residual: faer 0.24 does on some matrices of exactly low rank.
fn first_reliable<T>(mut decompose: impl FnMut(Option<usize>) -> Result<T>) -> Result<T> {
    decompose(None).or_else(|_| decompose(Some(usize::MAX)))
}

/// Eigendecomposition `V diag(values) V^T` of a symmetric matrix, values falling.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SymmetricEigen {
    /// Eigenvalues, falling.
    pub values: Vec<f64>,
    /// Eigenvectors as columns, in the same order.
    pub vectors: Mat<f64>,
}

/// The eigendecomposition of a symmetric matrix (its lower triangle is read).
///
/// # Errors
/// As [`thin_svd`].
pub fn symmetric_eigen(a: MatRef<'_, f64>) -> Result<SymmetricEigen> {
    let what = "symmetric eigendecomposition";
    all_finite(a, what)?;
    let d = a.nrows();
    if a.ncols() != d {
        return Err(Error::shape("symmetric matrix", format!("{d} x {}", a.ncols()), "d x d"));
    }
    first_reliable(|threshold| {
        let mut params: Spec<evd::SelfAdjointEvdParams, f64> = Spec::default();
        params.recursion_threshold = threshold.unwrap_or(params.recursion_threshold);
        let (mut u, mut s) = (Mat::zeros(d, d), Diag::zeros(d));
        let vectors = evd::ComputeEigenvectors::Yes;
        let scratch = evd::self_adjoint_evd_scratch::<f64>(d, vectors, Par::Seq, params);
        evd::self_adjoint_evd(
            a,
            s.as_mut(),
            Some(u.as_mut()),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
            params,
        )
        .map_err(|e| Error::Numerical { what, reason: format!("{e:?}") })?;
        let values: Vec<f64> = s.column_vector().iter().copied().collect();
        let scaled = Mat::from_fn(d, d, |i, j| u[(i, j)] * values[j]);
        let mut residual = product(a, u.as_ref());
        residual -= &scaled;
        check(what, residual.norm_l2(), a.norm_l2(), d)?;
        Ok(SymmetricEigen {
            values: values.iter().rev().copied().collect(),
            vectors: u.reverse_cols().to_owned(),
        })
    })
}

/// An orthonormal basis `Q` (m x k) with the range of `y` (m x k, m >= k), by Householder QR.
///
/// # Errors
/// As [`thin_svd`]; also when `m < k`.
pub fn orthonormal_basis(y: MatRef<'_, f64>) -> Result<Mat<f64>> {
    let what = "QR factorisation";
    all_finite(y, what)?;
    let (m, k) = y.shape();
    if m < k {
        return Err(Error::shape("matrix to orthonormalise", format!("{m} x {k}"), "m >= k"));
    }
    let block = qr::no_pivoting::factor::recommended_block_size::<f64>(m, k);
    let (mut basis, mut coeff) = (y.to_owned(), Mat::zeros(block, k));
    let scratch = qr::no_pivoting::factor::qr_in_place_scratch::<f64>(
        m,
        k,
        block,
        Par::Seq,
        Default::default(),
    );
    qr::no_pivoting::factor::qr_in_place(
        basis.as_mut(),
        coeff.as_mut(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    );
    let mut q = Mat::identity(m, k);
    let scratch = householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(
        m, block, k,
    );
    householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
        basis.as_ref(),
        coeff.as_ref(),
        Conj::No,
        q.as_mut(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
    );
    let mut residual = y.to_owned();
    let coordinates = product(q.transpose(), y);
    matmul::matmul(&mut residual, Accum::Add, &q, &coordinates, -1.0, Par::Seq);
    check(what, residual.norm_l2(), y.norm_l2(), m)?;
    let mut gram = product(q.transpose(), q.as_ref());
    gram -= Mat::<f64>::identity(k, k);
    check("orthonormality", gram.norm_l2(), 1.0, m)?;
    Ok(q)
}

/// Solves `a x = b` for a symmetric positive definite `a` by Cholesky factorisation.
///
/// # Errors
/// [`Error::NotFinite`]; [`Error::Numerical`] when `a` is not positive definite or the residual
/// exceeds rounding.
pub(crate) fn solve_definite(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Result<Mat<f64>> {
    let what = "Cholesky solution";
    all_finite(a, what)?;
    all_finite(b, what)?;
    let d = a.nrows();
    if a.ncols() != d || b.nrows() != d {
        let found = format!("{d} x {} and {} rows", a.ncols(), b.nrows());
        return Err(Error::shape("linear system", found, "d x d and d rows"));
    }
    let mut factor = a.to_owned();
    let scratch = llt::factor::cholesky_in_place_scratch::<f64>(d, Par::Seq, Default::default());
    llt::factor::cholesky_in_place(
        factor.as_mut(),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| Error::Numerical { what, reason: "the matrix is not positive definite".into() })?;
    let mut x = b.to_owned();
    let scratch = llt::solve::solve_in_place_scratch::<f64>(d, b.ncols(), Par::Seq);
    llt::solve::solve_in_place(
        factor.as_ref(),
        x.as_mut(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
    );
    let mut residual = b.to_owned();
    matmul::matmul(&mut residual, Accum::Add, a, &x, -1.0, Par::Seq);
    check(what, residual.norm_l2(), a.norm_l2() * x.norm_l2() + b.norm_l2(), d)?;
    Ok(x)
}

/// Refuses NaN and infinity.
pub(crate) fn all_finite(a: MatRef<'_, f64>, what: &'static str) -> Result<()> {
    if a.is_all_finite() { Ok(()) } else { Err(Error::NotFinite { what }) }
}

fn check(what: &'static str, residual: f64, norm: f64, size: usize) -> Result<()> {
    let allowed = RESIDUAL * f64::EPSILON * norm.max(f64::MIN_POSITIVE) * (size as f64).max(1.0);
    if residual <= allowed {
        Ok(())
    } else {
        Err(Error::Numerical { what, reason: format!("its residual is above {allowed:e}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(m: usize, n: usize) -> Mat<f64> {
        Mat::from_fn(m, n, |i, j| ((i * 37 + j * 91 + i * j * 13) % 101) as f64 / 50.0 - 1.0)
    }

    #[test]
    fn factorisations_agree_on_the_spectrum() {
        let a = sample(30, 12);
        let svd = thin_svd(a.as_ref()).unwrap();
        let gram = product(a.transpose(), a.as_ref());
        let eigen = symmetric_eigen(gram.as_ref()).unwrap();
        for (s, l) in svd.s.iter().zip(&eigen.values) {
            assert!((s * s - l).abs() < 1e-11 * eigen.values[0]);
        }
        assert!(svd.s.windows(2).all(|w| w[0] >= w[1]));
        let q = orthonormal_basis(a.as_ref()).unwrap();
        assert_eq!(q.shape(), (30, 12));
    }

    #[test]
    fn degenerate_shapes_and_values() {
        for (m, n) in [(1, 1), (5, 1), (1, 5), (0, 3), (3, 0)] {
            let svd = thin_svd(sample(m, n).as_ref()).unwrap();
            assert_eq!(svd.s.len(), m.min(n));
        }
        let rank_one = Mat::from_fn(9, 4, |i, _| i as f64);
        let q = orthonormal_basis(rank_one.as_ref()).unwrap();
        assert_eq!(q.ncols(), 4);
        let mut bad = sample(4, 4);
        bad[(1, 2)] = f64::NAN;
        assert!(matches!(thin_svd(bad.as_ref()), Err(Error::NotFinite { .. })));
        assert!(matches!(orthonormal_basis(sample(2, 3).as_ref()), Err(Error::Shape { .. })));
    }
}
