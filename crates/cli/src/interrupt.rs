//! Ctrl-C and SIGTERM during a release: the partial file goes, and the operator learns whether the budget
//! was spent.

mod run;

use run::{Payment, Run};
use std::path::Path;

/// Begins to watch for signals; `ledger` pays for the release at `out`.
pub(crate) fn watch(out: &Path, ledger: Option<&Path>) -> std::io::Result<()> {
    unix::install(Run::new(out, ledger))
}

/// The ledger is asked to pay.
pub(crate) fn paying() {
    unix::change(|run| run.payment = Payment::Begun);
}

/// The ledger has refused: nothing was spent.
pub(crate) fn not_paid() {
    unix::change(|run| run.payment = Payment::NotBegun);
}

/// The expense is on the disk.
pub(crate) fn paid() {
    unix::change(|run| run.payment = Payment::Entered);
}

/// The release is made in this folder first.
pub(crate) fn scratch(folder: &Path) {
    unix::change(|run| run.scratch = Some(folder.to_owned()));
}

#[cfg(unix)]
mod unix {
    use super::run::Run;
    use crate::output::{self, Format, Record};
    use dp_core::atomic_file::abandon_all;
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use std::io::Write;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    static RUN: Mutex<Option<Run>> = Mutex::new(None);

    fn run() -> MutexGuard<'static, Option<Run>> {
        RUN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(change: impl FnOnce(&mut Run)) {
        if let Some(run) = run().as_mut() {
            change(run);
        }
    }

    pub(super) fn install(new: Run) -> std::io::Result<()> {
        *run() = Some(new);
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let wait = move || {
            if let Some(signal) = signals.forever().next() {
                end(signal);
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
    }

    /// Nothing is committed from here on.
    fn end(signal: i32) {
        let status = 128 + signal;
        abandon_all(|_| {
            let run = run();
            let report = run.as_ref().map(Run::report).unwrap_or_default();
            if let Some(folder) = run.as_ref().and_then(|run| run.scratch.as_ref()) {
                let _ = std::fs::remove_dir_all(folder);
            }
            if std::env::args().any(|argument| argument == "--json") {
                output::print(&Record::new().text("error", &report).render(Format::Json));
            } else {
                // A reader that went away must not keep the process from ending.
                let _ = writeln!(std::io::stderr(), "\ndps: {report}");
            }
            std::process::exit(status)
        })
    }
}

/// Elsewhere the system ends the process; the next release of the same name removes the partial file.
#[cfg(not(unix))]
mod unix {
    use super::run::Run;

    pub(super) fn change(_: impl FnOnce(&mut Run)) {}

    pub(super) fn install(_: Run) -> std::io::Result<()> {
        Ok(())
    }
}
