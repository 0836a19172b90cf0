//! Rows from their noisy group sums, by what is publicly known of rows.

use super::sketch::PrivateSketch;
use crate::error::{Error, Result};
use crate::projection::{Family, Groups, PublicMoments, not_positive};
use faer::linalg::matmul::matmul;
use faer::linalg::solvers::Solve;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};

/// The posterior mean of rows, given their noisy group sums and public moments of rows:
/// `mu + S W (W^T S W + v I)^-1 (y - W^T mu)`. A function of the release and of public facts: it costs no budget.
///
/// It is the best linear guess of a row, exact in mean square if mean and covariance are the rows' own, and pulled
/// to the mean by the noise: a score to rank by, no unbiased estimate.
///
/// # References
/// `docs/proofs/signed-groups.md`.
#[derive(Debug, Clone)]
pub struct Posterior<'a> {
    moments: &'a PublicMoments,
    groups: Groups,
    /// `S W`.
    product: Mat<f64>,
    /// `W^T mu`.
    centre: Vec<f64>,
}

impl<'a> Posterior<'a> {
    /// For releases of these groups.
    ///
    /// # Errors
    /// [`Error::Shape`] for moments of another number of attributes.
    pub fn new(groups: Groups, moments: &'a PublicMoments) -> Result<Self> {
        if moments.d() != groups.d() {
            let (expected, found) = (groups.d(), moments.d());
            return Err(Error::Shape { what: "attributes of the moments", expected, found });
        }
        let mut centre = vec![0.0; groups.k()];
        for (&g, mean) in groups.signed().iter().zip(moments.mean()) {
            centre[g.unsigned_abs() as usize - 1] += f64::from(g.signum()) * mean;
        }
        Ok(Self { moments, groups, product: moments.times(groups), centre })
    }

    /// The rows of a release (n x d), or of exact queries, whose noise is zero.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a release of other groups; [`Error::Undefined`] for moments that are none, or numbers
    /// beyond double precision.
    pub fn rows(&self, sketch: &PrivateSketch) -> Result<Vec<f64>> {
        if sketch.projection().family() != (Family::Grouped { groups: self.groups }) {
            return Err(Error::Incompatible {
                what: "projections (fingerprint)",
                left: self.groups.spec().fingerprint(),
                right: sketch.projection().fingerprint(),
            });
        }
        self.of_sums(sketch.values(), sketch.noise_variance())
    }

    /// As [`Posterior::rows`], from group sums (n x k) with noise of this variance.
    pub(crate) fn of_sums(&self, sums: &[f64], variance: f64) -> Result<Vec<f64>> {
        let mut out = self.centred(sums, variance)?;
        for row in out.chunks_exact_mut(self.groups.d()) {
            row.iter_mut().zip(self.moments.mean()).for_each(|(x, m)| *x += m);
        }
        Ok(out)
    }

    /// As [`Posterior::of_sums`], less the mean.
    pub(crate) fn centred(&self, sums: &[f64], variance: f64) -> Result<Vec<f64>> {
        let (d, k) = (self.groups.d(), self.groups.k());
        let n = sums.len() / k;
        let seen = PublicMoments::seen(self.groups, &self.product, variance);
        let seen = seen.llt(Side::Lower).map_err(|_| not_positive())?;
        let gain = seen.solve(self.product.transpose());
        let mut centred = sums.to_vec();
        for row in centred.chunks_exact_mut(k) {
            row.iter_mut().zip(&self.centre).for_each(|(y, c)| *y -= c);
        }
        let mut out = vec![0.0; n * d];
        let left = MatRef::from_row_major_slice(&centred, n, k);
        let target = MatMut::from_row_major_slice_mut(&mut out, n, d);
        matmul(target, Accum::Replace, left, gain.as_ref(), 1.0, Par::rayon(0));
        if out.iter().all(|x| x.is_finite()) {
            return Ok(out);
        }
        let reason = "numbers leave the range of double precision; scale the data";
        Err(Error::Undefined { what: "posterior mean", reason })
    }
}
