//! Item sets: one set a line, words between separators.

use crate::columns::is_suspicious;
use crate::error::{DataError, Error, Result};
use crate::set_options::{EMPTY, LONGEST_SET, Named, Sets, SetsFile, refused};
use crate::source::{self, Bytes};
use sketch::sets::ItemSet;
use std::io::ErrorKind;
use std::path::PathBuf;

/// What else might stand between items.
const SEPARATORS: [char; 4] = ['\t', ',', ';', '|'];

/// First words of lines that are headers more often than sets.
const HEADINGS: [&str; 14] = [
    "name", "names", "user", "users", "item", "items", "set", "sets", "tag", "tags", "word",
    "words", "customer", "basket",
];

/// What is said of lines that end as no other reader's do.
const RETURN: &str = "a line holds a carriage return that does not end it: lines end with a newline; where carriage returns alone end \
                      them, make newlines of them (tr '\\r' '\\n')";

/// Sets of words.
pub(crate) struct SetLines {
    bytes: Bytes,
    path: PathBuf,
    separator: Option<String>,
    skipped: usize,
    named: bool,
    /// What the first line is, until it was read; `None`: it must not look like a header.
    header: Option<bool>,
    lines: u64,
    sets: u64,
    line: String,
}

impl SetLines {
    pub(crate) fn open(file: &SetsFile, bytes: Bytes) -> Result<Self> {
        let separator = file.separator.as_deref().map(|s| if s == "tab" { "\t" } else { s });
        if separator == Some("") {
            return Err(Error::options("`separator` is empty"));
        }
        if !file.items.is_empty() || file.set_id.is_some() {
            return Err(Error::options(
                "lines of words have no columns: `items` and `set_id` are for CSV, Parquet, Arrow and JSON lines; say `format` \
                 csv when this is a table",
            ));
        }
        if file.named().is_some_and(|column| column != "1") {
            return Err(Error::options(
                "lines of words have no columns: the name of a set, or whose it is, is its first word, `keep_id` 1 or `users` 1",
            ));
        }
        let header = match file.header {
            None if source::name_of(&file.path).ends_with(".csv") => {
                return Err(Error::options(
                    "a CSV file is a table, and sets are read one a line: say `items` COLUMN for the column that holds \
                     items; when every line is a set, `header` true when the first line holds names, `header` false when it \
                     is a set, and `separator` for what stands between items",
                ));
            }
            header => header,
        };
        Ok(Self {
            bytes,
            path: file.path.clone(),
            separator: separator.map(str::to_owned),
            skipped: usize::from(file.id_first || file.named().is_some()),
            named: file.named().is_some(),
            header,
            lines: 0,
            sets: 0,
            line: String::new(),
        })
    }

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
            return Err(
                "a line begins as JSON does: say `format` jsonl when it is, or name the file .jsonl",
            );
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
}

impl Sets for SetLines {
    fn next(&mut self) -> Result<Option<Named>> {
        loop {
            self.line.clear();
            let read = source::read_line(&mut self.bytes, &mut self.line, LONGEST_SET);
            let bytes = read.map_err(|e| match e.kind() {
                ErrorKind::InvalidData => {
                    DataError::of(&self.path, "it is not text (UTF-8)").into()
                }
                _ => Error::io(&self.path, e),
            })?;
            if bytes == 0 {
                return Ok(None);
            }
            self.lines += 1;
            let first = self.lines == 1;
            let text = self.line.trim_start_matches('\u{feff}').trim_end_matches(['\n', '\r']);
            let record = self.sets + 1;
            if text.contains('\r') {
                return Err(refused(&self.path, RETURN, record));
            }
            if first && self.header == Some(true) {
                let columns = self.words(text).skip(self.skipped).count();
                if columns > 1 {
                    let rule = format!(
                        "the header names {columns} columns: say `items` COLUMN for the one that holds items, with `format` csv"
                    );
                    return Err(DataError::of(&self.path, rule).into());
                }
                continue;
            }
            self.misread(text, first).map_err(|rule| refused(&self.path, rule, record))?;
            let items = self.words(text).skip(self.skipped).filter(|w| !w.is_empty());
            let set = ItemSet::from_words(items).map_err(|_| refused(&self.path, EMPTY, record))?;
            let id = self.words(text).next().filter(|_| self.named).map(str::to_owned);
            self.sets += 1;
            return Ok(Some(Named { set, id, bytes }));
        }
    }
}
