//! What the footer of an Arrow file declares, held against the file's length before its decoder
//! takes memory for it.

use arrow_ipc::{Block, root_as_footer};
use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};

/// The footer's length and the closing magic.
const TAIL: u64 = 10;

/// Whether footer and blocks lie within the file. Moves the place in the file.
pub(crate) fn fits(file: &mut File) -> Result<bool> {
    let length = file.seek(SeekFrom::End(0))?;
    let Some(end) = length.checked_sub(TAIL) else { return Ok(false) };
    file.seek(SeekFrom::Start(end))?;
    let mut declared = [0; 4];
    file.read_exact(&mut declared)?;
    let size = u64::try_from(i32::from_le_bytes(declared)).ok();
    let Some(start) = size.and_then(|size| end.checked_sub(size)) else { return Ok(false) };
    file.seek(SeekFrom::Start(start))?;
    let mut footer = Vec::new();
    file.take(end - start).read_to_end(&mut footer)?;
    let Ok(footer) = root_as_footer(&footer) else { return Ok(false) };
    let mut blocks = footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten();
    Ok(blocks.all(|block| end_of(block).is_some_and(|end| end <= length)))
}

/// Where a block ends; absent for negative or overflowing numbers.
fn end_of(block: &Block) -> Option<u64> {
    let start = u64::try_from(block.offset()).ok()?;
    let metadata = u64::try_from(block.metaDataLength()).ok()?;
    start.checked_add(metadata)?.checked_add(u64::try_from(block.bodyLength()).ok()?)
}
