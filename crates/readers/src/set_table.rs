//! Item sets in tables: in the cells of one column or of several, or an item a row.

use crate::columns::{Selection, few};
use crate::csv::{Allowance, Rationed, delimiter, parser, usual_delimiter};
use crate::error::{DataError, Error, Result};
use crate::gaps::{Gaps, Quotes};
use crate::set_options::{EMPTY, LONGEST_SET, Named, Sets, SetsFile};
use crate::source::Bytes;
use csv::{ByteRecord, Reader};
use sketch::sets::ItemSet;
use std::io::{Cursor, Read};

/// Rows of cells, of which some are read: those of items, then the one that names the set.
pub(crate) trait Cells: Send {
    /// The next row; empty cells where there is nothing.
    fn next(&mut self) -> Result<Option<Vec<String>>>;
}

/// Positions of the columns that are read, in the order of [`Cells`]. Names that are not `vetted` may be a first row of values.
pub(crate) fn columns(
    file: &SetsFile,
    count: usize,
    names: Option<&[String]>,
    vetted: bool,
) -> Result<Vec<usize>> {
    few(count)?;
    let named = file.set_id.as_deref().or(file.named());
    let wanted = file.items.iter().map(String::as_str).chain(named);
    let found = wanted.map(|text| Selection::one(text, count, names, vetted));
    let found = found.collect::<Result<Vec<_>>>()?;
    if let (Some(_), Some((user, items))) = (&file.users, found.split_last())
        && items.contains(user)
    {
        return Err(Error::options(
            "`users` names a column of items: whose a set is does not enter",
        ));
    }
    Ok(found)
}

/// Refuses what could mean several things.
fn check(file: &SetsFile) -> Result<()> {
    let refuse = |text: &str| Err(Error::options(text));
    if file.separator.as_deref() == Some("") {
        return refuse("`separator` is empty");
    }
    if file.id_first {
        return refuse(
            "`id_first` has no effect: a table has columns; name the one of ids with `keep_id`",
        );
    }
    match (file.items.len(), &file.set_id, &file.separator) {
        (0, ..) => refuse("say `items` COLUMN for the column that holds items"),
        (1, None, None) => refuse(
            "one column holds items: say `separator` for what stands between them in a cell, or, with one item a row, \
             `set_id` COLUMN for whose it is",
        ),
        (2.., Some(_), _) => {
            refuse("with `set_id` a row holds one item: name one column with `items`")
        }
        (_, Some(_), Some(_)) => {
            refuse("with `set_id` a cell holds one item: leave `separator` out")
        }
        (2.., None, Some(_)) => refuse(
            "with several columns of items a cell holds one: leave `separator` out, or name one column",
        ),
        _ => match (&file.set_id, &file.ids) {
            (Some(set), Some(id)) if *set != id.column => refuse(
                "sets that are made of rows are called by `set_id`: name the same column with `keep_id`",
            ),
            _ => Ok(()),
        },
    }
}

/// Sets in the cells of a row.
struct Wide<C> {
    cells: C,
    file: SetsFile,
    sets: u64,
}

/// Sets of which every row holds an item.
struct Long<C> {
    cells: C,
    file: SetsFile,
    rows: u64,
    /// A row that was read already.
    ahead: Option<[String; 2]>,
}

/// Sets in a table.
pub(crate) fn sets(file: &SetsFile, cells: impl Cells + 'static) -> Result<Box<dyn Sets>> {
    check(file)?;
    let file = file.clone();
    Ok(match file.set_id {
        None => Box::new(Wide { cells, file, sets: 0 }),
        Some(_) => Box::new(Long { cells, file, rows: 0, ahead: None }),
    })
}

impl<C: Cells> Sets for Wide<C> {
    fn next(&mut self) -> Result<Option<Named>> {
        let Some(mut row) = self.cells.next()? else { return Ok(None) };
        let bytes = row.iter().map(String::len).sum();
        let id = self.file.named().is_some().then(|| row.pop().unwrap_or_default());
        let words: Box<dyn Iterator<Item = &str>> = match self.file.separator.as_deref() {
            None => Box::new(row.iter().map(String::as_str)),
            Some("space") => Box::new(row.iter().flat_map(|cell| cell.split_whitespace())),
            Some("tab") => Box::new(row.iter().flat_map(|cell| cell.split('\t'))),
            Some(text) => Box::new(row.iter().flat_map(move |cell| cell.split(text))),
        };
        let words = words.map(str::trim).filter(|word| !word.is_empty());
        self.sets += 1;
        let set = ItemSet::from_words(words).map_err(|_| self.file.refused(EMPTY, self.sets))?;
        Ok(Some(Named { set, id, bytes }))
    }
}

