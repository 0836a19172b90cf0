//! What every mechanism can do.

use super::sealed::Sealed;
use crate::budget::Budget;
use crate::error::Error;
use crate::guarantee::Guarantee;
use crate::noise::NoiseRng;
use core::ops::ControlFlow;

/// What every mechanism can do. It is implemented in this project only: a guarantee rests on its
/// theorem, and on code that does what the theorem says.
pub trait Mechanism: Sealed + Sized {
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
