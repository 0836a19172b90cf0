//! `cargo xtask mutants`: breaks one expression at a time and asks whether a test notices.
//!
//! cargo-mutants makes the changes. Of every group of modules a sample is run, in an order that the seed
//! fixes; each result is stored as soon as it is known, with the fingerprint of the file that was changed, so that
//! a run goes on where the last one stopped and repeats only what has been edited since.

mod groups;
mod results;

use crate::environment::folders;
use groups::{GROUPS, Group};
use results::{Outcome, Results, Stored};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The tool and its version.
const TOOL: (&str, &str) = ("cargo-mutants", "27.1.0");
/// Mutants that one call of the tool runs: each call reads the workspace anew.
const BATCH: usize = 12;
/// Seconds after which tests of a mutant count as stuck, which is noticed too.
const STUCK: &str = "300";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only groups whose name contains this text: calibrate, profile, noise, mechanism, accounting, flips,
    /// sensitivities.
    group: Option<String>,
    /// Mutants of a group that are run.
    #[arg(long, default_value_t = 400)]
    sample: usize,
    /// Chooses them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begins no batch after this many minutes.
    #[arg(long)]
    minutes: Option<u64>,
    /// Only writes the page from what is stored.
    #[arg(long)]
    page: bool,
}

fn fingerprint(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The tool, fetched where it is not there.
fn tool(target: &Path) -> Outcome<PathBuf> {
    let folder = target.join("tools");
    let program = folder.join("bin").join(format!("cargo-mutants{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        let wanted = format!("{}@{}", TOOL.0, TOOL.1);
        let got = Command::new("cargo")
            .args(["install", "--locked", &wanted, "--root"])
            .arg(&folder)
            .status()?;
        if !got.success() {
            return Err(format!("{wanted} cannot be installed").into());
        }
    }
    Ok(program)
}

/// A copy of what git has of the workspace: mutants are written into files, and not into the user's.
fn copy(root: &Path, target: &Path) -> Outcome<PathBuf> {
    let tree = target.join("mutants/tree");
    let git = |arguments: &[&str]| -> Outcome<()> {
        let mut command = Command::new("git");
        let done = command.current_dir(root).args(arguments).stdout(Stdio::null()).status()?;
        match done.success() {
            true => Ok(()),
            false => Err(format!("git {} failed", arguments.join(" ")).into()),
        }
    };
    let place = tree.to_string_lossy().into_owned();
    if tree.exists() {
        git(&["worktree", "remove", "--force", &place])?;
    }
    git(&["worktree", "add", "--force", "--detach", &place, "HEAD"])?;
    Ok(tree)
}

struct Run<'a> {
    tool: &'a Path,
    tree: &'a Path,
    target: &'a Path,
}

impl Run<'_> {
    fn command(&self, group: &Group) -> Command {
        let mut command = Command::new(self.tool);
        command.current_dir(self.tree).env("CARGO_TARGET_DIR", self.target.join("mutants/build"));
        command.args(["mutants", "--no-config", "--package", group.package]);
        for file in group.files {
            command.args(["--file", file]);
        }
        command
    }

    /// All mutants of a group in the order of the seed.
    fn all(&self, group: &Group, seed: u64) -> Outcome<Vec<(String, String)>> {
        let output = self.command(group).args(["--list", "--json"]).output()?;
        let listed: Vec<Value> = serde_json::from_slice(&output.stdout)?;
        let mut found = Vec::new();
        for mutant in listed {
            let [name, file] = ["name", "file"].map(|key| mutant[key].as_str().map(str::to_owned));
            let (Some(name), Some(file)) = (name, file) else {
                return Err("the tool lists mutants without a name and a file".into());
            };
            let source = fingerprint(&std::fs::read(self.tree.join(&file))?);
            found.push((fingerprint(format!("{seed} {name}").as_bytes()), name, source));
        }
        found.sort();
        Ok(found.into_iter().map(|(_, name, source)| (name, source)).collect())
    }

    /// What became of these mutants under these tests.
    fn outcomes(
        &self,
        group: &Group,
        tests: &[&str],
        names: &[&String],
    ) -> Outcome<BTreeMap<String, String>> {
        let out = self.target.join("mutants/out");
        let _ = std::fs::remove_dir_all(&out);
        std::fs::create_dir_all(&out)?;
        let mut command = self.command(group);
        command.args(["--in-place", "--baseline", "skip", "--timeout", STUCK, "--profile"]);
        command.args(["mutants", "--no-shuffle", "--colors", "never", "--output"]).arg(&out);
        for name in names {
            command.args(["--re", &format!("^{}$", escaped(name))]);
        }
        // Its exit status says whether mutants were missed.
        command.arg("--").args(tests).stdout(Stdio::null()).status()?;
        let text = std::fs::read_to_string(out.join("mutants.out/outcomes.json"))?;
        let value: Value = serde_json::from_str(&text)?;
        let mut outcomes = BTreeMap::new();
        for outcome in value["outcomes"].as_array().ok_or("no outcomes")? {
            let name = outcome["scenario"]["Mutant"]["name"].as_str();
            let word = match outcome["summary"].as_str() {
                Some("CaughtMutant") => "caught",
                Some("Timeout") => "stuck",
                Some("MissedMutant") => "survived",
                Some("Unviable") => "unviable",
                other => return Err(format!("the tool says {other:?} of {name:?}").into()),
            };
            outcomes.insert(name.ok_or("an outcome without a name")?.to_owned(), word.to_owned());
        }
        match names.iter().find(|name| !outcomes.contains_key(**name)) {
            Some(name) => Err(format!("the tool did not run {name}").into()),
            None => Ok(outcomes),
        }
    }

    /// The tests pass on what nobody changed, so that a failure is the mutant's.
    fn unbroken(&self, group: &Group) -> Outcome<()> {
        for tests in group.tests {
            let done = Command::new("cargo")
                .current_dir(self.tree)
                .env("CARGO_TARGET_DIR", self.target.join("mutants/build"))
                .args(["test", "--profile", "mutants", "--package", group.package])
                .args(*tests)
                .stdout(Stdio::null())
                .status()?;
            if !done.success() {
                return Err(format!("{}: {} fails as it is", group.package, tests.join(" ")).into());
            }
        }
        Ok(())
    }
}

