//! Ctrl-C and SIGTERM during a release: the partial file goes, and the operator learns whether the budget
//! was spent.

mod run;

use run::Run;
use std::path::Path;

/// What a process does before it reads data: a crash writes no memory to the disk, and a file that may not grow is an
/// error, not the end.
pub(crate) fn prepare() -> std::io::Result<()> {
    dp_core::disk::forbid_core_dumps()?;
    unix::survive_file_size()
}

/// Begins to watch for signals; `ledger` is charged for the release at `out`.
pub(crate) fn watch(out: &Path, ledger: Option<&Path>) -> std::io::Result<()> {
    unix::install(Run::new(out, ledger))
}

/// As [`watch`] for a stream that may go on from its journal.
pub(crate) fn watch_stream(journal: &Path, ledger: Option<&Path>) -> std::io::Result<()> {
    unix::install(Run::stream(journal, ledger))
}

#[cfg(unix)]
mod unix {
    use super::run::Run;
    use crate::output::{self, Format, Record};
    use dp_core::unfinished::abandon_all;
    use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use std::io::Write;
    use std::sync::atomic::AtomicBool;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    static RUN: Mutex<Option<Run>> = Mutex::new(None);

    fn run() -> MutexGuard<'static, Option<Run>> {
        RUN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With a handler the system reports the error instead.
    pub(super) fn survive_file_size() -> std::io::Result<()> {
        static SEEN: AtomicBool = AtomicBool::new(false);
        signal_hook::flag::register(SIGXFSZ, &SEEN).map(drop)
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
        abandon_all(|charged| {
            let run = run();
            let report = run.as_ref().map(|run| run.report(charged)).unwrap_or_default();
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

    pub(super) fn survive_file_size() -> std::io::Result<()> {
        Ok(())
    }

    pub(super) fn install(_: Run) -> std::io::Result<()> {
        Ok(())
    }
}