impl<C: Cells> Long<C> {
    /// Item and set of the next row.
    fn row(&mut self) -> Result<Option<[String; 2]>> {
        if let Some(row) = self.ahead.take() {
            return Ok(Some(row));
        }
        let Some(row) = self.cells.next()? else { return Ok(None) };
        self.rows += 1;
        match <[String; 2]>::try_from(row) {
            Ok([item, set]) if !item.is_empty() && !set.is_empty() => Ok(Some([item, set])),
            _ => Err(self
                .file
                .refused("a row lacks its item, or does not say whose it is", self.rows)),
        }
    }
}

impl<C: Cells> Sets for Long<C> {
    fn next(&mut self) -> Result<Option<Named>> {
        let Some([item, set]) = self.row()? else { return Ok(None) };
        let (mut bytes, mut items) = (item.len() + set.len(), vec![ItemSet::item(&item)]);
        while let Some([item, of]) = self.row()? {
            if of != set {
                self.ahead = Some([item, of]);
                break;
            }
            bytes += item.len() + 1;
            if bytes > LONGEST_SET {
                return Err(self.file.refused("a set takes more than 4 MiB", self.rows));
            }
            items.push(ItemSet::item(&item));
        }
        let found = ItemSet::new(items).map_err(|_| self.file.refused(EMPTY, self.rows))?;
        Ok(Some(Named { set: found, id: Some(set), bytes }))
    }
}

/// Cells of a CSV file.
struct CsvCells {
    reader: Reader<Box<dyn Read + Send>>,
    allowance: Allowance,
    file: SetsFile,
    columns: Vec<usize>,
    fields: usize,
    record: ByteRecord,
    rows: u64,
}

/// Keeps what it hands on.
struct Kept<'a> {
    source: &'a mut Rationed,
    bytes: Vec<u8>,
}

impl Read for Kept<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let read = self.source.read(out)?;
        self.bytes.extend_from_slice(&out[..read]);
        Ok(read)
    }
}

pub(crate) fn open_csv(file: &SetsFile, bytes: Bytes) -> Result<Box<dyn Sets>> {
    check(file)?;
    let allowance = Allowance::default();
    allowance.renew();
    let mut source = Rationed { source: Box::new(bytes), allowance: allowance.clone() };
    let delimiter = delimiter(usual_delimiter(&file.path))?;
    let mut reader = parser(delimiter, Kept { source: &mut source, bytes: Vec::new() });
    let mut record = ByteRecord::new();
    let read = reader.read_byte_record(&mut record);
    if !read.map_err(|e| DataError::of(&file.path, e.to_string()))? {
        return Err(DataError::of(&file.path, "the file holds no set").into());
    }
    let end = reader.position().byte() as usize;
    // Before names are spoken of: a quote that is open holds items.
    if let Some(rule) = Quotes::wrong(delimiter, &reader.get_ref().bytes[..end]) {
        return Err(DataError::of(&file.path, format!("the first line: {rule}")).into());
    }
    let text = |cell: &[u8]| {
        String::from_utf8_lossy(cell).trim_start_matches('\u{feff}').trim().to_owned()
    };
    let names: Vec<String> = record.iter().map(text).collect();
    let headed = file.header != Some(false);
    let columns = columns(file, names.len(), headed.then_some(&names), file.header == Some(true))?;
    let fields = names.len();
    let header = if headed { end } else { 0 };
    let mut before = reader.into_inner().bytes;
    let source = Cursor::new(before.split_off(header)).chain(source);
    let source: Box<dyn Read + Send> =
        Box::new(Gaps::behind(&before, source, delimiter, fields == 1));
    let (file, reader) = (file.clone(), parser(delimiter, source));
    sets(&file.clone(), CsvCells { reader, allowance, file, columns, fields, record, rows: 0 })
}

impl Cells for CsvCells {
    fn next(&mut self) -> Result<Option<Vec<String>>> {
        self.allowance.renew();
        let read = self.reader.read_byte_record(&mut self.record);
        if !read.map_err(|e| self.file.refused(e.to_string(), self.rows + 1))? {
            return Ok(None);
        }
        self.rows += 1;
        if self.record.len() != self.fields {
            let [found, expected] = [self.record.len(), self.fields];
            let rule = format!("a row has {found} fields where the first line has {expected}");
            return Err(self.file.refused(rule, self.rows));
        }
        let cell =
            |&at: &usize| core::str::from_utf8(&self.record[at]).map(|s| s.trim().to_owned());
        let cells = self.columns.iter().map(cell).collect::<Result<_, _>>();
        cells.map(Some).map_err(|_| self.file.refused("it is not text (UTF-8)", self.rows))
    }
}
