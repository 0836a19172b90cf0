//! What every covariance mechanism can do, and the stream of rows that one release is made from.

use super::clip::{RowClip, longer_rows};
use super::gram::{ExactGram, OpenGram};
use super::names::NAMES;
use super::release::PrivateCovariance;
use crate::error::Result;
use core::borrow::BorrowMut;
use core::ops::ControlFlow;
use dp_core::certificate::PublicParameters;
use dp_core::mechanism::{Prediction, Progress};
use dp_core::{Guarantee, NoiseRng, PublicValue, Release, SquaredNorm};
use sketch::rows::Incoming;

/// A calibrated mechanism that releases `A^T A`. Implemented by the mechanisms of this crate only.
///
/// # Privacy
/// Each release, or stream that is finished, spends the guarantee once, for
/// the rows it was given. Rows longer than the bound are scaled to it; how many is not reported.
pub trait CovarianceMechanism: Privatises {
    /// Length d of a row.
    fn dim(&self) -> usize;

    /// Expected Frobenius norm of the error that [`PrivateCovariance::unbiased`] would
    /// have on data of total squared norm `trace` (data-independent mechanisms ignore it).
    fn expected_frobenius_error(&self, trace: SquaredNorm) -> f64;

    /// A stream of rows for one release.
    fn stream<'m>(&'m self, rng: &'m mut NoiseRng) -> CovarianceStream<'m, &'m mut NoiseRng> {
        let gram = OpenGram::new(self.row_clip());
        CovarianceStream { mechanism: self.as_dyn(), gram, names: None, rng }
    }
}

/// What each has by itself, as a method or as [`dp_core::mechanism::Mechanism`], for one whose type is not known.
impl dyn CovarianceMechanism + '_ {
    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.promise()
    }

    /// Releases the covariance of `rows` (row-major, n x d).
    ///
    /// # Errors
    /// As [`CovarianceStream::push`] and [`CovarianceStream::finish`].
    pub fn release(&self, rows: &[f64], rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>> {
        let mut stream = self.stream(rng);
        stream.push(rows)?;
        stream.finish()
    }
}

/// Rows on their way to one release of `A^T A`, with the generator that will draw its noise, and that the
/// certificate names.
///
/// Private: neither printable nor serialisable. `R` is a generator, or `&mut` one.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
/// use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance};
///
/// let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
/// let mechanism = GaussianCovariance::calibrate(2, adjacency, Budget::new(1.0, 1e-6)?)?;
/// let mut rng = NoiseRng::from_os()?;
/// let mut stream = mechanism.stream(&mut rng);
/// stream.push(&[0.6, 0.8, 0.1, 0.2])?;
/// stream.push(&[0.3, 0.4])?;
/// let release = stream.finish()?;
/// assert_eq!(release.payload().dim(), 2);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
pub struct CovarianceStream<'m, R = NoiseRng> {
    mechanism: &'m dyn Privatises,
    gram: OpenGram,
    names: Option<PublicValue>,
    rng: R,
}

impl<'m, R: BorrowMut<NoiseRng>> CovarianceStream<'m, R> {
    /// A stream without rows, as [`CovarianceMechanism::stream`], of a generator that may be its own.
    pub fn new(mechanism: &'m dyn CovarianceMechanism, rng: R) -> Self {
        let gram = OpenGram::new(mechanism.row_clip());
        Self { mechanism: mechanism.as_dyn(), gram, names: None, rng }
    }

    /// Names the columns: the certificate states them, so they become public ([`super::column_names`]).
    ///
    /// # Errors
    /// [`crate::Error::Core`] unless there are d different names of 1 to 256 bytes without control characters.
    pub fn name_columns(&mut self, names: &[String]) -> Result<()> {
        super::names::check(names, self.mechanism.row_clip().dim())?;
        self.names = Some(super::names::stated(names));
        Ok(())
    }

    /// Adds rows (row-major, any number).
    ///
    /// # Errors
    /// [`crate::Error::Shape`] unless whole rows are given, [`crate::Error::NotFinite`] for NaN or
    /// infinity; the rows of the call then count as not pushed.
    pub fn push(&mut self, rows: &[f64]) -> Result<()> {
        self.gram.push(rows)
    }

    /// As [`CovarianceStream::push`], of rows however they are stored, a few at a time while the cache holds them.
    ///
    /// # Errors
    /// [`crate::Error::Shape`] for rows of another d, [`crate::Error::Sketch`] for columns that are not finite, with the first
    /// place; the rows of the call then count as not pushed.
    pub fn push_view<'a>(&mut self, rows: impl Into<Incoming<'a>>) -> Result<()> {
        self.gram.push_view(rows.into())
    }

    /// The exact sums so far, for another stream of the same mechanism: they are as private as the rows.
    #[must_use]
    pub fn sums(&mut self) -> Vec<u8> {
        self.gram.bytes()
    }

    /// Adds what [`CovarianceStream::sums`] of another stream of this mechanism gave: the release is that of all rows, bit for
    /// bit. Whoever adds the same sums twice counts their rows twice: parts are numbered ([`dp_core::parts`]).
    ///
    /// # Errors
    /// [`crate::Error::Unusable`] for sums of rows of another length, bound or constant, [`crate::Error::Shape`] for other bytes.
    pub fn add_sums(&mut self, bytes: &[u8]) -> Result<()> {
        self.gram.add_bytes(bytes)
    }

    /// Adds the noise and publishes.
    ///
    /// # Errors
    /// [`crate::Error::Core`] under Johnson-Lindenstrauss noise, where sums that were added are those of no rows.
    pub fn finish(mut self) -> Result<Release<PrivateCovariance>> {
        let mut public = stated(self.mechanism.row_clip().dim());
        public.extend(self.names.map(|names| (NAMES.to_owned(), names)));
        self.mechanism.privatise(self.gram.sum(), public, self.rng.borrow_mut())
    }
}

/// What every certificate of a covariance states.
pub(crate) fn stated(dim: usize) -> PublicParameters {
    [longer_rows(), ("d".to_owned(), PublicValue::from(dim))].into()
}

/// A mechanism of this crate.
pub trait Privatises: Send + Sync {
    /// What rows are clipped by.
    fn row_clip(&self) -> RowClip;

    /// What one release promises.
    fn promise(&self) -> &Guarantee;

    /// Releases an exact sum, with these public parameters beside its own. Spends the guarantee.
    fn privatise(
        &self,
        gram: &ExactGram,
        public: PublicParameters,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateCovariance>>;

    /// Itself.
    fn as_dyn(&self) -> &dyn Privatises;
}

/// Rows between two questions to the hook.
const PART: usize = 1 << 16;

/// A release whose hook is asked between parts of the rows.
pub(super) fn release_watched(
    mechanism: &impl CovarianceMechanism,
    rows: &[f64],
    rng: &mut NoiseRng,
    hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Release<PrivateCovariance>> {
    let parts = rows.chunks(PART * mechanism.dim());
    let total = parts.len() as u64;
    let mut stream = mechanism.stream(rng);
    for (done, part) in (0u64..).zip(parts) {
        Progress::new(done, total).ask(hook)?;
        stream.push(part)?;
    }
    stream.finish()
}

/// What [`CovarianceMechanism::expected_frobenius_error`] says.
pub(super) fn prediction(mechanism: &impl CovarianceMechanism, trace: SquaredNorm) -> Prediction {
    Prediction::new("the covariance in Frobenius norm", mechanism.expected_frobenius_error(trace))
}
