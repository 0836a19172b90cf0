//! What is published, and what may be read from it.

use super::step::{NewtonStep, near};
use super::system::{Path, System};
use crate::analysis::{checked, upper_quantile};
use crate::covariance::PrivateCovariance;
use crate::error::{Error, Result};
use dp_core::{NoiseScale, Probability};

/// What [`super::PrivateNewton`] publishes: all that its guarantee is about, but for the noisy counts.
///
/// Coefficients and intervals follow from the released matrix, the gradients and the clips; readers of files compute
/// the coefficients again.
#[derive(Debug, Clone, PartialEq)]
pub struct NewtonRegression {
    features: usize,
    constant: Option<f64>,
    coefficients: Vec<f64>,
    steps: Vec<NewtonStep>,
    gram: PrivateCovariance,
    sigma: NoiseScale,
}

impl NewtonRegression {
    /// The coefficients that steps under gradients of noise `sigma` lead to.
    pub(super) fn of(
        (features, constant): (usize, Option<f64>),
        steps: Vec<NewtonStep>,
        gram: PrivateCovariance,
        sigma: NoiseScale,
    ) -> Result<Self> {
        let coefficients = Path::new(&System::of(&gram)?, &steps, sigma).refined();
        Ok(Self { features, constant, coefficients, steps, gram, sigma })
    }

    /// A coefficient for each feature: those of the last step, moved once more by all gradients.
    #[must_use]
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients[..self.features]
    }

    /// The intercept, where one was asked for.
    #[must_use]
    pub fn intercept(&self) -> Option<f64> {
        Some(self.constant? * self.coefficients.last()?)
    }

    /// An interval for each coefficient.
    ///
    /// **What is estimated**: the coefficients that the same steps come to without the noise in their gradients, on the
    /// rows that entered and with the released matrix, ridges, clips and weights. In directions whose second moments
    /// stand out these are the coefficients of Huber's regression; elsewhere the ridges hold them between zero and
    /// those, and an interval says nothing of how far that is, nor of what the noise of the matrix did.
    ///
    /// First order in the noise, not proven: at .05 each coefficient was covered in at least 93 of 100 releases in five settings, but
    /// in as few as 69 with a constant feature beside an intercept, collinear features or clipped targets (`docs/proofs/private-newton.md`).
    ///
    /// # Errors
    /// `failure` outside (0, 1); [`Error::Numerical`].
    pub fn ranges(&self, failure: Probability) -> Result<Vec<(f64, f64)>> {
        let mut all = self.all_ranges(failure)?;
        all.truncate(self.features);
        Ok(all)
    }

    /// An interval for the intercept, as [`NewtonRegression::ranges`].
    ///
    /// # Errors
    /// As [`NewtonRegression::ranges`].
    pub fn intercept_range(&self, failure: Probability) -> Result<Option<(f64, f64)>> {
        let last = self.all_ranges(failure)?.pop();
        Ok(self.constant.zip(last).map(|(c, (low, high))| (c * low, c * high)))
    }

    fn all_ranges(&self, failure: Probability) -> Result<Vec<(f64, f64)>> {
        let z = upper_quantile(0.5 * checked(failure)?);
        let system = System::of(&self.gram)?;
        let errors = Path::new(&system, &self.steps, self.sigma).errors();
        Ok(self.coefficients.iter().zip(errors).map(|(x, e)| (x - z * e, x + z * e)).collect())
    }

    /// All steps, in their order.
    #[must_use]
    pub fn steps(&self) -> &[NewtonStep] {
        &self.steps
    }

    /// The released second moments of the features; last those with the constant, where there is one.
    #[must_use]
    pub fn gram(&self) -> &PrivateCovariance {
        &self.gram
    }

    pub(super) fn shape(&self) -> (usize, Option<f64>) {
        (self.features, self.constant)
    }

    pub(super) fn sigma(&self) -> NoiseScale {
        self.sigma
    }

    /// The coefficients, and last the intercept where there is one.
    pub(crate) fn with_intercept(&self) -> Vec<f64> {
        self.coefficients().iter().copied().chain(self.intercept()).collect()
    }

    /// All coefficients, that of the constant among them.
    pub(super) fn raw(&self) -> &[f64] {
        &self.coefficients
    }

    /// This with the coefficients that a file states, where they and those of the steps follow from the rest.
    pub(super) fn stating(self, coefficients: Vec<f64>) -> Result<Self> {
        let system = System::of(&self.gram)?;
        let followed = Path::new(&system, &self.steps, self.sigma).is_followed();
        let room = system.room();
        if !followed || !near(&self.coefficients, &coefficients, room) {
            let reason = "coefficients that do not follow from the matrix and the gradients";
            return Err(Error::rejected("payload", reason));
        }
        Ok(Self { coefficients, ..self })
    }
}
