//! What every covariance mechanism can do, and the stream of rows that one release is made from.

use super::release::PrivateCovariance;
use crate::error::Result;
use core::borrow::BorrowMut;
use dp_core::{Bound, Guarantee, NoiseRng, Release};

/// A calibrated mechanism that releases `A^T A`. Implemented by the mechanisms of this crate only.
///
/// # Privacy
/// Each [`CovarianceMechanism::release`], or stream that is finished, spends the guarantee once, for
/// the rows it was given. Rows longer than the bound are scaled to it; how many is not reported.
pub trait CovarianceMechanism: Accumulates {
    /// Length d of a row.
    fn dim(&self) -> usize;

    /// What one release promises.
    fn guarantee(&self) -> &Guarantee;

    /// Expected Frobenius norm of the error that [`PrivateCovariance::unbiased`] would
    /// have on data of total squared norm `trace` (data-independent mechanisms ignore it).
    fn expected_frobenius_error(&self, trace: Bound) -> f64;

    /// A stream of rows for one release.
    fn stream<'r>(&self, rng: &'r mut NoiseRng) -> CovarianceStream<&'r mut NoiseRng> {
        CovarianceStream { rows: self.accumulator(rng), rng }
    }

    /// Releases the covariance of `rows` (row-major, n x d).
    ///
    /// # Errors
    /// As [`CovarianceStream::push`] and [`CovarianceStream::finish`].
    fn release(&self, rows: &[f64], rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>> {
        let mut stream = self.stream(rng);
        stream.push(rows)?;
        stream.finish()
    }
}

/// Rows on their way to one release of `A^T A`, with the generator that draws its noise: one from the
/// first row to the last, and the one that the certificate names.
///
/// Private: neither printable nor serialisable. `R` is a generator, or `&mut` one.
///
/// ```
/// use dp_core::{Adjacency, Bound, Budget, NoiseRng};
/// use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance};
///
/// let adjacency = Adjacency::AddRemoveRow { bound: Bound::new(1.0)? };
/// let mechanism = GaussianCovariance::calibrate(2, adjacency, Budget::new(1.0, 1e-6)?)?;
/// let mut rng = NoiseRng::from_os()?;
/// let mut stream = mechanism.stream(&mut rng);
/// stream.push(&[0.6, 0.8, 0.1, 0.2])?;
/// stream.push(&[0.3, 0.4])?;
/// let release = stream.finish()?;
/// assert_eq!(release.payload().dim(), 2);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
pub struct CovarianceStream<R = NoiseRng> {
    rows: Box<dyn Accumulator>,
    rng: R,
}

impl<R: BorrowMut<NoiseRng>> CovarianceStream<R> {
    /// A stream without rows.
    pub fn new(mechanism: &dyn CovarianceMechanism, mut rng: R) -> Self {
        Self { rows: mechanism.accumulator(rng.borrow_mut()), rng }
    }

    /// Adds rows (row-major, any number).
    ///
    /// # Errors
    /// [`crate::Error::Shape`] unless whole rows are given, [`crate::Error::NotFinite`] for NaN or
    /// infinity; the rows of the call then count as not pushed.
    pub fn push(&mut self, rows: &[f64]) -> Result<()> {
        self.rows.push(rows)
    }

    /// Adds the noise and publishes.
    ///
    /// # Errors
    /// [`crate::Error::Core`] when the sums are beyond the range of the noise's grid.
    pub fn finish(mut self) -> Result<Release<PrivateCovariance>> {
        self.rows.finish(self.rng.borrow_mut())
    }
}

/// What a mechanism collects rows in. Whoever holds it gives it one generator.
pub trait Accumulator: Send + Sync {
    /// As [`CovarianceStream::push`].
    fn push(&mut self, rows: &[f64]) -> Result<()>;

    /// As [`CovarianceStream::finish`].
    fn finish(self: Box<Self>, rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>>;
}

/// A mechanism of this crate.
pub trait Accumulates: Send + Sync {
    /// An empty accumulator; it may draw from the generator.
    fn accumulator(&self, rng: &mut NoiseRng) -> Box<dyn Accumulator>;
}
