//! Reads ahead on another thread, a few blocks at most.

use crate::block::{Block, RowReader};
use crate::bounds::Limits;
use crate::error::{Error, Result};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};

/// Blocks that wait between reading and using.
const AHEAD: usize = 2;

/// A reader that runs on its own thread; memory stays bounded by the channel, and used blocks go
/// back to the reader. Declared bounds are checked (or values clipped) there too.
pub struct Prefetch {
    /// `None` ends the file: a reader that only falls silent has failed.
    blocks: Receiver<Result<Option<Block>>>,
    used: Sender<Block>,
}

impl Prefetch {
    /// Starts reading. The thread ends with the file, with the first error, or when this is dropped.
    ///
    /// # Errors
    /// A thread that the system refuses.
    pub fn start(mut reader: Box<dyn RowReader>, mut limits: Limits) -> Result<Self> {
        let (sender, blocks) = sync_channel(AHEAD);
        let (used, empty) = channel();
        let read = move || {
            let (d, mut first) = (reader.d(), 0);
            loop {
                let next = reader.next(empty.try_recv().unwrap_or_default());
                let next = next.and_then(|block| {
                    let Some(mut block) = block else { return Ok(None) };
                    if let Some(file) = reader.file().filter(|file| **file != limits.file) {
                        // Records are counted in the file that is named.
                        (limits.file, first) = (file.to_owned(), 0);
                    }
                    limits.apply(&mut block, d, first, |c| reader.column(c))?;
                    first += block.n as u64;
                    Ok(Some(block))
                });
                let last = !matches!(next, Ok(Some(_)));
                if sender.send(next).is_err() || last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("reader".into()).spawn(read);
        thread.map_err(|e| Error::io("reader thread", e))?;
        Ok(Self { blocks, used })
    }

    /// Hands every block to `take`, with the number of rows before it.
    ///
    /// # Errors
    /// What the reader or `take` refused; [`Error::Stopped`].
    pub fn each<E: From<Error>>(
        self,
        mut take: impl FnMut(&Block, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut first = 0;
        loop {
            let next = self.blocks.recv().map_err(|_| Error::Stopped)?;
            let Some(block) = next? else { return Ok(()) };
            take(&block, first)?;
            first += block.n as u64;
            // The reader may have ended.
            let _ = self.used.send(block);
        }
    }
}
