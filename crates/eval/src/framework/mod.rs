//! What an experiment is, what it reports, and how a set of them runs.

mod context;
pub(crate) mod coverage;
mod report;
mod runner;
pub(crate) mod sabotage;
#[cfg(feature = "sabotage")]
pub mod trial;

pub use context::{Context, Progress, Quiet, Sources};
pub use report::Report;
pub(crate) use report::{
    Axis, Claim, Curve, Figure, Origin, Panel, Point, Scale, Seeds, Setting, Verdict,
};
pub use runner::{Event, Outcome, Summary, list, run, select};
pub use sabotage::Sabotage;

use crate::error::Result;

/// One figure, table or claim of a paper (or of our own), regenerated.
///
/// An experiment draws all its randomness from the context's seed, so that equal seeds
/// give equal reports, and states every claim it reproduces as a check.
///
/// All of them together end within two minutes on two cores in the quick form, and within
/// fifteen in the full one.
pub trait Experiment: Sync {
    /// `paper/name`, for example `li-li-2023/fig10-retrieval`; lower case, stable.
    fn id(&self) -> &'static str;

    /// One line: what is measured.
    fn title(&self) -> &'static str;

    /// Paper and place that it reproduces; for our own, what it is compared with.
    fn reference(&self) -> &'static str;

    /// Measures, and checks the claims.
    ///
    /// # Errors
    /// Whatever data, calibration or mechanism refused.
    fn run(&self, context: &Context<'_>) -> Result<Report>;
}

/// The usual way to make an [`Experiment`]: its three texts and a function.
pub(crate) struct Study {
    /// See [`Experiment::id`].
    pub(crate) id: &'static str,
    /// See [`Experiment::title`].
    pub(crate) title: &'static str,
    /// See [`Experiment::reference`].
    pub(crate) reference: &'static str,
    /// See [`Experiment::run`].
    pub(crate) run: fn(&Context<'_>) -> Result<Report>,
}

impl Experiment for Study {
    fn id(&self) -> &'static str {
        self.id
    }
    fn title(&self) -> &'static str {
        self.title
    }
    fn reference(&self) -> &'static str {
        self.reference
    }
    fn run(&self, context: &Context<'_>) -> Result<Report> {
        (self.run)(context)
    }
}
