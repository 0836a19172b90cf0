//! Input files: one reader a format, all of them streams of blocks of rows.

mod arrow_footer;
mod bounds;
mod columnar;
mod columns;
mod csv;
mod guarded;
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
pub(crate) use source::{Meter, is_stream};

use crate::error::{DataError, Error, Result, no_effect};
use clap::{Args, ValueEnum};
use sketch::RowsView;
use sketch::rows::CsrView;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

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
    pub(crate) fn dense(&self, d: usize) -> Cow<'_, [f64]> {
        match &self.values {
            Values::Dense(values) => Cow::Borrowed(values),
            Values::Sparse { offsets, columns, values } => {
                let mut out = vec![0.0; self.n * d];
                for (row, window) in out.chunks_exact_mut(d).zip(offsets.windows(2)) {
                    for at in window[0]..window[1] {
                        row[columns[at] as usize] = values[at];
                    }
                }
                Cow::Owned(out)
            }
        }
    }

    /// Its memory, empty, for other dense rows.
    fn into_memory(self) -> Vec<f64> {
        let (Values::Dense(mut memory) | Values::Sparse { values: mut memory, .. }) = self.values;
        memory.clear();
        memory
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

    /// The next rows, finite, perhaps in the memory of a block that nobody needs any more; `None`
    /// after the last.
    fn next(&mut self, used: Block) -> Result<Option<Block>>;
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
    /// CSV: what stands between the numbers; `tab` for a tab [default: a comma].
    #[arg(long)]
    delimiter: Option<String>,
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
    /// Use this column although its name looks like an identifier's; may be given more than once.
    #[arg(long = "keep", value_name = "COLUMN")]
    kept: Vec<String>,
    /// Names of the columns used, once the file is open.
    #[arg(skip)]
    entered: OnceLock<Vec<String>>,
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
        self.only(format)?;
        let input = match format {
            FileFormat::Csv => csv::open(self)?,
            FileFormat::Npy => npy::open(self)?,
            FileFormat::Parquet => guarded::guarded(&self.input, || columnar::open_parquet(self))?,
            FileFormat::Arrow => guarded::guarded(&self.input, || columnar::open_arrow(self))?,
            FileFormat::Svmlight => svmlight::open(self)?,
            FileFormat::Idx => idx::open(self)?,
        };
        if input.rows.d() == 0 {
            return Err(self.malformed(NO_COLUMN));
        }
        Ok(input)
    }

    /// Names of the columns used, where the file has columns and is open.
    pub(crate) fn entered(&self) -> Option<&[String]> {
        self.entered.get().map(Vec::as_slice)
    }

    fn malformed(&self, rule: impl Into<String>) -> Error {
        DataError::of(&self.input, rule).into()
    }

    /// Refuses options that mean nothing in a format.
    fn only(&self, format: FileFormat) -> Result<()> {
        use FileFormat as F;
        let name = format.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned());
        let check = |option: &str, given: bool, formats: &[F], why: &str| {
            let unused = (given && !formats.contains(&format)).then_some(());
            no_effect(option, unused.as_ref(), &format!("{name} files {why}"))
        };
        let text = "are not text with a first line of names and a delimiter";
        check("--delimiter", self.delimiter.is_some(), &[F::Csv], text)?;
        check("--header", self.header, &[F::Csv], text)?;
        check("--no-header", self.no_header, &[F::Csv], text)?;
        let tables = [F::Csv, F::Parquet, F::Arrow];
        check("--columns", !self.columns.is_empty(), &tables, "have no columns to choose from")?;
        check("--keep", !self.kept.is_empty(), &tables, "have no names of columns")?;
        check("--id", !self.left_out.is_empty(), &tables, "have no columns to leave out")?;
        let missing = self.missing == Missing::Zero;
        check("--missing zero", missing, &tables, "cannot mark a value as missing")?;
        let width = "say themselves how long a row is";
        check("--features", self.features.is_some(), &[F::Svmlight], width)
    }
}

/// Checks a number that was read and divides it.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    divide: f64,
    missing: Missing,
}

const NO_COLUMN: &str = "no column is left to use";
const NOT_FINITE: &str = "a value is not finite (NaN or infinity)";
const MISSING: &str = "a value is missing; --missing zero makes missing values zero";

impl Numbers {
    fn of(options: &InputOptions) -> Self {
        Self { divide: options.divide, missing: options.missing }
    }

    fn finite(self, value: f64) -> Result<f64, &'static str> {
        let value = value / self.divide;
        if value.is_finite() { Ok(value) } else { Err(NOT_FINITE) }
    }

    /// As [`Numbers::finite`] for many numbers, in place; the place of the first that is refused.
    fn all_finite(self, values: &mut [f64]) -> Result<(), usize> {
        if self.divide != 1.0 {
            values.iter_mut().for_each(|v| *v /= self.divide);
        }
        first_outside(values, f64::MAX).map_or(Ok(()), Err)
    }

    fn missing(self) -> Result<f64, &'static str> {
        match self.missing {
            Missing::Refuse => Err(MISSING),
            Missing::Zero => Ok(0.0),
        }
    }
}

/// The first number that is not within `[-bound, bound]`; NaN never is. Pieces are tested whole, so
/// that the test vectorises.
fn first_outside(values: &[f64], bound: f64) -> Option<usize> {
    const PIECE: usize = 512;
    let inside = |v: &f64| v.abs() <= bound;
    let all_inside = |piece: &[f64]| piece.iter().fold(true, |all, v| all & inside(v));
    let piece = values.chunks(PIECE).position(|piece| !all_inside(piece))?;
    let at = values[piece * PIECE..].iter().position(|v| !inside(v))?;
    Some(piece * PIECE + at)
}
