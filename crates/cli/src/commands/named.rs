//! Columns and rows of a release by position or by the name that it keeps.

use crate::error::{Error, Result};
use crate::output::Record;
use dp_core::release_file::RowIds;

/// A record about a column, counted from one, with its name where there is one.
pub(super) fn column_record(column: u64, names: Option<&[String]>) -> Record {
    let record = Record::new().integer("column", column);
    match names.and_then(|names| names.get(column as usize - 1)) {
        Some(name) => record.text("name", name),
        None => record,
    }
}

/// The column that `option` names, from zero.
pub(super) fn column_of(
    option: &str,
    text: &str,
    columns: usize,
    names: Option<&[String]>,
) -> Result<usize> {
    if let Some(at) = names.and_then(|names| names.iter().position(|name| name == text)) {
        return Ok(at);
    }
    match text.parse() {
        Ok(position) if (1..=columns).contains(&position) => Ok(position - 1),
        _ => {
            let kept = if names.is_some() { ", and their names" } else { "" };
            Err(Error::usage(format!(
                "{option} {text:?}: the release has columns 1 to {columns}{kept}"
            )))
        }
    }
}

/// The row that `option` names: its id where the release keeps ids, else its position from zero.
pub(super) fn row_of(
    option: &str,
    text: &str,
    rows: Option<usize>,
    ids: Option<&RowIds>,
) -> Result<usize> {
    if let Some(ids) = ids {
        // A position beside ids that are numbers would be taken for one.
        let none = || {
            let some = ids.get(0).map_or(String::new(), |id| format!(", as in {id}"));
            Error::usage(format!(
                "{option} {text:?}: no row is called so; the rows of this release have ids{some}"
            ))
        };
        return ids.row(text).ok_or_else(none);
    }
    match text.parse() {
        Ok(row) if rows.is_none_or(|rows| row < rows) => Ok(row),
        _ => {
            let most = rows.map_or(String::new(), |rows| format!(" of {rows} rows"));
            Err(Error::usage(format!(
                "{option} {text:?}: there are no ids, so that a row is a number{most}, counted from zero"
            )))
        }
    }
}

/// A record with what a row is called, where that is kept.
pub(super) fn with_id(record: Record, name: &str, row: usize, ids: Option<&RowIds>) -> Record {
    match ids.and_then(|ids| ids.get(row)) {
        Some(id) => record.text(name, id),
        None => record,
    }
}
