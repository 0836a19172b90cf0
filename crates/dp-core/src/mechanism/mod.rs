//! The one way from a sensitivity to noise with its guarantee.
//!
//! A [`Statistic`] says what one change of the input can do to a vector of numbers. [`Calibrated`]
//! chooses the grid, adds the rounding to the sensitivity, calibrates, and holds the noise
//! together with the guarantee that this noise then gives: nobody pairs a profile with other noise.
//! What the guarantee rests on is its [`Basis`]. [`PrivateVector`] is the mechanism for numbers that
//! the caller computed. Proof page: `docs/proofs/mechanism.md`.
//!
//! ```
//! use dp_core::mechanism::{Basis, Mechanism, PrivateVector, Statistic};
//! use dp_core::noise::LaplaceNoise;
//! use dp_core::{Adjacency, Bound, Budget, L1Sensitivity, NoiseRng};
//!
//! // A histogram: one person is one row, a one in one category.
//! let counts = [120.0, 33.0, 7.0];
//! let person = Adjacency::AddRemoveRow { bound: Bound::new(1.0)? };
//! let statistic = Statistic::new(person, L1Sensitivity::new(1.0)?, counts.len(), Bound::new(1e6)?);
//! let basis = Basis::declared("the survey's team", "a person is in one category");
//! let mechanism = PrivateVector::<LaplaceNoise>::calibrate((statistic, basis), Budget::new(1.0, 0.0)?)?;
//! let release = mechanism.release(&counts, &mut NoiseRng::from_os()?)?;
//!
//! // Declared, not proven: the library did not see how the numbers were computed.
//! assert!(release.certificate().verify_consistency().is_ok());
//! assert!(release.certificate().verify().is_err());
//! # Ok::<(), dp_core::Error>(())
//! ```

#[doc(hidden)]
pub mod author;
mod basis;
mod calibrated;
mod statistic;
mod vector;

pub use basis::Basis;
pub use calibrated::{Calibrated, GridNoise};
pub use statistic::{Sensitivity, Statistic};
pub use vector::PrivateVector;

use crate::budget::Budget;
use crate::error::Error;
use crate::guarantee::Guarantee;
use crate::noise::NoiseRng;
use core::ops::ControlFlow;

/// What every mechanism can do. It is implemented in this project only: a guarantee rests on its
/// theorem, and on code that does what the theorem says.
pub trait Mechanism: author::Sealed + Sized {
    /// What it is calibrated for: shapes, bounds, adjacency.
    type Config;
    /// What a release reads. Whatever may be used once (a fresh seed) is part of it.
    type Input<'a>;
    /// What is published.
    type Output;
    /// Public facts about data that the expected error depends on.
    type Facts;
    /// Its crate's error.
    type Error: From<Error>;

    /// The least noise for the budget.
    ///
    /// # Errors
    /// A configuration outside its range; a budget that no noise of this law meets.
    fn calibrate(config: Self::Config, budget: Budget) -> Result<Self, Self::Error>;

    /// What one release promises.
    fn guarantee(&self) -> &Guarantee;

    /// The expected error from public facts alone: it reads no data and spends nothing.
    ///
    /// # Errors
    /// Facts outside their range.
    fn predict(&self, facts: Self::Facts) -> Result<Prediction, Self::Error>;

    /// As [`Mechanism::release`]; the hook is asked between parts of the work whether to go on.
    ///
    /// # Errors
    /// As [`Mechanism::release`]; [`Error::Stopped`] when the hook breaks, and nothing is published then.
    fn release_watched(
        &self,
        input: Self::Input<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self::Output, Self::Error>;

    /// Releases once: spends the guarantee's budget.
    ///
    /// # Errors
    /// Input outside the bounds that the guarantee was made for; the error reveals that it is.
    fn release(
        &self,
        input: Self::Input<'_>,
        rng: &mut NoiseRng,
    ) -> Result<Self::Output, Self::Error> {
        self.release_watched(input, rng, &mut |_| ControlFlow::Continue(()))
    }
}

/// How far a release is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Parts done; a part is whatever the mechanism works on at a time.
    pub done: u64,
    /// Parts in all.
    pub total: u64,
}

impl Progress {
    /// `done` of `total` parts.
    #[must_use]
    pub const fn new(done: u64, total: u64) -> Self {
        Self { done, total }
    }

    /// Asks the hook whether to go on.
    ///
    /// # Errors
    /// [`Error::Stopped`] when it breaks.
    pub fn ask(self, hook: &mut dyn FnMut(Self) -> ControlFlow<()>) -> Result<(), Error> {
        match hook(self) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped { done: self.done, total: self.total }),
        }
    }
}

/// An expected error.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// What the error is of.
    pub of: &'static str,
    /// Its root mean square over the noise.
    pub root_mean_square: f64,
}

impl Prediction {
    /// The root mean square of the error of something.
    #[must_use]
    pub const fn new(of: &'static str, root_mean_square: f64) -> Self {
        Self { of, root_mean_square }
    }
}
