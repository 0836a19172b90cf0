//! One Markdown page an experiment, for the repository.

use super::origin::{ORIGIN_HEADS, origin_row};
use crate::Effort;
use crate::error::{Error, Result};
use crate::experiments::PAPERS;
use crate::framework::coverage::{self, Paper};
use crate::framework::{Experiment, Outcome, Report, Summary, Verdict};
use crate::markdown_table;
use std::path::Path;

/// The page of the experiments on trial.
pub(super) const SABOTAGE: &str = "sabotage.md";

/// The command that makes the reports of a run again, up to the ids.
fn command(summary: &Summary) -> String {
    let effort = if summary.effort == Effort::Full { " --full" } else { "" };
    let seed = if summary.seed == 1 { String::new() } else { format!(" --seed {}", summary.seed) };
    format!("cargo xtask experiments{effort}{seed}")
}

/// The list of the experiments whose pages are in `docs`, with the claims that each page states.
///
/// # Errors
/// [`Error::Io`] for a page that cannot be read.
pub(crate) fn index(docs: &Path, catalogue: &[Box<dyn Experiment>]) -> Result<String> {
    let (mut rows, mut totals) = (Vec::new(), [0, 0]);
    for one in catalogue {
        let path = docs.join(format!("{}.md", one.id()));
        let page = match std::fs::read_to_string(&path) {
            Ok(page) => page,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => return Err(Error::io(path, e)),
        };
        let count = |verdict: Verdict| {
            page.lines().filter(|l| l.starts_with(&format!("| {verdict} |"))).count()
        };
        let counts = [count(Verdict::Pass), count(Verdict::Fail)];
        totals = [totals[0] + counts[0], totals[1] + counts[1]];
        let link = format!("[{}]({}.md)", one.id(), one.id());
        let (title, reference) = (one.title().to_owned(), one.reference().to_owned());
        rows.push(vec![link, title, reference, counts[0].to_string(), counts[1].to_string()]);
    }
    let papers: Vec<String> = PAPERS
        .iter()
        .filter(|p| docs.join(p.key).join("README.md").exists())
        .map(|p| format!("[{}]({}/README.md)", p.key, p.key))
        .collect();
    let papers = if papers.is_empty() {
        String::new()
    } else {
        format!(
            "What of each paper is shown where, and what is wrong in it: {}.\n\n",
            papers.join(", ")
        )
    };
    let trial = if docs.join(SABOTAGE).exists() {
        format!(
            "Which claims notice broken experiments: [the experiments on trial]({SABOTAGE}).\n\n"
        )
    } else {
        String::new()
    };
    let mut out = format!(
        "# Experiments\n\n{papers}{trial}{} claims passed, {} failed; failures stay, with their reason. Every page names the command that makes it \
         again; `cargo xtask experiments --full --publish` makes all of them, and \
         `cargo xtask experiments --full --seed 2 --compare` judges a fresh run by their error bars.\n\n",
        totals[0], totals[1]
    );
    markdown_table(&mut out, &["report", "shows", "source", "passed", "failed"], rows.into_iter());
    Ok(out.trim_end().to_owned() + "\n")
}

/// The page of one experiment; its figures are files beside it.
#[must_use]
pub(crate) fn page(summary: &Summary, outcome: &Outcome, report: &Report) -> String {
    let mut out = format!(
        "# {}\n\n`{}`. {}. {}.\n\nRegenerate: `{} {}`.\n\n",
        outcome.title,
        outcome.id,
        outcome.reference,
        summary.describe(),
        command(summary),
        outcome.id
    );
    // First what is lost, deviates or is missing.
    for note in &report.notes {
        out += &format!("- {note}\n");
    }
    if !report.notes.is_empty() {
        out.push('\n');
    }
    let claims = report
        .claims
        .iter()
        .map(|c| vec![c.verdict.to_string(), c.text.clone(), c.evidence(), c.test()]);
    markdown_table(&mut out, &["", "claim", "measured", "tests"], claims);
    let name = outcome.id.rsplit('/').next().unwrap_or(outcome.id);
    for figure in &report.figures {
        let (figure_name, caption) = (&figure.name, &figure.caption);
        out += &format!("![{figure_name}]({name}-{figure_name}.svg)\n\n{caption}\n");
        out += &format!("([numbers]({name}-{figure_name}.csv))\n\n");
        let rows = figure
            .panels
            .iter()
            .flat_map(|p| p.curves.iter().map(|c| origin_row(&p.title, c).to_vec()));
        markdown_table(&mut out, &ORIGIN_HEADS, rows);
    }
    for one in &report.tables {
        out += &format!("{}\n\n", one.caption);
        let heads: Vec<&str> = one.columns.iter().map(String::as_str).collect();
        markdown_table(&mut out, &heads, one.rows.iter().cloned());
    }
    out.trim_end().to_owned() + "\n"
}

/// The front page of a paper: what of it is shown where, by the pages of its experiments, and what is wrong in it.
#[must_use]
pub(crate) fn paper(paper: &Paper, page: impl Fn(&str) -> Option<String>) -> String {
    let mut out = format!("# {}\n\nWhat we found wrong in it:\n\n", paper.name);
    for line in paper.wrong {
        out += &format!("- {line}\n");
    }
    let claims = |id: &str| page(id).map_or_else(Vec::new, |text| coverage::on_page(&text));
    let one = coverage::table(paper, claims);
    out += &format!(
        "\n{} Verdicts are those of the published reports; a claim that passes may refute the paper: see what it says.\n\n",
        one.caption
    );
    let heads: Vec<&str> = one.columns.iter().map(String::as_str).collect();
    let linked = |cell: String| match page(&cell) {
        Some(_) => format!("[{cell}](../{cell}.md)"),
        None => cell,
    };
    let rows = one.rows.into_iter().map(|row| row.into_iter().map(linked).collect());
    markdown_table(&mut out, &heads, rows);
    out.trim_end().to_owned() + "\n"
}
