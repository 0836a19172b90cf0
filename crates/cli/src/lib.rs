//! The command line `dps`: from a file of rows to a published, verified private sketch.
//!
//! | command | does |
//! | --- | --- |
//! | `plan` | predicts the error of every mechanism before anything is spent |
//! | `release` | reads a file in blocks, adds noise, writes a release file with its certificate |
//! | `append` | releases new rows as another release was made, to be searched together with it |
//! | `merge` | puts the parts of one release together |
//! | `window` | second moments of the last rows of a stream, a release file a tick, all for one budget |
//! | `inspect`, `verify` | show and recompute what a release or a certificate states |
//! | `attest` | signs a release or the head of a ledger, for `verify --signer` and `ledger show --signer` |
//! | `explain` | what an attacker learns at most, in words and numbers |
//! | `attack` | what real attacks would have learnt, for whoever has the truth |
//! | `distance`, `search`, `moments`, `pca`, `regress` | answer questions from releases alone |
//! | `export` | the numbers of a release as a table: CSV, NPY, Arrow, Parquet |
//! | `ledger` | keeps the budget of a data set, across crashes and processes |
//! | `calibrate` | the least noise for a budget, exact or by a published rule |
//! | `completions`, `man` | generated from the parser |
//!
//! Every command prints text, or one JSON object with `--json`: names in snake case, whole numbers of 2^53 and above (seeds)
//! as texts, what standard error warns of as `warnings`. Exit status: 0 done, 1 refused
//! (does not verify, would pass a limit, cannot be calibrated), 2 options, 3 files that cannot
//! be read or written, 4 data that is not what was declared.
//!
//! The binary is this library's [`main`].

mod commands;
mod error;
mod flags;
mod input;
mod interrupt;
mod output;
mod page;
mod preprocess;
mod same_file;

use clap::{CommandFactory, Parser};
use commands::Command;
use output::{Format, Record};
use std::process::ExitCode;

/// Publish differentially private sketches, and use what others published.
///
/// Exit status: 0 done; 1 refused (does not verify, would pass a limit, cannot be calibrated);
/// 2 options that do not go together; 3 files that cannot be read or written; 4 data that is
/// not what was declared.
#[derive(Parser)]
#[command(name = "dps", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
}

/// Runs `dps` on the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    if let Err(error) = interrupt::prepare() {
        output::complain(&format!("the process cannot be protected: {error}"));
        return ExitCode::from(3);
    }
    let arguments = match flags::parsed::<Arguments>(std::env::args_os()) {
        Ok(arguments) => arguments,
        // Help and version are no errors.
        Err(error) if error.use_stderr() && std::env::args_os().any(|a| a == "--json") => {
            let text = error.render().to_string();
            let text = text.trim().trim_start_matches("error: ");
            output::print(&Record::new().text("error", text).render(Format::Json));
            return ExitCode::from(2);
        }
        Err(error) => error.exit(),
    };
    let format =
        if arguments.json || arguments.command.json() { Format::Json } else { Format::Text };
    match start_threads().and_then(|()| arguments.command.run(Arguments::command())) {
        Ok(record) => output::print(&record.with_warnings(format).render(format)),
        Err(error) => {
            match format {
                Format::Json => {
                    output::print(&error.record().with_warnings(format).render(format));
                }
                Format::Text => {
                    // Its words may be those of a file or of a path.
                    output::complain(&error.to_string());
                    error.choices().iter().for_each(|line| output::complain_below(line));
                    if let Some(hint) = error.hint() {
                        output::complain(&hint);
                    }
                }
            }
            ExitCode::from(error.status())
        }
    }
}

/// Starts the threads that compute before anything is read or begun: later, that the system has none left would be a
/// panic in the middle.
fn start_threads() -> error::Result<()> {
    let started = rayon::ThreadPoolBuilder::new().build_global();
    started.map_err(|e| dp_core::Error::io("threads", &std::io::Error::other(e)).into())
}

/// The snippets of the guide are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/use-one-crate.md")]
struct UseOneCrate;

/// A package that is not an author of this project's mechanisms, as this one, declares its own law:
///
/// ```
/// use dp_core::{Adjacency, Budget, Guarantee, Profile};
/// fn own(by: Adjacency, budget: Budget, profile: Profile) -> dp_core::Result<Guarantee> {
///     Guarantee::declared(by, budget, profile, "the survey's team", "our own proof")
/// }
/// ```
///
/// and states no theorem:
///
/// ```compile_fail,E0080
/// use dp_core::{Adjacency, Budget, Guarantee, Profile, Theorem};
/// fn own(by: Adjacency, budget: Budget, profile: Profile) -> dp_core::Result<Guarantee> {
///     dp_core::authority!().proven(by, budget, profile, Theorem::GaussianOnRows)
/// }
/// ```
#[cfg(doctest)]
struct NoAuthor;
