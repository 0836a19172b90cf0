//! One Markdown page an experiment, for the repository.

use super::{ORIGIN_HEADS, origin_row};
use crate::framework::{Effort, Outcome, Report, Summary};

/// The command that makes the reports of a run again, up to the ids.
fn command(summary: &Summary) -> String {
    let effort = if summary.effort == Effort::Full { " --full" } else { "" };
    let seed = if summary.seed == 1 { String::new() } else { format!(" --seed {}", summary.seed) };
    format!("cargo xtask experiments{effort}{seed}")
}

/// The list of all experiments of a run, with the claims that each checked.
#[must_use]
pub fn index(summary: &Summary) -> String {
    let (passed, failed) = summary.totals();
    let mut out = format!(
        "# Experiments\n\n{passed} claims passed, {failed} failed. Regenerate all: `{} --publish`; \
         compare a fresh run with these: `{} --seed 2 --compare`.\n\n",
        command(summary),
        command(summary)
    );
    let rows = summary.outcomes.iter().map(|o| {
        let link = format!("[{}]({}.md)", o.id, o.id);
        let passed = o.lines().iter().filter(|l| l.starts_with("pass")).count();
        let failed = o.lines().len() - passed;
        vec![link, o.title.into(), o.reference.into(), passed.to_string(), failed.to_string()]
    });
    table(&mut out, &["report", "shows", "source", "passed", "failed"], rows);
    out.trim_end().to_owned() + "\n"
}

/// The page of one experiment; its figures are files beside it.
#[must_use]
pub fn page(summary: &Summary, outcome: &Outcome, report: &Report) -> String {
    let mut out = format!(
        "# {}\n\n`{}`. {}.\n\nRegenerate: `{} {}`.\n\n",
        outcome.title,
        outcome.id,
        outcome.reference,
        command(summary),
        outcome.id
    );
    let claims = report
        .claims
        .iter()
        .map(|c| vec![c.verdict.to_string(), c.text.clone(), c.measured.clone()]);
    table(&mut out, &["", "claim", "measured"], claims);
    let name = outcome.id.rsplit('/').next().unwrap_or(outcome.id);
    for figure in &report.figures {
        let (figure_name, caption) = (&figure.name, &figure.caption);
        out += &format!("![{figure_name}]({name}-{figure_name}.svg)\n\n{caption}\n");
        out += &format!("([numbers]({name}-{figure_name}.csv))\n\n");
        let rows = figure
            .panels
            .iter()
            .flat_map(|p| p.curves.iter().map(|c| origin_row(&p.title, c).to_vec()));
        table(&mut out, &ORIGIN_HEADS, rows);
    }
    for one in &report.tables {
        out += &format!("{}\n\n", one.caption);
        let heads: Vec<&str> = one.columns.iter().map(String::as_str).collect();
        table(&mut out, &heads, one.rows.iter().cloned());
    }
    for note in &report.notes {
        out += &format!("- {note}\n");
    }
    out.trim_end().to_owned() + "\n"
}

/// Appends a table.
pub fn table(out: &mut String, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    *out += &format!("| {} |\n|{}\n", heads.join(" | "), " --- |".repeat(heads.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|c| c.replace('|', "\\|")).collect();
        *out += &format!("| {} |\n", cells.join(" | "));
    }
    *out += "\n";
}
