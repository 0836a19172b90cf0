//! Principal components of a private covariance.

use crate::covariance::PrivateCovariance;
use crate::dense;
use crate::error::{Error, Result};
use dp_core::{Probability, Release};
use faer::{Mat, MatRef};

/// Principal directions read from a private covariance (uncentred: of `A^T A`).
#[derive(Debug, Clone)]
pub struct PrivatePca {
    directions: Mat<f64>,
    explained: Vec<f64>,
    next: Option<f64>,
    total: f64,
    covariance: PrivateCovariance,
}

/// The top k principal directions of a released covariance, as post-processing.
///
/// # Errors
/// `k` outside `[1, d]`; [`Error::Numerical`] when the eigendecomposition fails.
pub fn pca(release: &Release<PrivateCovariance>, k: usize) -> Result<Release<PrivatePca>> {
    let covariance = release.payload();
    let d = covariance.dim();
    if k == 0 || k > d {
        return Err(Error::invalid("components k", k, format!("[1, {d}]")));
    }
    let estimate = covariance.unbiased();
    let eigen = dense::symmetric_eigen(estimate.as_ref())?;
    let payload = PrivatePca {
        directions: eigen.vectors.get(.., ..k).to_owned(),
        explained: eigen.values[..k].to_vec(),
        next: eigen.values.get(k).copied(),
        total: (0..d).map(|i| estimate[(i, i)]).sum(),
        covariance: covariance.clone(),
    };
    Ok(Release::certified(payload, release.certificate().clone()))
}

impl PrivatePca {
    /// Orthonormal directions, d x k, the strongest first.
    #[must_use]
    pub fn directions(&self) -> MatRef<'_, f64> {
        self.directions.as_ref()
    }

    /// The projection `V V^T` on the directions, d x d.
    #[must_use]
    pub fn projector(&self) -> Mat<f64> {
        dense::product(self.directions.as_ref(), self.directions.transpose())
    }

    /// Estimated `||A v||^2` of each direction (the released eigenvalues; may be negative).
    #[must_use]
    pub fn explained(&self) -> &[f64] {
        &self.explained
    }

    /// Estimated `||A||_F^2`.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.total
    }

    /// z such that every explained value is within z of the matching eigenvalue of
    /// `A^T A`, except with probability `failure` (Weyl's inequality).
    ///
    /// # Errors
    /// As [`PrivateCovariance::spectral_error`].
    pub fn explained_error(&self, failure: Probability) -> Result<f64> {
        self.covariance.spectral_error(failure)
    }

    /// A bound on the sine of the largest angle to the true top-k space, from the release
    /// alone, except with probability `failure`; 1 when the release shows no gap.
    ///
    /// Davis and Kahan's sine theorem: `||E|| / (lambda'_k - lambda_(k+1))`, where the unknown
    /// `lambda_(k+1)` is at most `lambda'_(k+1) + ||E||`.
    ///
    /// # Errors
    /// As [`PrivateCovariance::spectral_error`].
    pub fn subspace_error(&self, failure: Probability) -> Result<f64> {
        let Some(next) = self.next else { return Ok(0.0) };
        let z = self.covariance.spectral_error(failure)?;
        let gap = self.explained[self.explained.len() - 1] - next - z;
        Ok(if gap > z { z / gap } else { 1.0 })
    }
}

/// `||U U^T - V V^T||_F / sqrt 2` of two orthonormal bases of equal size: the root of
/// the sum of the squared sines of the principal angles.
///
/// # Errors
/// [`Error::Shape`] when the shapes differ.
pub fn subspace_distance(u: MatRef<'_, f64>, v: MatRef<'_, f64>) -> Result<f64> {
    if u.shape() != v.shape() {
        let show = |m: MatRef<'_, f64>| format!("{} x {}", m.nrows(), m.ncols());
        return Err(Error::shape("basis", show(v), show(u)));
    }
    // ||(I - U U^T) V||_F, without the cancellation of k - ||U^T V||_F^2.
    let mut rest = v.to_owned();
    rest -= dense::product(u, dense::product(u.transpose(), v).as_ref());
    Ok(rest.norm_l2())
}
