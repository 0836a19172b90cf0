//! Item sets: one set a line, words between separators.

use crate::columns::is_suspicious;
use crate::error::{DataError, Error, Result};
use crate::source::{self, Bytes, Meter};
use sketch::sets::ItemSet;
use std::io::{BufRead, ErrorKind};
use std::path::PathBuf;

/// Which file of sets is read, and how. [`SetsFile::new`] expects words with white space between them.
#[derive(Debug, Clone)]
pub struct SetsFile {
    /// The file of sets, one a line; `-` reads standard input. Gzip is recognised.
    pub path: PathBuf,
    /// What stands between the items of a set: `tab`, a text such as a comma, or `space` for any white
    /// space, which is the default for lines without tabs, commas, semicolons and bars.
    pub separator: Option<String>,
    /// Whether the first word of a line names the set and is left out.
    pub id_first: bool,
    /// Whether the first line holds names and is left out. By default it is a set, and must not look like
    /// a header.
    pub header: Option<bool>,
}

/// What else might stand between items.
const SEPARATORS: [char; 4] = ['\t', ',', ';', '|'];

/// First words of lines that are headers more often than sets.
const HEADINGS: [&str; 14] = [
    "name", "names", "user", "users", "item", "items", "set", "sets", "tag", "tags", "word",
    "words", "customer", "basket",
];

/// Sets of a batch, and about how many bytes of text.
const BATCH: usize = 4096;
const BATCH_BYTES: usize = 1 << 22;
/// Longest line, whose every other byte may be an item.
const LONGEST_SET: usize = 1 << 22;

/// The sets of a file, in batches.
pub struct SetReader {
    bytes: Bytes,
    path: PathBuf,
    separator: Option<String>,
    skipped: usize,
    /// What the first line is, until it was read; `None`: it must not look like a header.
    header: Option<bool>,
    lines: u64,
    sets: u64,
    line: String,
    /// How far reading has come.
    pub meter: Meter,
}

impl SetsFile {
    /// A set a line, white space between its items.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), separator: None, id_first: false, header: None }
    }

    /// Opens the file.
    ///
    /// # Errors
    /// A file that cannot be read, or that is not text with one set a line.
    pub fn open(&self) -> Result<SetReader> {
        let (mut bytes, meter) = source::open(&self.path)?;
        let start = bytes.fill_buf().map_err(|e| Error::io(&self.path, e))?;
        if let Some(what) = source::foreign(start) {
            let what = what.split(':').next().unwrap_or(what);
            let rule = format!("this is {what}; sets are read from text, one set a line");
            return Err(DataError::of(&self.path, rule).into());
        }
        let separator = self.separator.as_deref().map(|s| if s == "tab" { "\t" } else { s });
        if separator == Some("") {
            return Err(Error::options("`separator` is empty"));
        }
        let name = self.path.to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let header = match self.header {
            None if name.ends_with(".csv") => {
                return Err(Error::options(
                    "a CSV file is a table, and sets are read one a line: say `header` true when the first line \
                     holds names, `header` false when it is a set, and `separator` for what stands between \
                     items",
                ));
            }
            header => header,
        };
        Ok(SetReader {
            bytes,
            path: self.path.clone(),
            separator: separator.map(str::to_owned),
            skipped: usize::from(self.id_first),
            header,
            lines: 0,
            sets: 0,
            line: String::new(),
            meter,
        })
    }
}

impl SetReader {
    /// The words of a line, which are never held all at once.
    fn words<'t>(&'t self, text: &'t str) -> Box<dyn Iterator<Item = &'t str> + 't> {
        match self.separator.as_deref() {
            None | Some("space") => Box::new(text.split_whitespace()),
            Some(separator) => Box::new(text.split(separator).map(str::trim)),
        }
    }

    /// Refuses a line that would be cut into other items than its writer meant.
    fn misread(&self, text: &str, first: bool) -> Result<(), &'static str> {
        let separator = self.separator.as_deref();
        if text.starts_with(['{', '[']) {
            return Err("a line begins as JSON does; sets are read as words, one set a line");
        }
        if separator.is_none() && text.contains(SEPARATORS) {
            return Err(
                "a line holds a tab, a comma, a semicolon or a bar: say `separator` tab (or what it is) when that \
                 stands between items, `separator` space when white space does",
            );
        }
        if separator.is_some_and(|s| s != "space") && text.contains('"') {
            return Err("a line holds a quote: quoted items are not read; write them without");
        }
        let Some(word) = self.words(text).next() else { return Ok(()) };
        let glued = |c: char| match separator {
            Some("\t") => c != ' ' && (c.is_whitespace() || SEPARATORS.contains(&c)),
            _ => c.is_whitespace() || SEPARATORS.contains(&c),
        };
        if self.skipped > 0 && word.contains(glued) {
            return Err(
                "the first word of a line, which `id_first` leaves out, holds white space or another separator: \
                 an item would go with it; the name of a set and its items must have one separator",
            );
        }
        let heading = || {
            HEADINGS.contains(&word.to_lowercase().as_str())
                || self.words(text).any(|word| !word.is_empty() && is_suspicious(word))
        };
        if first && self.header.is_none() && heading() {
            return Err(
                "the first line looks like a header: say `header` true when it is one, `header` false when it is a set",
            );
        }
        Ok(())
    }

    /// How many sets came before the batch that is read next.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.sets
    }

    /// The next sets; none after the last.
    ///
    /// # Errors
    /// A line that is no set, or a file that holds none.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Vec<ItemSet>> {
        let (mut batch, mut text_read) = (Vec::new(), 0);
        while batch.len() < BATCH && text_read < BATCH_BYTES {
            self.line.clear();
            let read = source::read_line(&mut self.bytes, &mut self.line, LONGEST_SET);
            let read = read.map_err(|e| match e.kind() {
                ErrorKind::InvalidData => {
                    DataError::of(&self.path, "it is not text (UTF-8)").into()
                }
                _ => Error::io(&self.path, e),
            })?;
            if read == 0 {
                break;
            }
            self.lines += 1;
            text_read += read;
            let first = self.lines == 1;
            let text = self.line.trim_start_matches('\u{feff}').trim_end_matches(['\n', '\r']);
            if first && self.header == Some(true) {
                let columns = self.words(text).skip(self.skipped).count();
                if columns > 1 {
                    let rule = format!(
                        "the header names {columns} columns: make a file of the one that holds the sets"
                    );
                    return Err(DataError::of(&self.path, rule).into());
                }
                continue;
            }
            self.misread(text, first).map_err(|rule| DataError {
                file: self.path.clone(),
                column: None,
                rule: rule.into(),
                record: Some(self.sets + batch.len() as u64 + 1),
            })?;
            let items = self.words(text).skip(self.skipped).filter(|w| !w.is_empty());
            batch.push(ItemSet::from_words(items).map_err(|_| DataError {
                file: self.path.clone(),
                column: None,
                rule: "a line holds no item: a set must not be empty".into(),
                record: Some(self.sets + batch.len() as u64 + 1),
            })?);
        }
        if batch.is_empty() && self.sets == 0 {
            return Err(DataError::of(&self.path, "the file holds no set").into());
        }
        self.sets += batch.len() as u64;
        Ok(batch)
    }
}
