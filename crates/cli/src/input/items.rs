//! Item sets: one set a line, words between separators.

use super::source::{self, Bytes, Meter};
use crate::error::{DataError, Error, Result};
use clap::Args;
use sketch::minhash::ItemSet;
use std::path::PathBuf;

/// Which file of sets is read, and how.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct ItemOptions {
    /// The file of sets, one a line; `-` reads standard input. Gzip is recognised.
    pub(crate) input: PathBuf,
    /// What stands between the items of a set; by default any white space. `tab` for a tab.
    #[arg(long)]
    separator: Option<String>,
    /// The first word of a line names the set: leave it out.
    #[arg(long)]
    id_first: bool,
}

/// Sets of a batch.
const BATCH: usize = 4096;

/// The sets of a file, in batches.
pub(crate) struct SetReader {
    bytes: Bytes,
    path: PathBuf,
    separator: Option<String>,
    skipped: usize,
    sets: u64,
    line: String,
    pub(crate) meter: Meter,
}

impl ItemOptions {
    /// Opens the file.
    pub(crate) fn open(&self) -> Result<SetReader> {
        let (bytes, meter) = source::open(&self.input)?;
        let separator = self.separator.as_deref().map(|s| if s == "tab" { "\t" } else { s });
        if separator == Some("") {
            return Err(Error::usage("--separator is empty"));
        }
        Ok(SetReader {
            bytes,
            path: self.input.clone(),
            separator: separator.map(str::to_owned),
            skipped: usize::from(self.id_first),
            sets: 0,
            line: String::new(),
            meter,
        })
    }
}

impl SetReader {
    /// How many sets came before the batch that is read next.
    pub(crate) fn done(&self) -> u64 {
        self.sets
    }

    /// The next sets; none after the last.
    pub(crate) fn next(&mut self) -> Result<Vec<ItemSet>> {
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            self.line.clear();
            let read = source::read_line(&mut self.bytes, &mut self.line);
            if read.map_err(|e| Error::io(&self.path, e))? == 0 {
                break;
            }
            let text = self.line.trim_end_matches(['\n', '\r']);
            let words: Vec<&str> = match &self.separator {
                Some(separator) => text.split(separator.as_str()).map(str::trim).collect(),
                None => text.split_whitespace().collect(),
            };
            let items = words.into_iter().skip(self.skipped).filter(|w| !w.is_empty());
            batch.push(ItemSet::from_words(items).map_err(|_| DataError {
                file: self.path.clone(),
                column: None,
                rule: "a line holds no item: a set must not be empty".into(),
                record: Some(self.sets + batch.len() as u64 + 1),
            })?);
        }
        if batch.is_empty() && self.sets == 0 {
            return Err(DataError::of(&self.path, "the file holds no set").into());
        }
        self.sets += batch.len() as u64;
        Ok(batch)
    }
}
