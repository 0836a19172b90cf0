//! Values as a public map makes them.

use crate::block::{Block, Input, RowReader, Values};
use crate::error::{DataError, Error, Result};
use crate::options::{ColumnRules, FileFormat, NOT_FINITE, RowsFile};
use dp_core::certificate::preprocessing::{ColumnMap, MappedColumn, Preprocessing};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The columns of a file that rules are about.
fn resolved(rules: &ColumnRules, d: usize, names: Option<&[String]>) -> Result<Preprocessing> {
    let place = |name: &str| match names {
        Some(names) => names.iter().position(|found| found.trim() == name),
        None => name
            .parse()
            .ok()
            .filter(|p| (1..=d).contains(p) && p.to_string() == name)
            .map(|p: usize| p - 1),
    };
    let mut columns = Vec::new();
    for (name, &map) in &rules.columns {
        let at = place(name).ok_or_else(|| {
                let called = match names {
                    Some(_) => "no column that enters is called so",
                    None => "the file has no names: its columns are called by their places, from 1",
                };
                Error::options(format!(
                    "`preprocess`: columns.{name:?}: {called} ({d} columns enter; a dry run without `preprocess` lists them)"
                ))
            })?;
        columns.push(MappedColumn { at: at as u64 + 1, map, name: name.clone() });
    }
    columns.sort_by_key(|column| column.at);
    let found = Preprocessing { columns, d: d as u64, default: rules.default };
    found.check().map_err(|e| Error::options(format!("`preprocess`: {e}")))?;
    match &rules.of_release {
        Some(stated) if *stated != found => Err(Error::options(format!(
            "the columns of the file are not those that the preprocessing of the release maps: it has {} columns, in their \
                 order; leave other columns out with `leave_out`, and put them in that order",
            stated.d
        ))),
        _ => Ok(found),
    }
}

struct MappedRows {
    rows: Box<dyn RowReader>,
    preprocessing: Arc<Preprocessing>,
    path: PathBuf,
    records: u64,
}

/// Puts a map between the rows of a file and everything else.
pub(crate) fn mapped(
    input: Input,
    rules: &ColumnRules,
    options: &RowsFile,
    format: FileFormat,
) -> Result<Input> {
    let d = input.rows.d();
    let preprocessing = Arc::new(resolved(rules, d, input.columns.as_deref())?);
    let moves_zero = |map: &ColumnMap| map.apply(0.0) != Some(0.0);
    let own = preprocessing.columns.iter().any(|column| moves_zero(&column.map));
    let rest = (preprocessing.columns.len() as u64) < preprocessing.d;
    if format == FileFormat::Svmlight && (own || rest && moves_zero(&preprocessing.default)) {
        return Err(Error::options(
            "`preprocess` makes something else of zero, which svmlight files do not hold: shift nothing and keep zero from \
             `low` to `high`, or store the rows as CSV or NPY",
        ));
    }
    let rows = MappedRows {
        rows: input.rows,
        preprocessing: preprocessing.clone(),
        path: options.path.clone(),
        records: 0,
    };
    Ok(Input { rows: Box::new(rows), preprocessing: Some(preprocessing), ..input })
}

impl RowReader for MappedRows {
    fn d(&self) -> usize {
        self.rows.d()
    }

    fn column(&self, index: usize) -> String {
        self.rows.column(index)
    }

    fn file(&self) -> Option<&Path> {
        self.rows.file()
    }

    fn next(&mut self, used: Block) -> Result<Option<Block>> {
        let Some(mut block) = self.rows.next(used)? else { return Ok(None) };
        let d = self.d();
        block.widen();
        let map = |place: usize, value: &mut f64| {
            let missing = value.is_nan();
            *value = self.preprocessing.map(place).apply(*value).ok_or((place, missing))?;
            Ok(())
        };
        let done = match &mut block.values {
            Values::Dense(values) => {
                let mut places = values.iter_mut().enumerate();
                places.try_for_each(|(at, value)| map(at % d, value).map_err(|why| (at / d, why)))
            }
            Values::Sparse { offsets, columns, values } => {
                let mut places = columns.iter().zip(values).enumerate();
                places.try_for_each(|(at, (&place, value))| {
                    let row = || offsets.partition_point(|&o| o <= at) - 1;
                    map(place as usize, value).map_err(|why| (row(), why))
                })
            }
            Values::Single(_) => unreachable!("made wide"),
        };
        if let Err((row, (place, missing))) = done {
            let rule = match missing {
                true => {
                    "a value is missing (an empty cell, null or NaN), and `preprocess` gives its column no constant: write missing = ... there"
                }
                false => NOT_FINITE,
            };
            return Err(DataError {
                file: self.path.clone(),
                column: Some(self.rows.column(place)),
                rule: rule.into(),
                record: Some(self.records + row as u64 + 1),
            }
            .into());
        }
        self.records += block.n as u64;
        Ok(Some(block))
    }
}
