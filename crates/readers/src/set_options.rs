//! Which file of sets is read, and how.

use crate::error::{DataError, Error, Result};
use crate::options::{IdColumn, Users};
use sketch::sets::ItemSet;
use std::path::{Path, PathBuf};

/// Formats of files of sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetFormat {
    /// Text, one set a line, words between separators.
    Lines,
    /// JSON lines: a list of items a line, or an object with one.
    Jsonl,
    /// CSV: items in columns.
    Csv,
    /// Apache Parquet; needs the feature `parquet`.
    Parquet,
    /// Apache Arrow IPC, file or stream; needs the feature `arrow`.
    Arrow,
}

/// Which file of sets is read, and how. [`SetsFile::new`] takes what the file says of itself; what could mean several things is
/// refused.
///
/// | format | a set is |
/// | --- | --- |
/// | lines | a line of words |
/// | JSON lines | a list, or the list in the field `items` of an object (by default the only one) |
/// | Parquet, Arrow | the list in the column `items` (by default the only one) |
/// | CSV | the cell in the column `items`, cut at `separator` |
/// | CSV, Parquet, Arrow | the cells in several columns `items` |
/// | the same, with `set_id` | the cells in the column `items` of the rows that have one `set_id`, which stand together |
///
/// White space at both ends of an item does not count, an item that comes twice counts once, and a whole number is the text of
/// its digits. Empty cells are no items; an empty text in a list, a missing item and a set without items are refused, and so is
/// an empty line before a set: of lines of words, of JSON lines, of a CSV file of one column.
#[derive(Debug, Clone)]
pub struct SetsFile {
    /// The file of sets; `-` reads standard input. Gzip and zstd are recognised.
    pub path: PathBuf,
    /// Its format; by default what its name says, and lines where it says nothing.
    pub format: Option<SetFormat>,
    /// What stands between the items of a set: `tab`, a text such as a comma, or `space` for any white
    /// space, which is the default for lines without tabs, commas, semicolons and bars.
    pub separator: Option<String>,
    /// Lines: whether the first word of a line names the set and is left out.
    pub id_first: bool,
    /// Whether the first line holds names and is left out. By default a line of words is a set, and must not look like
    /// a header, and a table has one.
    pub header: Option<bool>,
    /// Tables and JSON lines: the columns (names, or positions from one) or the field of items.
    pub items: Vec<String>,
    /// Tables with an item a row: the column that says whose it is.
    pub set_id: Option<String>,
    /// What the sets are called: a column or a field; in lines the first word (`1`), which `id_first` leaves out.
    pub ids: Option<IdColumn>,
    /// How many sets of a user are used: a column or a field, in lines the first word (`1`). Not beside `ids` and `set_id`.
    pub users: Option<Users>,
}

impl SetsFile {
    /// What the name of the file says.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            format: None,
            separator: None,
            id_first: false,
            header: None,
            items: Vec::new(),
            set_id: None,
            ids: None,
            users: None,
        }
    }

    /// The column or field that is read beside the items.
    pub(crate) fn named(&self) -> Option<&str> {
        let users = self.users.as_ref().map(|users| users.column.as_str());
        self.ids.as_ref().map(|ids| ids.column.as_str()).or(users)
    }

    pub(crate) fn refused(&self, rule: impl Into<String>, record: u64) -> Error {
        refused(&self.path, rule, record)
    }
}

/// A record that is no set.
pub(crate) fn refused(file: &Path, rule: impl Into<String>, record: u64) -> Error {
    DataError { file: file.to_owned(), column: None, rule: rule.into(), record: Some(record) }
        .into()
}

/// What is said of a set without items.
pub(crate) const EMPTY: &str = "a line holds no item: a set must not be empty";

/// What is said of a text without letters in a list.
pub(crate) const EMPTY_ITEM: &str = "an item of a list is an empty text: leave it out of the list";

/// Sets, one after the other.
pub(crate) trait Sets: Send {
    /// The next one; none after the last.
    fn next(&mut self) -> Result<Option<Named>>;

    /// The column or field whose lists were found to be the sets.
    fn list(&self) -> Option<&str> {
        None
    }
}

/// A set, what it is called where that is asked, and about how many bytes it took.
pub(crate) struct Named {
    pub(crate) set: ItemSet,
    pub(crate) id: Option<String>,
    pub(crate) bytes: usize,
}

/// Longest text of a set, whose every other byte may be an item.
pub(crate) const LONGEST_SET: usize = 1 << 22;
