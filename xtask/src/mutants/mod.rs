//! `cargo xtask mutants`: breaks one expression at a time and asks whether a test notices.
//!
//! cargo-mutants makes the changes and nextest runs the tests, quick ones first, up to the first that fails. Of every group of modules a sample is run, in an order that the seed fixes; each result is
//! stored as soon as it is known, with the fingerprint of the file that was changed, so that a run goes on where the
//! last one stopped and repeats only what has been edited since.

mod groups;
mod results;

use crate::environment::folders;
use groups::{GROUPS, Group, TESTS};
use results::{Outcome, Results, Stored};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The tools and their versions.
const TOOLS: [(&str, &str); 2] = [("cargo-mutants", "27.1.0"), ("cargo-nextest", "0.9.151")];
/// Mutants that one call of the tool runs at most: what it finds is stored when it ends.
const BATCH: usize = 24;
/// Seconds after which all tests of a mutant count as stuck, which is noticed too.
const STUCK: &str = "1200";

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
    /// Runs mutants that survived once more: after tests were added.
    #[arg(long)]
    again: bool,
    /// Mutants that are run at the same time, each in its own copy with one test after the other.
    #[arg(long, default_value_t = 2)]
    workers: usize,
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

/// The folder of the tools, fetched where they are not there.
fn tools(target: &Path) -> Outcome<PathBuf> {
    let folder = target.join("tools");
    for (name, version) in TOOLS {
        if folder.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)).exists() {
            continue;
        }
        let wanted = format!("{name}@{version}");
        let got = Command::new("cargo")
            .args(["install", "--locked", &wanted, "--root"])
            .arg(&folder)
            .status()?;
        if !got.success() {
            return Err(format!("{wanted} cannot be installed").into());
        }
    }
    Ok(folder.join("bin"))
}

/// A copy of what git has of the workspace: mutants are written into files, and not into the user's.
fn copy(root: &Path, tree: &Path) -> Outcome<()> {
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
        std::fs::remove_dir_all(tree)?;
    }
    git(&["worktree", "prune"])?;
    git(&["worktree", "add", "--force", "--detach", &place, "HEAD"])
}

/// A mutant's name, and the fingerprint of the file that it changes.
type Named = (String, String);

/// The file that stands at the beginning of a mutant's name.
fn file_of((name, _): &Named) -> &str {
    name.split(':').next().unwrap_or_default()
}

/// Mutants in calls of the tool, one file after the other in the order of its first mutant: whatever is asked for, the tool runs
/// the mutants of a file that take a field away, so that each file is asked for as seldom as can be.
fn batches(left: &[Named]) -> Vec<Vec<Named>> {
    let mut files: Vec<Vec<Named>> = Vec::new();
    for mutant in left {
        match files.iter_mut().find(|file| file_of(&file[0]) == file_of(mutant)) {
            Some(file) => file.push(mutant.clone()),
            None => files.push(vec![mutant.clone()]),
        }
    }
    files.iter().flat_map(|file| file.chunks(BATCH).map(<[Named]>::to_vec)).collect()
}

/// A copy of the workspace with what is built of it.
struct Worker {
    tools: PathBuf,
    folder: PathBuf,
    /// The package whose tests are known to pass, and how long they take.
    tested: Mutex<&'static str>,
}

impl Worker {
    fn new(root: &Path, target: &Path, tools: &Path, number: usize) -> Outcome<Self> {
        let folder = target.join(format!("mutants/{number}"));
        std::fs::create_dir_all(&folder)?;
        let worker = Self { tools: tools.to_owned(), folder, tested: Mutex::default() };
        copy(root, &worker.tree())?;
        Ok(worker)
    }

    fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// A command in the copy that finds the tools.
    fn command(&self, program: &Path) -> Outcome<Command> {
        let mut command = Command::new(program);
        let others = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(self.tools.clone()).chain(std::env::split_paths(&others));
        command
            .current_dir(self.tree())
            .env("CARGO_TARGET_DIR", self.folder.join("build"))
            .env("PATH", std::env::join_paths(all)?);
        Ok(command)
    }

    fn mutants(&self, group: &Group, files: &[&str]) -> Outcome<Command> {
        let mut command = self.command(&self.tools.join("cargo-mutants"))?;
        command.args(["mutants", "--no-config", "--package", group.package]);
        for file in files {
            command.args(["--file", file]);
        }
        Ok(command)
    }

