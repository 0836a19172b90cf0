//! The files of a run.

use super::csv::figure_csv;
use super::html::page;
use super::markdown::{index as markdown_index, page as markdown_page, paper as markdown_paper};
use super::svg::figure_svg;
use super::write_atomic;
use crate::error::Result;
use crate::experiments::PAPERS;
use crate::framework::{Experiment, Outcome, Summary};
use std::path::{Path, PathBuf};

/// Writes `<out>/<id>/{<figure>.svg, <figure>.csv, <table>.csv, report.json}` for every
/// experiment that finished, and `<out>/index.html` with all of them; returns the page's path.
///
/// Every file is written beside its place and renamed: a reader never sees half of one.
///
/// # Errors
/// [`crate::Error::Io`] naming the file, [`crate::Error::Figure`] for a figure that cannot be drawn.
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
        write_atomic(&folder.join(format!("{}.csv", table.name)), &table.csv())?;
    }
    let json = serde_json::to_vec_pretty(report).expect("reports have string keys only");
    write_atomic(&folder.join("report.json"), &json)
}
