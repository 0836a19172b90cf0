//! Which file of rows is read, and how.

use crate::block::first_outside;
use crate::error::{DataError, Error, Result};
use crate::source::name_of;
use dp_core::certificate::preprocessing::{ColumnMap, Preprocessing};
use dp_core::release_file::RowIds;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Formats of files of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFormat {
    /// Text, one row a line, numbers between delimiters.
    Csv,
    /// A NumPy array of two dimensions.
    Npy,
    /// Apache Parquet; needs the feature `parquet`.
    Parquet,
    /// Apache Arrow IPC (Feather version 2), file or stream; needs the feature `arrow`.
    Arrow,
    /// `label index:value ...` lines, indices from one.
    Svmlight,
    /// IDX unsigned bytes (MNIST).
    Idx,
}

impl FileFormat {
    const ENDINGS: [(&'static str, Self); 14] = [
        (".csv", Self::Csv),
        (".tsv", Self::Csv),
        (".txt", Self::Csv),
        (".npy", Self::Npy),
        (".parquet", Self::Parquet),
        (".pq", Self::Parquet),
        (".arrow", Self::Arrow),
        (".feather", Self::Arrow),
        (".ipc", Self::Arrow),
        (".arrows", Self::Arrow),
        (".svm", Self::Svmlight),
        (".svmlight", Self::Svmlight),
        (".libsvm", Self::Svmlight),
        ("ubyte", Self::Idx),
    ];

    /// What the name of a file says, with or without `.gz` or `.zst`.
    ///
    /// # Errors
    /// A name that says nothing.
    pub fn of(path: &Path) -> Result<Self> {
        let name = name_of(path);
        let found = Self::ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        found.map(|&(_, format)| format).ok_or_else(|| {
            Error::options(format!(
                "the format of {} is not clear from its name: say `format` csv, npy, parquet, \
                 arrow, svmlight or idx",
                path.display()
            ))
        })
    }
}

impl core::fmt::Display for FileFormat {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Csv => "csv",
            Self::Npy => "npy",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Svmlight => "svmlight",
            Self::Idx => "idx",
        })
    }
}

/// What a missing value counts as. In a CSV file of one column an empty line is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// A missing value is an error.
    Refuse,
    /// A missing value is zero.
    Zero,
    /// A missing value is what [`RowsFile::preprocess`] says of its column.
    ByColumn,
}

/// What becomes of the values of columns, before it is known where these stand in a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnRules {
    /// Of columns without a map of their own.
    pub default: ColumnMap,
    /// By names as the header has them; by places from one where a file has no names.
    pub columns: BTreeMap<String, ColumnMap>,
    /// What must come of it: that of a release, whose columns the file's are to be.
    pub of_release: Option<Preprocessing>,
}

impl ColumnRules {
    /// The rules of a release: the columns of a file must be its columns, in its order.
    #[must_use]
    pub fn of_release(preprocessing: Preprocessing) -> Self {
        let columns = preprocessing.columns.iter().map(|c| (c.name.clone(), c.map)).collect();
        Self { default: preprocessing.default, columns, of_release: Some(preprocessing) }
    }
}

/// Which file of rows is read, and how. [`RowsFile::new`] takes what the file says of itself.
#[derive(Debug, Clone)]
pub struct RowsFile {
    /// The file; `-` reads standard input. Gzip and zstd are recognised.
    pub path: PathBuf,
    /// Its format; by default what its name says.
    pub format: Option<FileFormat>,
    /// CSV: what stands between the numbers, one ASCII character, `tab` or `space`; by default a tab where the name ends in
    /// `.tsv`, else a comma.
    pub delimiter: Option<String>,
    /// CSV: whether the first line holds names. By default it does, and must not be numbers.
    pub header: Option<bool>,
    /// Use only these columns: names, positions from one, or ranges of either, open at one end or not, as in `10-20`, `6-`,
    /// `-3` and `x0-x18`.
    pub columns: Vec<String>,
    /// Leave these columns out (an identifier, a label).
    pub leave_out: Vec<String>,
    /// Use these columns although their names look like an identifier's.
    pub keep: Vec<String>,
    /// svmlight: number of features. It is public, so it cannot be read off the data.
    pub features: Option<usize>,
    /// Divide every value by this public number first (255 for the bytes of images).
    pub divide: f64,
    /// What a missing value counts as.
    pub missing: Missing,
    /// What becomes of values before anything else: not beside `divide` and `missing`.
    pub preprocess: Option<Arc<ColumnRules>>,
    /// CSV: hand rows on as they come, without waiting for a block of them: for a pipe that somebody fills slowly.
    pub live: bool,
    /// CSV, Parquet, Arrow: how many rows of a user are used.
    pub users: Option<Users>,
    /// CSV, Parquet, Arrow: what the rows are called.
    pub ids: Option<IdColumn>,
}

/// A column that says whose a row is. It does not enter: of every user the first rows in the order of the file do, up to a public
/// number, and which these are depends on that column alone (`docs/proofs/adjacency.md`).
#[derive(Debug, Clone)]
pub struct Users {
    /// The column: a name, or a position from one.
    pub column: String,
    /// Most rows of a user.
    pub most: u64,
    /// Rows that were left out, once the file was read: for its owner alone.
    pub left_out: Arc<AtomicU64>,
    /// Of the reading that goes on: a file may be open twice.
    seen: Arc<Mutex<Seen>>,
}