    /// All mutants of a group in the order of the seed.
    fn all(&self, group: &Group, seed: u64) -> Outcome<Vec<Named>> {
        let output = self.mutants(group, group.files)?.args(["--list", "--json"]).output()?;
        let listed: Vec<Value> = serde_json::from_slice(&output.stdout)?;
        let mut found = Vec::new();
        for mutant in listed {
            let [name, file] = ["name", "file"].map(|key| mutant[key].as_str().map(str::to_owned));
            let (Some(name), Some(file)) = (name, file) else {
                return Err("the tool lists mutants without a name and a file".into());
            };
            let source = fingerprint(&std::fs::read(self.tree().join(&file))?);
            found.push((fingerprint(format!("{seed} {name}").as_bytes()), name, source));
        }
        found.sort();
        Ok(found.into_iter().map(|(_, name, source)| (name, source)).collect())
    }

    /// What became of these mutants of one file, and of whatever else the tool ran there.
    fn outcomes(&self, group: &Group, names: &[Named]) -> Outcome<BTreeMap<String, String>> {
        let out = self.folder.join("out");
        let _ = std::fs::remove_dir_all(&out);
        std::fs::create_dir_all(&out)?;
        let mut command = self.mutants(group, &[file_of(&names[0])])?;
        command.args(["--in-place", "--baseline", "skip", "--timeout", STUCK, "--profile"]);
        command.args(["mutants", "--test-tool", "nextest", "--no-shuffle", "--colors", "never"]);
        command.arg("--output").arg(&out);
        let config = self.config().to_string_lossy().into_owned();
        for part in TESTS.into_iter().chain(["--config-file", &config]) {
            command.arg(format!("--cargo-arg={part}"));
        }
        for (name, _) in names {
            command.args(["--re", &format!("^{}$", escaped(name))]);
        }
        // Its exit status says whether mutants were missed.
        command.stdout(Stdio::null()).status()?;
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
        match names.iter().find(|(name, _)| !outcomes.contains_key(name)) {
            Some((name, _)) => Err(format!("the tool did not run {name}").into()),
            None => Ok(outcomes),
        }
    }

    /// The tests pass on what nobody changed, so that a failure is the mutant's; how long each takes says which come first.
    fn unbroken(&self, group: &Group) -> Outcome<()> {
        let mut tested = self.tested.lock().map_err(|_| "a worker stopped")?;
        if *tested == group.package {
            return Ok(());
        }
        let config = self.config();
        std::fs::write(&config, NEXTEST)?;
        let done = self
            .command(Path::new("cargo"))?
            .args(["nextest", "run", "--cargo-profile", "mutants", "--package", group.package])
            .args(TESTS)
            .arg("--config-file")
            .arg(&config)
            .stdout(Stdio::null())
            .status()?;
        if !done.success() {
            return Err(format!("tests of {} fail as it is", group.package).into());
        }
        let report = self.tree().join("target/nextest/default/junit.xml");
        std::fs::write(config, quick_first(&std::fs::read_to_string(report)?)?)?;
        *tested = group.package;
        Ok(())
    }

    fn config(&self) -> PathBuf {
        self.folder.join("nextest.toml")
    }
}

/// How tests are run: one after the other, up to the first that fails or takes far longer than any does.
const NEXTEST: &str = r#"[profile.default]
test-threads = 1
fail-fast = { max-fail = 1, terminate = "immediate" }
slow-timeout = { period = "120s", terminate-after = 1 }
status-level = "fail"
final-status-level = "fail"
junit = { path = "junit.xml" }
"#;

/// The same, the quickest of the tests in this report first: one step of priority for each doubling of 16 milliseconds.
fn quick_first(report: &str) -> Outcome<String> {
    let mut config = NEXTEST.to_owned();
    let of = |line: &str, key: &str| -> Outcome<String> {
        let rest = line.split_once(&format!(" {key}=\"")).ok_or("a test without its time")?.1;
        Ok(rest.split('"').next().unwrap_or_default().to_owned())
    };
    let mut steps: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for line in report.lines().filter(|line| line.trim_start().starts_with("<testcase ")) {
        let seconds: f64 = of(line, "time")?.parse()?;
        let step = (seconds / 0.016).max(1.0).log2() as u32;
        steps.entry(step).or_default().push(format!("test(={})", of(line, "name")?));
    }
    for (step, tests) in steps {
        config += "\n[[profile.default.overrides]]\n";
        config += &format!("filter = '{}'\npriority = -{step}\n", tests.join(" | "));
    }
    Ok(config)
}

