//! The IDX format of MNIST, plain or gzip.

use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::io::{BufRead, Read};
use std::path::Path;

/// Largest payload a file may declare: 4 GiB.
const LIMIT: u64 = 1 << 32;

/// An array of unsigned bytes with its dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idx {
    /// Sizes, outermost first.
    pub dims: Vec<usize>,
    /// Values, row-major; as many as the product of `dims`.
    pub values: Vec<u8>,
}

/// Reads an IDX file of unsigned bytes; gzip is recognised by its magic number.
///
/// # Errors
/// [`Error::Io`] when it cannot be opened; otherwise as [`read_idx`].
pub fn read_idx_file(path: &Path) -> Result<Idx> {
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    read_idx(&path.display().to_string(), std::io::BufReader::new(file))
}

/// Reads an IDX stream of unsigned bytes; `name` is for messages.
///
/// The declared size is checked before anything is allocated, and memory grows only
/// with bytes that really arrive: a short hostile file cannot claim memory.
///
/// # Errors
/// [`Error::Malformed`] for a wrong magic number, an element type other than unsigned
/// bytes, more than 8 dimensions, a size over 4 GiB, a truncated payload, bytes after it.
pub fn read_idx(name: &str, mut source: impl BufRead) -> Result<Idx> {
    let head = source.fill_buf().map_err(|e| Error::io(name, e))?;
    if head.starts_with(&[0x1f, 0x8b]) {
        read_plain(name, &mut MultiGzDecoder::new(source))
    } else {
        read_plain(name, &mut source)
    }
}

fn read_plain(name: &str, source: &mut impl Read) -> Result<Idx> {
    let bad = |reason: String| Error::malformed(format!("IDX file {name}"), reason);
    let magic = u32::from_be_bytes(four(name, source, "the magic number")?).to_be_bytes();
    if magic[0] != 0 || magic[1] != 0 {
        let found = u32::from_be_bytes(magic);
        return Err(bad(format!("magic number {found:#010x} does not begin with two zero bytes")));
    }
    if magic[2] != 0x08 {
        return Err(bad(format!("element type {:#04x}; only unsigned bytes (0x08)", magic[2])));
    }
    let rank = magic[3];
    if rank == 0 || rank > 8 {
        return Err(bad(format!("{rank} dimensions; must be in [1, 8]")));
    }
    let mut dims = Vec::new();
    for i in 0..rank {
        dims.push(u32::from_be_bytes(four(name, source, &format!("dimension {i}"))?) as usize);
    }
    let size = dims
        .iter()
        .try_fold(1u64, |n, &d| n.checked_mul(d as u64))
        .filter(|&n| n <= LIMIT)
        .ok_or_else(|| bad(format!("dimensions {dims:?} declare more than {LIMIT} bytes")))?;
    let mut values = Vec::new();
    let read = source.by_ref().take(size).read_to_end(&mut values);
    read.map_err(|e| bad(format!("truncated or damaged after {} bytes: {e}", values.len())))?;
    if (values.len() as u64) < size {
        return Err(bad(format!("truncated: {size} bytes declared, {} found", values.len())));
    }
    let mut rest = [0u8; 1];
    match source.read(&mut rest) {
        Ok(0) => Ok(Idx { dims, values }),
        Ok(_) => Err(bad(format!("more than the {size} bytes its dimensions {dims:?} declare"))),
        Err(e) => Err(bad(format!("damaged after {size} bytes: {e}"))),
    }
}

fn four(name: &str, source: &mut impl Read, part: &str) -> Result<[u8; 4]> {
    let mut bytes = [0u8; 4];
    source.read_exact(&mut bytes).map_err(|e| {
        Error::malformed(format!("IDX file {name}"), format!("truncated in {part}: {e}"))
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn message(bytes: &[u8]) -> String {
        read_idx("f", bytes).unwrap_err().to_string()
    }

    const GOOD: [u8; 18] = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6];

    #[test]
    fn reads_plain_and_gzip_by_magic() {
        let want = Idx { dims: vec![2, 3], values: vec![1, 2, 3, 4, 5, 6] };
        assert_eq!(read_idx("f", &GOOD[..]).unwrap(), want);
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&GOOD).unwrap();
        let gz = gz.finish().unwrap();
        assert_eq!(read_idx("f", &gz[..]).unwrap(), want);
        for cut in 0..gz.len() {
            assert!(read_idx("f", &gz[..cut]).is_err(), "{cut} bytes of gzip were accepted");
        }
    }

    #[test]
    fn every_truncation_is_named() {
        for cut in 0..GOOD.len() {
            assert!(message(&GOOD[..cut]).contains("truncated"), "cut at {cut}");
        }
        let text = message(&GOOD[..15]);
        assert_eq!(text, "IDX file f: truncated: 6 bytes declared, 3 found");
    }

    #[test]
    fn wrong_headers_are_named() {
        assert!(message(b"\x89PNG....").contains("magic number 0x89504e47"));
        let mut float = GOOD;
        float[2] = 0x0d;
        assert!(message(&float).contains("element type 0x0d"));
        let mut flat = GOOD;
        flat[3] = 0;
        assert!(message(&flat).contains("0 dimensions"));
        let long = [&GOOD[..], &[7]].concat();
        assert!(message(&long).contains("more than the 6 bytes"));
    }

    #[test]
    fn huge_dimensions_are_refused_before_allocation() {
        let huge = [0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255];
        assert!(message(&huge).contains("declare more than 4294967296 bytes"));
        let allowed_but_absent = [0, 0, 8, 1, 255, 255, 255, 255];
        assert!(message(&allowed_but_absent).contains("4294967295 bytes declared, 0 found"));
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = read_idx("f", &bytes[..]);
            let _ = read_idx("f", &[&[0, 0, 8], &bytes[..]].concat()[..]);
        }
    }
}
