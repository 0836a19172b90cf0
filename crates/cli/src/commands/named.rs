//! Columns of a release by position or by the name that it keeps.

use crate::error::{Error, Result};
use crate::output::Record;

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
