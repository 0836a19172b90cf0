//! The Loewner order, decided by Cholesky factorisation.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::{Mat, MatRef, Par};

/// Relative tolerance of [`Loewner::new`]: the order is decided up to this fraction
/// of the larger matrix's largest diagonal entry.
pub(super) const DEFAULT_TOLERANCE: f64 = 1e-11;

/// Decides `scale A <= B` for symmetric matrices of one size, reusing its buffers.
///
/// `A <= B` means that `B - A` is positive semidefinite. The test factorises
/// `B - scale A + tau m I`, where `m` is the largest diagonal entry of `B` and `tau`
/// the tolerance: a "yes" may be wrong by `tau m` in the least eigenvalue, a "no"
/// only by the rounding of one Cholesky factorisation. Runs sequentially, so its
/// answers do not depend on the number of threads. Cost: `d^3/3` multiplications.
#[derive(Debug)]
pub(crate) struct Loewner {
    difference: Mat<f64>,
    tolerance: f64,
}

impl Loewner {
    /// A test for `dim` by `dim` matrices with the default tolerance.
    #[must_use]
    pub(crate) fn new(dim: usize) -> Self {
        Self::with_tolerance(dim, DEFAULT_TOLERANCE)
    }

    /// A test with a tolerance of the caller's choice.
    #[must_use]
    pub(crate) fn with_tolerance(dim: usize, tolerance: f64) -> Self {
        Self { difference: Mat::zeros(dim, dim), tolerance }
    }

    /// Whether `scale A <= B`.
    pub(crate) fn precedes(&mut self, scale: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> bool {
        let d = b.nrows();
        let largest = (0..d).map(|i| b[(i, i)].abs()).fold(0.0, f64::max);
        let lift = self.tolerance * largest;
        for j in 0..d {
            for i in j..d {
                self.difference[(i, j)] = b[(i, j)] - scale * a[(i, j)];
            }
            self.difference[(j, j)] += lift;
        }
        if largest == 0.0 {
            // B = 0 when B is positive semidefinite: then scale A <= 0 only for A = 0.
            return (0..d).all(|j| (j..d).all(|i| self.difference[(i, j)] == 0.0));
        }
        let request = cholesky_in_place_scratch::<f64>(d, Par::Seq, Default::default());
        let mut memory = MemBuffer::new(request);
        cholesky_in_place(
            self.difference.as_mut(),
            LltRegularization::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            Default::default(),
        )
        .is_ok()
    }
}
