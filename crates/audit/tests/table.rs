//! Every mechanism of the libraries, and what each must have: a proof page, an audit that its weaker twin
//! fails, a prediction, an example in the documentation, a command, a class in Python, and a test of what its estimates state.

use audit::Role;
use dp_core::Theorem;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[path = "table/rows.rs"]
mod rows;

use rows::{Command::*, Prediction::*, Row, TABLE};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: impl AsRef<Path>) -> String {
    let path = crates().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Whether a text names a type, as a whole word.
fn names(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + name.len()..].starts_with(part))
}

/// The sources of a crate.
fn sources(folder: &Path, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(std::fs::read_to_string(&path).expect("text"));
        }
    }
}

/// The code blocks in documentation that run: those without `ignore`, `no_run` and `compile_fail`.
fn examples(source: &str) -> Vec<String> {
    let (mut found, mut open, mut runs) = (Vec::new(), false, false);
    for line in source.lines().map(str::trim) {
        let Some(line) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            continue;
        };
        if let Some(kind) = line.trim().strip_prefix("```") {
            runs = !open && (kind.is_empty() || kind == "rust");
            open = !open;
            if runs {
                found.push(String::new());
            }
        } else if open && runs {
            *found.last_mut().expect("opened") += line;
        }
    }
    found
}

/// All complaints about one aspect, so that one run shows all.
#[track_caller]
fn none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Theorems that a room does not name, and pages that are not there.
fn unproven(rows: &[Row]) -> Vec<String> {
    let mut complaints = Vec::new();
    let page = |name: &str| crates().join("../docs/proofs").join(name).is_file();
    for row in rows {
        for theorem in row.theorems {
            let mut room = Vec::new();
            sources(&crates().join(row.file).with_file_name(""), &mut room);
            if !room.iter().any(|source| names(source, &format!("{theorem:?}"))) {
                complaints.push(format!("{} does not name its theorem {theorem:?}", row.name));
            }
            if !page(theorem.page()) {
                complaints.push(format!("{theorem:?} has no page {}", theorem.page()));
            }
        }
        if !page(row.page) {
            complaints.push(format!("{} has no proof page {}", row.name, row.page));
        }
    }
    complaints
}

fn unaudited(rows: &[Row]) -> eval::Result<Vec<String>> {
    let all = audit::everything()?;
    let names: BTreeSet<(&str, bool)> =
        all.iter().map(|s| (s.name.as_str(), matches!(s.role, Role::Twin { .. }))).collect();
    let mut complaints = Vec::new();
    for row in rows {
        if row.audits.is_empty() {
            complaints.push(format!("{} has no audit", row.name));
        }
        for audit in row.audits {
            if !names.contains(&(audit, false)) {
                complaints.push(format!("{}: no audit is called {audit:?}", row.name));
            }
            let twin = format!("{audit}: ");
            if !names.iter().any(|(name, twins)| *twins && name.starts_with(&twin)) {
                complaints.push(format!("{}: {audit:?} has no weaker twin", row.name));
            }
        }
    }
    Ok(complaints)
}

fn unpredicted(rows: &[Row]) -> Vec<String> {
    let complaint = |row: &Row| {
        let source = text(row.file);
        let implements = source.lines().any(|line| {
            line.starts_with("impl") && line.contains(" Mechanism for ") && names(line, row.name)
        });
        match (implements, &row.prediction) {
            (false, Trait) => Some(format!("{} predicts nothing", row.name)),
            (true, No(_)) => Some(format!("{} predicts: say so", row.name)),
            (false, No(reason)) if reason.len() < 20 => {
                Some(format!("{}: why does it predict nothing?", row.name))
            }
            _ => Option::None,
        }
    };
    rows.iter().filter_map(complaint).collect()
}

/// Implementations of the trait that have no row.
fn unlisted(rows: &[Row]) -> Vec<String> {
    let mut all = Vec::new();
    for library in ["dp-core", "sketch", "linalg-dp"] {
        sources(&crates().join(library).join("src"), &mut all);
    }
    let lines = all.iter().flat_map(|source| source.lines());
    let made = lines.filter(|line| line.starts_with("impl") && line.contains(" Mechanism for "));
    let missing = made.filter(|line| !rows.iter().any(|row| names(line, row.name)));
    missing.map(|line| format!("not in the table: {line}")).collect()
}