/// A pattern that only this text matches.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && c != ' ' && c != '_' {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

pub(crate) fn run(arguments: &Arguments) -> Outcome<ExitCode> {
    let (root, target) = folders();
    let wanted = |group: &&Group| arguments.group.as_ref().is_none_or(|g| group.name.contains(g));
    let groups: Vec<&Group> = GROUPS.iter().filter(wanted).collect();
    if groups.is_empty() {
        return Err(format!("no group is called {:?}", arguments.group).into());
    }
    if !arguments.page {
        std::fs::create_dir_all(target.join("mutants"))?;
        let target = target.canonicalize()?;
        let (tool, tree) = (tool(&target)?, copy(&root, &target)?);
        let run = Run { tool: &tool, tree: &tree, target: &target };
        let until = arguments.minutes.map(|m| Instant::now() + Duration::from_secs(60 * m));
        for group in groups {
            sample(&run, &root, group, arguments, until)?;
        }
    }
    results::publish(&root)?;
    Ok(ExitCode::SUCCESS)
}

fn sample(
    run: &Run<'_>,
    root: &Path,
    group: &Group,
    arguments: &Arguments,
    until: Option<Instant>,
) -> Outcome<()> {
    let all = run.all(group, arguments.seed)?;
    let mut results = Results::read(root, group.name)?;
    (results.of, results.seed) = (all.len() as u64, arguments.seed);
    // What was said of a file that has changed is said no more.
    results.mutants.retain(|name, stored| all.contains(&(name.clone(), stored.source.clone())));
    let chosen = &all[..arguments.sample.min(all.len())];
    let left: Vec<_> =
        chosen.iter().filter(|(name, _)| !results.mutants.contains_key(name)).collect();
    println!(
        "{}: {} mutants, {} chosen, {} to run",
        group.name,
        all.len(),
        chosen.len(),
        left.len()
    );
    if !left.is_empty() {
        run.unbroken(group)?;
    }
    for batch in left.chunks(BATCH) {
        if until.is_some_and(|until| Instant::now() > until) {
            println!("{}: stopped by --minutes; the next run goes on", group.name);
            break;
        }
        let mut names: Vec<&String> = batch.iter().map(|(name, _)| name).collect();
        let mut found = BTreeMap::new();
        for tests in group.tests {
            if names.is_empty() {
                break;
            }
            found.extend(run.outcomes(group, tests, &names)?);
            names.retain(|name| found[*name] == "survived");
        }
        for (name, source) in batch {
            let outcome = found[name].clone();
            println!("{outcome}: {name}");
            results.mutants.insert(name.clone(), Stored { outcome, source: source.clone() });
        }
        results.write(root, group.name)?;
    }
    Ok(())
}
