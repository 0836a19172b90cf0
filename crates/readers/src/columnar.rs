//! Parquet and Arrow IPC: a column a feature, or one column of lists of equal length.

#[cfg(feature = "arrow")]
use crate::arrow_footer;
#[cfg(feature = "arrow")]
use crate::arrow_frames::Frames;
use crate::block::{Block, Input, RowReader, Values, block_rows};
use crate::column_ids::{self, NO_IDS, is_text_or_whole};
use crate::column_numbers::NOT_A_NUMBER;
use crate::columns::Selection;
use crate::error::{DataError, Error, Result};
use crate::guarded::guarded;
use crate::options::{IdColumn, NO_COLUMN, Numbers, RowsFile, Users};
#[cfg(feature = "parquet")]
use crate::parquet_footer;
#[cfg(feature = "parquet")]
use crate::parquet_pages::Pages;
use crate::source::{self, Bytes, Meter, is_stream};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::{ParquetStatisticsPolicy, RowGroupMetaData};
use serde_json::Value;
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

struct ColumnarRows {
    batches: Batches,
    /// A batch of which rows are left, and where they begin.
    pending: Option<(RecordBatch, usize)>,
    shape: Shape,
    d: usize,
    names: Vec<String>,
    numbers: Numbers,
    path: PathBuf,
    records: u64,
    /// Counts rows; absent where bytes are counted already.
    rows_read: Option<Meter>,
    /// What rows are called: where it stands in a batch, and in the pending one.
    ids: Option<(usize, IdColumn)>,
    named: Option<ArrayRef>,
    /// Whose rows are, alike.
    users: Option<(usize, Users)>,
    owners: Option<ArrayRef>,
}

/// How a row lies in the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A column a feature.
    Columns,
    /// One column of lists.
    Lists,
}

