//! Large files, written past the system's cache.
//!
//! A large release has to be on the disk before it gets its name. Through the cache every byte is copied once more, into a page that
//! must be found first. Whole pieces go to the disk from memory instead, by a thread of their own: the disk works while the next rows do.

use super::{Disk, system};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Bytes of a file that go through the cache: so much is likely to be read again soon. Tests have smaller files.
pub(crate) const CACHED: u64 = if cfg!(test) { 2 * BLOCK as u64 } else { 256 << 20 };
/// Bytes that are written at a time.
const PIECE: usize = if cfg!(test) { 2 * BLOCK } else { 4 << 20 };
/// Pieces that wait for the disk, at most.
const WAITING: usize = 2;
/// Memory and places in the file are multiples of it: those of disks with the largest blocks.
const BLOCK: usize = 4096;

/// Bytes at a multiple of [`BLOCK`] in memory.
struct Piece {
    room: Vec<u8>,
    from: usize,
    filled: usize,
}

impl Piece {
    fn new() -> Self {
        let room = vec![0; PIECE + BLOCK];
        let from = room.as_ptr().align_offset(BLOCK).min(BLOCK);
        Self { room, from, filled: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.room[self.from..self.from + self.filled]
    }

    /// Takes as many of these bytes as there is room for.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(PIECE - self.filled);
        let place = self.from + self.filled;
        self.room[place..place + count].copy_from_slice(&bytes[..count]);
        self.filled += count;
        count
    }
}

/// What is written behind the first [`CACHED`] bytes of a file.
pub(crate) struct PastCache {
    piece: Piece,
    /// Room that was written and can be filled again.
    empty: Receiver<Piece>,
    /// Gone, with the thread, when the file has ended or a write has failed.
    writer: Option<(SyncSender<Piece>, JoinHandle<Result<()>>)>,
}

impl core::fmt::Debug for PastCache {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} bytes held", self.piece.filled)
    }
}

impl PastCache {
    /// Begins where a file ends, at a multiple of [`BLOCK`].
    pub(crate) fn begin(disk: &Disk, file: &File) -> Result<Self> {
        let (full, pieces) = sync_channel(WAITING);
        let (written, empty) = channel();
        (0..WAITING).for_each(|_| drop(written.send(Piece::new())));
        let (disk, file) = (disk.clone(), file.try_clone()?);
        let write = move || put_all(&disk, &file, &pieces, &written);
        let thread = std::thread::Builder::new().name("writer".into()).spawn(write)?;
        Ok(Self { piece: Piece::new(), empty, writer: Some((full, thread)) })
    }

    /// Takes bytes, and hands on a piece that is full.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.piece.filled == PIECE {
            let next = self.empty.recv();
            let (Ok(next), Some((full, _))) = (next, &self.writer) else { return self.failed() };
            if full.send(core::mem::replace(&mut self.piece, next)).is_err() {
                return self.failed();
            }
        }
        Ok(self.piece.take(bytes))
    }

    /// Why the thread has ended.
    fn failed(&mut self) -> Result<usize> {
        self.wait()?;
        Err(Error::other("an earlier write failed"))
    }

    /// Waits until what was handed on is written.
    fn wait(&mut self) -> Result<()> {
        let Some((full, thread)) = self.writer.take() else { return Ok(()) };
        drop(full);
        thread.join().unwrap_or_else(|_| Err(Error::other("the writing thread has failed")))
    }

    /// Writes the rest; the file is as any other from here on.
    pub(crate) fn end(mut self, disk: &Disk, file: &File) -> Result<()> {
        if self.writer.is_none() {
            return self.failed().map(drop);
        }
        self.wait()?;
        system::pass_cache(file, false)?;
        disk.write_all(file, self.piece.bytes())
    }
}

impl Drop for PastCache {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

/// Writes pieces as they come, past the cache where the file system can; what it can is known when it is tried.
fn put_all(
    disk: &Disk,
    file: &File,
    pieces: &Receiver<Piece>,
    written: &Sender<Piece>,
) -> Result<()> {
    let mut direct = system::pass_cache(file, true).is_ok();
    for mut piece in pieces {
        let mut left = piece.bytes();
        while !left.is_empty() {
            // After a write that was cut short between blocks.
            if direct && left.len() % BLOCK != 0 {
                system::pass_cache(file, false)?;
                direct = false;
            }
            match disk.write(file, left) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => left = &left[count..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if direct && e.kind() == ErrorKind::InvalidInput => {
                    system::pass_cache(file, false)?;
                    direct = false;
                }
                Err(e) => return Err(e),
            }
        }
        piece.filled = 0;
        // Whoever fills them may have ended.
        let _ = written.send(piece);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, CACHED, PIECE};
    use crate::output::{Existing, Output};
    use std::io::Write;

    /// Whatever the lengths, and wherever a write begins, the file is what was written.
    #[test]
    fn what_passes_the_cache_is_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let (block, piece) = (BLOCK as u64, PIECE as u64);
        let around = |at: u64| [at - 1, at, at + 1];
        let lengths = [CACHED, CACHED + block, CACHED + piece, CACHED + 5 * piece + 77];
        for length in [1, 100].into_iter().chain(lengths.into_iter().flat_map(around)) {
            let content: Vec<u8> = (0..length).map(|i| (i * i % 251) as u8).collect();
            for step in [37, BLOCK, PIECE + 5, content.len()] {
                let path = folder.path().join("a");
                let mut output = Output::create(&path, Existing::Replace).unwrap();
                content.chunks(step).for_each(|part| output.write_all(part).unwrap());
                output.commit().unwrap();
                assert!(std::fs::read(&path).unwrap() == content, "{length} by {step}");
            }
        }
    }
}
