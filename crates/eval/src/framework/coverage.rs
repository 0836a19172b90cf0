//! Which statement of a paper is shown where, and how that ended.

use super::{Claim, Outcome, Summary, Verdict};
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

impl Row {
    /// The claims of a run that speak of this row: those that name the item, or all of the experiment's.
    fn claims<'s>(&self, summary: &'s Summary) -> Vec<&'s Claim> {
        let mine = |o: &&Outcome| o.id == self.experiment;
        let Some(Ok(report)) = summary.outcomes.iter().find(mine).map(|o| &o.report) else {
            return Vec::new();
        };
        let item = self.item.to_lowercase();
        let named = |c: &&Claim| {
            let statement = c.statement.to_lowercase();
            // A number must not be the beginning of a longer one.
            statement.match_indices(&item).any(|(at, _)| {
                !statement[at + item.len()..].starts_with(|c: char| c.is_ascii_digit() || c == '.')
            })
        };
        let some: Vec<&Claim> = report.claims.iter().filter(named).collect();
        if some.is_empty() { report.claims.iter().collect() } else { some }
    }

    /// `reproduced`, what failed, or why nothing was tried.
    #[must_use]
    pub(crate) fn verdict(&self, summary: &Summary) -> String {
        if self.experiment.is_empty() {
            return "no experiment".into();
        }
        let claims = self.claims(summary);
        let failed = claims.iter().filter(|c| c.verdict == Verdict::Fail).count();
        match (claims.len(), failed) {
            (0, _) => "not in this run".into(),
            (n, 0) => format!("holds ({n} claims)"),
            (n, f) => format!("{f} of {n} claims fail"),
        }
    }
}

/// The coverage of one paper by a run.
#[must_use]
pub(crate) fn table(paper: &Paper, summary: &Summary) -> Table {
    let mut table = Table::new(
        "coverage",
        "Every figure, table and numbered statement of the paper, where it is shown, and what differs.",
        &["paper", "experiment", "what differs, or why there is none", "verdict"],
    );
    for row in paper.rows {
        let experiment = if row.experiment.is_empty() { "-" } else { row.experiment };
        table.row([row.item, experiment, row.differs, &row.verdict(summary)]);
    }
    table
}
