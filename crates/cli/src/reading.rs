//! Reads files of rows or of sets as the commands do, and keeps nothing: for tests with hostile files.

use crate::input::{Block, Input, InputOptions, ItemOptions};
use clap::Parser;

/// What a file held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows, or sets.
    pub rows: u64,
    /// Numbers in a row; the most items in a set.
    pub columns: usize,
}

#[derive(Parser)]
struct Rows {
    #[command(flatten)]
    input: InputOptions,
}

#[derive(Parser)]
struct Sets {
    #[command(flatten)]
    input: ItemOptions,
}

/// Reads every row of a file under the input options of `dps release`.
///
/// # Errors
/// The text that the command would print: it names the file, and the column and the rule where
/// there is one.
///
/// # Panics
/// When a reader hands out rows that do not hold together.
pub fn rows(arguments: &[&str]) -> Result<Shape, String> {
    let parsed = Rows::try_parse_from([&["dps"], arguments].concat()).map_err(text)?;
    let Input { mut rows, .. } = parsed.input.open().map_err(text)?;
    let columns = rows.d();
    let mut shape = Shape { rows: 0, columns };
    let mut used = Block::default();
    while let Some(block) = rows.next(used).map_err(text)? {
        assert!(block.n > 0, "blocks hold rows");
        let view = block.view(columns).map_err(text).expect("readers hand out whole, finite rows");
        shape.rows += view.n() as u64;
        used = block;
    }
    Ok(shape)
}

/// Reads every set of a file under the input options of `dps release minhash`.
///
/// # Errors
/// As [`rows`].
pub fn sets(arguments: &[&str]) -> Result<Shape, String> {
    let parsed = Sets::try_parse_from([&["dps"], arguments].concat()).map_err(text)?;
    let mut reader = parsed.input.open().map_err(text)?;
    let mut shape = Shape { rows: 0, columns: 0 };
    loop {
        let sets = reader.next().map_err(text)?;
        if sets.is_empty() {
            return Ok(shape);
        }
        shape.rows += sets.len() as u64;
        shape.columns = sets.iter().map(|s| s.len()).fold(shape.columns, usize::max);
    }
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}
