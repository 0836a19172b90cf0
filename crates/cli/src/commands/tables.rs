//! Files of numbers that other programs read: CSV, NPY, and, where they are built in, Arrow and Parquet.

use crate::error::{Error, Result};
use dp_core::atomic_file::{Access, AtomicFile};
use faer::Mat;
use npyz::WriterBuilder;
use std::io::Write;
use std::path::Path;

/// Formats of a bare matrix.
pub(super) const PLAIN: [&str; 2] = ["csv", "npy"];

/// Formats of a table, which has row numbers, and in the last two a text about it.
pub(super) const ALL: &[&str] = &[
    "csv",
    "npy",
    #[cfg(feature = "arrow")]
    "arrow",
    #[cfg(feature = "parquet")]
    "parquet",
];

/// What stands in the cells of a table.
pub(super) trait Cell: npyz::AutoSerialize + Copy {
    /// Its type in columns.
    #[cfg(any(feature = "arrow", feature = "parquet"))]
    type Column: arrow_array::types::ArrowPrimitiveType<Native = Self>;

    /// As text from which it reads back unchanged.
    fn text(self) -> String;
}

macro_rules! cell {
    ($type:ty, $column:ident, $format:literal) => {
        impl Cell for $type {
            #[cfg(any(feature = "arrow", feature = "parquet"))]
            type Column = arrow_array::types::$column;

            fn text(self) -> String {
                format!($format, self)
            }
        }
    };
}

cell!(f64, Float64Type, "{:e}");
cell!(i8, Int8Type, "{}");
cell!(u8, UInt8Type, "{}");
cell!(u16, UInt16Type, "{}");

/// Rows of so many cells, and what is said about them by name.
pub(super) struct Table<'a, T> {
    pub(super) width: usize,
    pub(super) cells: &'a [T],
    pub(super) about: Vec<(String, String)>,
}

/// The end of a file's name.
pub(super) fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|e| e.to_str())
}

pub(super) fn check_name(path: &Path, formats: &[&str]) -> Result<()> {
    if extension(path).is_some_and(|end| formats.contains(&end)) {
        return Ok(());
    }
    let ends = formats.iter().map(|end| format!(".{end}")).collect::<Vec<_>>().join(" or ");
    Err(Error::usage(format!("{}: the name of the file must end in {ends}", path.display())))
}

/// A table is no release, and what is there may be anything: it is never written over.
pub(super) fn check_free(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let out = path.display();
    Err(Error::usage(format!("{out} exists, and is never written over: choose another name")))
}

/// Writes the columns of a matrix as rows of a file.
pub(super) fn write_columns(path: &Path, matrix: &Mat<f64>) -> Result<()> {
    let d = matrix.nrows();
    let cells: Vec<f64> =
        (0..matrix.ncols()).flat_map(|c| (0..d).map(move |i| matrix[(i, c)])).collect();
    create(path, |file| match extension(path) {
        Some("csv") => write_csv(file, d, &cells, false),
        _ => write_npy(file, d, &cells),
    })
}

/// Writes a table.
pub(super) fn write<T: Cell>(path: &Path, table: &Table<'_, T>) -> Result<()> {
    create(path, |file| match extension(path) {
        Some("csv") => write_csv(file, table.width, table.cells, true),
        #[cfg(feature = "arrow")]
        Some("arrow") => columns::write_arrow(file, table),
        #[cfg(feature = "parquet")]
        Some("parquet") => columns::write_parquet(file, table),
        _ => write_npy(file, table.width, table.cells),
    })
}

fn create(path: &Path, write: impl FnOnce(&mut AtomicFile) -> std::io::Result<()>) -> Result<()> {
    check_free(path)?;
    let mut file = AtomicFile::create(path, Access::Shared)?;
    write(&mut file).map_err(|e| Error::io(path, e))?;
    check_free(path)?;
    Ok(file.commit()?)
}

fn write_csv<T: Cell>(
    file: &mut AtomicFile,
    width: usize,
    cells: &[T],
    named: bool,
) -> std::io::Result<()> {
    if named {
        let names: Vec<String> = (0..width).map(|c| format!("v{c}")).collect();
        writeln!(file, "row,{}", names.join(","))?;
    }
    for (row, cells) in cells.chunks(width.max(1)).enumerate() {
        if named {
            write!(file, "{row},")?;
        }
        let cells: Vec<String> = cells.iter().map(|cell| cell.text()).collect();
        writeln!(file, "{}", cells.join(","))?;
    }
    Ok(())
}

fn write_npy<T: Cell>(file: &mut AtomicFile, width: usize, cells: &[T]) -> std::io::Result<()> {
    let rows = cells.len().checked_div(width).unwrap_or(0);
    let mut writer = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&[rows as u64, width as u64])
        .writer(file)
        .begin_nd()?;
    writer.extend(cells.iter().copied())?;
    writer.finish()
}

#[cfg(any(feature = "arrow", feature = "parquet"))]
mod columns {
    use super::{AtomicFile, Cell, Table};
    use arrow_array::{FixedSizeListArray, PrimitiveArray, RecordBatch, UInt64Array};
    use arrow_schema::{DataType, Field, Schema};
    use std::io::{Error, Result};
    use std::sync::Arc;

    /// Rows that are converted at once.
    const ROWS: usize = 1 << 12;

    /// Columns `row`, from 0, and `values`, a list of fixed size.
    fn schema<T: Cell>(table: &Table<'_, T>) -> Result<(Arc<Schema>, Arc<Field>)> {
        use arrow_array::types::ArrowPrimitiveType;
        let width = i32::try_from(table.width).map_err(Error::other)?;
        let item = Arc::new(Field::new("item", T::Column::DATA_TYPE, false));
        let list = DataType::FixedSizeList(item.clone(), width);
        let fields =
            vec![Field::new("row", DataType::UInt64, false), Field::new("values", list, false)];
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
            let first = (block * ROWS) as u64;
            let rows = UInt64Array::from_iter_values(first..first + (cells.len() / width) as u64);
            let cells = PrimitiveArray::<T::Column>::from_iter_values(cells.iter().copied());
            let lists =
                FixedSizeListArray::try_new(item.clone(), width as i32, Arc::new(cells), None);
            let columns: [Arc<dyn arrow_array::Array>; 2] =
                [Arc::new(rows), Arc::new(lists.map_err(Error::other)?)];
            RecordBatch::try_new(schema.clone(), columns.into()).map_err(Error::other)
        })
    }

    #[cfg(feature = "arrow")]
    pub(super) fn write_arrow<T: Cell>(file: &mut AtomicFile, table: &Table<'_, T>) -> Result<()> {
        let (schema, item) = schema(table)?;
        let writer = arrow_ipc::writer::FileWriter::try_new(file, &schema);
        let mut writer = writer.map_err(Error::other)?;
        for batch in batches(table, &schema, &item) {
            writer.write(&batch?).map_err(Error::other)?;
        }
        writer.finish().map_err(Error::other)
    }

    #[cfg(feature = "parquet")]
    pub(super) fn write_parquet<T: Cell>(
        file: &mut AtomicFile,
        table: &Table<'_, T>,
    ) -> Result<()> {
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
}
