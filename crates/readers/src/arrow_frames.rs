//! Messages of Arrow, whose lengths are held against the bytes that came before their decoder takes memory for them.

use crate::source::{Bytes, Meter};
use arrow_ipc::{Message, root_as_message};
use std::io::{Cursor, Error, Read, Result};

/// So many bytes of a message are few, however small the file is.
const FEW: u64 = 16 << 20;
/// Beyond them, the most for each byte of a file.
const HELD: u64 = 16;
/// Bytes of a message that are read at a time.
const PART: u64 = 1 << 20;
/// What newer messages begin with.
const CONTINUED: [u8; 4] = [255; 4];

pub(crate) const TOO_LONG: &str = "a record batch becomes far longer than the file is, as no numbers do: write smaller \
                                   batches, or NPY";

/// What is said of a stream that stops where no message does.
const CUT: &str =
    "the Arrow stream ends within the length of a message: it was cut off; write it again";
/// What is said of a stream behind another one.
const BEHIND: &str = "bytes follow the mark that ends the Arrow stream: where streams were put one behind the other, give each as \
                      a file of its own, or write all batches into one stream";

/// Whether a message may take so many bytes, of a file of `size`.
pub(crate) fn allowed(bytes: u64, size: u64) -> bool {
    bytes <= FEW.max(size.saturating_mul(HELD))
}

/// Where the buffers of a message lie in its body, where they are compressed: each begins with its unpacked length.
pub(crate) fn compressed(message: &Message<'_>) -> Vec<u64> {
    let dictionary = || message.header_as_dictionary_batch().and_then(|batch| batch.data());
    let batch = message.header_as_record_batch().or_else(dictionary);
    let batch = batch.filter(|batch| batch.compression().is_some());
    let buffers = batch.and_then(|batch| batch.buffers()).into_iter().flatten();
    buffers.filter(|b| b.length() > 0).filter_map(|b| u64::try_from(b.offset()).ok()).collect()
}

/// The length that a buffer declares, zero where it is not compressed.
pub(crate) fn unpacked(length: [u8; 8]) -> u64 {
    u64::try_from(i64::from_le_bytes(length)).unwrap_or(0)
}

/// A stream whose messages are checked one by one. It ends where its bytes end: behind its mark one byte more is asked for, and of a
/// pipe nothing but its end says that none comes, so whoever writes into it has to close it.
pub(crate) struct Frames {
    bytes: Bytes,
    meter: Meter,
    frame: Cursor<Vec<u8>>,
}

impl Frames {
    pub(crate) fn new(bytes: Bytes, meter: Meter) -> Self {
        Self { bytes, meter, frame: Cursor::default() }
    }

    /// So many bytes more, or what there is; whether all came.
    fn more(&mut self, frame: &mut Vec<u8>, count: u64) -> Result<bool> {
        let mut left = count;
        while left > 0 {
            let read = self.bytes.by_ref().take(left.min(PART)).read_to_end(frame)? as u64;
            if !allowed(frame.len() as u64, self.meter.done()) {
                return Err(Error::other(TOO_LONG));
            }
            if read == 0 {
                return Ok(false);
            }
            left -= read;
        }
        Ok(true)
    }

    /// The next message, empty behind the last one; what is none is for the decoder to refuse. A stream may end between two
    /// messages without a mark that says so.
    fn next(&mut self) -> Result<Vec<u8>> {
        let mut frame = Vec::new();
        if !self.more(&mut frame, 4)? {
            return if frame.is_empty() { Ok(frame) } else { Err(Error::other(CUT)) };
        }
        if frame == CONTINUED && !self.more(&mut frame, 4)? {
            return Err(Error::other(CUT));
        }
        let start = frame.len();
        let length = frame.last_chunk().map_or(0, |length| i32::from_le_bytes(*length));
        let Ok(length) = u64::try_from(length) else { return Ok(frame) };
        if length == 0 && self.more(&mut frame, 1)? {
            return Err(Error::other(BEHIND));
        }
        if length == 0 || !self.more(&mut frame, length)? {
            return Ok(frame);
        }
        let body = frame.len();
        let Ok(message) = root_as_message(&frame[start..]) else { return Ok(frame) };
        let (buffers, length) = (compressed(&message), u64::try_from(message.bodyLength()));
        if !self.more(&mut frame, length.unwrap_or(0))? {
            return Ok(frame);
        }
        let declared = |&at: &u64| -> Option<u64> {
            let start = usize::try_from(at).ok()?.checked_add(body)?;
            frame.get(start..)?.first_chunk().map(|length| unpacked(*length))
        };
        let all = buffers.iter().filter_map(declared).fold(0, u64::saturating_add);
        if allowed(all, self.meter.done()) { Ok(frame) } else { Err(Error::other(TOO_LONG)) }
    }
}

impl Read for Frames {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        if self.frame.get_ref().is_empty() {
            self.frame = Cursor::new(self.next()?);
        }
        let read = self.frame.read(out)?;
        if self.frame.position() == self.frame.get_ref().len() as u64 {
            // Its decoder has a copy.
            self.frame = Cursor::default();
        }
        Ok(read)
    }
}
