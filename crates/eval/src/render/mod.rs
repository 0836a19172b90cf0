//! Reports on disk: SVG and CSV for every figure and table, one HTML page for all. Figures and pages need the
//! feature `experiments`.

#[cfg(feature = "experiments")]
mod compare;
mod csv;
#[cfg(feature = "experiments")]
mod html;
#[cfg(feature = "experiments")]
mod markdown;
#[cfg(feature = "experiments")]
mod origin;
#[cfg(feature = "experiments")]
mod pages;
#[cfg(feature = "experiments")]
mod svg;
mod table;
#[cfg(feature = "experiments")]
mod ticks;

#[cfg(feature = "experiments")]
pub use self::csv::figure_csv;
pub use self::csv::table_csv;
#[cfg(feature = "experiments")]
pub use compare::{Agreement, BARS, compare};
#[cfg(feature = "experiments")]
pub use html::page;
#[cfg(feature = "experiments")]
pub use markdown::{index as markdown_index, page as markdown_page, paper as markdown_paper};
#[cfg(feature = "experiments")]
pub use pages::{publish, write};
#[cfg(feature = "experiments")]
pub use svg::figure_svg;
pub use table::markdown_table;

use crate::error::{Error, Result};
use dp_core::atomic_file::{self, Access};
use std::path::Path;

/// Writes a file beside its place and renames it, making the folders on the way.
///
/// # Errors
/// [`Error::Io`] naming the file.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(path, e))?;
    }
    Ok(atomic_file::write(path, bytes, Access::Shared)?)
}

#[cfg(all(test, feature = "experiments"))]
mod tests;
