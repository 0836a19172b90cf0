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
use crate::framework::{Axis, Curve, Figure, Origin, Panel, Point};
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

/// Title, names of both axes, and curves by their names.
type LogLog<'a> = (&'a str, [&'a str; 2], Vec<(&'a str, Vec<(f64, f64)>)>);

/// Draws curves that no experiment made, on logarithmic axes, as SVG.
///
/// # Errors
/// [`Error::Figure`] when a panel has no point that can be drawn.
pub fn log_log(name: &str, panels: Vec<LogLog<'_>>) -> Result<String> {
    let curve = |(label, points): (&str, Vec<(f64, f64)>)| Curve {
        label: label.to_owned(),
        points: points.into_iter().map(|(x, y)| Point::exact(x, y)).collect(),
        origin: Origin::formula(label),
    };
    let panel = |(title, [x, y], curves): LogLog<'_>| Panel {
        title: title.to_owned(),
        x: Axis::log(x),
        y: Axis::log(y),
        curves: curves.into_iter().map(curve).collect(),
    };
    svg::figure_svg(&Figure {
        name: name.to_owned(),
        caption: String::new(),
        panels: panels.into_iter().map(panel).collect(),
        columns: 2,
    })
}

#[cfg(test)]
mod tests;
