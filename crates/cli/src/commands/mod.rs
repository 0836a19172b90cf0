//! One file a command.

mod append;
mod attack;
mod attest;
mod calibrate;
mod cells;
mod choice;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod columns;
mod content;
mod disjoint;
mod distance;
mod explain;
mod export;
mod inspect;
mod ledger;
mod loaded;
mod mapped;
mod merge;
mod moments;
mod named;
mod pca;
mod plan;
mod recheck;
mod regress;
mod release;
mod search;
mod sheet;
mod shell;
mod tables;
mod trust;
mod verify;
mod window;
mod worth;

use crate::error::Result;
use crate::output::Record;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Predict the error of every mechanism; spends nothing.
    Plan(plan::Plan),
    /// Read a file, add noise, write a release with its certificate.
    Release(Box<release::Release>),
    /// Release new rows as another release was made: paid for, and searched together with it.
    Append(append::Append),
    /// Put the parts of one release together, publish it, destroy its key.
    Merge(merge::Merge),
    /// Second moments of the last rows of a stream: one release a tick, all of them for one budget.
    Window(Box<window::Window>),
    /// Show what a release or a certificate states.
    Inspect(inspect::Inspect),
    /// Say what an attacker learns at most from a release, alone and with all that a ledger holds.
    Explain(explain::Explain),
    /// Attack a release, with the truth beside it, as real attackers would: what they would have learnt. What it
    /// prints is made from the true data, and not to be published.
    Attack(attack::Attack),
    /// Recompute what a release or a certificate states, and say what was not; exit status 1 when it does
    /// not hold together, is no proven differential privacy that could be computed again and was not
    /// accepted by name, or promises less than --require.
    Verify(verify::Verify),
    /// Sign a release, or the head of a ledger, with a key of yours: `verify --signer` and `ledger show --signer`
    /// check it.
    Attest(attest::Attest),
    /// Estimate the distance, product or similarity of two rows from releases.
    Distance(distance::Distance),
    /// Find the best rows of a release for the rows of a query release.
    Search(search::Search),
    /// Means, deviations and correlations from a covariance that was released with its sums; shares of released categories.
    Moments(moments::MomentsOptions),
    /// Principal components of a released covariance, window or low-rank approximation.
    Pca(pca::PcaOptions),
    /// Linear regression from a released covariance, or a released regression, with intervals.
    Regress(regress::RegressOptions),
    /// The numbers of a release as a table that other programs read: CSV, NPY, Arrow, Parquet.
    Export(export::Export),
    /// The budget of a data set: what was spent, and what may be.
    Ledger(ledger::Ledger),
    /// The least noise for a budget: exact, or by a published rule with the delta it truly gives.
    Calibrate(calibrate::Calibrate),
    /// Completions for a shell, on standard output.
    Completions(shell::Completions),
    /// The man page, on standard output.
    Man(shell::Man),
}

impl Command {
    /// Whether JSON is asked for among words that a command hands on.
    pub(crate) fn json(&self) -> bool {
        matches!(self, Self::Append(command) if command.json())
    }

    /// Runs it; `parser` is what completions and man pages are made of.
    pub(crate) fn run(self, parser: clap::Command) -> Result<Record> {
        match self {
            Self::Plan(command) => command.run(),
            Self::Release(command) => command.run(),
            Self::Append(command) => command.run(),
            Self::Merge(command) => command.run(),
            Self::Window(command) => command.run(),
            Self::Inspect(command) => command.run(),
            Self::Explain(command) => command.run(),
            Self::Attack(command) => command.run(),
            Self::Verify(command) => command.run(),
            Self::Attest(command) => command.run(),
            Self::Distance(command) => command.run(),
            Self::Search(command) => command.run(),
            Self::Moments(command) => command.run(),
            Self::Pca(command) => command.run(),
            Self::Regress(command) => command.run(),
            Self::Export(command) => command.run(),
            Self::Ledger(command) => command.run(),
            Self::Calibrate(command) => command.run(),
            Self::Completions(command) => command.run(parser),
            Self::Man(command) => command.run(parser),
        }
    }
}
