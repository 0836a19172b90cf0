//! Private covariance: `A^T A` of rows with a public norm bound, released once.
//!
//! Two mechanisms behind one trait: [`GaussianCovariance`] (least error) and [`JlCovariance`] (a
//! sketch whose error is relative, for data of small rank). [`WishartCovariance`] is calibrated,
//! and refuses to release: see there.
//!
//! Rows longer than the bound are **scaled to it, and not counted**: how many there were is private.
//! Certificates say so. Whoever would rather stop at such a row must look for it before the
//! release (and tell nobody what was found).

mod gaussian;
mod gram;
mod jl;
mod release;
mod wishart;

pub use gaussian::GaussianCovariance;
pub(crate) use gram::ExactGram;
pub use gram::RowClip;
pub(crate) use gram::{BLOCK, noise_grid, rescale};
pub use jl::JlCovariance;
pub(crate) use jl::OpenSketch;
pub(crate) use release::jl_error_share;
pub use release::{CovarianceNoise, JlSketch, PrivateCovariance};
pub(crate) use wishart::refused as wishart_refused;
pub use wishart::{WishartCovariance, WishartShape};

use crate::error::{Error, Result};
use dp_core::profile::RowChange;
use dp_core::{Adjacency, Bound, Guarantee, NoiseRng, PublicValue, Release};

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

/// Why no theorem about a Wishart matrix is one about the released numbers.
pub(crate) const WISHART_GAP: &str = "the noise matrix is a product of rounded numbers, not a real Wishart matrix: its low bits can show \
     the data";
/// As [`WISHART_GAP`], for a sketch of the data.
pub(crate) const JL_GAP: &str = "the entries of R are Gaussians rounded to 2^-40 and the product is in floating point: the \
     profile is that of real arithmetic";

/// The row bound and the kind of change of the adjacencies a covariance mechanism knows. A row of
/// zeros adds nothing to `A^T A`: `ZeroRow` changes it as `AddRemoveRow` does.
pub(crate) fn row_change(
    adjacency: Adjacency,
    mechanism: &'static str,
) -> Result<(Bound, RowChange)> {
    match adjacency {
        Adjacency::AddRemoveRow { bound } | Adjacency::ZeroRow { bound } => {
            Ok((bound, RowChange::AddRemove))
        }
        Adjacency::ReplaceRow { bound } => Ok((bound, RowChange::Replace)),
        other => Err(Error::NotProven {
            mechanism,
            adjacency: other.to_string(),
            instead: "covariance mechanisms protect a whole row: AddRemoveRow, ZeroRow or ReplaceRow",
        }),
    }
}

/// What certificates say of rows over the bound, here and where rows of a matrix may shift: nothing is
/// refused, and how many were longer stays private.
pub(crate) fn longer_rows() -> (String, PublicValue) {
    ("rows over the bound".to_owned(), "scaled to it, uncounted".into())
}
