//! Text, one row a line.
//!
//! The file is cut at line ends into chunks that are parsed in parallel. A quote may
//! hide a line end, so from the first quote on one parser reads the rest, and every quote is held against the end
//! of its cell.

use crate::block::{Block, Input, RowReader, Values, block_rows};
use crate::columns::{Selection, few};
use crate::error::{DataError, Error, Result};
use crate::gaps::{Gaps, Quotes, all_filled};
use crate::options::{IdColumn, NOT_AN_ID, Numbers, RowsFile, Users};
use crate::source::{self, Bytes, LONGEST_LINE, Meter, line_too_long};
use csv::{ByteRecord, Reader, ReaderBuilder};
use dp_core::release_file::RowIds;
use memchr::{memchr, memrchr};
use rayon::prelude::*;
use std::io::{BufRead, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a chunk.
const CHUNK: usize = 1 << 20;
/// Chunks parsed at once.
const CHUNKS: usize = 4;

/// The rows of a CSV file.
struct CsvRows {
    chunks: Chunks,
    /// The parser of the rest, once a quote was seen, and how much it may read for one record.
    rest: Option<(Reader<Box<dyn Read + Send>>, Allowance)>,
    layout: Layout,
    path: PathBuf,
    records: u64,
    users: Option<Users>,
    ids: Option<IdColumn>,
}

/// The rows of a chunk.
#[derive(Default)]
struct Parsed {
    records: u64,
    values: Vec<f64>,
    /// Whose they are, where that is asked.
    users: Vec<String>,
    /// What they are called, where that is asked.
    ids: RowIds,
}

/// What every record must look like.
struct Layout {
    delimiter: u8,
    selection: Selection,
    numbers: Numbers,
    /// The column that says whose a row is.
    user: Option<usize>,
}

/// What is wrong with a record, counted from the start of its chunk.
struct Wrong {
    record: u64,
    column: Option<String>,
    rule: String,
}

pub(crate) fn open(options: &RowsFile, (bytes, meter): (Bytes, Meter)) -> Result<Input> {
    let delimiter =
        delimiter(options.delimiter.as_deref().unwrap_or(usual_delimiter(&options.path)))?;
    let mut chunks = Chunks { bytes: Some(bytes), carry: Vec::new(), live: options.live };
    let first = chunks.first(delimiter).map_err(|e| Error::io(&options.path, e))?;
    if let Some(what) = source::foreign(&first) {
        return Err(options.malformed(format!("this is {what}")));
    }
    let mut reader = parser(delimiter, Cursor::new(&first));
    let mut record = ByteRecord::new();
    let read = reader.read_byte_record(&mut record);
    if !read.map_err(|e| options.malformed(e.to_string()))? {
        return Err(options.malformed("the file holds no row"));
    }
    let mut consumed = reader.position().byte() as usize;
    drop(reader);
    // Before names are spoken of: a quote that is open holds values.
    if let Some(rule) = Quotes::wrong(delimiter, &first[..consumed]) {
        return Err(options.malformed(format!("the first line: {rule}")));
    }
    // A record ends before the second half of its line end.
    if first[..consumed].ends_with(b"\r") && first.get(consumed) == Some(&b'\n') {
        consumed += 1;
    }
    let fields = record.len();
    few(fields)?;
    let text = |i: usize| {
        String::from_utf8_lossy(&record[i]).trim_start_matches('\u{feff}').trim().to_owned()
    };
    let names: Vec<String> = (0..fields).map(text).collect();
    let named = options.header != Some(false);
    check_delimiter(fields, &first, delimiter)?;
    let numeric = |i: usize| fast_float2::parse::<f64, _>(&names[i]).is_ok();
    let data = || {
        Error::options(
            "the first line holds numbers: say `header` false when it is data, or `header` true when \
             these are names",
        )
    };
    // Before names are spoken of: these may be values.
    if named && options.header.is_none() && fields > 0 && (0..fields).all(numeric) {
        return Err(data());
    }
    let vetted = options.header == Some(true);
    let known = named.then_some(names.as_slice());
    let selection = Selection::of(options, fields, known, vetted)?;
    let place = |users: &Users| Selection::one(&users.column, fields, known, vetted);
    let user = options.users.as_ref().map(place).transpose()?;
    let numbers = selection.positions().into_iter().filter(|&i| numeric(i)).count();
    if named && options.header.is_none() && numbers > 0 {
        return Err(data());
    }
    if !named && numbers < selection.names.len() {
        return Err(Error::options(
            "the first line is not all numbers: is it a header? Then leave out `header` false; \
             columns that are no numbers are left out with `leave_out`",
        ));
    }
    chunks.unread(&first[if named { consumed } else { 0 }..]);
    let columns = Some(selection.entered.clone());
    let layout = Layout { delimiter, selection, numbers: Numbers::of(options), user };
    let path = options.path.clone();
    let (users, ids) = (options.users.clone(), options.ids.clone());
    let rows = CsvRows { chunks, rest: None, layout, path, records: 0, users, ids };
    Ok(Input { rows: Box::new(rows), meter, columns, preprocessing: None })
}

/// What stands between cells, as the name of a file says it.
pub(crate) fn usual_delimiter(path: &Path) -> &'static str {
    if source::name_of(path).ends_with(".tsv") { "tab" } else { "," }
}

