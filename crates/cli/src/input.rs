//! The options that say which file is read.

use crate::error::Result;
use clap::{Args, ValueEnum};
use readers::{Block, FileFormat, Input, Missing, RowsFile, SetReader, SetsFile, Users, is_stream};
use sketch::sets::ItemSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// Formats by the names of `--format`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
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

impl From<Format> for FileFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Csv => Self::Csv,
            Format::Npy => Self::Npy,
            Format::Parquet => Self::Parquet,
            Format::Arrow => Self::Arrow,
            Format::Svmlight => Self::Svmlight,
            Format::Idx => Self::Idx,
        }
    }
}

/// What a missing value counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MissingValue {
    /// A missing value is an error.
    Refuse,
    /// A missing value is zero.
    Zero,
}

/// Which file of rows is read, and how.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputOptions {
    /// The file of rows; `-` reads standard input. Gzip is recognised.
    pub(crate) input: PathBuf,
    /// Its format; by default what its name says.
    #[arg(long, value_enum)]
    format: Option<Format>,
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
    /// How many rows of a user are used, where that is asked for.
    #[arg(skip)]
    users: OnceLock<Users>,
    /// svmlight: number of features. It is public, so it cannot be read off the data.
    #[arg(long)]
    features: Option<usize>,
    /// Divide every value by this public number first (255 for the bytes of images).
    #[arg(long, default_value_t = 1.0)]
    divide: f64,
    /// What a missing value counts as.
    #[arg(long, value_enum, default_value_t = MissingValue::Refuse)]
    missing: MissingValue,
}

/// What `--header` and `--no-header` say together.
fn header(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}

impl InputOptions {
    /// A file that is read as this one is.
    pub(crate) fn like(&self, path: &Path) -> RowsFile {
        RowsFile {
            format: self.format.map(Into::into),
            delimiter: self.delimiter.clone(),
            header: header(self.header, self.no_header),
            columns: self.columns.clone(),
            leave_out: self
                .left_out
                .iter()
                .chain(self.users.get().map(|u| &u.column))
                .cloned()
                .collect(),
            keep: self.kept.clone(),
            features: self.features,
            divide: self.divide,
            missing: match self.missing {
                MissingValue::Refuse => Missing::Refuse,
                MissingValue::Zero => Missing::Zero,
            },
            ..RowsFile::new(path)
        }
    }

    /// Opens the file and reads as much of it as says how long a row is.
    pub(crate) fn open(&self) -> Result<Input> {
        let users = self.users.get().cloned();
        self.entering(RowsFile { users, ..self.like(&self.input) })
    }

    /// From here on only so many rows of a user are used, those that come first.
    pub(crate) fn bound_users(&self, users: Users) {
        let _ = self.users.set(users);
    }

    /// Rows that were left out for that, once the file was read.
    pub(crate) fn left_out(&self) -> Option<u64> {
        Some(self.users.get()?.left_out.load(Ordering::Relaxed))
    }

    /// As [`InputOptions::open`]; rows of a pipe are handed on as they come.
    pub(crate) fn open_live(&self) -> Result<Input> {
        let live = is_stream(&self.input);
        self.entering(RowsFile { live, ..self.like(&self.input) })
    }

    fn entering(&self, file: RowsFile) -> Result<Input> {
        let mut input = file.open()?;
        if let Some(columns) = input.columns.take() {
            // A file is opened twice where a ledger is charged.
            let _ = self.entered.set(columns);
        }
        Ok(input)
    }

    /// Names of the columns used, where the file has columns and is open.
    pub(crate) fn entered(&self) -> Option<&[String]> {
        self.entered.get().map(Vec::as_slice)
    }
}

/// All numbers of a file, and how many stand in a row.
pub(crate) fn numbers(file: &RowsFile) -> Result<(usize, Vec<f64>)> {
    let mut input = file.open()?;
    let (d, mut all) = (input.rows.d(), Vec::new());
    while let Some(block) = input.rows.next(Block::default())? {
        all.extend_from_slice(&block.dense(d));
    }
    Ok((d, all))
}

/// Which file of sets is read, and how.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct ItemOptions {
    /// The file of sets, one a line; `-` reads standard input. Gzip is recognised.
    pub(crate) input: PathBuf,
    /// What stands between the items of a set: `tab`, a text such as a comma, or `space` for any white
    /// space, which is the default for lines without tabs, commas, semicolons and bars.
    #[arg(long)]
    separator: Option<String>,
    /// The first word of a line names the set: leave it out.
    #[arg(long)]
    id_first: bool,
    /// The first line holds names: leave it out.
    #[arg(long, conflicts_with = "no_header")]
    header: bool,
    /// The first line is a set, whatever it looks like.
    #[arg(long)]
    no_header: bool,
}

impl ItemOptions {
    /// Opens the file.
    pub(crate) fn open(&self) -> Result<SetReader> {
        Ok(self.like(&self.input).open()?)
    }

    /// A file that is read as this one is.
    pub(crate) fn like(&self, path: &Path) -> SetsFile {
        SetsFile {
            separator: self.separator.clone(),
            id_first: self.id_first,
            header: header(self.header, self.no_header),
            ..SetsFile::new(path)
        }
    }
}

/// All sets of a file, in memory.
pub(crate) fn all_sets(file: &SetsFile) -> Result<Vec<ItemSet>> {
    let (mut reader, mut all) = (file.open()?, Vec::new());
    loop {
        let sets = reader.next()?;
        if sets.is_empty() {
            return Ok(all);
        }
        all.extend(sets);
    }
}
