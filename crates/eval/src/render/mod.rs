//! Reports on disk: SVG and CSV for every figure and table, one HTML page for all.

mod compare;
mod csv;
mod html;
mod markdown;
mod svg;
mod ticks;

pub use self::csv::{figure_csv, table_csv};
pub use compare::{Agreement, BARS, compare};
pub use html::page;
pub use markdown::{
    index as markdown_index, page as markdown_page, paper as markdown_paper,
    table as markdown_table,
};
pub use svg::figure_svg;

use crate::error::{Error, Result};
use crate::experiments::PAPERS;
use crate::framework::{Curve, Experiment, Outcome, Point, Seeds, Setting, Summary};
use dp_core::atomic_file::{self, Access};
use std::path::{Path, PathBuf};

/// Writes `<out>/<id>/{<figure>.svg, <figure>.csv, <table>.csv, report.json}` for every
/// experiment that finished, and `<out>/index.html` with all of them; returns the page's path.
///
/// Every file is written beside its place and renamed: a reader never sees half of one.
///
/// # Errors
/// [`Error::Io`] naming the file, [`Error::Figure`] for a figure that cannot be drawn.
pub fn write(summary: &Summary, out: &Path) -> Result<PathBuf> {
    for outcome in &summary.outcomes {
        write_files(outcome, &out.join(outcome.id))?;
    }
    let index = out.join("index.html");
    write_atomic(&index, page(summary)?.as_bytes())?;
    Ok(index)
}

/// Writes `<docs>/<id>.md` with its figures as SVG and CSV beside it, for publishing, and
/// `<docs>/README.md`, the list of all experiments of `catalogue` whose pages are there; returns
/// the pages.
///
/// # Errors
/// As [`write()`].
pub fn publish(
    summary: &Summary,
    docs: &Path,
    catalogue: &[Box<dyn Experiment>],
) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for outcome in &summary.outcomes {
        if let Ok(report) = &outcome.report {
            for figure in &report.figures {
                let at =
                    |ending: &str| docs.join(format!("{}-{}.{ending}", outcome.id, figure.name));
                write_atomic(&at("svg"), figure_svg(figure)?.as_bytes())?;
                write_atomic(&at("csv"), &figure_csv(figure))?;
            }
            let path = docs.join(format!("{}.md", outcome.id));
            write_atomic(&path, markdown_page(summary, outcome, report).as_bytes())?;
            pages.push(path);
        }
    }
    // The coverage of a paper needs all of its experiments.
    let ran = |id: &str| summary.outcomes.iter().any(|o| o.id == id);
    for paper in &PAPERS {
        let shown = paper.rows.iter().map(|r| r.experiment).filter(|id| !id.is_empty());
        if shown.clone().all(ran) {
            let path = docs.join(paper.key).join("README.md");
            write_atomic(&path, markdown_paper(paper, summary).as_bytes())?;
            pages.push(path);
        }
    }
    let path = docs.join("README.md");
    write_atomic(&path, markdown_index(docs, catalogue)?.as_bytes())?;
    pages.push(path);
    Ok(pages)
}

fn write_files(outcome: &Outcome, folder: &Path) -> Result<()> {
    let Ok(report) = &outcome.report else { return Ok(()) };
    for figure in &report.figures {
        let at = |extension: &str| folder.join(format!("{}.{extension}", figure.name));
        write_atomic(&at("svg"), figure_svg(figure)?.as_bytes())?;
        write_atomic(&at("csv"), &figure_csv(figure))?;
    }
    for table in &report.tables {
        write_atomic(&folder.join(format!("{}.csv", table.name)), &table_csv(table))?;
    }
    let json = serde_json::to_vec_pretty(report).expect("reports have string keys only");
    write_atomic(&folder.join("report.json"), &json)
}

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

/// A number as short as it reads well.
fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let size = x.abs();
    if !(1e-3..1e6).contains(&size) {
        return format!("{x:.3e}").replace(".000e", "e");
    }
    let digits = (4 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

impl Setting {
    /// The value at one point, where there is one.
    fn at(&self, index: usize, point: &Point) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Fixed(value) => Some(*value),
            Self::AxisX => Some(point.x),
            Self::AxisY => Some(point.y),
            Self::PerPoint(values) => values.get(index).copied(),
        }
    }

    /// All values of a curve, without repetition of equal neighbours.
    fn describe(&self, points: &[Point]) -> String {
        let mut values: Vec<String> =
            points.iter().enumerate().filter_map(|(i, p)| self.at(i, p)).map(number).collect();
        values.dedup();
        match values.len() {
            0 => "-".into(),
            1..=12 => values.join(", "),
            n => format!("{} to {} ({n} values)", values[0], values[n - 1]),
        }
    }
}

impl core::fmt::Display for Seeds {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Derived(seed) => write!(f, "derived from {seed}"),
        }
    }
}

/// Heads of the table that states how the curves of a figure were made.
const ORIGIN_HEADS: [&str; 10] = [
    "panel",
    "curve",
    "mechanism",
    "k",
    "epsilon",
    "delta",
    "sigma",
    "seeds",
    "data",
    "repetitions",
];

/// One row of that table.
fn origin_row(panel: &str, curve: &Curve) -> [String; 10] {
    let origin = &curve.origin;
    let of = |setting: &Setting| setting.describe(&curve.points);
    [
        panel.into(),
        curve.label.clone(),
        origin.mechanism.clone(),
        of(&origin.k),
        of(&origin.epsilon),
        of(&origin.delta),
        of(&origin.sigma),
        origin.seeds.to_string(),
        origin.data.clone(),
        origin.repetitions.to_string(),
    ]
}

#[cfg(test)]
mod tests;
