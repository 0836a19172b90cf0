//! What a process has begun and not finished, for a signal that ends it.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a process has begun and not finished.
#[derive(Debug)]
pub(crate) struct Unfinished {
    /// Its temporary files.
    files: Vec<PathBuf>,
    /// Whether a ledger was charged.
    pub(crate) charged: bool,
}

static UNFINISHED: Mutex<Unfinished> = Mutex::new(Unfinished { files: Vec::new(), charged: false });

/// While this is held no signal ends the process. Whoever needs a ledger's lock as well has that already: nobody waits for it here.
pub(crate) fn unfinished() -> MutexGuard<'static, Unfinished> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place in the list, given back when dropped.
#[derive(Debug)]
pub(crate) struct Listed(PathBuf);

impl Listed {
    pub(crate) fn new(temporary: PathBuf) -> Self {
        unfinished().files.push(temporary.clone());
        Self(temporary)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        unfinished().files.retain(|temporary| *temporary != self.0);
    }
}

/// For a process that a signal ends: removes its temporary files, and tells `end` whether a ledger was charged. Until
/// `end` returns no file can be committed and no release paid for, so what it is told stays true.
pub fn abandon_all<T>(end: impl FnOnce(bool) -> T) -> T {
    let mut process = unfinished();
    for temporary in process.files.drain(..) {
        // One that is gone already needs no removing.
        let _ = std::fs::remove_file(temporary);
    }
    end(process.charged)
}