fn unshown(rows: &[Row]) -> Vec<String> {
    let shown = |row: &&Row| {
        let library = row.file.split('/').next().expect("a folder");
        let mut all = Vec::new();
        sources(&crates().join(library).join("src"), &mut all);
        all.iter().flat_map(|source| examples(source)).any(|e| names(&e, row.name))
    };
    let missing = rows.iter().filter(|row| !shown(row));
    missing.map(|row| format!("{} has no example in its documentation", row.name)).collect()
}

fn without_command(rows: &[Row]) -> Vec<String> {
    let complaint = |row: &Row| match row.command {
        In(file) if names(&text(format!("cli/src/commands/{file}")), row.name) => Option::None,
        In(file) => Some(format!("{file} does not call {}", row.name)),
        None(reason) if reason.len() > 20 => Option::None,
        None(_) => Some(format!("{}: why is there no command?", row.name)),
    };
    rows.iter().filter_map(complaint).collect()
}

/// Mechanisms that the Python package does not build, or whose class is not there.
fn without_class(rows: &[Row]) -> Vec<String> {
    let builds = text("../python/src/kinds.rs");
    let modules = ["rows", "sets", "matrices"].map(|name| text(format!("../python/dps/{name}.py")));
    let classes = modules.concat();
    let exported = text("../python/dps/__init__.py");
    let complaint = |row: &Row| {
        let class = format!("class {}(Mechanism):", row.python);
        let there = classes.contains(&class) && exported.contains(&format!("\"{}\"", row.python));
        let built = names(&builds, row.name);
        (!there || !built).then(|| format!("{} has no class in Python", row.name))
    };
    rows.iter().filter_map(complaint).collect()
}

fn uncovered(rows: &[Row]) -> Vec<String> {
    let tested = |row: &&Row| text(row.coverage.0).contains(&format!("fn {}(", row.coverage.1));
    let missing = rows.iter().filter(|row| !tested(row));
    missing.map(|row| format!("{}: there is no test {:?}", row.name, row.coverage)).collect()
}

#[test]
fn every_theorem_has_its_mechanism_and_page() {
    let used: Vec<Theorem> = TABLE.iter().flat_map(|row| row.theorems).copied().collect();
    let unused = Theorem::ALL.iter().filter(|theorem| !used.contains(theorem));
    none(unused.map(|theorem| format!("{theorem:?} has no mechanism in the table")).collect());
    none(unproven(&TABLE));
}

#[test]
fn every_mechanism_is_audited_and_its_twin_too() -> eval::Result<()> {
    none(unaudited(&TABLE)?);
    Ok(())
}

#[test]
fn every_mechanism_predicts_its_error_or_says_why_not() {
    none(unpredicted(&TABLE));
}

#[test]
fn whatever_implements_the_trait_is_in_the_table() {
    none(unlisted(&TABLE));
}

#[test]
fn every_mechanism_has_an_example_that_runs() {
    none(unshown(&TABLE));
}

#[test]
fn every_mechanism_has_a_command_or_a_reason() {
    none(without_command(&TABLE));
}

#[test]
fn every_mechanism_has_a_class_in_python() {
    none(without_class(&TABLE));
}

#[test]
fn every_mechanism_has_a_test_of_its_stated_errors() {
    none(uncovered(&TABLE));
}

/// A mechanism that lacks everything is refused by every check, and so is one that lacks a reason.
#[test]
fn every_check_fails_where_something_is_missing() -> eval::Result<()> {
    let lacking = |command, prediction| {
        [Row {
            name: "Invented",
            file: "sketch/src/sets/noisy.rs",
            theorems: &[Theorem::RangeFinder],
            page: "invented.md",
            audits: &["an invented audit"],
            command,
            python: "Invented",
            coverage: ("sketch/tests/coverage.rs", "an_invented_test"),
            prediction,
        }]
    };
    let rows = lacking(In("plan.rs"), Trait);
    assert_eq!(unproven(&rows).len(), 2, "theorem and page");
    assert_eq!(unaudited(&rows)?.len(), 2, "audit and twin");
    for check in [unpredicted, unshown, without_command, without_class, uncovered] {
        assert_eq!(check(&rows).len(), 1);
    }
    let rows = lacking(None(""), No(""));
    assert_eq!((unpredicted(&rows).len(), without_command(&rows).len()), (1, 1));
    assert!(unlisted(&rows).len() > 15, "no implementation is in this table");
    let source = "/// ```\n/// use a::Known;\n/// ```\n/// ```compile_fail\n/// Hidden\n/// ```\n";
    assert_eq!(examples(source), [" use a::Known;"]);
    assert!(names("x::Pfp)", "Pfp") && !names("PfpOptions", "Pfp") && !names("MyPfp", "Pfp"));
    Ok(())
}
