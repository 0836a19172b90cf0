//! What the footer of a Parquet file declares, before its decoder takes memory for it: a column, and a column of a row
//! group, take ten bytes and more than half a KiB.

use crate::joined::{JOINED, joined};
use crate::thrift::{LIST, STRUCT, Thrift};
use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};

/// How a file begins and ends.
const MARK: [u8; 4] = *b"PAR1";
/// The footer's length and the closing magic.
const TAIL: u64 = 8;
/// Groups of columns within each other.
const NESTED: usize = 32;
/// So many columns, and columns of row groups, are few, however small the file is.
const FEW: u64 = 1 << 15;
/// Beyond them, the bytes of a file for each.
const BYTES: u64 = 128;

/// Why a file is refused, if it is. Moves the place in the file.
pub(crate) fn refused(file: &mut File) -> Result<Option<String>> {
    const DAMAGED: &str = "not a Parquet file that can be read: its footer is damaged";
    let damaged = || Ok(Some(DAMAGED.to_owned()));
    let size = file.seek(SeekFrom::End(0))?;
    let Some(end) = size.checked_sub(TAIL) else { return damaged() };
    file.seek(SeekFrom::Start(end))?;
    let mut tail = [0; TAIL as usize];
    file.read_exact(&mut tail)?;
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    // Of an encrypted file the decoder says so.
    if tail[4..] != MARK {
        return Ok(None);
    }
    let Some(start) = end.checked_sub(length) else { return damaged() };
    let most = FEW.max(size / BYTES);
    let many = |what: &str| {
        Ok(Some(format!(
            "its footer declares more than {most} {what}, the most for a file of {size} bytes: write fewer and larger \
             row groups, one column of lists, or NPY"
        )))
    };
    // Ten bytes tell of a column; names and statistics may be long.
    if length > most.saturating_mul(1 << 10) {
        return many("KiB");
    }
    file.seek(SeekFrom::Start(start))?;
    let mut footer = Vec::new();
    file.by_ref().take(length).read_to_end(&mut footer)?;
    let Some(declared) = Declared::of(&footer) else { return damaged() };
    if declared.elements > most {
        return many("columns");
    }
    if declared.chunks > most {
        return many("row groups, or columns of row groups");
    }
    let gap = start.saturating_sub(declared.covered.max(MARK.len() as u64));
    Ok(joined(file, &MARK, gap, &[0])?.then(|| JOINED.to_owned()))
}

#[derive(Default)]
struct Declared {
    elements: u64,
    /// Row groups and their columns.
    chunks: u64,
    /// Where the last of the bytes that it tells of end: those of columns, their indexes and their bloom filters.
    covered: u64,
}

impl Declared {
    /// `None` for what no writer writes.
    fn of(footer: &[u8]) -> Option<Self> {
        let mut declared = Self::default();
        Thrift::new(footer).fields(|thrift, id, kind| match (id, kind) {
            (2, LIST) => declared.schema(thrift),
            (4, LIST) => declared.groups(thrift),
            (2 | 4, _) => None,
            _ => thrift.skip(kind),
        })?;
        Some(declared)
    }

    /// The tree of columns, of which each element says how many follow below it: decoders go down by calling themselves.
    fn schema(&mut self, thrift: &mut Thrift<'_>) -> Option<()> {
        let (count, kind) = thrift.list()?;
        self.elements = count as u64;
        let mut open: Vec<i64> = Vec::new();
        for _ in 0..count {
            let mut children = 0;
            (kind == STRUCT).then_some(())?;
            thrift.fields(|thrift, id, kind| match (id, kind) {
                (5, 5) => thrift.whole().map(|n| children = n),
                (5, _) => None,
                _ => thrift.skip(kind),
            })?;
            while open.last() == Some(&0) {
                open.pop();
            }
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            if children > 0 {
                open.push(children);
            }
            (open.len() <= NESTED).then_some(())?;
        }
        Some(())
    }

    fn groups(&mut self, thrift: &mut Thrift<'_>) -> Option<()> {
        let (count, kind) = thrift.list()?;
        for _ in 0..count {
            (kind == STRUCT).then_some(())?;
            self.chunks += 1;
            thrift.fields(|thrift, id, kind| match (id, kind) {
                (1, LIST) => {
                    let (columns, kind) = thrift.list()?;
                    self.chunks += columns as u64;
                    (0..columns).try_for_each(|_| {
                        (kind == STRUCT).then_some(())?;
                        self.chunk(thrift)
                    })
                }
                (1, _) => None,
                _ => thrift.skip(kind),
            })?;
        }
        Some(())
    }

    /// Where the bytes lie that belong to a column of a row group. Old writers do not say how long a bloom filter is, and some say
    /// zero for the place of a dictionary that is not there.
    fn chunk(&mut self, thrift: &mut Thrift<'_>) -> Option<()> {
        let (mut chunk, mut data) = ([0u64; 16], [0u64; 16]);
        thrift.fields(|thrift, id, kind| match (id, kind) {
            (3, STRUCT) => thrift.fields(|thrift, id, kind| keep(&mut data, thrift, id, kind)),
            _ => keep(&mut chunk, thrift, id, kind),
        })?;
        let pages = if data[11] > 0 { data[11] } else { data[9] };
        let offset_index = (chunk[4], chunk[5]);
        let column_index = (chunk[6], chunk[7]);
        let bloom_filter = (data[14], data[15]);
        for (start, length) in [(pages, data[7]), bloom_filter, offset_index, column_index] {
            self.covered = self.covered.max(start.saturating_add(length));
        }
        Some(())
    }
}

/// Keeps a natural number at its field's number, and passes over everything else.
fn keep(numbers: &mut [u64; 16], thrift: &mut Thrift<'_>, id: i64, kind: u8) -> Option<()> {
    let number = usize::try_from(id).ok().and_then(|id| numbers.get_mut(id));
    match number.filter(|_| matches!(kind, 4..=6)) {
        Some(number) => thrift.whole().map(|n| *number = u64::try_from(n).unwrap_or(0)),
        None => thrift.skip(kind),
    }
}
