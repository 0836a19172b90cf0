//! `cargo xtask test`: everything CI checks.

use crate::environment::{Skipped, folders, fresh};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only the steps whose name contains this text: format, structure, clippy, tests, doc
    /// tests, docs, python, pages, audit, instructions.
    step: Option<String>,
}

/// One command of cargo; in release mode, so that what was compiled to run this one is used again.
struct Step {
    name: &'static str,
    /// What begins with `xtask` is this program, without another question of cargo whether it is built.
    line: &'static str,
    counts_tests: bool,
    /// Leaves a core idle: it runs beside the steps after it, and is shown behind them.
    aside: bool,
}

impl Step {
    const fn new(name: &'static str, line: &'static str) -> Self {
        Self { name, line, counts_tests: false, aside: false }
    }
}

const STEPS: [Step; 10] = [
    Step::new("format", "fmt --all --check"),
    Step::new("structure", "xtask structure"),
    Step::new("clippy", "clippy --release --all-targets -- -D warnings"),
    Step { counts_tests: true, ..Step::new("tests", "test --release --tests --no-fail-fast") },
    Step { counts_tests: true, ..Step::new("doc tests", "test --release --doc --no-fail-fast") },
    Step::new("docs", "doc --release --no-deps"),
    Step { aside: true, ..Step::new("python", "xtask python --optional") },
    Step::new("pages", "xtask pages --optional"),
    Step::new("audit", "xtask audit --quick"),
    Step::new("instructions", "xtask bench --instructions --optional"),
];

/// Tests counted so far.
#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    passed: u64,
    failed: u64,
}

impl Totals {
    /// Adds the numbers of a line such as `test result: ok. 3 passed; 0 failed; ...`.
    fn count(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        for part in result.split(['.', ';']) {
            match part.trim().split_once(' ') {
                Some((n, "passed")) => self.passed += n.parse::<u64>().unwrap_or(0),
                Some((n, "failed")) => self.failed += n.parse::<u64>().unwrap_or(0),
                _ => {}
            }
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let wanted = |step: &&Step| arguments.step.as_ref().is_none_or(|s| step.name.contains(s));
    let steps: Vec<&Step> = STEPS.iter().filter(wanted).collect();
    if steps.is_empty() {
        let names = STEPS.map(|s| s.name).join(", ");
        return Err(format!("no step matches {:?}; there are {names}", arguments.step).into());
    }
    // Asked before a build may put another file in its place.
    let own = std::env::current_exe()?;
    let own = own.as_path();
    let tests = steps.iter().any(|s| s.counts_tests);
    let mut totals = Totals::default();
    let mut verdicts = Vec::new();
    std::thread::scope(|scope| -> std::io::Result<()> {
        let mut path = tests.then(|| scope.spawn(with_references));
        let mut references = None;
        let mut aside = Vec::new();
        for &step in &steps {
            if step.aside {
                aside.push(scope.spawn(move || {
                    let mut lines = Vec::new();
                    let verdict = verdict(own, step, None, &mut |line| lines.push(line.to_owned()));
                    verdict.map(|good| (lines, (step.name, good)))
                }));
                continue;
            }
            if step.counts_tests
                && let Some(made) = path.take()
            {
                references = joined(made);
            }
            let good = verdict(own, step, references.as_ref(), &mut |line| {
                if step.counts_tests {
                    totals.count(line);
                }
                println!("{line}");
            })?;
            verdicts.push((step.name, good));
        }
        for step in aside {
            let (lines, verdict) = joined(step)?;
            lines.iter().for_each(|line| println!("{line}"));
            verdicts.push(verdict);
        }
        Ok(())
    })?;
    println!("{} passed, {} failed", totals.passed, totals.failed);
    let nothing_ran = tests && totals.passed == 0;
    if nothing_ran {
        println!("FAIL: no test ran");
    }
    for (name, _) in verdicts.iter().filter(|v| !v.1) {
        println!("FAIL: {name}");
    }
    let good = !nothing_ran && totals.failed == 0 && verdicts.iter().all(|v| v.1);
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The search path with an environment in front in which tests find the programs they compare with.
fn with_references() -> Option<OsString> {
    let (root, target) = folders();
    let packages = root.join("tools/reference/requirements.txt");
    let interpreter = match fresh(&target.join("reference"), &packages) {
        Ok(interpreter) => interpreter,
        Err(Skipped(why)) => {
            println!(
                "SKIPPED: tests against programs in Python run only where python3 has what they need: {why}"
            );
            return None;
        }
    };
    let folder = interpreter.parent()?.canonicalize().ok()?;
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&rest))).ok()
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs a step with its output handed on line by line; whether it succeeded.
fn verdict(
    own: &Path,
    step: &Step,
    path: Option<&OsString>,
    say: &mut dyn FnMut(&str),
) -> std::io::Result<bool> {
    say(&format!("== {}: cargo {}", step.name, step.line));
    let start = Instant::now();
    let (program, line) = match step.line.strip_prefix("xtask ") {
        Some(line) => (own.into(), line),
        None => (std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), step.line),
    };
    let mut child = Command::new(program)
        .args(line.split(' '))
        .env("RUSTDOCFLAGS", "-D warnings")
        .envs(path.filter(|_| step.counts_tests).map(|path| ("PATH", path)))
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().expect("stdout is piped");
    for line in BufReader::new(stdout).lines() {
        say(&line?);
    }
    let good = child.wait()?.success();
    let word = if good { "pass" } else { "FAIL" };
    say(&format!("== {}: {word} ({:.0} s)", step.name, start.elapsed().as_secs_f64()));
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up_and_other_lines_ignored() {
        let mut totals = Totals::default();
        for line in [
            "test a::b ... ok",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.1s",
            "test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
            "12 passed",
        ] {
            totals.count(line);
        }
        assert_eq!(totals, Totals { passed: 17, failed: 2 });
    }

