//! The pages of a Parquet file, whose headers are read before the decoder takes memory for what they declare.

use crate::thrift::{STRUCT, Thrift};
use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{BufReader, Read};
use std::sync::Mutex;

/// Bytes that are read for a header, at first and at most.
const HEADER: u64 = 1 << 9;
const LONGEST_HEADER: u64 = 1 << 20;
/// So many bytes of unpacked pages are held at once, however small the file is.
const FEW: u64 = 24 << 20;
/// Beyond them, the most for each byte of a file.
const HELD: u64 = 16;

/// A file whose pages are held against what its footer and its size allow.
pub(crate) struct Pages {
    file: File,
    size: u64,
    /// Most bytes of all pages together.
    all: u64,
    chunks: Mutex<Chunks>,
}

/// Where the columns of the row groups lie.
struct Chunks {
    /// In the order of their beginnings.
    places: Vec<Chunk>,
    /// The row group that is read, and bytes of its unpacked pages.
    group: usize,
    held: u64,
    read: u64,
}

struct Chunk {
    start: u64,
    group: usize,
    codec: Compression,
    /// Values that its pages may still declare.
    values: u64,
    /// Bytes of its dictionary and of its last page.
    held: [u64; 2],
    /// Where the bytes of the last page begin behind its header, where it has any.
    body: Option<u64>,
}

/// What a page's header says.
#[derive(Default)]
struct Header {
    /// Data, an index, a dictionary, data of the second version: 0 to 3.
    kind: i64,
    unpacked: u64,
    packed: u64,
    dictionary: bool,
    values: u64,
    /// Bytes of the header itself.
    length: u64,
}

impl Header {
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut header = Self::default();
        let mut thrift = Thrift::new(bytes);
        let natural = |thrift: &mut Thrift<'_>| u64::try_from(thrift.whole()?).ok();
        thrift.fields(|thrift, id, kind| {
            match (id, kind) {
                (1, 5) => header.kind = thrift.whole()?,
                (2, 5) => header.unpacked = natural(thrift)?,
                (3, 5) => header.packed = natural(thrift)?,
                (5 | 7 | 8, STRUCT) => {
                    header.dictionary = id == 7;
                    thrift.fields(|thrift, id, kind| match (id, kind) {
                        (1, 5) => natural(thrift).map(|n| header.values += n),
                        (1, _) => None,
                        _ => thrift.skip(kind),
                    })?;
                }
                (1..=3 | 5 | 7 | 8, _) => return None,
                _ => thrift.skip(kind)?,
            }
            Some(())
        })?;
        header.length = (bytes.len() - thrift.left()) as u64;
        Some(header)
    }

    /// Whether what follows are bytes of this page, of values or of a dictionary. Behind the header of any other page the decoder looks
    /// for the next header, as behind that of a page without bytes.
    fn has_body(&self) -> bool {
        self.packed > 0 && matches!(self.kind, 0 | 2 | 3)
    }
}

impl Pages {
    /// `all`: most bytes of all pages together.
    pub(crate) fn new(file: File, metadata: &ParquetMetaData, all: u64) -> Self {
        let mut places = Vec::new();
        for (group, of) in metadata.row_groups().iter().enumerate() {
            for column in of.columns() {
                places.push(Chunk {
                    start: column.byte_range().0,
                    group,
                    codec: column.compression(),
                    values: u64::try_from(column.num_values()).unwrap_or(0),
                    held: [0; 2],
                    body: None,
                });
            }
        }
        places.sort_by_key(|chunk| chunk.start);
        let size = file.len();
        Self { file, size, all, chunks: Mutex::new(Chunks { places, group: 0, held: 0, read: 0 }) }
    }

    /// The header that begins here.
    fn header(&self, start: u64) -> Result<Header> {
        let left = self.size.saturating_sub(start);
        let mut length = HEADER;
        loop {
            let bytes = self.file.get_bytes(start, length.min(left) as usize)?;
            match Header::of(&bytes) {
                Some(header) => return Ok(header),
                None if length >= left.min(LONGEST_HEADER) => {
                    return Err(refused("the header of a page is damaged"));
                }
                None => length *= 8,
            }
        }
    }