pub(crate) fn delimiter(text: &str) -> Result<u8> {
    match text {
        "tab" | "\\t" | "\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ if text.len() == 1 && text.as_bytes()[0] != b'"' => Ok(text.as_bytes()[0]),
        _ => Err(Error::options("`delimiter` takes one ASCII character, `tab` or `space`")),
    }
}

pub(crate) fn parser<R: Read>(delimiter: u8, source: R) -> Reader<R> {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(1 << 16)
        .from_reader(source)
}

/// Refuses a first line of one field that holds another usual delimiter.
fn check_delimiter(fields: usize, text: &[u8], delimiter: u8) -> Result<()> {
    let line = &text[..memchr(b'\n', text).unwrap_or(text.len())];
    let other = [(b';', ";"), (b'\t', "tab"), (b'|', "|"), (b',', ",")]
        .into_iter()
        .find(|&(c, _)| c != delimiter && memchr(c, line).is_some());
    match (fields, other) {
        (1, Some((_, name))) => Err(Error::options(format!(
            "the first line has one field: is the delimiter another one? Try `delimiter` '{name}'"
        ))),
        _ => Ok(()),
    }
}

/// Pieces of a file that end at line ends.
struct Chunks {
    bytes: Option<Bytes>,
    carry: Vec<u8>,
    /// Pieces are what has come, and not filled up.
    live: bool,
}

impl Chunks {
    fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let mut chunk = std::mem::take(&mut self.carry);
        if self.live
            && let Some(end) = memrchr(b'\n', &chunk)
        {
            self.carry = chunk.split_off(end + 1);
            return Ok(Some(chunk));
        }
        let Some(bytes) = &mut self.bytes else {
            return Ok(if chunk.is_empty() { None } else { Some(chunk) });
        };
        loop {
            let before = chunk.len();
            if self.live {
                let come = match bytes.fill_buf() {
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                    come => come?,
                };
                chunk.extend_from_slice(come);
                let taken = come.len();
                bytes.consume(taken);
            } else {
                bytes.by_ref().take(CHUNK as u64).read_to_end(&mut chunk)?;
            }
            if chunk.len() == before {
                self.bytes = None;
                return Ok(if chunk.is_empty() { None } else { Some(chunk) });
            }
            if let Some(end) = memrchr(b'\n', &chunk) {
                self.carry = chunk.split_off(end + 1);
                return Ok(Some(chunk));
            }
            if chunk.len() > LONGEST_LINE {
                return Err(line_too_long(LONGEST_LINE));
            }
        }
    }

    /// The first one. A quote may hold the line end where it was cut: then those that follow as well, as far as a line
    /// may go.
    fn first(&mut self, delimiter: u8) -> std::io::Result<Vec<u8>> {
        let mut first = self.next()?.unwrap_or_default();
        let (mut quotes, mut at) = (Quotes::new(delimiter), 0);
        loop {
            at += quotes.follow(&first[at..]);
            if at < first.len() || !quotes.are_open() || at > LONGEST_LINE {
                return Ok(first);
            }
            let Some(more) = self.next()? else { return Ok(first) };
            first.extend_from_slice(&more);
        }
    }

    /// Puts bytes back before everything else.
    fn unread(&mut self, bytes: &[u8]) {
        self.carry = [bytes, &self.carry].concat();
    }

    /// Everything that is left.
    fn rest(&mut self, chunk: Vec<u8>) -> Box<dyn Read + Send> {
        let carry = Cursor::new(std::mem::take(&mut self.carry));
        let start = Cursor::new(chunk).chain(carry);
        match self.bytes.take() {
            Some(bytes) => Box::new(start.chain(bytes)),
            None => Box::new(start),
        }
    }
}

