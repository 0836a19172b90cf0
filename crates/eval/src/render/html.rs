//! One self-contained HTML page for a run.

use super::origin::{ORIGIN_HEADS, origin_row};
use super::svg::figure_svg;
use crate::error::Result;
use crate::experiments::PAPERS;
use crate::framework::coverage::{self, Paper};
use crate::framework::{Outcome, Report, Summary, Verdict};
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 sans-serif;color:#222;max-width:1000px;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;font-size:13px;margin:.5em 0}td,th{border:1px solid #ddd;padding:.2em .5em;text-align:left;vertical-align:top}
.pass{color:#00704f;font-weight:bold}.FAIL{color:#b3370a;font-weight:bold}figure{margin:1em 0;overflow-x:auto}.wide{overflow-x:auto}figcaption{position:sticky;left:0}
.small{color:#555;font-size:13px}code{background:#f4f4f4;overflow-wrap:anywhere}
@media(max-width:700px){table{font-size:11.5px}td,th{padding:.15em .3em}}";

/// The page of a run: a table of contents, then every experiment with its claims, figures,
/// tables, and how every curve was made.
///
/// # Errors
/// [`crate::Error::Figure`] for a figure that cannot be drawn.
pub(crate) fn page(summary: &Summary) -> Result<String> {
    let (passed, failed) = summary.totals();
    let known = summary.known_failures();
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Experiments</title>\n\
         <style>{STYLE}</style>\n<h1>Experiments</h1>\n<p>{passed} claims passed, {failed} failed ({known} of them known to).</p>\n\
         <p>{}.</p>\n<ul>\n",
        escape(&summary.describe())
    );
    for outcome in &summary.outcomes {
        let verdict = if outcome.succeeded() { Verdict::Pass } else { Verdict::Fail };
        let (id, title) = (escape(outcome.id), escape(outcome.title));
        put(
            &mut out,
            format_args!(
                "<li><span class=\"{verdict}\">{verdict}</span> <a href=\"#{id}\">{id}</a>: {title}</li>\n"
            ),
        );
    }
    out.push_str("</ul>\n");
    for paper in &PAPERS {
        let first = summary.outcomes.iter().any(|o| o.id.starts_with(paper.key));
        if first {
            front(&mut out, paper, summary);
        }
        for outcome in summary.outcomes.iter().filter(|o| o.id.starts_with(paper.key)) {
            section(&mut out, outcome)?;
        }
    }
    let of_a_paper = |id: &str| PAPERS.iter().any(|p| id.starts_with(p.key));
    for outcome in summary.outcomes.iter().filter(|o| !of_a_paper(o.id)) {
        section(&mut out, outcome)?;
    }
    out.push_str("</html>\n");
    Ok(out)
}

/// What of a paper is shown where, and what is wrong in it.
fn front(out: &mut String, paper: &Paper, summary: &Summary) {
    put(out, format_args!("<h2>{}</h2>\n", escape(paper.name)));
    out.push_str("<p>What we found wrong in it:</p>\n<ul>\n");
    for line in paper.wrong {
        put(out, format_args!("<li>{}</li>\n", escape(line)));
    }
    out.push_str("</ul>\n");
    let one = coverage::table(paper, |id| coverage::in_run(summary, id));
    put(
        out,
        format_args!(
            "<p>{} A claim that passes may refute the paper: see what it says.</p>\n",
            escape(&one.caption)
        ),
    );
    let ran = |cell: &String| summary.outcomes.iter().any(|o| o.id == cell);
    let linked = |cell: &String| {
        let text = escape(cell);
        if ran(cell) { format!("<a href=\"#{text}\">{text}</a>") } else { text }
    };
    let escaped = |cells: &Vec<String>| cells.iter().map(linked).collect::<Vec<_>>();
    table(out, &escaped(&one.columns), one.rows.iter().map(escaped));
}

fn section(out: &mut String, outcome: &Outcome) -> Result<()> {
    let (id, title) = (escape(outcome.id), escape(outcome.title));
    let reference = escape(outcome.reference);
    put(
        out,
        format_args!(
            "<h2 id=\"{id}\">{title}</h2>\n<p class=\"small\"><code>{id}</code>. {reference}. "
        ),
    );
    put(out, format_args!("{:.1} s.</p>\n", outcome.time.as_secs_f64()));
    match &outcome.report {
        Ok(report) => body(out, report),
        Err(error) => {
            let error = escape(&error.to_string());
            put(
                out,
                format_args!("<p><span class=\"FAIL\">FAIL</span> did not finish: {error}</p>\n"),
            );
            Ok(())
        }
    }
}

fn body(out: &mut String, report: &Report) -> Result<()> {
    // First what is lost, deviates or is missing.
    for note in &report.notes {
        put(out, format_args!("<p class=\"small\">{}</p>\n", escape(note)));
    }
    let claims = report.claims.iter().map(|claim| {
        let verdict = claim.verdict;
        let verdict = format!("<span class=\"{verdict}\">{verdict}</span>");
        [verdict, escape(&claim.text), escape(&claim.evidence()), escape(&claim.test())]
    });
    table(out, &["", "claim", "measured", "tests"].map(String::from), claims);
    for figure in &report.figures {
        let caption = escape(&figure.caption);
        let svg = figure_svg(figure)?;
        put(out, format_args!("<figure>\n{svg}\n<figcaption>{caption}</figcaption></figure>\n"));
        out.push_str("<details><summary>How every curve was made</summary>\n");
        let rows = figure.panels.iter().flat_map(|panel| {
            panel.curves.iter().map(|c| origin_row(&panel.title, c).map(|cell| escape(&cell)))
        });
        table(out, &ORIGIN_HEADS.map(String::from), rows);
        out.push_str("</details>\n");
    }
    for one in &report.tables {
        put(out, format_args!("<p>{}</p>\n", escape(&one.caption)));
        let escaped = |cells: &Vec<String>| cells.iter().map(|c| escape(c)).collect::<Vec<_>>();
        table(out, &escaped(&one.columns), one.rows.iter().map(escaped));
    }
    Ok(())
}

/// Cells are HTML already.
fn table(
    out: &mut String,
    heads: &[String],
    rows: impl Iterator<Item = impl IntoIterator<Item = String>>,
) {
    out.push_str("<div class=\"wide\"><table>\n<tr>");
    for head in heads {
        put(out, format_args!("<th>{head}</th>"));
    }
    out.push_str("</tr>\n");
    for row in rows {
        out.push_str("<tr>");
        for cell in row {
            put(out, format_args!("<td>{cell}</td>"));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string cannot fail");
}
