//! What a stream releases.

use crate::covariance::{CovarianceNoise, PrivateCovariance, jl_error_share};
use crate::dense;
use crate::error::Result;
use dp_core::Probability;
use serde::{Deserialize, Serialize};

/// The rows a release speaks of: `first_row .. end_row`, counted from zero. Under
/// [`super::Pace::Clock`] places are counted, `block` of them a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSpan {
    /// First row covered.
    pub first_row: u64,
    /// One past the last row covered.
    pub end_row: u64,
}

/// A private `A^T A` of the rows of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCovariance {
    span: WindowSpan,
    blocks: u64,
    covariance: PrivateCovariance,
}

impl WindowCovariance {
    pub(crate) fn new(span: WindowSpan, blocks: u64, covariance: PrivateCovariance) -> Self {
        Self { span, blocks, covariance }
    }

    /// The rows covered. Under a histogram it may begin before the window does.
    #[must_use]
    pub fn span(&self) -> WindowSpan {
        self.span
    }

    /// Blocks covered.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The matrix with its noise law: all that [`PrivateCovariance`] can do.
    #[must_use]
    pub fn covariance(&self) -> &PrivateCovariance {
        &self.covariance
    }

    /// Standard deviation of the noise in `x^T C x` for a unit vector `x` fixed beforehand.
    ///
    /// Symmetric Gaussian: `sigma`, exactly, for a set of blocks fixed beforehand (a histogram
    /// chooses the oldest by looking at noisy blocks). JL: an upper estimate, at the largest
    /// eigenvalue of what was released and widened as [`crate::covariance::JlSketch::directional`] does; the
    /// sum of sketches errs less.
    ///
    /// # Errors
    /// [`crate::Error::Numerical`] when the eigendecomposition fails.
    pub fn directional_sd(&self) -> Result<f64> {
        Ok(match self.covariance.noise() {
            CovarianceNoise::SymmetricGaussian { sigma } => sigma.get(),
            CovarianceNoise::Wishart { dof, scale } => scale.get() * (2.0 * dof as f64).sqrt(),
            CovarianceNoise::JlSketch { rows, .. } => {
                let top = dense::symmetric_eigen(self.covariance.raw())?.values[0].max(0.0);
                top * jl_error_share(rows)
            }
        })
    }

    /// `z` with `||unbiased - A^T A||_2 <= z` except with probability `failure`, for the rows
    /// covered, from the release alone. Proven for a set of blocks fixed beforehand; a histogram chooses the
    /// oldest block covered by looking at the noisy ones, and then it is an estimate.
    ///
    /// # Errors
    /// `failure` outside (0, 1).
    pub fn spectral_error(&self, failure: Probability) -> Result<f64> {
        let share = match self.covariance.noise() {
            // A sum of independent sketches: each block's relative bound must hold.
            CovarianceNoise::JlSketch { .. } => {
                Probability::new(failure.get() / self.blocks.max(1) as f64)?
            }
            _ => failure,
        };
        self.covariance.spectral_error(share)
    }
}
