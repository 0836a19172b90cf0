//! Which statement of a paper is shown where, and how that ended.

use super::{Claim, Summary, Verdict};
use crate::Table;

/// A paper with all of its figures, tables and numbered statements.
pub(crate) struct Paper {
    /// First part of the ids of its experiments.
    pub(crate) key: &'static str,
    /// Authors, year, title.
    pub(crate) name: &'static str,
    /// What we found wrong in it.
    pub(crate) wrong: &'static [&'static str],
    /// Its statements, in order.
    pub(crate) rows: &'static [Row],
}

/// One figure, table or numbered statement, or several of one kind.
pub(crate) struct Row {
    /// What it is.
    pub(crate) item: &'static str,
    /// Id of the experiment; empty where there is none.
    pub(crate) experiment: &'static str,
    /// What differs from the paper; where there is no experiment, why.
    pub(crate) differs: &'static str,
}

/// A row of a paper.
#[must_use]
pub(crate) const fn row(
    item: &'static str,
    experiment: &'static str,
    differs: &'static str,
) -> Row {
    Row { item, experiment, differs }
}

/// What is known of one claim of an experiment.
pub(crate) struct Seen {
    /// What it tests.
    statement: String,
    /// Whether it failed.
    failed: bool,
}

/// The claims of an experiment in a run; none where it did not run or not finish.
#[must_use]
pub(crate) fn in_run(summary: &Summary, id: &str) -> Vec<Seen> {
    let Some(Ok(report)) = summary.outcomes.iter().find(|o| o.id == id).map(|o| &o.report) else {
        return Vec::new();
    };
    let seen = |c: &Claim| Seen { statement: c.test(), failed: c.verdict == Verdict::Fail };
    report.claims.iter().map(seen).collect()
}

/// The claims that a published page states, one a line of its table.
#[must_use]
pub(crate) fn on_page(page: &str) -> Vec<Seen> {
    let seen = |line: &str| {
        let begins = |verdict: Verdict| line.starts_with(&format!("| {verdict} | "));
        let failed = begins(Verdict::Fail);
        let statement = line.strip_suffix(" |")?.rsplit(" | ").next()?.to_owned();
        (failed || begins(Verdict::Pass)).then_some(Seen { statement, failed })
    };
    page.lines().filter_map(seen).collect()
}

impl Row {
    /// `reproduced`, what failed, or why nothing was tried: by the claims of its experiment that name the item, or by
    /// all of them where none does.
    fn verdict(&self, claims: &[Seen]) -> String {
        if self.experiment.is_empty() {
            return "no experiment".into();
        }
        let item = self.item.to_lowercase();
        let named = |c: &&Seen| {
            let statement = c.statement.to_lowercase();
            // A number must not be the beginning of a longer one.
            statement.match_indices(&item).any(|(at, _)| {
                !statement[at + item.len()..].starts_with(|c: char| c.is_ascii_digit() || c == '.')
            })
        };
        let some: Vec<&Seen> = claims.iter().filter(named).collect();
        let some = if some.is_empty() { claims.iter().collect() } else { some };
        match (some.len(), some.iter().filter(|c| c.failed).count()) {
            (0, _) => "not in this run".into(),
            (n, 0) => format!("holds ({n} claims)"),
            (n, f) => format!("{f} of {n} claims fail"),
        }
    }
}

/// The coverage of one paper by the claims of its experiments.
#[must_use]
pub(crate) fn table(paper: &Paper, claims: impl Fn(&str) -> Vec<Seen>) -> Table {
    let mut table = Table::new(
        "coverage",
        "Every figure, table and numbered statement of the paper, where it is shown, and what differs.",
        &["paper", "experiment", "what differs, or why there is none", "verdict"],
    );
    for row in paper.rows {
        let experiment = if row.experiment.is_empty() { "-" } else { row.experiment };
        table.row([row.item, experiment, row.differs, &row.verdict(&claims(row.experiment))]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_those_of_the_claims_that_name_the_item() {
        let page = "| pass | a | 1 \\| 2 | theorem 3, figure 1; notices no noise |\n| FAIL | b | 2 | figure 10 |\n\
                    | pass | c | 3 |  |\n| a row | of | another | table |\n| pass | cut off\n";
        let claims = on_page(page);
        let found: Vec<_> = claims.iter().map(|c| (&*c.statement, c.failed)).collect();
        let notices = "theorem 3, figure 1; notices no noise";
        assert_eq!(found, [(notices, false), ("figure 10", true), ("", false)]);
        let verdict = |item| row(item, "p/e", "").verdict(&claims);
        assert_eq!(verdict("Figure 1"), "holds (1 claims)");
        assert_eq!(verdict("Figure 10"), "1 of 1 claims fail");
        assert_eq!(verdict("Lemma 2"), "1 of 3 claims fail");
        assert_eq!(row("Lemma 2", "p/e", "").verdict(&[]), "not in this run");
        assert_eq!(row("Lemma 2", "", "why").verdict(&claims), "no experiment");
    }
}
