//! Reads ahead on another thread, a few blocks at most.

use super::{Block, Limits, RowReader};
use crate::error::{Error, Result};
use std::sync::mpsc::{Receiver, sync_channel};

/// Blocks that wait between reading and using.
const AHEAD: usize = 2;

/// A reader that runs on its own thread; memory stays bounded by the channel. Declared bounds
/// are checked (or values clipped) there too.
pub(crate) struct Prefetch {
    blocks: Receiver<Result<Block>>,
}

impl Prefetch {
    /// Starts reading. The thread ends with the file, with the first error, or when this is dropped.
    pub(crate) fn start(mut reader: Box<dyn RowReader>, limits: Limits) -> Result<Self> {
        let (sender, blocks) = sync_channel(AHEAD);
        std::thread::Builder::new()
            .name("reader".into())
            .spawn(move || {
                let (d, mut first) = (reader.d(), 0);
                while let Some(block) = reader.next().transpose() {
                    let block = block.and_then(|mut block| {
                        limits.apply(&mut block, d, first, |c| reader.column(c))?;
                        first += block.n as u64;
                        Ok(block)
                    });
                    let last = block.is_err();
                    if sender.send(block).is_err() || last {
                        return;
                    }
                }
            })
            .map_err(|e| Error::io("reader thread", e))?;
        Ok(Self { blocks })
    }
}

impl Iterator for Prefetch {
    type Item = Result<Block>;

    fn next(&mut self) -> Option<Result<Block>> {
        self.blocks.recv().ok()
    }
}
