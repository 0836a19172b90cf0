//! Files of numbers that other programs read: CSV, NPY, and, where they are built in, Arrow and Parquet.

use super::cells::{Cell, Table};
#[cfg(any(feature = "arrow", feature = "parquet"))]
use super::columns;
use crate::error::{Error, Result};
use dp_core::output::{Existing, Output};
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
        Some("csv") => write_csv(file, &bare(d, &cells), false),
        _ => write_npy(file, d, &cells),
    })
}

/// Writes a table.
pub(super) fn write<T: Cell>(path: &Path, table: &Table<'_, T>) -> Result<()> {
    create(path, |file| match extension(path) {
        Some("csv") => write_csv(file, table, true),
        #[cfg(feature = "arrow")]
        Some("arrow") => columns::write_arrow(file, table),
        #[cfg(feature = "parquet")]
        Some("parquet") => columns::write_parquet(file, table),
        _ => write_npy(file, table.width, table.cells),
    })
}

fn create(path: &Path, write: impl FnOnce(&mut Output) -> std::io::Result<()>) -> Result<()> {
    check_free(path)?;
    let mut file = Output::create(path, Existing::Keep)?;
    write(&mut file).map_err(|e| Error::io(path, e))?;
    Ok(file.commit()?)
}

fn write_csv<T: Cell>(file: &mut Output, table: &Table<'_, T>, named: bool) -> std::io::Result<()> {
    let Table { width, cells, ids, .. } = table;
    if named {
        let numbered = (0..*width).map(|c| format!("v{c}"));
        let names = table.names.as_ref().filter(|names| names.len() == *width);
        let names: Vec<String> = match names {
            Some(names) => names.iter().map(|name| quoted(name)).collect(),
            None => numbered.collect(),
        };
        let id = if ids.is_some() { "id," } else { "" };
        writeln!(file, "row,{id}{}", names.join(","))?;
    }
    for (row, cells) in cells.chunks((*width).max(1)).enumerate() {
        if named {
            write!(file, "{row},")?;
        }
        if let Some(id) = ids.and_then(|ids| ids.get(row)) {
            write!(file, "{},", quoted(id))?;
        }
        let cells: Vec<String> = cells.iter().map(|cell| cell.text()).collect();
        writeln!(file, "{}", cells.join(","))?;
    }
    Ok(())
}

/// A field of a CSV file.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',']) || text.trim() != text {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

/// Numbers without names.
fn bare<T>(width: usize, cells: &[T]) -> Table<'_, T> {
    Table { width, cells, about: Vec::new(), ids: None, names: None }
}

fn write_npy<T: Cell>(file: &mut Output, width: usize, cells: &[T]) -> std::io::Result<()> {
    let rows = cells.len().checked_div(width).unwrap_or(0);
    let mut writer = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&[rows as u64, width as u64])
        .writer(file)
        .begin_nd()?;
    writer.extend(cells.iter().copied())?;
    writer.finish()
}
