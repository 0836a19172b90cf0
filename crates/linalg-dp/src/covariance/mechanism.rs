//! What every covariance mechanism can do.

use super::release::PrivateCovariance;
use crate::error::Result;
use dp_core::{Bound, Guarantee, NoiseRng, Release};

/// A calibrated mechanism that releases `A^T A`.
///
/// # Privacy
/// Each [`CovarianceMechanism::release`] (or opened and closed accumulator) spends the
/// guarantee once, for the rows it was given. Rows longer than the bound are scaled to
/// it; how many is not reported.
pub trait CovarianceMechanism: Send + Sync {
    /// Length d of a row.
    fn dim(&self) -> usize;

    /// What one release promises.
    fn guarantee(&self) -> &Guarantee;

    /// An accumulator for one release. Rows may come in any portions. Noise may be drawn here, while
    /// rows come, and at the end: the certificate names the weakest generator that drew.
    fn open(&self, rng: &mut NoiseRng) -> Box<dyn OpenCovariance>;

    /// Expected Frobenius norm of the error that [`PrivateCovariance::unbiased`] would
    /// have on data of total squared norm `trace` (data-independent mechanisms ignore it).
    fn expected_frobenius_error(&self, trace: Bound) -> f64;

    /// Releases the covariance of `rows` (row-major, n x d).
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::NotFinite`].
    fn release(&self, rows: &[f64], rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>> {
        let mut open = self.open(rng);
        open.push(rows)?;
        open.close(rng)
    }
}

/// Rows on their way to one release. Private: neither printable nor serialisable.
pub trait OpenCovariance: Send + Sync {
    /// Adds rows (row-major, any number).
    ///
    /// # Errors
    /// [`Error::Shape`] unless whole rows are given, [`Error::NotFinite`] for NaN or
    /// infinity; the rows of the call then count as not pushed.
    fn push(&mut self, rows: &[f64]) -> Result<()>;

    /// Adds the noise and publishes.
    ///
    /// # Errors
    /// [`Error::Core`] when the certificate cannot be written.
    fn close(self: Box<Self>, rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>>;
}
