//! Which statement of a paper is shown where, and how that ended.

use super::{Claim, Summary, Verdict};
use crate::Table;
use std::collections::BTreeSet;

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

/// How the statement of a claim begins that is ours and decides nothing about a paper.
const OURS: &str = "ours";

impl Row {
    /// The claims that speak of the item: those that have its name, or where none has, those whose numbered items
    /// (`figures 7.2 to 7.4`) are some of its own.
    fn named<'c>(&self, claims: &'c [Seen]) -> Vec<&'c Seen> {
        let name = self.item.to_lowercase();
        let theirs = || claims.iter().filter(|c| !c.statement.starts_with(OURS));
        let whole = |c: &&Seen| {
            let statement = c.statement.to_lowercase();
            // A number must not be the beginning of a longer one.
            statement.match_indices(&name).any(|(at, _)| {
                !statement[at + name.len()..].starts_with(|c: char| c.is_ascii_digit() || c == '.')
            })
        };
        let some: Vec<&Seen> = theirs().filter(whole).collect();
        if !some.is_empty() {
            return some;
        }
        let mine = items(self.item);
        theirs().filter(|c| !mine.is_disjoint(&items(&c.statement))).collect()
    }

    /// How many claims of its experiment speak of it, and which of them hold, or why nothing was tried.
    fn verdict(&self, claims: &[Seen]) -> String {
        if self.experiment.is_empty() {
            return "no experiment".into();
        }
        let some = self.named(claims);
        match (some.len(), some.iter().filter(|c| c.failed).count()) {
            (0, _) if claims.is_empty() => "not in this run".into(),
            (0, _) => UNNAMED.into(),
            (1, 0) => "its claim passes".into(),
            (n, 0) => format!("{n} claims pass"),
            (n, f) => format!("{f} of {n} claims fail"),
        }
    }
}

/// The verdict of an item that no claim of its experiment speaks of.
const UNNAMED: &str = "no claim";

/// The numbered items in a text: `Figures 7.2 to 7.4, theorem A.1` as `figure 7.2`, `figure 7.3`, `figure 7.4`,
/// `theorem A.1`; words that are neither a kind nor a number are passed over.
pub(crate) fn items(text: &str) -> BTreeSet<String> {
    const KINDS: [(&str, &str); 14] = [
        ("figure", "figures"),
        ("table", "tables"),
        ("theorem", "theorems"),
        ("lemma", "lemmas"),
        ("claim", "claims"),
        ("fact", "facts"),
        ("corollary", "corollaries"),
        ("proposition", "propositions"),
        ("conjecture", "conjectures"),
        ("section", "sections"),
        ("equation", "equations"),
        ("definition", "definitions"),
        ("algorithm", "algorithms"),
        ("appendix", "appendices"),
    ];
    let parts = |number: &str| -> Option<(String, u32)> {
        let (head, last) = number.rsplit_once('.').unwrap_or(("", number));
        Some((head.to_owned(), last.parse().ok()?))
    };
    let (mut kind, mut from, mut range) = ("", None, false);
    let mut found = BTreeSet::new();
    for raw in text.split_whitespace() {
        // What follows a colon explains the item, and its numbers are none.
        let ends = raw.ends_with([':', ';']);
        let word = raw.trim_end_matches([',', ':', ';']);
        let bare = word.trim_matches(['(', ')']);
        let word = if ["equation", "appendix"].contains(&kind) { bare } else { word };
        let lower = bare.to_lowercase();
        if let Some((one, _)) = KINDS.iter().find(|(one, many)| [*one, *many].contains(&&*lower)) {
            (kind, from) = (one, None);
        } else if word == "to" {
            range = true;
        } else if kind == "appendix" && word.len() == 1 {
            found.insert(format!("{kind} {word}"));
        } else if let Some((head, last)) = parts(word).filter(|_| !kind.is_empty()) {
            let first = match from.take() {
                Some((h, first)) if range && h == head => first,
                _ => last,
            };
            found.extend((first..=last).map(|n| match &*head {
                "" => format!("{kind} {n}"),
                _ => format!("{kind} {head}.{n}"),
            }));
            (from, range) = (Some((head, last)), false);
        }
        if ends {
            kind = "";
        }
    }
    found
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
                    | pass | c | 3 |  |\n| a row | of | another | table |\n| pass | cut off\n\
                    | FAIL | d | 4 | ours, beside figure 1 |\n| pass | e | 5 | Figures 7.2 to 7.4 and lemma 5: six |\n";
        let claims = on_page(page);
        let found: Vec<_> = claims.iter().map(|c| (&*c.statement, c.failed)).collect();
        let notices = "theorem 3, figure 1; notices no noise";
        assert_eq!(found[..3], [(notices, false), ("figure 10", true), ("", false)]);
        let verdict = |item| row(item, "p/e", "").verdict(&claims);
        assert_eq!(verdict("Figure 1"), "its claim passes");
        assert_eq!(verdict("Figure 10"), "1 of 1 claims fail");
        assert_eq!(verdict("Figures 7.3 and 8"), "its claim passes");
        assert_eq!(verdict("Figure 1, every method"), "its claim passes");
        assert_eq!(verdict("Figures 1 and 10"), "1 of 2 claims fail");
        // None of the claims speaks of it: it has no verdict of others.
        assert_eq!(verdict("Lemma 2"), UNNAMED);
        assert_eq!(row("Lemma 2", "p/e", "").verdict(&[]), "not in this run");
        assert_eq!(row("Lemma 2", "", "why").verdict(&claims), "no experiment");
    }

    #[test]
    fn ranges_are_read_out() {
        let ranges = items(
            "Figures 7.2 to 7.4 and 8, 10^5 columns, theorem A.1: 5 (1 - rho); equation (23), part (appendix E)",
        );
        let expected = [
            "appendix E",
            "equation 23",
            "figure 7.2",
            "figure 7.3",
            "figure 7.4",
            "figure 8",
            "theorem A.1",
        ];
        assert!(ranges.iter().map(String::as_str).eq(expected), "{ranges:?}");
    }

    #[test]
    fn some_published_claim_speaks_of_every_item_that_has_an_experiment() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments");
        for paper in &crate::experiments::PAPERS {
            for row in paper.rows.iter().filter(|row| !row.experiment.is_empty()) {
                let page = std::fs::read_to_string(docs.join(format!("{}.md", row.experiment)));
                let claims = on_page(&page.unwrap());
                assert!(
                    !row.named(&claims).is_empty(),
                    "{}: {} ({})",
                    paper.key,
                    row.item,
                    row.experiment
                );
            }
        }
    }
}