/// Bytes that may still be read before a record ends: a quote that is never closed must not take
/// all memory.
#[derive(Clone, Default)]
pub(crate) struct Allowance(Arc<AtomicUsize>);

impl Allowance {
    pub(crate) fn renew(&self) {
        self.0.store(LONGEST_LINE, Ordering::Relaxed);
    }
}

pub(crate) struct Rationed {
    pub(crate) source: Box<dyn Read + Send>,
    pub(crate) allowance: Allowance,
}

impl Read for Rationed {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = self.allowance.0.load(Ordering::Relaxed);
        if left == 0 {
            return Err(line_too_long(LONGEST_LINE));
        }
        let most = out.len().min(left);
        let read = self.source.read(&mut out[..most])?;
        self.allowance.0.store(left - read, Ordering::Relaxed);
        Ok(read)
    }
}

impl Layout {
    /// Whether an empty line is a missing value.
    fn is_one(&self) -> bool {
        self.selection.used.len() == 1
    }

    /// What the parser reads of lines without quotes.
    fn lines<'a>(&self, source: &'a [u8]) -> Box<dyn Read + Send + 'a> {
        if self.is_one() && !all_filled(source) {
            Box::new(Gaps::new(source, self.delimiter, true))
        } else {
            Box::new(source)
        }
    }

    /// Adds the numbers of a record.
    fn push(&self, record: &ByteRecord, out: &mut Parsed) -> Result<(), Wrong> {
        let at = out.records;
        let used = &self.selection.used;
        if record.len() != used.len() {
            let [found, expected] = [record.len(), used.len()];
            let rule = format!("a row has {found} fields where the first line has {expected}");
            return Err(Wrong { record: at, column: None, rule });
        }
        if let Some(column) = self.user {
            let user = core::str::from_utf8(&record[column]).map_or("", Users::spelled);
            if user.is_empty() {
                let rule = "a row does not say whose it is, in text (UTF-8)".to_owned();
                return Err(Wrong { record: at, column: None, rule });
            }
            out.users.push(user.to_owned());
        }
        if let Some(column) = self.selection.id {
            let id = core::str::from_utf8(record[column].trim_ascii()).unwrap_or_default();
            let wrong = |_| Wrong { record: at, column: None, rule: NOT_AN_ID.into() };
            out.ids.push(id).map_err(wrong)?;
        }
        for (i, cell) in record.iter().enumerate().filter(|&(i, _)| used[i]) {
            let value = match fast_float2::parse::<f64, _>(cell) {
                Ok(value) => self.numbers.finite(value),
                Err(_) => self.unusual(cell),
            };
            out.values.push(value.map_err(|rule| {
                let used_before = used[..i].iter().filter(|u| **u).count();
                let column = Some(self.selection.names[used_before].clone());
                Wrong { record: at, column, rule: rule.into() }
            })?);
        }
        out.records += 1;
        Ok(())
    }

    /// A cell that is not plainly a number.
    fn unusual(&self, cell: &[u8]) -> Result<f64, &'static str> {
        let cell = cell.trim_ascii();
        let missing: [&[u8]; 8] = [b"", b"NA", b"N/A", b"null", b"NULL", b"None", b"?", b"."];
        if missing.contains(&cell) {
            return self.numbers.missing();
        }
        match fast_float2::parse::<f64, _>(cell) {
            Ok(value) => self.numbers.finite(value),
            Err(_) if memchr(b',', cell).is_some() => Err(
                "a value is not a number; decimals are written with a point, thousands without a mark",
            ),
            Err(_) => Err("a value is not a number; `leave_out` leaves a column out"),
        }
    }

    /// All rows of a chunk.
    fn parse(&self, chunk: &[u8]) -> Result<Parsed, Wrong> {
        let mut reader = parser(self.delimiter, self.lines(chunk));
        let mut record = ByteRecord::new();
        let values = Vec::with_capacity(chunk.len().min(CHUNK) / 4);
        let mut out = Parsed { values, ..Parsed::default() };
        loop {
            let wrong =
                |e: csv::Error| Wrong { record: out.records, column: None, rule: e.to_string() };
            if !reader.read_byte_record(&mut record).map_err(wrong)? {
                return Ok(out);
            }
            self.push(&record, &mut out)?;
        }
    }
}

