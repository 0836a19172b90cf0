//! Ctrl-C and SIGTERM during a release: the partial file goes, and the operator learns whether the budget
//! was spent.

use std::path::{Path, PathBuf};

/// How far the payment has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Payment {
    NotBegun,
    /// The new state of the ledger may be in its place, or not yet.
    Begun,
    Entered,
}

/// What a signal finds.
#[derive(Debug)]
struct Run {
    out: PathBuf,
    /// What stood at `out` when the run began.
    before: Option<(u64, u64)>,
    ledger: Option<PathBuf>,
    payment: Payment,
    /// A folder of its own for what goes to standard output.
    scratch: Option<PathBuf>,
}

/// Begins to watch for signals; `ledger` pays for the release at `out`.
pub(crate) fn watch(out: &Path, ledger: Option<&Path>) -> std::io::Result<()> {
    let run = Run {
        out: out.to_owned(),
        before: identity(out),
        ledger: ledger.map(Path::to_owned),
        payment: Payment::NotBegun,
        scratch: None,
    };
    unix::install(run)
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

/// Which file a path leads to.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<(u64, u64)> {
    None
}

impl Run {
    /// What the operator is told.
    fn report(&self) -> String {
        let now = identity(&self.out);
        let released = if now.is_some() && now != self.before {
            format!("the release {} is complete", self.out.display())
        } else {
            "nothing was released, and no partial file is left".into()
        };
        let spent = match (&self.ledger, self.payment) {
            (None, _) => "no ledger was named".into(),
            (Some(ledger), Payment::NotBegun) => format!("{} was not charged", ledger.display()),
            (Some(ledger), Payment::Begun) => {
                let name = ledger.display();
                format!("whether {name} was charged is not known here: `dps ledger show {name}`")
            }
            (Some(ledger), Payment::Entered) => {
                format!("the budget was SPENT: {} holds the expense", ledger.display())
            }
        };
        format!("interrupted: {released}; {spent}")
    }
}

#[cfg(unix)]
mod unix {
    use super::Run;
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
    use super::Run;

    pub(super) fn change(_: impl FnOnce(&mut Run)) {}

    pub(super) fn install(_: Run) -> std::io::Result<()> {
        Ok(())
    }
}
