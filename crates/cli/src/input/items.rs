//! Item sets: one set a line, words between separators.

use super::source::{self, Meter};
use crate::error::{DataError, Error, Result};
use clap::Args;
use sketch::minhash::ItemSet;
use std::io::BufRead;
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

/// Lines between two looks at the meter.
const LINES: usize = 1024;

/// Reads all sets: their signatures are made together, under one fresh hash family.
pub(crate) fn read_sets(
    options: &ItemOptions,
    mut progress: impl FnMut(&Meter),
) -> Result<Vec<ItemSet>> {
    let (mut bytes, meter) = source::open(&options.input)?;
    let separator = options.separator.as_deref().map(|s| if s == "tab" { "\t" } else { s });
    if separator == Some("") {
        return Err(Error::usage("--separator is empty"));
    }
    let mut sets = Vec::new();
    let mut line = String::new();
    loop {
        line.clear();
        let read = bytes.read_line(&mut line).map_err(|e| Error::io(&options.input, e))?;
        if read == 0 {
            break;
        }
        let text = line.trim_end_matches(['\n', '\r']);
        let words: Vec<&str> = match separator {
            Some(separator) => text.split(separator).map(str::trim).collect(),
            None => text.split_whitespace().collect(),
        };
        let skipped = usize::from(options.id_first);
        let items = words.into_iter().skip(skipped).filter(|w| !w.is_empty());
        if sets.len().is_multiple_of(LINES) {
            progress(&meter);
        }
        sets.push(ItemSet::from_words(items).map_err(|_| DataError {
            file: options.input.clone(),
            column: None,
            rule: "a line holds no item: a set must not be empty".into(),
            record: Some(sets.len() as u64 + 1),
        })?);
    }
    if sets.is_empty() {
        return Err(DataError::of(&options.input, "the file holds no set").into());
    }
    Ok(sets)
}
