//! Item sets of files, in batches.

use crate::error::{DataError, Error, Result};
use crate::options::NOT_AN_ID;
#[cfg(any(feature = "arrow", feature = "parquet"))]
use crate::set_columns;
use crate::set_json::SetJson;
use crate::set_lines::SetLines;
use crate::set_options::{SetFormat, Sets, SetsFile};
use crate::set_table;
use crate::source::{self, Meter};
use sketch::sets::ItemSet;
use std::collections::HashSet;
use std::io::BufRead;

/// Sets of a batch, and about how many bytes of text.
const BATCH: usize = 4096;
const BATCH_BYTES: usize = 1 << 22;

/// What is said of a set whose rows do not follow each other.
const SCATTERED: &str = "the rows of a set do not stand together: sort by the column of `set_id`, and keep all rows of a set in one file";

/// The sets of a file, in batches.
pub struct SetReader {
    inner: Box<dyn Sets>,
    file: SetsFile,
    /// Sets of this file that enter, before the next batch.
    sets: u64,
    /// Sets of this file that were read, also those that a user has too many of.
    read: u64,
    /// Sets that are complete, where every row is an item of one.
    seen: HashSet<String>,
    /// How far reading has come.
    pub meter: Meter,
}

impl SetsFile {
    /// Opens the file.
    ///
    /// # Errors
    /// A file that cannot be read, that is not of its format, or whose sets could be several things.
    pub fn open(&self) -> Result<SetReader> {
        self.ids.iter().for_each(|of| *of.ids() = Default::default());
        let users = self.users.as_ref().map(crate::Users::begun);
        Self { users, ..self.clone() }.open_with(HashSet::new())
    }

    /// As [`SetsFile::open`] for a file that comes after another: ids go on, and no set has rows in both.
    ///
    /// # Errors
    /// As [`SetsFile::open`].
    pub fn open_after(&self, before: SetReader) -> Result<SetReader> {
        let mut file = Self { users: before.file.users.clone(), ..self.clone() };
        let lists = [SetFormat::Jsonl, SetFormat::Parquet, SetFormat::Arrow];
        if file.items.is_empty() && lists.contains(&file.format()) {
            // The only list of another name would be another list.
            file.items.extend(before.inner.list().map(str::to_owned));
        }
        file.open_with(before.seen)
    }

    fn open_with(&self, seen: HashSet<String>) -> Result<SetReader> {
        if self.users.is_some() && (self.ids.is_some() || self.set_id.is_some()) {
            return Err(Error::options(
                "`users` names the only column beside the items: leave `keep_id` out, and write a set into one row (`set_id` makes \
                 sets of several)",
            ));
        }
        let (inner, meter) = match self.format() {
            #[cfg(any(feature = "arrow", feature = "parquet"))]
            format @ (SetFormat::Parquet | SetFormat::Arrow) => set_columns::open(self, format)?,
            #[cfg(not(any(feature = "arrow", feature = "parquet")))]
            SetFormat::Parquet | SetFormat::Arrow => {
                return Err(Error::options("this program was built without that format"));
            }
            format => {
                let (mut bytes, meter) = source::open(&self.path)?;
                let start = bytes.fill_buf().map_err(|e| Error::io(&self.path, e))?;
                if let Some(what) = source::foreign(start) {
                    let rule = format!("this is {what}");
                    return Err(DataError::of(&self.path, rule).into());
                }
                let sets: Box<dyn Sets> = match format {
                    SetFormat::Jsonl => Box::new(SetJson::open(self, bytes)?),
                    SetFormat::Csv => set_table::open_csv(self, bytes)?,
                    _ => Box::new(SetLines::open(self, bytes)?),
                };
                (sets, meter)
            }
        };
        Ok(SetReader { inner, file: self.clone(), sets: 0, read: 0, seen, meter })
    }

    /// What is said, or what the name says. A CSV file whose columns of items are not named may be lines of words.
    fn format(&self) -> SetFormat {
        if let Some(format) = self.format {
            return format;
        }
        let name = source::name_of(&self.path);
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        let table = !self.items.is_empty() || self.set_id.is_some();
        match () {
            () if ends(&[".jsonl", ".ndjson"]) => SetFormat::Jsonl,
            () if ends(&[".parquet", ".pq"]) => SetFormat::Parquet,
            () if ends(&[".arrow", ".feather", ".ipc", ".arrows"]) => SetFormat::Arrow,
            () if table && ends(&[".csv", ".tsv"]) => SetFormat::Csv,
            () => SetFormat::Lines,
        }
    }
}

impl SetReader {
    /// How many sets came before the batch that is read next.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.sets
    }

    /// The next sets; none after the last.
    ///
    /// # Errors
    /// A record that is no set, or a file that holds none.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Vec<ItemSet>> {
        let (mut batch, mut text_read) = (Vec::new(), 0);
        while batch.len() < BATCH && text_read < BATCH_BYTES {
            let Some(named) = self.inner.next()? else { break };
            self.read += 1;
            let record = self.read;
            if let Some(users) = &self.file.users {
                let said = |user: &&str| !crate::Users::spelled(user).is_empty();
                let Some(user) = named.id.as_deref().filter(said) else {
                    return Err(self.file.refused("a set does not say whose it is", record));
                };
                if users.takes(user) {
                    text_read += named.bytes;
                    batch.push(named.set);
                }
                continue;
            }
            if let Some(column) = &self.file.ids {
                let id = column.ids().push(named.id.as_deref().unwrap_or_default());
                id.map_err(|_| self.file.refused(NOT_AN_ID, record))?;
            }
            // One set in two places would be two sets, and less would be hidden of it than is promised.
            if self.file.set_id.is_some() && !self.seen.insert(named.id.unwrap_or_default()) {
                return Err(self.file.refused(SCATTERED, record));
            }
            text_read += named.bytes;
            batch.push(named.set);
        }
        // A file all of whose sets were left out holds sets.
        if self.read == 0 {
            return Err(DataError::of(&self.file.path, "the file holds no set").into());
        }
        self.sets += batch.len() as u64;
        Ok(batch)
    }
}
