//! What can go wrong while a file is read.

use std::path::{Path, PathBuf};

/// Result of reading.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a file was not read. Texts name options by the fields of [`RowsFile`](crate::RowsFile),
/// [`SetsFile`](crate::SetsFile) and [`Limits`](crate::Limits), between backticks, so that a command
/// line can write them as its own.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened or read.
    #[error("{}: {source}", shown(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The data is not what was declared.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The options do not go together, or with the file.
    #[error("{0}")]
    Options(String),
    /// Rows that do not hold together.
    #[error(transparent)]
    Rows(#[from] sketch::Error),
    /// The thread that reads ended without a word.
    #[error("the reader failed before the end of the file")]
    Stopped,
}

/// Data that is malformed or outside its declared bounds. Its text names the column and the rule,
/// never a value and never a row: which row breaks a rule is private.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}{rule}", shown(file), column.as_ref().map_or(String::new(), |c| format!("{c}: ")))]
pub struct DataError {
    /// The file.
    pub file: PathBuf,
    /// The column, where it is one.
    pub column: Option<String>,
    /// The rule that does not hold.
    pub rule: String,
    /// The record, from one: for the owner of the file only.
    pub record: Option<u64>,
}

impl DataError {
    /// An error about a whole file.
    pub fn of(file: &Path, rule: impl Into<String>) -> Self {
        Self { file: file.to_owned(), column: None, rule: rule.into(), record: None }
    }
}

impl Error {
    /// Options that do not go together.
    pub(crate) fn options(text: impl Into<String>) -> Self {
        Self::Options(text.into())
    }

    /// A file that could not be read.
    pub(crate) fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_owned(), source }
    }
}

/// A path as people read it; `-` is standard input.
#[must_use]
pub fn shown(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".into(),
        _ => path.display().to_string(),
    }
}
