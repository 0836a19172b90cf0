//! Tables as Arrow and Parquet.

use super::cells::{Cell, Table};
use arrow_array::{FixedSizeListArray, PrimitiveArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use dp_core::output::Output;
use std::io::{Error, Result};
use std::sync::Arc;

/// Rows that are converted at once.
const ROWS: usize = 1 << 12;

/// Columns `row`, from 0, `id` where rows have names, and `values`, a list of fixed size.
fn schema<T: Cell>(table: &Table<'_, T>) -> Result<(Arc<Schema>, Arc<Field>)> {
    use arrow_array::types::ArrowPrimitiveType;
    let width = i32::try_from(table.width).map_err(Error::other)?;
    let item = Arc::new(Field::new("item", T::Column::DATA_TYPE, false));
    let list = DataType::FixedSizeList(item.clone(), width);
    let mut fields = vec![Field::new("row", DataType::UInt64, false)];
    fields.extend(table.ids.map(|_| Field::new("id", DataType::Utf8, false)));
    fields.push(Field::new("values", list, false));
    let about: std::collections::HashMap<_, _> = table.about.iter().cloned().collect();
    Ok((Arc::new(Schema::new_with_metadata(fields, about)), item))
}

fn batches<'a, T: Cell>(
    table: &'a Table<'a, T>,
    schema: &'a Arc<Schema>,
    item: &'a Arc<Field>,
) -> impl Iterator<Item = Result<RecordBatch>> + 'a {
    let width = table.width.max(1);
    table.cells.chunks(width * ROWS).enumerate().map(move |(block, cells)| {
        let named = block * ROWS..block * ROWS + cells.len() / width;
        let first = (block * ROWS) as u64;
        let rows = UInt64Array::from_iter_values(first..first + (cells.len() / width) as u64);
        let cells = PrimitiveArray::<T::Column>::from_iter_values(cells.iter().copied());
        let lists = FixedSizeListArray::try_new(item.clone(), width as i32, Arc::new(cells), None);
        let mut columns: Vec<Arc<dyn arrow_array::Array>> = vec![Arc::new(rows)];
        if let Some(ids) = table.ids {
            let names = named.map(|row| ids.get(row).unwrap_or_default());
            columns.push(Arc::new(StringArray::from_iter_values(names)));
        }
        columns.push(Arc::new(lists.map_err(Error::other)?));
        RecordBatch::try_new(schema.clone(), columns).map_err(Error::other)
    })
}

#[cfg(feature = "arrow")]
pub(super) fn write_arrow<T: Cell>(file: &mut Output, table: &Table<'_, T>) -> Result<()> {
    let (schema, item) = schema(table)?;
    let writer = arrow_ipc::writer::FileWriter::try_new(file, &schema);
    let mut writer = writer.map_err(Error::other)?;
    for batch in batches(table, &schema, &item) {
        writer.write(&batch?).map_err(Error::other)?;
    }
    writer.finish().map_err(Error::other)
}

#[cfg(feature = "parquet")]
pub(super) fn write_parquet<T: Cell>(file: &mut Output, table: &Table<'_, T>) -> Result<()> {
    use parquet::file::{metadata::KeyValue, properties::WriterProperties};
    let (schema, item) = schema(table)?;
    let about = table.about.iter();
    let about: Vec<KeyValue> =
        about.map(|(name, text)| KeyValue::new(name.clone(), text.clone())).collect();
    // Noise does not compress, and a dictionary of it is larger than itself.
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(about))
        .build();
    let writer = parquet::arrow::ArrowWriter::try_new(file, schema.clone(), Some(properties));
    let mut writer = writer.map_err(Error::other)?;
    for batch in batches(table, &schema, &item) {
        writer.write(&batch?).map_err(Error::other)?;
    }
    writer.close().map(drop).map_err(Error::other)
}
