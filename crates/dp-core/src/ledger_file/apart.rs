//! What is computed while a ledger's lock is held.

use crate::error::{Error, Result};
use std::io;

/// Most threads: they are begun anew each time.
const MOST: usize = 8;

/// Computes on threads that take no other work, and waits for them without doing any. A thread of a shared pool that waits for
/// others takes up what lies there, another release too, which would wait for this one's lock above it on the same stack: for ever.
/// So the threads that are asked are nobody else's, and `work` takes no lock of a ledger.
pub(super) fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    let own = move || {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.min(MOST)).build();
        let pool = pool.map_err(io::Error::other)?;
        Ok(pool.install(work))
    };
    let done = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, own)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    done.map_err(|e: io::Error| Error::io("threads", &e))
}
