//! Item sets in Parquet and Arrow: in a column of lists, or in a table as of CSV.

use crate::column_ids::{is_text_or_whole, text};
use crate::columnar::{Batches, Columns};
use crate::error::{DataError, Error, Result};
use crate::guarded::guarded;
use crate::options::{FileFormat, RowsFile};
use crate::set_options::{EMPTY, EMPTY_ITEM, LONGEST_SET, Named, SetFormat, Sets, SetsFile};
use crate::set_table::{Cells, columns, sets};
use crate::source::Meter;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use sketch::sets::ItemSet;

/// Rows of the columns that are read, in their order.
struct Rows {
    batches: Batches,
    file: SetsFile,
    /// Where each stands in a batch.
    places: Vec<usize>,
    batch: Option<RecordBatch>,
    row: usize,
    rows: u64,
    meter: Option<Meter>,
}

const UNREAD: &str = "an item is missing, or longer than 1024 bytes";

/// What a list holds.
fn listed(ty: &DataType) -> Option<&DataType> {
    match ty {
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => {
            Some(of.data_type())
        }
        _ => None,
    }
}

/// The columns of a file of sets.
fn read(options: &RowsFile, format: SetFormat) -> Result<Columns> {
    match format {
        #[cfg(feature = "parquet")]
        SetFormat::Parquet => crate::columnar::parquet(options),
        #[cfg(feature = "arrow")]
        SetFormat::Arrow => crate::columnar::arrow(options),
        _ => Err(Error::options("this program was built without that format")),
    }
}

/// The only column of lists.
fn only_list(schema: &Schema) -> Result<String> {
    let of_items = |ty: &DataType| listed(ty).is_some_and(is_text_or_whole);
    let mut lists = schema.fields().iter().filter(|field| of_items(field.data_type()));
    match (lists.next(), lists.next()) {
        (Some(one), None) => Ok(one.name().clone()),
        _ => Err(Error::options(
            "the file does not have one column of lists of texts or whole numbers: say `items` COLUMN for the column that \
             holds items",
        )),
    }
}

pub(crate) fn open(file: &SetsFile, format: SetFormat) -> Result<(Box<dyn Sets>, Meter)> {
    let path = &file.path;
    if file.header.is_some() {
        return Err(Error::options(
            "a choice of headers has no effect: the columns of the file have names; leave it out",
        ));
    }
    let as_rows = match format {
        SetFormat::Parquet => FileFormat::Parquet,
        _ => FileFormat::Arrow,
    };
    let all = RowsFile { format: Some(as_rows), ..RowsFile::new(path) };
    // Columns that are not read may be called anything.
    let schema = guarded(path, || {
        Ok(read(&RowsFile { columns: vec!["1-1".into()], ..all.clone() }, format)?.schema)
    })?;
    let mut file = file.clone();
    if file.items.is_empty() {
        file.items = vec![only_list(&schema)?];
    }
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let wanted = columns(&file, names.len(), Some(&names), true)?;
    let lists = listed(schema.field(wanted[0]).data_type()).is_some();
    for (i, &at) in wanted.iter().enumerate() {
        let ty = schema.field(at).data_type();
        let ty = if lists && i == 0 { listed(ty).unwrap_or(ty) } else { ty };
        if !is_text_or_whole(ty) {
            let (column, rule) = (
                Some(format!("column {:?}", names[at])),
                "it holds neither text nor whole numbers",
            );
            return Err(
                DataError { file: path.clone(), column, rule: rule.into(), record: None }.into()
            );
        }
    }
    let chosen = wanted.iter().map(|at| format!("{0}-{0}", at + 1)).collect();
    let Columns { batches, selection, meter, by_rows, .. } =
        guarded(path, || read(&RowsFile { columns: chosen, ..all }, format))?;
    let read = selection.read();
    let place = |at: &usize| read.iter().position(|other| other == at).unwrap_or(0);
    let rows = Rows {
        batches,
        places: wanted.iter().map(place).collect(),
        file: file.clone(),
        batch: None,
        row: 0,
        rows: 0,
        meter: by_rows.then(|| meter.clone()),
    };
    if !lists {
        return Ok((sets(&file, rows)?, meter));
    }
    if file.set_id.is_some() || file.separator.is_some() || file.id_first || file.items.len() > 1 {
        return Err(Error::options(
            "the column of items holds lists: leave `separator`, `set_id` and `id_first` out, and name one column with `items`",
        ));
    }
    Ok((Box::new(Lists(rows)), meter))
}

impl Rows {
    /// The columns and the row in them that comes next.
    fn step(&mut self) -> Result<Option<(RecordBatch, usize)>> {
        while self.batch.as_ref().is_none_or(|batch| self.row >= batch.num_rows()) {
            let Some(batch) = self.batches.next() else { return Ok(None) };
            let batch = batch.map_err(|e| DataError::of(&self.file.path, e.to_string()))?;
            self.meter.iter().for_each(|meter| meter.add(batch.num_rows() as u64));
            (self.batch, self.row) = (Some(batch), 0);
        }
        let row = self.row;
        (self.row, self.rows) = (row + 1, self.rows + 1);
        Ok(self.batch.clone().map(|batch| (batch, row)))
    }

    fn cell(&self, column: &ArrayRef, row: usize) -> Result<String> {
        if column.is_null(row) {
            return Ok(String::new());
        }
        text(column, row).ok_or_else(|| self.file.refused(UNREAD, self.rows))
    }

    fn cells(&mut self) -> Result<Option<Vec<String>>> {
        let Some((batch, row)) = self.step()? else { return Ok(None) };
        self.places
            .iter()
            .map(|&at| self.cell(batch.column(at), row))
            .collect::<Result<_>>()
            .map(Some)
    }
}

impl Cells for Rows {
    fn next(&mut self) -> Result<Option<Vec<String>>> {
        let path = self.file.path.clone();
        guarded(&path, || self.cells())
    }
}

/// Sets in a column of lists.
struct Lists(Rows);

impl Lists {
    fn set(&mut self) -> Result<Option<Named>> {
        let rows = &mut self.0;
        let Some((batch, row)) = rows.step()? else { return Ok(None) };
        let column = batch.column(rows.places[0]);
        if column.is_null(row) {
            return Err(rows.file.refused("a whole list is missing", rows.rows));
        }
        let list = match column.data_type() {
            DataType::List(_) => column.as_list::<i32>().value(row),
            DataType::LargeList(_) => column.as_list::<i64>().value(row),
            _ => column.as_fixed_size_list().value(row),
        };
        let (mut bytes, mut items) = (0, Vec::new());
        for at in 0..list.len() {
            let word = text(&list, at).ok_or_else(|| rows.file.refused(UNREAD, rows.rows))?;
            if word.is_empty() {
                return Err(rows.file.refused(EMPTY_ITEM, rows.rows));
            }
            bytes += word.len() + 1;
            if bytes > LONGEST_SET {
                return Err(rows.file.refused("a set takes more than 4 MiB", rows.rows));
            }
            items.push(ItemSet::item(&word));
        }
        let set = ItemSet::new(items);
        let set = set.map_err(|_| rows.file.refused(EMPTY, rows.rows))?;
        let id = match rows.file.named() {
            None => None,
            Some(_) => Some(rows.cell(batch.column(rows.places[1]), row)?),
        };
        Ok(Some(Named { set, id, bytes }))
    }
}

impl Sets for Lists {
    fn list(&self) -> Option<&str> {
        self.0.file.items.first().map(String::as_str)
    }

    fn next(&mut self) -> Result<Option<Named>> {
        let path = self.0.file.path.clone();
        guarded(&path, || self.set())
    }
}
