//! Reports on disk: SVG and CSV for every figure and table, one HTML page for all.

mod compare;
mod csv;
mod html;
mod markdown;
mod origin;
mod pages;
mod svg;
mod ticks;

pub use compare::{Agreement, BARS, compare};
#[cfg(feature = "sabotage")]
pub use pages::publish_trials;
pub use pages::{publish, write};

use crate::error::{Error, Result};
use dp_core::output::{self, Access};
use std::path::Path;

/// Writes a file beside its place and renames it, making the folders on the way.
///
/// # Errors
/// [`Error::Io`] naming the file.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(path, e))?;
    }
    Ok(output::write(path, bytes, Access::Shared)?)
}

#[cfg(test)]
mod tests;
