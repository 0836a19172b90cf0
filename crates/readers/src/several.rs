//! Several files as one: the rows of the first, then those of the next.

use crate::block::{Block, Input, RowReader};
use crate::error::{Error, Result};
use crate::options::RowsFile;
use crate::source::{Meter, is_stream};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

struct SeveralRows {
    rows: Box<dyn RowReader>,
    path: PathBuf,
    waiting: VecDeque<RowsFile>,
    likeness: Likeness,
    meter: Meter,
}

/// What all files must have in common.
struct Likeness {
    first: PathBuf,
    d: usize,
    columns: Option<Vec<String>>,
}

impl Likeness {
    fn check(&self, path: &Path, other: &Input) -> Result<()> {
        let differ = |how: String| {
            let (path, first) = (path.display(), self.first.display());
            let words = format!(
                "{path}: {how} than {first}: the files of one release have the same columns"
            );
            Err(Error::options(words))
        };
        if other.rows.d() != self.d {
            return differ(format!("its rows have {} numbers, others", other.rows.d()));
        }
        // Formats without names say nothing.
        match (&self.columns, &other.columns) {
            (Some(a), Some(b)) if a != b => {
                let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(0);
                differ(format!("used column {} has another name", at + 1))
            }
            _ => Ok(()),
        }
    }
}

/// Opens files that are read one after the other: with the same columns in the same order. Ids and the rows of users are counted
/// over all of them.
///
/// # Errors
/// As [`RowsFile::open`]; files that differ, and streams among several.
pub fn open_all(files: Vec<RowsFile>) -> Result<Input> {
    let mut waiting = VecDeque::from(files);
    let file = waiting.pop_front().ok_or_else(|| Error::options("no file is named"))?;
    if waiting.is_empty() {
        return file.open();
    }
    let stream = [&file].into_iter().chain(&waiting).find(|f| is_stream(&f.path));
    if let Some(stream) = stream {
        let name = crate::shown(&stream.path);
        return Err(Error::options(format!(
            "{name} can be read once only, and several inputs are looked at before they are read: save it to a file"
        )));
    }
    let file = file.begun();
    waiting.iter_mut().for_each(|other| other.users = file.users.clone());
    let first = file.open_with(None)?;
    let (d, columns) = (first.rows.d(), first.columns);
    let likeness = Likeness { first: file.path.clone(), d, columns: columns.clone() };
    for other in &waiting {
        likeness.check(&other.path, &other.open_with(None)?)?;
    }
    // Opening may have read a first row, which is named when it is handed on only.
    let mut meter = Meter::default();
    meter.total = Some(waiting.len() as u64 + 1);
    let rows =
        SeveralRows { rows: first.rows, path: file.path, waiting, likeness, meter: meter.clone() };
    Ok(Input { rows: Box::new(rows), meter, columns, preprocessing: first.preprocessing })
}

impl RowReader for SeveralRows {
    fn d(&self) -> usize {
        self.likeness.d
    }

    fn column(&self, index: usize) -> String {
        self.rows.column(index)
    }

    fn file(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn next(&mut self, mut used: Block) -> Result<Option<Block>> {
        loop {
            if let Some(block) = self.rows.next(used)? {
                return Ok(Some(block));
            }
            self.meter.add(1);
            let Some(file) = self.waiting.pop_front() else { return Ok(None) };
            let input = file.open_with(None)?;
            // It may be another file by now.
            self.likeness.check(&file.path, &input)?;
            (self.rows, self.path, used) = (input.rows, file.path, Block::default());
        }
    }
}
