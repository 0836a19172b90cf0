//! What is stored of mutants, and the page that tells it.

use super::groups::GROUPS;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

pub(super) type Outcome<T> = Result<T, Box<dyn Error>>;

/// Where results are kept.
const STORE: &str = "docs/mutants";
const PAGE: &str = "docs/mutants/README.md";

/// What became of a mutant, and the fingerprint of the file that it changed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stored {
    pub(super) outcome: String,
    pub(super) source: String,
}

/// Results of a group of modules.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Results {
    /// All mutants that there are.
    pub(super) of: u64,
    pub(super) seed: u64,
    pub(super) mutants: BTreeMap<String, Stored>,
}

impl Results {
    pub(super) fn read(root: &Path, group: &str) -> Outcome<Self> {
        let path = root.join(STORE).join(format!("{group}.jsonl"));
        let Ok(text) = std::fs::read_to_string(&path) else { return Ok(Self::default()) };
        let wrong = |what: &str| format!("{}: a line without {what}", path.display());
        let mut lines = text.lines().map(serde_json::from_str::<Value>);
        let head = lines.next().ok_or_else(|| wrong("a seed"))??;
        let number = |key: &str| head[key].as_u64().ok_or_else(|| wrong(key));
        let mut results =
            Self { of: number("of")?, seed: number("seed")?, mutants: BTreeMap::new() };
        for line in lines {
            let line = line?;
            let of = |key: &str| line[key].as_str().map(str::to_owned).ok_or_else(|| wrong(key));
            let stored = Stored { outcome: of("outcome")?, source: of("source")? };
            results.mutants.insert(of("mutant")?, stored);
        }
        Ok(results)
    }

    pub(super) fn write(&self, root: &Path, group: &str) -> Outcome<()> {
        let folder = root.join(STORE);
        std::fs::create_dir_all(&folder)?;
        let mut text = format!("{}\n", json!({ "of": self.of, "seed": self.seed }));
        for (mutant, Stored { outcome, source }) in &self.mutants {
            let line = json!({ "mutant": mutant, "outcome": outcome, "source": source });
            writeln!(text, "{line}")?;
        }
        let unfinished = folder.join(format!("{group}.unfinished"));
        std::fs::write(&unfinished, text)?;
        Ok(std::fs::rename(unfinished, folder.join(format!("{group}.jsonl")))?)
    }
}

/// Mutants that no test can notice, each with its reason.
fn equivalent(root: &Path) -> Outcome<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(root.join(STORE).join("equivalent.json"))?;
    Ok(serde_json::from_str(&text)?)
}

/// The page, from what is stored alone.
pub(super) fn page(root: &Path) -> Outcome<String> {
    let equivalent = equivalent(root)?;
    let mut text = String::from(HEAD);
    let mut survivors = String::new();
    for group in GROUPS {
        let results = Results::read(root, group.name)?;
        let count = |word: &str| results.mutants.values().filter(|m| m.outcome == word).count();
        let survived = results.mutants.iter().filter(|(_, stored)| stored.outcome == "survived");
        let (same, alive): (Vec<_>, Vec<_>) =
            survived.map(|(name, _)| name).partition(|name| equivalent.contains_key(*name));
        let noticed = count("caught") + count("stuck");
        let viable = noticed + alive.len();
        let share = match viable {
            0 => "-".to_owned(),
            _ => format!("{:.1} %", 100.0 * noticed as f64 / viable as f64),
        };
        writeln!(
            text,
            "| {} | {} | {} | {} | {noticed} | {} | {} | {share} |",
            group.name,
            results.of,
            results.mutants.len(),
            count("unviable"),
            alive.len(),
            same.len(),
        )?;
        for name in alive {
            writeln!(survivors, "- {name}")?;
        }
        for name in same {
            writeln!(survivors, "- {name}: equivalent, {}", equivalent[name])?;
        }
    }
    writeln!(text, "\n## Survivors\n\n{survivors}")?;
    Ok(text.trim_end().to_owned() + "\n")
}

pub(super) fn publish(root: &Path) -> Outcome<()> {
    Ok(std::fs::write(root.join(PAGE), page(root)?)?)
}

const HEAD: &str = "# Mutants

`cargo xtask mutants` breaks one expression at a time and asks whether a test of the crate notices, doc tests left out. cargo-mutants
lists the changes; all of a package are compiled into it together, each behind a number that a test process is told (Untch, Offutt
and Harrold 1993), and those that cannot be chosen at run time are built alone. A test is asked where it comes by the change.
This page is written from the files beside it, one line for each mutant that was run, with the fingerprint of the file that was changed.
Once that file is edited a result is about the file as it was, and the next run repeats it. The sample is the first of all mutants in
the order of SHA-256 of the seed (in the file's first line) and the mutant's name.

Caught: a test fails, or does not end. Unviable: the change does not compile, or not within ten minutes of a processor. Share: caught of those that are viable and not equivalent.

| modules | mutants | run | unviable | caught | survived | equivalent | share |
| --- | --- | --- | --- | --- | --- | --- | --- |
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_is_stored() {
        let root = crate::environment::folders().0;
        let published = std::fs::read_to_string(root.join(PAGE)).expect("a page");
        assert_eq!(published, page(&root).expect("stored results"), "cargo xtask mutants --page");
    }

    /// A reason that is given for a mutant that nobody ran, or that a test notices, is none.
    #[test]
    fn every_reason_is_for_a_survivor() {
        let root = crate::environment::folders().0;
        let mut survivors = Vec::new();
        for group in GROUPS {
            let results = Results::read(&root, group.name).expect("stored results").mutants;
            survivors.extend(results.into_iter().filter(|m| m.1.outcome == "survived"));
        }
        for name in equivalent(&root).expect("reasons").keys() {
            assert!(survivors.iter().any(|(survivor, _)| survivor == name), "{name}");
        }
    }
}
