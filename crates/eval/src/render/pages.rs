//! The files of a run.

use super::csv::figure_csv;
use super::html::page;
#[cfg(feature = "sabotage")]
use super::markdown::SABOTAGE;
use super::markdown::{index as markdown_index, page as markdown_page, paper as markdown_paper};
use super::svg::figure_svg;
use super::write_atomic;
use crate::error::Result;
use crate::experiments::PAPERS;
use crate::framework::{Experiment, Outcome, Summary};
#[cfg(feature = "sabotage")]
use crate::{
    Error,
    framework::{
        Sabotage,
        trial::{self, Trial},
    },
    markdown_table,
};
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
    // The coverage of a paper needs the pages of all of its experiments.
    let page = |id: &str| std::fs::read_to_string(docs.join(format!("{id}.md"))).ok();
    for paper in &PAPERS {
        let mut shown = paper.rows.iter().map(|r| r.experiment).filter(|id| !id.is_empty());
        if shown.all(|id| docs.join(format!("{id}.md")).exists()) {
            let path = docs.join(paper.key).join("README.md");
            write_atomic(&path, markdown_paper(paper, page).as_bytes())?;
            pages.push(path);
        }
    }
    let path = docs.join("README.md");
    write_atomic(&path, markdown_index(docs, catalogue)?.as_bytes())?;
    pages.push(path);
    Ok(pages)
}

/// Writes `<docs>/sabotage.md`, the table sabotage x experiment, of the `chosen` sabotages; rows of experiments of
/// `catalogue` that were not on trial, and columns of other sabotages that reach one, stay as they were published. Where other
/// claims pass unbroken than did then, those columns say that nothing was tried.
///
/// # Errors
/// [`Error::Io`] naming the file.
#[cfg(feature = "sabotage")]
pub fn publish_trials(
    trials: &[Trial],
    chosen: &[Sabotage],
    seed: u64,
    docs: &Path,
    catalogue: &[Box<dyn Experiment>],
) -> Result<PathBuf> {
    let path = docs.join(SABOTAGE);
    let before = match std::fs::read_to_string(&path) {
        Ok(before) => before,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(Error::io(path, e)),
    };
    let table = trial::table(trials, &Sabotage::ALL);
    let row = |id: &str| {
        let line = before.lines().find(|l| l.starts_with(&format!("| {id} |")));
        let old: Option<Vec<String>> = line
            .map(|l| l.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect());
        let tried = trials.iter().zip(&table.rows).find(|(trial, _)| trial.id == id);
        let Some((trial, new)) = tried else { return old };
        let old = old.filter(|old| old[..2] == new[..2]);
        let cell = |(i, cell): (usize, &String)| match Sabotage::ALL.get(i.wrapping_sub(2)) {
            Some(s) if trial.reached.contains(s) && !chosen.contains(s) => {
                old.as_ref().and_then(|old| old.get(i)).cloned().unwrap_or_else(|| "?".into())
            }
            _ => cell.clone(),
        };
        Some(new.iter().enumerate().map(cell).collect())
    };
    let mut out = format!(
        "# The experiments on trial\n\n`cargo run --release -p xtask --features sabotage -- experiments --sabotage --publish`: quick \
         runs, seed {seed}. {}\n\n",
        table.caption
    );
    let heads: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    markdown_table(&mut out, &heads, catalogue.iter().filter_map(|one| row(one.id())));
    out += "\nClaims on releases or samples that pass whatever is broken:\n\n";
    for one in catalogue {
        let begins = format!("- {}: ", one.id());
        let was = || before.lines().filter(|l| l.starts_with(&begins)).map(|l| format!("{l}\n"));
        match trials.iter().find(|t| t.id == one.id()) {
            Some(t) => {
                let deaf = t.deaf.iter().map(|claim| format!("{begins}{claim}\n"));
                let all = chosen.len() == Sabotage::ALL.len();
                out.extend(deaf.filter(|line| all || was().any(|old| old == *line)));
            }
            None => out.extend(was()),
        }
    }
    write_atomic(&path, (out.trim_end().to_owned() + "\n").as_bytes())?;
    Ok(path)
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