/// A pattern that only this text matches.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        // And no others: an escaped `<` or `>` is the edge of a word.
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
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
        let tools = tools(&target)?;
        let workers: Vec<Worker> = (0..arguments.workers.max(1))
            .map(|number| Worker::new(&root, &target, &tools, number))
            .collect::<Outcome<_>>()?;
        let until = arguments.minutes.map(|m| Instant::now() + Duration::from_secs(60 * m));
        for group in groups {
            sample(&workers, &root, group, arguments, until)?;
        }
    }
    results::publish(&root)?;
    Ok(ExitCode::SUCCESS)
}

fn sample(
    workers: &[Worker],
    root: &Path,
    group: &Group,
    arguments: &Arguments,
    until: Option<Instant>,
) -> Outcome<()> {
    let all = workers[0].all(group, arguments.seed)?;
    let mut results = Results::read(root, group.name)?;
    (results.of, results.seed) = (all.len() as u64, arguments.seed);
    // What was said of a file that has changed is said no more.
    results.mutants.retain(|name, stored| all.contains(&(name.clone(), stored.source.clone())));
    let chosen = &all[..arguments.sample.min(all.len())];
    let mut left = chosen.to_vec();
    let again = |stored: &Stored| arguments.again && stored.outcome == "survived";
    left.retain(|(name, _)| results.mutants.get(name).is_none_or(again));
    println!(
        "{}: {} mutants, {} chosen, {} to run",
        group.name,
        all.len(),
        chosen.len(),
        left.len()
    );
    let (batches, results) = (Mutex::new(batches(&left).into_iter()), Mutex::new(results));
    let work = |worker: &Worker| -> Result<(), String> {
        while until.is_none_or(|until| Instant::now() < until) {
            let Some(batch) = batches.lock().map_err(|_| "another worker stopped")?.next() else {
                return Ok(());
            };
            worker.unbroken(group).map_err(|fault| fault.to_string())?;
            let found = worker.outcomes(group, &batch).map_err(|fault| fault.to_string())?;
            let mut results = results.lock().map_err(|_| "another worker stopped")?;
            for (name, source) in chosen {
                let Some(outcome) = found.get(name).cloned() else { continue };
                println!("{outcome}: {name}");
                results.mutants.insert(name.clone(), Stored { outcome, source: source.clone() });
            }
            results.write(root, group.name).map_err(|fault| fault.to_string())?;
        }
        println!("{}: stopped by --minutes; the next run goes on", group.name);
        Ok(())
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = workers.iter().map(|worker| scope.spawn(|| work(worker))).collect();
        running.into_iter().try_for_each(|worker| match worker.join() {
            Ok(outcome) => Ok(outcome?),
            Err(_) => Err("a worker panicked".into()),
        })
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_patterns_of_themselves() {
        let name = "src/a-b.rs:1:9: replace A<N>::of -> &N with Box::new([0; 2])";
        let pattern = r"src/a\-b\.rs:1:9: replace A<N>::of \-> \&N with Box::new\(\[0; 2\]\)";
        assert_eq!(super::escaped(name), pattern);
    }

    #[test]
    fn mutants_of_a_file_are_run_together() {
        let left: Vec<super::Named> = (0..60)
            .map(|i| {
                (
                    format!("src/{}.rs:{i}:9: replace", if i % 2 == 0 { "b" } else { "a" }),
                    String::new(),
                )
            })
            .collect();
        let all = super::batches(&left);
        let files: Vec<_> = all.iter().map(|batch| super::file_of(&batch[0])).collect();
        assert_eq!(files, ["src/b.rs", "src/b.rs", "src/a.rs", "src/a.rs"]);
        assert!(all.iter().all(|batch| {
            batch.len() <= super::BATCH
                && batch.iter().all(|one| super::file_of(one) == super::file_of(&batch[0]))
        }));
        let mut run = all.concat();
        run.sort();
        let mut asked = left;
        asked.sort();
        assert_eq!(run, asked);
        assert!(super::batches(&[]).is_empty());
    }

    #[test]
    fn quick_tests_come_first() {
        let report = r#"<testsuite name="a" time="2.1">
        <testcase name="m::slow" classname="a" timestamp="x" time="2.090">
        <testcase name="m::quick" classname="a" timestamp="x" time="0.003">
        <testcase name="at_once" classname="a::suite" timestamp="x" time="0.000">"#;
        let config = super::quick_first(report).expect("a report");
        let rest = config.strip_prefix(super::NEXTEST).expect("the same settings");
        let order = "\n[[profile.default.overrides]]\nfilter = 'test(=m::quick) | test(=at_once)'\npriority = -0\n\
                     \n[[profile.default.overrides]]\nfilter = 'test(=m::slow)'\npriority = -7\n";
        assert_eq!(rest, order);
        assert!(super::quick_first("<testcase name=\"a\">").is_err());
    }
}
