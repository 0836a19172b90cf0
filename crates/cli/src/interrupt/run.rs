//! What a signal finds, and what the operator is told.

use std::path::{Path, PathBuf};

/// What a signal finds.
#[derive(Debug)]
pub(super) struct Run {
    out: PathBuf,
    /// What stood at `out` when the run began.
    before: Option<(u64, u64)>,
    ledger: Option<PathBuf>,
    /// Whether `out` is the journal of a stream.
    stream: bool,
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
    pub(super) fn new(out: &Path, ledger: Option<&Path>) -> Self {
        let (out, before) = (out.to_owned(), identity(out));
        Self { out, before, ledger: ledger.map(Path::to_owned), stream: false }
    }

    pub(super) fn stream(journal: &Path, ledger: Option<&Path>) -> Self {
        Self { stream: true, ..Self::new(journal, ledger) }
    }

    /// What the operator is told.
    pub(super) fn report(&self, charged: bool) -> String {
        let now = identity(&self.out);
        let released = if self.stream {
            let journal = self.out.display();
            format!(
                "every tick that has its file is complete, {journal} holds all that closed, and the same command goes on from there"
            )
        } else if now.is_some() && now != self.before {
            format!("the release {} is complete", self.out.display())
        } else if charged {
            "the release was being handed on".into()
        } else {
            "nothing was released, and no partial file is left".into()
        };
        let spent = match (&self.ledger, charged) {
            (None, _) => "no ledger was named".into(),
            (Some(ledger), false) => format!("{} was not charged", ledger.display()),
            (Some(ledger), true) => {
                format!("the budget was SPENT: {} holds the expense", ledger.display())
            }
        };
        format!("interrupted: {released}; {spent}")
    }
}
