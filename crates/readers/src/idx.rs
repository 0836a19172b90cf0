//! IDX unsigned bytes: the first dimension counts rows, the others make up a row.

use crate::block::{Block, Input, RowReader, Values, block_rows};
use crate::error::{DataError, Error, Result};
use crate::options::{NOT_FINITE, Numbers, RowsFile};
use crate::source::{Bytes, Meter, NO_ROW, with_first_row};
use std::io::Read;
use std::path::PathBuf;

struct IdxRows {
    bytes: Bytes,
    left: u64,
    d: usize,
    numbers: Numbers,
    path: PathBuf,
    raw: Vec<u8>,
}

pub(crate) fn open(options: &RowsFile, (mut bytes, meter): (Bytes, Meter)) -> Result<Input> {
    let mut word = || {
        let mut word = [0u8; 4];
        bytes.read_exact(&mut word).map(|()| word)
    };
    let cut = |_| options.malformed("not an IDX file: it ends within its header");
    let [zero, zero_too, element, dimensions] = word().map_err(cut)?;
    if (zero, zero_too) != (0, 0) {
        return Err(options.malformed("not an IDX file: it does not begin with two zero bytes"));
    }
    if element != 8 {
        return Err(options.malformed("only IDX files of unsigned bytes are read"));
    }
    if !(1..=8).contains(&dimensions) {
        return Err(options.malformed("an IDX file has 1 to 8 dimensions"));
    }
    let mut sizes = Vec::new();
    for _ in 0..dimensions {
        sizes.push(u32::from_be_bytes(word().map_err(cut)?) as usize);
    }
    let d = sizes[1..].iter().try_fold(1usize, |d, &size| d.checked_mul(size));
    let d = d.filter(|&d| d < 1 << 32).ok_or_else(|| options.malformed("rows are too long"))?;
    let bytes = with_first_row(bytes, d as u128).map_err(|e| Error::io(&options.path, e))?;
    let bytes = bytes.ok_or_else(|| options.malformed(NO_ROW))?;
    let numbers = Numbers::of(options);
    let (left, path) = (sizes[0] as u64, options.path.clone());
    let rows = IdxRows { bytes, left, d, numbers, path, raw: Vec::new() };
    Ok(Input { rows: Box::new(rows), meter, columns: None, preprocessing: None })
}

impl RowReader for IdxRows {
    fn d(&self) -> usize {
        self.d
    }

    fn next(&mut self, used: Block) -> Result<Option<Block>> {
        let n = (block_rows(self.d) as u64).min(self.left) as usize;
        self.raw.clear();
        let wanted = if n == 0 { 1 } else { n * self.d };
        let read = self.bytes.by_ref().take(wanted as u64).read_to_end(&mut self.raw);
        read.map_err(|e| Error::io(&self.path, e))?;
        match (n, self.raw.len()) {
            (0, 0) => return Ok(None),
            (0, _) => {
                return Err(DataError::of(&self.path, "bytes follow the last row").into());
            }
            (_, found) if found < wanted => {
                return Err(DataError::of(&self.path, "the file ends before its last row").into());
            }
            _ => {}
        }
        self.left -= n as u64;
        let mut values = used.into_memory();
        values.extend(self.raw.iter().map(|&b| f64::from(b)));
        self.numbers.all_finite(&mut values).map_err(|_| DataError::of(&self.path, NOT_FINITE))?;
        Ok(Some(Block { n, values: Values::Dense(values) }))
    }
}
