//! Input files: one reader a format, all of them streams of blocks of rows.

mod bounds;
mod columnar;
mod columns;
mod csv;
mod idx;
mod items;
mod npy;
mod prefetch;
mod source;
mod svmlight;
#[cfg(test)]
mod tests;

pub(crate) use bounds::{Limits, OutsideBounds};
pub(crate) use items::ItemOptions;
pub(crate) use prefetch::Prefetch;
pub(crate) use source::Meter;

use crate::error::{DataError, Error, Result};
use clap::{Args, ValueEnum};
use sketch::RowsView;
use sketch::rows::CsrView;
use std::path::{Path, PathBuf};

/// About this many numbers are held by a block.
const BLOCK_VALUES: usize = 1 << 18;

/// Rows of a block of `d` columns.
fn block_rows(d: usize) -> usize {
    (BLOCK_VALUES / d.max(1)).clamp(1, 1 << 14)
}

/// A few rows of the input.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) n: usize,
    pub(crate) values: Values,
}

/// How the rows of a block are stored.
#[derive(Debug)]
pub(crate) enum Values {
    /// n x d numbers, row after row.
    Dense(Vec<f64>),
    /// Compressed sparse rows.
    Sparse { offsets: Vec<usize>, columns: Vec<u32>, values: Vec<f64> },
}

impl Default for Values {
    fn default() -> Self {
        Self::Dense(Vec::new())
    }
}

impl Block {
    /// The rows as the libraries take them.
    pub(crate) fn view(&self, d: usize) -> Result<RowsView<'_>> {
        Ok(match &self.values {
            Values::Dense(values) => RowsView::f64(self.n, d, values)?,
            Values::Sparse { offsets, columns, values } => {
                RowsView::csr(self.n, d, CsrView { offsets, columns, values })?
            }
        })
    }

    /// The rows as dense numbers.
    pub(crate) fn into_dense(self, d: usize) -> Vec<f64> {
        match self.values {
            Values::Dense(values) => values,
            Values::Sparse { offsets, columns, values } => {
                let mut out = vec![0.0; self.n * d];
                for (row, window) in out.chunks_exact_mut(d).zip(offsets.windows(2)) {
                    for at in window[0]..window[1] {
                        row[columns[at] as usize] = values[at];
                    }
                }
                out
            }
        }
    }
}

/// A stream of rows of equal length.
pub(crate) trait RowReader: Send {
    /// Numbers in a row.
    fn d(&self) -> usize;

    /// Name of a column, for messages.
    fn column(&self, index: usize) -> String {
        format!("column {}", index + 1)
    }

    /// The next rows; `None` after the last.
    fn next(&mut self) -> Result<Option<Block>>;
}

/// Formats of files of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    /// Text, one row a line, numbers between delimiters.
    Csv,
    /// A NumPy array of two dimensions.
    Npy,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC (Feather version 2), file or stream.
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

    fn of(path: &Path) -> Result<Self> {
        let name = path.to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let found = Self::ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        found.map(|&(_, format)| format).ok_or_else(|| {
            Error::usage(format!(
                "the format of {} is not clear from its name: say --format csv, npy, parquet, \
                 arrow, svmlight or idx",
                path.display()
            ))
        })
    }
}

/// What a missing value counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Missing {
    /// A missing value is an error.
    Refuse,
    /// A missing value is zero.
    Zero,
}

/// Which file is read, and how.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputOptions {
    /// The file of rows; `-` reads standard input. Gzip is recognised.
    pub(crate) input: PathBuf,
    /// Its format; by default what its name says.
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// CSV: what stands between the numbers; `tab` for a tab.
    #[arg(long, default_value = ",")]
    delimiter: String,
    /// CSV: the first line holds names (the default; say it when the names are numbers).
    #[arg(long, conflicts_with = "no_header")]
    header: bool,
    /// CSV: the first line is data.
    #[arg(long)]
    no_header: bool,
    /// Use only these columns: names, positions from one, or ranges of positions, as in `age,3,10-20`.
    #[arg(long, value_delimiter = ',')]
    columns: Vec<String>,
    /// Leave this column out (an identifier, a label); may be given more than once.
    #[arg(long = "id", value_name = "COLUMN")]
    left_out: Vec<String>,
    /// svmlight: number of features. It is public, so it cannot be read off the data.
    #[arg(long)]
    features: Option<usize>,
    /// Divide every value by this public number first (255 for the bytes of images).
    #[arg(long, default_value_t = 1.0)]
    divide: f64,
    /// What a missing value counts as.
    #[arg(long, value_enum, default_value_t = Missing::Refuse)]
    missing: Missing,
}

/// An opened input with its meter.
pub(crate) struct Input {
    pub(crate) rows: Box<dyn RowReader>,
    pub(crate) meter: Meter,
}

impl InputOptions {
    /// Opens the file and reads as much of it as says how long a row is.
    pub(crate) fn open(&self) -> Result<Input> {
        if !(self.divide.is_finite() && self.divide > 0.0) {
            return Err(Error::usage("--divide takes a positive number"));
        }
        let format = match self.format {
            Some(format) => format,
            None if self.input.as_os_str() == "-" => FileFormat::Csv,
            None => FileFormat::of(&self.input)?,
        };
        let input = match format {
            FileFormat::Csv => csv::open(self)?,
            FileFormat::Npy => npy::open(self)?,
            FileFormat::Parquet => columnar::open_parquet(self)?,
            FileFormat::Arrow => columnar::open_arrow(self)?,
            FileFormat::Svmlight => svmlight::open(self)?,
            FileFormat::Idx => idx::open(self)?,
        };
        if input.rows.d() == 0 {
            return Err(self.malformed("no column is left to use"));
        }
        Ok(input)
    }

    fn malformed(&self, rule: impl Into<String>) -> Error {
        DataError::of(&self.input, rule).into()
    }

    fn one_column_only(&self, what: &str) -> Result<()> {
        if self.columns.is_empty() && self.left_out.is_empty() {
            return Ok(());
        }
        Err(Error::usage(format!("--columns and --id do not apply to {what} files")))
    }
}

/// Checks a number that was read and divides it.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    divide: f64,
    missing: Missing,
}

const NOT_FINITE: &str = "a value is not finite (NaN or infinity)";
const MISSING: &str = "a value is missing; --missing zero makes missing values zero";

impl Numbers {
    fn of(options: &InputOptions) -> Self {
        Self { divide: options.divide, missing: options.missing }
    }

    fn finite(self, value: f64) -> Result<f64, &'static str> {
        if value.is_finite() { Ok(value / self.divide) } else { Err(NOT_FINITE) }
    }

    fn missing(self) -> Result<f64, &'static str> {
        match self.missing {
            Missing::Refuse => Err(MISSING),
            Missing::Zero => Ok(0.0),
        }
    }
}
