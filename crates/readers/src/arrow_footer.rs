//! What the footer and the messages of an Arrow file declare, held against the file's length before its decoder
//! takes memory for it.

use crate::arrow_frames::{TOO_LONG, allowed, compressed, unpacked};
use crate::joined::{JOINED, joined};
use arrow_ipc::{Block, root_as_footer, root_as_message};
use std::fs::File;
use std::io::{BufReader, Read, Result, Seek, SeekFrom};

/// How a file begins and ends.
const MARK: &[u8] = b"ARROW1";
/// Bytes of the mark that ends the batches, which no footer tells of: older writers' has four, or there is none.
const ENDS: [u64; 3] = [8, 4, 0];
/// The footer's length and the closing magic.
const TAIL: u64 = 10;
const DAMAGED: &str = "not an Arrow file that can be read: its footer is damaged, or declares more than the file holds";

/// Why a file is refused, if it is. Moves the place in the file.
pub(crate) fn refused(file: &mut File) -> Result<Option<&'static str>> {
    let length = file.seek(SeekFrom::End(0))?;
    let Some(end) = length.checked_sub(TAIL) else { return Ok(Some(DAMAGED)) };
    file.seek(SeekFrom::Start(end))?;
    let mut declared = [0; 4];
    file.read_exact(&mut declared)?;
    let size = u64::try_from(i32::from_le_bytes(declared)).ok();
    let start = size.and_then(|size| end.checked_sub(size));
    let Some(behind) = start.filter(|start| allowed(end - start, length)) else {
        return Ok(Some(DAMAGED));
    };
    file.seek(SeekFrom::Start(behind))?;
    let mut footer = Vec::new();
    file.by_ref().take(end - behind).read_to_end(&mut footer)?;
    let Ok(footer) = root_as_footer(&footer) else { return Ok(Some(DAMAGED)) };
    let blocks = footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten();
    // Blocks that lie apart, as every writer's do: a batch is not read twice.
    let (mut places, mut all, mut covered) = (Vec::new(), 0u64, 0u64);
    for block in blocks {
        let Some([start, metadata, body]) = place(block, length) else { return Ok(Some(DAMAGED)) };
        all = all.saturating_add(metadata + body);
        if all > length {
            return Ok(Some(DAMAGED));
        }
        covered = covered.max(start + metadata + body);
        places.push([start, metadata, body]);
    }
    if joined(file, MARK, behind.saturating_sub(covered), &ENDS)? {
        return Ok(Some(JOINED));
    }
    let mut file = BufReader::new(file);
    for [start, metadata, body] in places {
        file.seek(SeekFrom::Start(start))?;
        let mut message = Vec::new();
        file.by_ref().take(metadata).read_to_end(&mut message)?;
        let prefix = if message.starts_with(&[255; 4]) { 8 } else { 4 };
        let message = message.get(prefix..).unwrap_or_default();
        // What is none is for the decoder to refuse.
        let Ok(message) = root_as_message(message) else { continue };
        let mut bytes = 0u64;
        for at in compressed(&message).into_iter().filter(|at| at.saturating_add(8) <= body) {
            file.seek(SeekFrom::Start(start + metadata + at))?;
            let mut declared = [0; 8];
            file.read_exact(&mut declared)?;
            bytes = bytes.saturating_add(unpacked(declared));
        }
        if !allowed(bytes, length) {
            return Ok(Some(TOO_LONG));
        }
    }
    Ok(None)
}

/// Where a block begins, and how long its message and its body are, where they lie within the file.
fn place(block: &Block, length: u64) -> Option<[u64; 3]> {
    let start = u64::try_from(block.offset()).ok()?;
    let metadata = u64::try_from(block.metaDataLength()).ok()?;
    let body = u64::try_from(block.bodyLength()).ok()?;
    let end = start.checked_add(metadata)?.checked_add(body)?;
    (end <= length).then_some([start, metadata, body])
}