    /// Packages with the features that they are compiled with; nothing where cargo cannot have them.
    fn built(of: &[&str]) -> Option<std::collections::BTreeSet<String>> {
        let tree = ["tree", "--locked", "--prefix", "none", "--format", "{p} {f}"];
        let output = Command::new(env!("CARGO")).args(tree).args(of).output().expect("cargo runs");
        if !output.status.success() {
            println!("SKIPPED: {}", String::from_utf8_lossy(&output.stderr));
            return None;
        }
        let text = String::from_utf8(output.stdout).expect("text");
        let line = |line: &str| line.trim_end_matches(" (*)").trim().to_owned();
        Some(text.lines().map(line).collect())
    }

    fn name(line: &str) -> String {
        line.split(' ').next().unwrap_or_default().to_owned()
    }

    /// What this command is built from, and the library in the wheel with what it stands on, the tests are built from: with other
    /// features a crate, and all that stands on it, would be compiled twice.
    #[test]
    fn nothing_is_compiled_twice() {
        let edges = ["--edges", "normal,build"];
        let offline = |package| built(&["--offline", "--package", package, edges[0], edges[1]]);
        let tests = built(&["--offline", "--edges", "all"]).expect("built before");
        let here = offline("xtask").expect("built before");
        assert!(here.len() > 100);
        let twice: Vec<_> = here.difference(&tests).collect();
        assert!(twice.is_empty(), "built with other features by the tests: {twice:?}");
        assert!(!offline("dps").expect("built before").is_subset(&tests));
        let library: Vec<_> =
            offline("linalg-dp").expect("built before").iter().map(|line| name(line)).collect();
        let Some(wheel) = built(&["--package", "dps-python", edges[0], edges[1]]) else { return };
        let shared: Vec<_> = wheel.iter().filter(|line| library.contains(&name(line))).collect();
        assert!(shared.len() > 50 && shared.iter().any(|line| name(line) == "linalg-dp"));
        let twice: Vec<_> = shared.into_iter().filter(|line| !tests.contains(*line)).collect();
        assert!(twice.is_empty(), "built with other features by the wheel: {twice:?}");
    }
}