/// How many rows every user has had, and how many of them were left out.
#[derive(Debug, Default)]
struct Seen {
    rows: HashMap<String, u64>,
    left_out: u64,
}

impl Users {
    /// At most so many rows of each value of a column.
    #[must_use]
    pub fn new(column: impl Into<String>, most: u64) -> Self {
        Self { column: column.into(), most, left_out: Arc::default(), seen: Arc::default() }
    }

    /// For a reading of its own, whatever other readings have seen.
    pub(crate) fn begun(&self) -> Self {
        self.left_out.store(0, Ordering::Relaxed);
        Self { seen: Arc::default(), ..self.clone() }
    }

    /// A user without the white space and the marks of byte order around it, which files that were put together hold.
    pub(crate) fn spelled(user: &str) -> &str {
        user.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
    }

    /// Whether one more row of this user is used.
    pub(crate) fn takes(&self, user: &str) -> bool {
        let user = Self::spelled(user).to_owned();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = seen.rows.entry(user).or_default();
        *rows += 1;
        let within = *rows <= self.most;
        seen.left_out += u64::from(!within);
        self.left_out.store(seen.left_out, Ordering::Relaxed);
        within
    }
}

/// A column that says what the rows are called. It does not enter; its values are to be published as they stand, and nothing
/// protects them.
#[derive(Debug, Clone)]
pub struct IdColumn {
    /// The column: a name, or a position from one.
    pub column: String,
    /// The ids of the rows that were read, in their order.
    pub ids: Arc<Mutex<RowIds>>,
}

impl IdColumn {
    /// Rows are called what stands in this column.
    #[must_use]
    pub fn new(column: impl Into<String>) -> Self {
        Self { column: column.into(), ids: Arc::default() }
    }

    pub(crate) fn ids(&self) -> MutexGuard<'_, RowIds> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) const NOT_AN_ID: &str = "an id, which is published as it stands, takes 1 to 256 bytes of text without control characters";

impl RowsFile {
    /// All columns of a file, in the format that its name says.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            format: None,
            delimiter: None,
            header: None,
            columns: Vec::new(),
            leave_out: Vec::new(),
            keep: Vec::new(),
            features: None,
            divide: 1.0,
            missing: Missing::Refuse,
            preprocess: None,
            live: false,
            users: None,
            ids: None,
        }
    }

    pub(crate) fn malformed(&self, rule: impl Into<String>) -> Error {
        DataError::of(&self.path, rule).into()
    }
}

/// Checks a number that was read and divides it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    pub(crate) divide: f64,
    pub(crate) missing: Missing,
}

pub(crate) const NO_COLUMN: &str = "no column is left to use";
pub(crate) const NOT_FINITE: &str = "a value is not finite (NaN or infinity)";
/// Up to here every whole number is a `f64`.
pub(crate) const EXACT: u64 = 1 << 53;
pub(crate) const INEXACT: &str =
    "whole numbers beyond 2^53 are not exact as float64: scale them first";
pub(crate) const MISSING: &str =
    "a value is missing (an empty cell, null or NaN); `missing` zero makes missing values zero";

impl Numbers {
    pub(crate) fn of(options: &RowsFile) -> Self {
        let missing =
            if options.preprocess.is_some() { Missing::ByColumn } else { options.missing };
        Self { divide: options.divide, missing }
    }

    pub(crate) fn finite(self, value: f64) -> Result<f64, &'static str> {
        let value = value / self.divide;
        match value {
            value if value.is_finite() => Ok(value),
            value if value.is_nan() => self.missing(),
            _ => Err(NOT_FINITE),
        }
    }

    /// As [`Numbers::finite`] for many numbers, in place; the place of the first that is refused, and why.
    pub(crate) fn all_finite(self, values: &mut [f64]) -> Result<(), (usize, &'static str)> {
        if self.divide != 1.0 {
            values.iter_mut().for_each(|v| *v /= self.divide);
        }
        self.refuse_others(values, |v| v)
    }

    /// The same of single precision, which is not divided; `narrow` gives back what stands for a missing value.
    pub(crate) fn refuse_others<T: Copy + Into<f64>>(
        self,
        values: &mut [T],
        narrow: impl Fn(f64) -> T,
    ) -> Result<(), (usize, &'static str)> {
        let Some(at) = first_outside(values, f64::MAX) else { return Ok(()) };
        for (at, value) in values.iter_mut().enumerate().skip(at) {
            let wide: f64 = (*value).into();
            if !wide.is_finite() {
                *value = narrow(self.finite(wide).map_err(|rule| (at, rule))?);
            }
        }
        Ok(())
    }

    pub(crate) fn missing(self) -> Result<f64, &'static str> {
        match self.missing {
            Missing::Refuse => Err(MISSING),
            Missing::Zero => Ok(0.0),
            Missing::ByColumn => Ok(f64::NAN),
        }
    }
}
