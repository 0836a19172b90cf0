//! Whether a file is what was paid for.

use crate::certificate::PayloadHash;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};

/// Bytes before the payload of a release file.
const BEFORE: u64 = 16;
/// Bytes behind its trailer: the trailer's length, and the checksum.
const BEHIND: u64 = 8 + 32;

/// The hash of what stands where release files have their payload (`docs/FORMAT.md`); none of a file that is too short.
pub(super) fn payload_hash(mut file: &File) -> Result<Option<String>> {
    let total = file.seek(SeekFrom::End(0))?;
    let Some(end) = total.checked_sub(BEHIND).filter(|end| *end >= BEFORE) else { return Ok(None) };
    let mut length = [0; 8];
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut length)?;
    let Some(length) = (end - BEFORE).checked_sub(u64::from_le_bytes(length)) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(BEFORE))?;
    let (mut hash, mut left, mut buffer) = (Sha256::new(), file.take(length), vec![0; 1 << 16]);
    loop {
        match left.read(&mut buffer)? {
            0 => return Ok((left.limit() == 0).then(|| PayloadHash::finish(hash).to_string())),
            read => hash.update(&buffer[..read]),
        }
    }
}