/// What is wrong, at which row and feature of the batch.
type Wrong = (usize, usize, &'static str);

const OTHER_LENGTH: &str = "a list has another length than the first one";

/// Batches of the columns that are read.
pub(crate) struct Columns {
    pub(crate) batches: Batches,
    pub(crate) schema: Arc<Schema>,
    pub(crate) selection: Selection,
    pub(crate) meter: Meter,
    /// Whether the meter counts rows, and the reader has to.
    pub(crate) by_rows: bool,
}

pub(crate) fn open_parquet(options: &RowsFile) -> Result<Input> {
    finish(options, parquet(options)?)
}

/// The columns of a Parquet file, whatever they hold; texts are not copied.
pub(crate) fn parquet(options: &RowsFile) -> Result<Columns> {
    let path = &options.path;
    if is_stream(path) {
        return Err(Error::options(
            "a Parquet file is read from its end, which a stream has not reached: save it to a file first, \
             or send an Arrow stream (`format` arrow) or CSV instead",
        ));
    }
    let failed = |e| Error::io(path, e);
    let mut file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let bad = |e: parquet::errors::ParquetError| {
        options.malformed(format!("not a Parquet file that can be read: {e}"))
    };
    if let Some(why) = parquet_footer::refused(&mut file).map_err(failed)? {
        return Err(options.malformed(why));
    }
    let skip = ParquetStatisticsPolicy::SkipAll;
    let lean = ArrowReaderOptions::new()
        .with_encoding_stats_policy(skip.clone())
        .with_column_stats_policy(skip.clone())
        .with_size_stats_policy(skip);
    let mut metadata = ArrowReaderMetadata::load(&file, lean.clone()).map_err(bad)?;
    let read = select(options, metadata.schema())?.read();
    if let Some(schema) = column_ids::uncopied(metadata.schema(), &read) {
        let parsed = metadata.metadata().clone();
        let lean = lean.with_schema(Arc::new(schema));
        metadata = ArrowReaderMetadata::try_new(parsed, lean).map_err(bad)?;
    }
    let values = MANY.max(VALUES.saturating_mul(size));
    let pages = Pages::new(file, metadata.metadata(), values.saturating_mul(PAGE_BYTES));
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(pages, metadata);
    let schema = builder.schema().clone();
    let selection = select(options, &schema)?;
    let total = u64::try_from(builder.metadata().file_metadata().num_rows()).ok();
    let mask = ProjectionMask::roots(builder.parquet_schema(), selection.read());
    let leaves = (0..builder.parquet_schema().num_columns()).filter(|&i| mask.leaf_included(i));
    let leaves = leaves.count() as u64;
    if leaves.saturating_mul(COLUMN) > OPEN.max(size.saturating_mul(HELD)) {
        return Err(options.malformed(format!(
            "{leaves} columns are read side by side, and each takes about {} KiB, which is far more than a file of \
             {size} bytes: store the rows as one column of lists, as NPY, or as CSV, or choose columns with `columns`",
            COLUMN >> 10
        )));
    }
    // Of a list the schema does not say how long it is; the row groups do, on average.
    let longest = builder.metadata().row_groups().iter().map(longest_row).max().unwrap_or(0);
    let of_group = |group: &RowGroupMetaData| {
        let columns = group.columns().iter().enumerate().filter(|(i, _)| mask.leaf_included(*i));
        columns
            .map(|(_, c)| u64::try_from(c.num_values()).unwrap_or(0))
            .fold(0, u64::saturating_add)
    };
    let groups = || builder.metadata().row_groups().iter().map(of_group);
    let features = features(&schema, &selection);
    let positions = selection.positions();
    // Also of fixed size: how many values a row has is not known before it is decoded.
    let listed = positions.iter().any(|&i| schema.field(i).data_type().is_nested());
    if listed && groups().max() > Some(SHORT.max(size.saturating_mul(LISTED))) {
        let text = "its column of lists declares more values than twice the file's bytes in one row group, and one list may hold them \
                    all: write smaller row groups";
        return Err(options.malformed(text));
    }
    if groups().fold(0, u64::saturating_add) > values {
        return Err(options.malformed(format!(
            "it declares more values than {VALUES} for each of its bytes, which a few bytes can say and \
             nothing but equal values can mean: write it as CSV or NPY, or without run lengths"
        )));
    }
    let longest = usize::try_from(longest).unwrap_or(usize::MAX);
    let rows = block_rows(features.unwrap_or(longest.max(256)));
    let reader = builder.with_projection(mask).with_batch_size(rows).build().map_err(bad)?;
    let meter = Meter::of_rows(total);
    Ok(Columns { batches: Box::new(reader), schema, selection, meter, by_rows: true })
}

/// So many values of lists in a row group are few, however small the file is.
const SHORT: u64 = 1 << 20;
/// Beyond them, the most for each byte of a file: a truth value is a bit there, and eight bytes as a number.
const LISTED: u64 = 2;

/// So many values are few, however small the file is.
const MANY: u64 = 1 << 25;
/// Beyond them, the most values for each byte of a file: writers of columns that are all equal reach about 200.
const VALUES: u64 = 512;
/// Most bytes of pages for each value that a file may hold.
const PAGE_BYTES: u64 = 16;

/// About what a column that is read takes beside its pages.
const COLUMN: u64 = 8 << 10;
/// So much for all columns is little, however small the file is.
const OPEN: u64 = 32 << 20;
/// Beyond it, the most for each byte of a file.
const HELD: u64 = 16;

/// Most values of a row, on average over the rows of a group.
fn longest_row(group: &RowGroupMetaData) -> u64 {
    let rows = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
    let values = group.columns().iter().filter_map(|c| u64::try_from(c.num_values()).ok());
    values.max().unwrap_or(0).div_ceil(rows)
}

pub(crate) fn open_arrow(options: &RowsFile) -> Result<Input> {
    finish(options, arrow(options)?)
}

/// The columns of an Arrow file or stream, whatever they hold.
pub(crate) fn arrow(options: &RowsFile) -> Result<Columns> {
    let path = &options.path;
    let bad = |e: ArrowError| options.malformed(format!("not an Arrow file that can be read: {e}"));
    if !is_stream(path) {
        let failed = |e| Error::io(path, e);
        let mut file = File::open(path).map_err(failed)?;
        let mut magic = [0; 6];
        let file_format = file.read_exact(&mut magic).is_ok() && magic == *b"ARROW1";
        if file_format && let Some(why) = arrow_footer::refused(&mut file).map_err(failed)? {
            return Err(options.malformed(why));
        }
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        if file_format {
            let schema = FileReader::try_new(&file, None).map_err(bad)?.schema();
            let selection = select(options, &schema)?;
            let file = BufReader::new(file);
            let reader = FileReader::try_new(file, Some(selection.read())).map_err(bad)?;
            let (batches, meter) = (Box::new(reader), Meter::of_rows(None));
            return Ok(Columns { batches, schema, selection, meter, by_rows: false });
        }
    }
    arrow_stream(options, source::open(path)?)
}

/// As [`open_arrow`] for bytes that are read once.
pub(crate) fn open_arrow_stream(options: &RowsFile, source: (Bytes, Meter)) -> Result<Input> {
    finish(options, arrow_stream(options, source)?)
}

fn arrow_stream(options: &RowsFile, (mut bytes, meter): (Bytes, Meter)) -> Result<Columns> {
    let path = &options.path;
    let bad = |e: ArrowError| options.malformed(format!("not an Arrow file that can be read: {e}"));
    if bytes.fill_buf().map_err(|e| Error::io(path, e))?.starts_with(b"ARROW1") {
        return Err(Error::options(
            "an Arrow file is read from its end, which a stream has not reached: save it to a file first, \
             or send an Arrow stream",
        ));
    }
    let reader = StreamReader::try_new(Frames::new(bytes, meter.clone()), None).map_err(bad)?;
    let schema = reader.schema();
    let selection = select(options, &schema)?;
    let positions = selection.read();
    let batches = reader.map(move |batch| batch?.project(&positions));
    Ok(Columns { batches: Box::new(batches), schema, selection, meter, by_rows: false })
}

fn select(options: &RowsFile, schema: &Schema) -> Result<Selection> {
    let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    Selection::beside(options, names.len(), Some(&names), true, &pandas_index(schema))
}

/// The columns that pandas says are its index; that of a range is none.
fn pandas_index(schema: &Schema) -> Vec<String> {
    let stated = schema.metadata().get("pandas");
    let stated: Option<Value> = stated.and_then(|text| serde_json::from_str(text).ok());
    let index = stated.as_ref().and_then(|value| value.get("index_columns")?.as_array());
    index.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Features of a row, where the schema tells.
fn features(schema: &Schema, selection: &Selection) -> Option<usize> {
    match selection.positions()[..] {
        [one] => match schema.field(one).data_type() {
            DataType::FixedSizeList(_, d) => usize::try_from(*d).ok(),
            DataType::List(_) | DataType::LargeList(_) => None,
            _ => Some(1),
        },
        ref many => Some(many.len()),
    }
}

fn finish(options: &RowsFile, read: Columns) -> Result<Input> {
    let Columns { batches, schema, selection, meter, by_rows } = read;
    let rows_read = by_rows.then(|| meter.clone());
    let list = |ty: &DataType| {
        matches!(ty, DataType::FixedSizeList(..) | DataType::List(_) | DataType::LargeList(_))
    };
    let positions = selection.positions();
    if positions.is_empty() {
        return Err(options.malformed(NO_COLUMN));
    }
    let lists = positions.len() == 1 && list(schema.field(positions[0]).data_type());
    // Before anything is decoded: a few bytes may say a long text many times.
    let elements = |ty: &DataType| match ty {
        DataType::FixedSizeList(of, _) | DataType::List(of) | DataType::LargeList(of) if lists => {
            of.data_type().clone()
        }
        ty => ty.clone(),
    };
    let other = |&at: &usize| !is_number(&elements(schema.field(at).data_type()));
    if let Some(column) = positions.iter().position(other) {
        let column = selection.names.get(column).cloned();
        let (file, rule) = (options.path.clone(), NOT_A_NUMBER.into());
        return Err(DataError { file, column, rule, record: None }.into());
    }
    let unread = |at: &usize| !is_text_or_whole(schema.field(*at).data_type());
    if let Some(at) = [selection.id, selection.user].into_iter().flatten().find(unread) {
        let column = Some(format!("column {:?}", schema.field(at).name()));
        let (file, rule) = (options.path.clone(), NO_IDS.into());
        return Err(DataError { file, column, rule, record: None }.into());
    }
    let (ids, users) =
        (selection.id.zip(options.ids.clone()), selection.user.zip(options.users.clone()));
    let among = |at| selection.read().iter().filter(|&&i| i < at).count();
    let mut rows = ColumnarRows {
        batches,
        ids: ids.map(|(at, column)| (among(at), column)),
        named: None,
        users: users.map(|(at, users)| (among(at), users)),
        owners: None,
        pending: None,
        shape: if lists { Shape::Lists } else { Shape::Columns },
        d: features(&schema, &selection).unwrap_or(0),
        names: selection.names.clone(),
        numbers: Numbers::of(options),
        path: options.path.clone(),
        records: 0,
        rows_read,
    };
    if rows.d == 0 {
        rows.fetch()?;
        let first = rows.pending.as_ref().map(|(batch, _)| first_length(batch.column(0)));
        rows.d = first.flatten().ok_or_else(|| options.malformed("the first list is missing"))?;
    }
    if lists {
        // A few bytes may declare lists of any length: their features are named when asked for.
        rows.names.clear();
    }
    Ok(Input { rows: Box::new(rows), meter, columns: Some(selection.entered), preprocessing: None })
}

/// Whether a column of this type is read.
fn is_number(ty: &DataType) -> bool {
    ty.is_integer() || matches!(ty, DataType::Float32 | DataType::Float64 | DataType::Boolean)
}

/// Length of the first list of a column.
fn first_length(column: &ArrayRef) -> Option<usize> {
    if column.is_empty() || column.is_null(0) {
        return None;
    }
    match column.data_type() {
        DataType::List(_) => Some(column.as_list::<i32>().value(0).len()),
        DataType::LargeList(_) => Some(column.as_list::<i64>().value(0).len()),
        _ => None,
    }
}

impl ColumnarRows {
    /// Makes sure that a batch with rows is pending, unless there is none left.
    fn fetch(&mut self) -> Result<()> {
        while self.pending.as_ref().is_none_or(|(batch, from)| *from >= batch.num_rows()) {
            self.pending = None;
            let Some(batch) = self.batches.next() else { return Ok(()) };
            let mut batch =
                batch.map_err(|e| Error::from(DataError::of(&self.path, e.to_string())))?;
            let (id, user) =
                (self.ids.as_ref().map(|(at, _)| *at), self.users.as_ref().map(|(at, _)| *at));
            self.named = id.map(|at| batch.column(at).clone());
            self.owners = user.map(|at| batch.column(at).clone());
            // The last first; one column may be both.
            let last = id.max(user);
            [last, id.min(user).filter(|at| Some(*at) != last)].into_iter().flatten().for_each(
                |at| {
                    batch.remove_column(at);
                },
            );
            if let Some(meter) = &self.rows_read {
                meter.add(batch.num_rows() as u64);
                if meter.total.is_some_and(|total| meter.done() > total) {
                    let rule = "it holds more rows than it declares";
                    return Err(DataError::of(&self.path, rule).into());
                }
            }
            self.pending = Some((batch, 0));
        }
        Ok(())
    }

    /// The next rows.
    fn decode(&mut self, mut used: Block) -> Result<Option<Block>> {
        loop {
            match self.decoded(used)? {
                // All may be of users who have had theirs.
                Some(block) if block.n == 0 => used = block,
                other => return Ok(other),
            }
        }
    }

    /// Of the next rows those that enter.
    fn decoded(&mut self, used: Block) -> Result<Option<Block>> {
        self.fetch()?;
        let Some((batch, from)) = &mut self.pending else { return Ok(None) };
        let n = block_rows(self.d).min(batch.num_rows() - *from);
        let (part, rows) = (batch.slice(*from, n), *from..*from + n);
        *from += n;
        let refused = |(row, rule): (usize, &str)| {
            let record = Some(self.records + row as u64 + 1);
            DataError { file: self.path.clone(), column: None, rule: rule.into(), record }
        };
        let takes = match (&self.users, &self.owners) {
            (Some((_, users)), Some(owners)) => {
                Some(column_ids::taken(users, owners, rows.clone()).map_err(refused)?)
            }
            _ => None,
        };
        if let (Some((_, ids)), Some(named)) = (&self.ids, &self.named) {
            column_ids::name(ids, named, rows, takes.as_deref()).map_err(refused)?;
        }
        let mut values = used.into_memory();
        self.convert(&part, &mut values).map_err(|(row, column, rule)| {
            let record = (rule != NOT_A_NUMBER).then_some(self.records + row as u64 + 1);
            let (file, column) = (self.path.clone(), Some(self.column(column)));
            DataError { file, column, rule: rule.into(), record }
        })?;
        self.records += n as u64;
        let Some(takes) = takes else {
            return Ok(Some(Block { n, values: Values::Dense(values) }));
        };
        let (d, mut kept) = (self.d, 0);
        for row in (0..n).filter(|&row| takes[row]) {
            values.copy_within(row * d..(row + 1) * d, kept * d);
            kept += 1;
        }
        values.truncate(kept * d);
        Ok(Some(Block { n: kept, values: Values::Dense(values) }))
    }

    fn convert(&self, batch: &RecordBatch, out: &mut Vec<f64>) -> Result<(), Wrong> {
        let d = self.d;
        if self.shape == Shape::Lists {
            let list = elements(batch.column(0), d)?;
            let values = self.numbers.column(&list).map_err(|(at, rule)| (at / d, at % d, rule))?;
            out.extend_from_slice(&values);
            return Ok(());
        }
        let columns = batch.columns().iter().enumerate();
        let columns: Vec<Cow<'_, [f64]>> = columns
            .map(|(j, column)| self.numbers.column(column).map_err(|(at, rule)| (at, j, rule)))
            .collect::<Result<_, _>>()?;
        let columns: Vec<&[f64]> = columns.iter().map(Cow::as_ref).collect();
        out.resize(batch.num_rows() * d, 0.0);
        // Some rows at a time, so that both sides stay in the cache.
        for (tile, out) in out.chunks_mut(TILE * d).enumerate() {
            for (j, column) in columns.iter().enumerate() {
                let values = &column[tile * TILE..];
                out[j..].iter_mut().step_by(d).zip(values).for_each(|(o, &v)| *o = v);
            }
        }
        Ok(())
    }
}

/// Rows that are turned at a time.
const TILE: usize = 32;

/// The elements of a column of lists of length `d`, list after list.
fn elements(column: &ArrayRef, d: usize) -> Result<ArrayRef, Wrong> {
    if let Some(row) = (0..column.len()).find(|&row| column.is_null(row)) {
        return Err((row, 0, "a whole list is missing"));
    }
    let n = column.len();
    let cut = |values: &ArrayRef, offsets: &mut dyn Iterator<Item = usize>| {
        let offsets: Vec<usize> = offsets.collect();
        match offsets.windows(2).position(|w| w[1] - w[0] != d) {
            Some(row) => Err((row, 0, OTHER_LENGTH)),
            None => Ok(values.slice(offsets[0], n * d)),
        }
    };
    match column.data_type() {
        DataType::FixedSizeList(..) => {
            let list = column.as_fixed_size_list();
            Ok(list.values().slice(list.value_offset_at(0), n * d))
        }
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            cut(list.values(), &mut list.value_offsets().iter().map(|&o| o as usize))
        }
        _ => {
            let list = column.as_list::<i64>();
            cut(list.values(), &mut list.value_offsets().iter().map(|&o| o as usize))
        }
    }
}

impl RowReader for ColumnarRows {
    fn d(&self) -> usize {
        self.d
    }

    fn column(&self, index: usize) -> String {
        self.names.get(index).cloned().unwrap_or_else(|| format!("feature {}", index + 1))
    }

    fn next(&mut self, used: Block) -> Result<Option<Block>> {
        let path = self.path.clone();
        guarded(&path, || self.decode(used))
    }
}