impl CsvRows {
    fn refused(&self, wrong: Wrong) -> Error {
        let record = self.records + wrong.record + 1;
        DataError {
            file: self.path.clone(),
            column: wrong.column,
            rule: wrong.rule,
            record: Some(record),
        }
        .into()
    }

    /// Chunks without quotes, up to [`CHUNKS`].
    fn chunks(&mut self) -> Result<Vec<Vec<u8>>> {
        let mut chunks = Vec::new();
        let most = if self.chunks.live { 1 } else { CHUNKS };
        while chunks.len() < most {
            let Some(chunk) = self.chunks.next().map_err(|e| Error::io(&self.path, e))? else {
                break;
            };
            if memchr(b'"', &chunk).is_some() {
                let allowance = Allowance::default();
                let source =
                    Rationed { source: self.chunks.rest(chunk), allowance: allowance.clone() };
                let (delimiter, one) = (self.layout.delimiter, self.layout.is_one());
                let source: Box<dyn Read + Send> = Box::new(Gaps::new(source, delimiter, one));
                self.rest = Some((parser(delimiter, source), allowance));
                break;
            }
            chunks.push(chunk);
        }
        Ok(chunks)
    }

    fn next_of_rest(&mut self) -> Result<Option<Block>> {
        let all = block_rows(self.layout.selection.names.len());
        let wanted = if self.chunks.live { 1 } else { all };
        let mut record = ByteRecord::new();
        // Blocks of which nothing is left are passed over.
        loop {
            let mut out = Parsed::default();
            while out.records < wanted as u64 {
                let Some((reader, allowance)) = &mut self.rest else { return Ok(None) };
                allowance.renew();
                let parsed = match reader.read_byte_record(&mut record) {
                    Ok(false) if out.records == 0 => return Ok(None),
                    Ok(false) => break,
                    Ok(true) => self.layout.push(&record, &mut out),
                    Err(e) => Err(Wrong { record: out.records, column: None, rule: e.to_string() }),
                };
                if let Err(wrong) = parsed {
                    return Err(self.refused(wrong));
                }
            }
            self.records += out.records;
            let n = self.keep(&mut out)? as usize;
            if n > 0 {
                return Ok(Some(Block { n, values: Values::Dense(out.values) }));
            }
        }
    }

    /// Leaves out rows of users who have had theirs, and names the others; how many are left.
    fn keep(&mut self, parsed: &mut Parsed) -> Result<u64> {
        let (d, mut kept) = (self.layout.selection.names.len(), 0);
        let used: Option<Vec<bool>> = self.users.as_ref().map(|users| {
            let all = std::mem::take(&mut parsed.users);
            all.iter().map(|user| users.takes(user)).collect()
        });
        let takes = |row: usize| used.as_ref().is_none_or(|used| used[row]);
        if let Some(column) = &self.ids {
            let mut ids = column.ids();
            for row in (0..parsed.ids.rows()).filter(|&row| takes(row)) {
                let named = ids.push(parsed.ids.get(row).unwrap_or_default());
                named.map_err(|e| DataError::of(&self.path, e.to_string()))?;
            }
        }
        if used.is_none() {
            return Ok(parsed.records);
        }
        for row in (0..parsed.records as usize).filter(|&row| takes(row)) {
            parsed.values.copy_within(row * d..(row + 1) * d, kept * d);
            kept += 1;
        }
        parsed.values.truncate(kept * d);
        Ok(kept as u64)
    }
}

impl RowReader for CsvRows {
    fn d(&self) -> usize {
        self.layout.selection.names.len()
    }

    fn column(&self, index: usize) -> String {
        self.layout.selection.names[index].clone()
    }

    fn next(&mut self, used: Block) -> Result<Option<Block>> {
        if self.rest.is_some() {
            return self.next_of_rest();
        }
        let mut all = used.into_memory();
        // Chunks of blank lines hold no row.
        loop {
            let chunks = self.chunks()?;
            if chunks.is_empty() {
                return self.next_of_rest();
            }
            let parsed: Vec<_> = chunks.par_iter().map(|chunk| self.layout.parse(chunk)).collect();
            drop(chunks);
            let mut n = 0;
            for part in parsed {
                let mut part = part.map_err(|wrong| self.refused(wrong))?;
                self.records += part.records;
                n += self.keep(&mut part)?;
                all.extend_from_slice(&part.values);
            }
            if n > 0 {
                return Ok(Some(Block { n: n as usize, values: Values::Dense(all) }));
            }
        }
    }
}
