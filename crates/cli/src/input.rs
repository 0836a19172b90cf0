//! The options that say which file is read.

use crate::error::{Error, Result, no_effect};
use crate::preprocess;
use crate::same_file::once;
use clap::{Args, ValueEnum};
use dp_core::certificate::preprocessing::ColumnMap;
use dp_core::release_file::RowIds;
use readers::{
    Block, ColumnRules, DataError, FileFormat, IdColumn, Input, Meter, Missing, RowsFile,
    SetFormat, SetReader, SetsFile, Users, is_stream, open_all,
};
use sketch::sets::ItemSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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

/// Formats of sets by the names of `--format`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SetKind {
    /// Text, one set a line, words between separators.
    Lines,
    /// JSON lines: a list of items a line, or an object with one.
    Jsonl,
    /// CSV: items in columns.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC (Feather version 2), file or stream.
    Arrow,
}

impl From<SetKind> for SetFormat {
    fn from(kind: SetKind) -> Self {
        match kind {
            SetKind::Lines => Self::Lines,
            SetKind::Jsonl => Self::Jsonl,
            SetKind::Csv => Self::Csv,
            SetKind::Parquet => Self::Parquet,
            SetKind::Arrow => Self::Arrow,
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
    /// The file of rows; `-` reads standard input. Gzip and zstd are recognised.
    pub(crate) input: PathBuf,
    /// More files of rows, read after it in this order: with the same columns.
    pub(crate) more: Vec<PathBuf>,
    /// Their format; by default what the name of each says.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// CSV: what stands between the numbers; `tab` for a tab [default: a tab where the name ends in .tsv, else a comma].
    #[arg(long)]
    delimiter: Option<String>,
    /// CSV: the first line holds names (the default; say it when the names are numbers).
    #[arg(long, conflicts_with = "no_header")]
    header: bool,
    /// CSV: the first line is data.
    #[arg(long)]
    no_header: bool,
    /// Use only these columns: names, positions from one, or ranges of either, as in `age,3,10-20,60-,x0-x18`.
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
    /// What rows are called, where that is asked for.
    #[arg(skip)]
    ids: OnceLock<IdColumn>,
    /// A TOML file of public facts, chosen without the rows: of every column (`[columns.NAME]`, `[default]` for the others) what
    /// a `missing` value counts as, the range from `low` to `high` that values are moved to, and `shift` and `scale`, in
    /// this order: scale times (x - shift). Bounds, beta and shifts are about the mapped values. A release states all of it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["missing", "divide"])]
    preprocess: Option<PathBuf>,
    /// What becomes of values, where that is asked for.
    #[arg(skip)]
    rules: OnceLock<Arc<ColumnRules>>,
    /// svmlight: number of features. It is public, so it cannot be read off the data.
    #[arg(long)]
    features: Option<usize>,
    /// Divide every value by this public number first (255 for the bytes of images): as a --preprocess file whose [default] has the
    /// scale 1/DIVIDE. Bounds, beta and shifts are about the divided values, and the release states it.
    #[arg(long, default_value_t = 1.0)]
    divide: f64,
    /// What a missing value (an empty cell, null, NaN; of one column an empty line) counts as.
    #[arg(long, value_enum, default_value_t = MissingValue::Refuse)]
    missing: MissingValue,
}

/// What `--header` and `--no-header` say together.
fn header(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}

impl InputOptions {
    /// A file that is read as this one is.
    pub(crate) fn like(&self, path: &Path) -> Result<RowsFile> {
        Ok(RowsFile {
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
            // A divisor is a map, which says what is missing too.
            missing: match self.missing {
                MissingValue::Zero if self.divide == 1.0 => Missing::Zero,
                _ => Missing::Refuse,
            },
            preprocess: self.rules()?,
            ..RowsFile::new(path)
        })
    }

    /// What becomes of values; the file that says it is read once.
    fn rules(&self) -> Result<Option<Arc<ColumnRules>>> {
        if self.rules.get().is_none()
            && let Some(rules) = match &self.preprocess {
                Some(path) => Some(preprocess::read(path)?),
                None => self.divided()?,
            }
        {
            let _ = self.rules.set(Arc::new(rules));
        }
        Ok(self.rules.get().cloned())
    }

    /// A divisor as a map, so that the release states it: what it protects is about divided values.
    fn divided(&self) -> Result<Option<ColumnRules>> {
        if self.divide == 1.0 {
            return Ok(None);
        }
        let scale = self.divide.recip();
        if !(self.divide > 0.0 && scale.is_normal()) {
            return Err(Error::usage(
                "--divide takes a positive number that is neither tiny nor huge",
            ));
        }
        let missing = matches!(self.missing, MissingValue::Zero).then_some(0.0);
        let default = ColumnMap { scale: Some(scale), missing, ..ColumnMap::default() };
        Ok(Some(ColumnRules { default, ..ColumnRules::default() }))
    }

    /// Refuses a map of values where nothing could state it.
    pub(crate) fn refuse_map(&self, why: &str) -> Result<()> {
        no_effect("--preprocess", self.preprocess.as_ref(), why)?;
        no_effect("--divide", (self.divide != 1.0).then_some(&()), why)
    }

    /// Where no file says it, values are mapped so.
    pub(crate) fn map_by(&self, rules: ColumnRules) {
        if self.preprocess.is_none() {
            let _ = self.rules.set(Arc::new(rules));
        }
    }

    /// As [`InputOptions::like`] for other rows, whose names stay out.
    pub(crate) fn beside(&self, path: &Path) -> Result<RowsFile> {
        let mut file = self.like(path)?;
        file.leave_out.extend(self.ids.get().map(|ids| ids.column.clone()));
        Ok(file)
    }

    /// Opens the file and reads as much of it as says how long a row is.
    pub(crate) fn open(&self) -> Result<Input> {
        let file = |path| {
            let (users, ids) = (self.users.get().cloned(), self.ids.get().cloned());
            Ok(RowsFile { users, ids, ..self.like(path)? })
        };
        once(&self.input, &self.more)?;
        let files = [&self.input].into_iter().chain(&self.more);
        Ok(self.entered_by(open_all(files.map(|path| file(path)).collect::<Result<_>>()?)?))
    }

    /// Refuses several files where one is read.
    pub(crate) fn one(&self, what: &str) -> Result<()> {
        no_effect("a second file of rows", self.more.first(), &format!("{what} reads one"))
    }

    /// From here on rows are called what stands in this column.
    pub(crate) fn name_rows(&self, column: IdColumn) {
        let _ = self.ids.set(column);
    }

    /// What the rows that were read are called.
    pub(crate) fn ids(&self) -> Option<Arc<Mutex<RowIds>>> {
        Some(self.ids.get()?.ids.clone())
    }

    /// Refuses two rows of one name, once all were read.
    pub(crate) fn check_ids(&self) -> Result<()> {
        self.ids().map_or(Ok(()), |ids| distinct(&ids, &self.input))
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
        Ok(self.entered_by(RowsFile { live, ..self.like(&self.input)? }.open()?))
    }

    fn entered_by(&self, mut input: Input) -> Input {
        if let Some(columns) = input.columns.take() {
            // A file is opened twice where a ledger is charged.
            let _ = self.entered.set(columns);
        }
        input
    }

    /// Names of the columns used, where the file has columns and is open.
    pub(crate) fn entered(&self) -> Option<&[String]> {
        self.entered.get().map(Vec::as_slice)
    }
}

/// Refuses two rows of one name.
fn distinct(ids: &Mutex<RowIds>, file: &Path) -> Result<()> {
    match ids.lock().unwrap_or_else(PoisonError::into_inner).repeated() {
        None => Ok(()),
        Some(row) => Err(Error::Data(DataError {
            file: file.to_owned(),
            column: None,
            rule: "two rows have one id, so that nobody could tell which is meant: choose another column, or leave \
                   --keep-id out"
                .into(),
            record: Some(row as u64 + 1),
        })),
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
    /// The file of sets; `-` reads standard input. Gzip and zstd are recognised.
    pub(crate) input: PathBuf,
    /// More files of sets, read after it in this order.
    pub(crate) more: Vec<PathBuf>,
    /// Their format; by default what the name of each says, and lines where it says nothing.
    #[arg(long, value_enum)]
    format: Option<SetKind>,
    /// Tables and JSON lines: the column or field of items, or several columns with an item each [default for Parquet, Arrow and
    /// JSON lines: the only list].
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    items: Vec<String>,
    /// Tables with an item a row: the column that says whose it is; the rows of a set stand together.
    #[arg(long, value_name = "COLUMN")]
    set_id: Option<String>,
    /// Publish the names of the sets from this column or field, in lines of text the first word (`1`), as they stand: they are not
    /// protected, and must not follow from anything that is. `search` and `distance` answer with these names and take them.
    #[arg(long, value_name = "COLUMN", help_heading = "Output")]
    keep_id: Option<String>,
    /// The names, where they are asked for.
    #[arg(skip)]
    ids: OnceLock<IdColumn>,
    /// How many sets of a user are used, where that is bounded.
    #[arg(skip)]
    users: OnceLock<Users>,
    /// What stands between the items of a set: `tab`, a text such as a comma, or `space` for any white
    /// space, which is the default for lines without tabs, commas, semicolons and bars.
    #[arg(long)]
    separator: Option<String>,
    /// Sets hold no numbers.
    #[arg(long = "preprocess", hide = true, value_parser = no_numbers)]
    _preprocess: Option<String>,
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

/// What is said of a map of numbers beside sets.
fn no_numbers(_: &str) -> Result<String, &'static str> {
    Err(
        "it maps the numbers of rows, and sets hold words: change the words in the file itself, by rules that do not follow from \
         the sets",
    )
}

impl ItemOptions {
    fn open(&self, path: &Path, before: Option<SetReader>) -> Result<SetReader> {
        let (ids, users) = (self.id_column().cloned(), self.users.get().cloned());
        let file = SetsFile { ids, users, ..self.like(path) };
        Ok(match before {
            None => file.open()?,
            Some(before) => file.open_after(before)?,
        })
    }

    /// Hands every batch of sets on: its file, how many sets of it came before, and the sets.
    pub(crate) fn each(
        &self,
        mut take: impl FnMut(&Path, u64, &[ItemSet], &Meter) -> Result<()>,
    ) -> Result<()> {
        once(&self.input, &self.more)?;
        let mut last = None;
        for path in [&self.input].into_iter().chain(&self.more) {
            let mut reader = self.open(path, last.take())?;
            loop {
                let before = reader.done();
                let sets = reader.next()?;
                if sets.is_empty() {
                    break;
                }
                take(path, before, &sets, &reader.meter)?;
            }
            last = Some(reader);
        }
        self.ids().map_or(Ok(()), |ids| distinct(&ids, &self.input))
    }

    /// What the sets that were read are called.
    pub(crate) fn ids(&self) -> Option<Arc<Mutex<RowIds>>> {
        Some(self.id_column()?.ids.clone())
    }

    fn id_column(&self) -> Option<&IdColumn> {
        let column = self.keep_id.as_ref()?;
        Some(self.ids.get_or_init(|| IdColumn::new(column)))
    }

    /// From here on only so many sets of a user are used, those that come first.
    pub(crate) fn bound_users(&self, users: Users) {
        let _ = self.users.set(users);
    }

    /// Sets that were left out for that, once the file was read.
    pub(crate) fn left_out(&self) -> Option<u64> {
        Some(self.users.get()?.left_out.load(Ordering::Relaxed))
    }

    /// Whether names are asked for.
    pub(crate) fn keeps_ids(&self) -> bool {
        self.keep_id.is_some()
    }

    /// A file that is read as this one is.
    pub(crate) fn like(&self, path: &Path) -> SetsFile {
        SetsFile {
            format: self.format.map(Into::into),
            items: self.items.clone(),
            set_id: self.set_id.clone(),
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