    /// Whether a page whose decoder asks nobody how long it may become is as long as its header says: of gzip, and of
    /// old LZ4, which is a stream of frames where it is nothing else.
    fn unpacks(&self, start: u64, header: &Header, codec: Compression) -> Result<bool> {
        let packed = || -> Result<_> {
            let bytes = self.file.get_read(start + header.length)?;
            Ok(BufReader::new(bytes.take(header.packed)))
        };
        let length = |unpacked: &mut dyn Read| {
            std::io::copy(&mut unpacked.take(header.unpacked + 1), &mut std::io::sink())
        };
        match codec {
            Compression::GZIP(_) => Ok(length(&mut MultiGzDecoder::new(packed()?))
                .is_ok_and(|length| length <= header.unpacked)),
            // What is no frame is decoded into the bytes that the header declares.
            Compression::LZ4 => Ok(length(&mut FrameDecoder::new(packed()?))
                .map_or(true, |length| length <= header.unpacked)),
            _ => Ok(true),
        }
    }

    /// Holds the page that begins here against what is allowed.
    fn check(&self, start: u64) -> Result<()> {
        let mut chunks = self.chunks.lock().expect("no panic while it is held");
        let Chunks { places, group, held, read } = &mut *chunks;
        let after = places.partition_point(|chunk| chunk.start <= start);
        let chunk = after.checked_sub(1).and_then(|at| places.get_mut(at));
        let chunk = chunk.ok_or_else(|| refused("a page lies where no column is"))?;
        // Of a page whose header was looked at before, which was held against everything then.
        if chunk.body == Some(start) {
            return Ok(());
        }
        let header = self.header(start)?;
        chunk.body = header.has_body().then_some(start + header.length);
        if chunk.group != *group {
            (*group, *held) = (chunk.group, 0);
        }
        *read = read.saturating_add(header.unpacked);
        *held -= std::mem::take(&mut chunk.held[usize::from(!header.dictionary)]).min(*held);
        *held += header.unpacked;
        chunk.held[usize::from(!header.dictionary)] = header.unpacked;
        if *held > FEW.max(self.size.saturating_mul(HELD)) || *read > self.all {
            return Err(refused(
                "its pages become far longer than the file is, as no numbers do: write it in smaller pages, or as NPY",
            ));
        }
        if header.dictionary && header.values > header.unpacked {
            return Err(refused("a dictionary declares more values than it has bytes"));
        }
        if !header.dictionary {
            let left = chunk.values.checked_sub(header.values);
            chunk.values =
                left.ok_or_else(|| refused("a column holds more values than it declares"))?;
        }
        let codec = chunk.codec;
        if !self.unpacks(start, &header, codec)? {
            return Err(refused("a page is longer than it declares"));
        }
        Ok(())
    }
}

fn refused(why: &str) -> ParquetError {
    ParquetError::General(why.to_owned())
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Pages {
    type T = BufReader<File>;

    /// Asked for where a page's header begins, once for each, and of lists, whose decoder looks ahead, behind it again.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.check(start)?;
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.file.get_bytes(start, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A header of a page of that kind with so many bytes, packed and unpacked, and two values.
    fn header(kind: u8, unpacked: u8, packed: u8) -> Vec<u8> {
        // Whole numbers of fields 1 to 3, then the struct in field 5 with its first field.
        vec![0x15, 2 * kind, 0x15, 2 * unpacked, 0x15, 2 * packed, 0x2c, 0x15, 4, 0, 0]
    }

    fn pages(bytes: &[u8]) -> Pages {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let chunk = Chunk {
            start: 0,
            group: 0,
            codec: Compression::UNCOMPRESSED,
            values: 3,
            held: [0; 2],
            body: None,
        };
        let chunks = Mutex::new(Chunks { places: vec![chunk], group: 0, held: 0, read: 0 });
        Pages { size: file.len(), file, all: 1 << 20, chunks }
    }

    /// A decoder that looks ahead asks for the bytes of a page behind its header. Behind that of an index, or of a page without bytes, it
    /// asks for the next header: nothing there goes unseen. Two pages of two values each are more than the column's three.
    #[test]
    fn no_header_hides_behind_another() {
        for (kind, packed, body) in
            [(0, 9, true), (3, 9, true), (2, 9, true), (1, 9, false), (0, 0, false)]
        {
            let first = header(kind, 9, packed);
            let behind = first.len() as u64;
            let pages = pages(&[first, header(0, 9, 9), vec![0; 40]].concat());
            assert!(pages.get_read(0).is_ok(), "{kind}");
            let again = pages.get_read(behind).map(drop);
            assert_eq!(again.is_ok(), body, "{kind} {packed}: {again:?}");
            // Nor once more.
            assert_eq!(pages.get_read(behind).is_ok(), body, "{kind} {packed}");
        }
    }
}
