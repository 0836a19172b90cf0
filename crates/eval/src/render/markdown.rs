//! One Markdown page an experiment, for the repository.

use super::{ORIGIN_HEADS, origin_row};
use crate::framework::{Outcome, Report};

/// The page of one experiment; its figures are files beside it.
#[must_use]
pub fn page(outcome: &Outcome, report: &Report) -> String {
    let mut out = format!(
        "# {}\n\n`{}`. {}.\n\nRegenerate: `cargo xtask experiments {}`.\n\n",
        outcome.title, outcome.id, outcome.reference, outcome.id
    );
    let claims = report
        .claims
        .iter()
        .map(|c| vec![c.verdict.to_string(), c.text.clone(), c.measured.clone()]);
    table(&mut out, &["", "claim", "measured"], claims);
    let name = outcome.id.rsplit('/').next().unwrap_or(outcome.id);
    for figure in &report.figures {
        out += &format!("![{}]({name}-{}.svg)\n\n{}\n\n", figure.name, figure.name, figure.caption);
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

fn table(out: &mut String, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    *out += &format!("| {} |\n|{}\n", heads.join(" | "), " --- |".repeat(heads.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|c| c.replace('|', "\\|")).collect();
        *out += &format!("| {} |\n", cells.join(" | "));
    }
    *out += "\n";
}
