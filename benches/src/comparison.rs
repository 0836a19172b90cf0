//! Our benches beside other libraries' cases: which meets which is data in
//! `benches/comparisons/*.json`, one file a topic.

mod load;

use load::Load;
pub use load::beside_others;
use serde::{Deserialize, Serialize};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One file of comparisons.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topic {
    /// Name of the topic.
    pub topic: String,
    /// Script under `benches/peers`.
    pub script: String,
    /// What is compared.
    pub(crate) rows: Vec<Row>,
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// What is measured, in words.
    pub what: String,
    /// Unit of both rates; must be what the other side states.
    pub unit: String,
    /// Numbers of threads to measure with.
    pub threads: Vec<u32>,
    /// Criterion bench target.
    pub bench: String,
    /// Criterion id, `group/function`.
    pub id: String,
    /// Work of one iteration of ours in `unit` times seconds; the declared throughput when absent.
    #[serde(default)]
    pub work: Option<f64>,
    /// Case of the script.
    pub case: String,
    /// Library of the measurement.
    pub lib: String,
    /// Its `params.op` begins with this.
    pub op: String,
    /// Further `params` that must be equal.
    #[serde(default)]
    pub params: serde_json::Map<String, serde_json::Value>,
    /// Ids of the same target that do the least part of the work which has to be done, and keep nothing: a measure of what is beyond it, no
    /// proof that nobody is faster. One that counts twice stands twice.
    #[serde(default)]
    pub limit: Vec<String>,
}

/// Most of a core that other programs may have used while a measurement counts: on average over its time.
pub const BUSY: f64 = 0.1;

/// Ours and theirs, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Alternation {
    /// Our rate.
    ours: f64,
    /// Their rate.
    theirs: f64,
    /// Our time over that of the limit.
    over_limit: Option<f64>,
    /// Cores that other programs used on average, the larger of both.
    busy: f64,
}

/// A measured comparison: one line of the table. Medians over the alternations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Name of the topic.
    pub topic: String,
    /// What is measured.
    pub what: String,
    /// Threads on both sides.
    pub threads: u32,
    /// Unit of the rates.
    pub unit: String,
    /// Our rate.
    pub ours: f64,
    /// Their rate.
    pub theirs: f64,
    /// Library and version.
    pub peer: String,
    /// `ours / theirs` of each alternation: above 1 we are faster.
    pub ratio: f64,
    /// Our time over that of the limit, where one is measured.
    pub over_limit: Option<f64>,
    /// Each of them.
    pub(crate) alternations: Vec<Alternation>,
    /// What the machine was running, and on which processor.
    pub of: String,
}

impl Measured {
    fn new(
        (topic, row, threads): (&Topic, &Row, u32),
        peer: String,
        of: &str,
        alternations: Vec<Alternation>,
    ) -> Option<Self> {
        let median = |of: fn(&Alternation) -> Option<f64>| {
            let mut all: Vec<f64> = alternations.iter().filter_map(of).collect();
            all.sort_by(f64::total_cmp);
            let half = all.len() / 2;
            Some(if all.len() % 2 == 1 {
                *all.get(half)?
            } else {
                (all.get(half)? + all[half - 1]) / 2.0
            })
        };
        Some(Self {
            topic: topic.topic.clone(),
            what: row.what.clone(),
            threads,
            unit: row.unit.clone(),
            ours: median(|a| Some(a.ours))?,
            theirs: median(|a| Some(a.theirs))?,
            peer,
            ratio: median(|a| Some(a.ours / a.theirs))?,
            over_limit: median(|a| a.over_limit),
            of: of.to_owned(),
            alternations,
        })
    }

    /// Whether it is of this row, on the same machine and code.
    fn is_of(&self, (topic, row, threads): (&Topic, &Row, u32), of: &str) -> bool {
        (&self.topic, &self.what, self.threads, self.of.as_str())
            == (&topic.topic, &row.what, threads, of)
    }
}

/// One measurement of a peer script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct PeerLine {
    lib: String,
    version: String,
    params: serde_json::Map<String, serde_json::Value>,
    throughput: Option<f64>,
    unit: String,
    #[serde(default)]
    contended: serde_json::Value,
}

fn bad(what: &Path, error: impl core::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidData, format!("{}: {error}", what.display()))
}

/// Reads every topic of a folder, in order of file name.
///
/// # Errors
/// A file that cannot be read or is not a [`Topic`]; the message names it.
pub fn topics(folder: &Path) -> Result<Vec<Topic>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(|e| bad(folder, e))?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_>>()?;
    files.retain(|f| f.extension().is_some_and(|e| e == "json"));
    files.sort();
    files
        .iter()
        .map(|file| {
            let text = std::fs::read_to_string(file).map_err(|e| bad(file, e))?;
            serde_json::from_str(&text).map_err(|e| bad(file, e))
        })
        .collect()
}

/// Keeps the rows whose topic, words or bench id contain one of the filters; all without filters.
#[must_use]
pub fn matching(mut topics: Vec<Topic>, filters: &[String]) -> Vec<Topic> {
    for topic in &mut topics {
        let name = topic.topic.clone();
        let hit = |r: &Row, f: &String| name.contains(f) || r.what.contains(f) || r.id.contains(f);
        topic.rows.retain(|r| filters.is_empty() || filters.iter().any(|f| hit(r, f)));
    }
    topics.retain(|t| !t.rows.is_empty());
    topics
}

/// Where criterion may have written a bench: it keeps a folder each for group, function and
/// parameter, all of which may contain slashes, and writes them without.
fn criterion_folders(criterion: &Path, id: &str) -> Vec<PathBuf> {
    let safe = |p: &str| p.replace(['?', '"', '\\', '*', '<', '>', ':', '|', '^'], "_");
    let parts: Vec<String> = id.split('/').map(safe).collect();
    let n = parts.len();
    let ends = (1..=n).flat_map(|group| (group..=n).map(move |function| (group, function)));
    ends.map(|(group, function)| {
        let pieces = [&parts[..group], &parts[group..function], &parts[function..]];
        let names = pieces.iter().filter(|p| !p.is_empty()).map(|p| p.join("_"));
        names.fold(criterion.to_path_buf(), |folder, name| folder.join(name)).join("new")
    })
    .collect()
}

/// What criterion wrote of a bench: the folder, and the median time of an iteration in seconds.
///
/// # Errors
/// Files that are missing or not criterion's; the message names them.
fn seconds(criterion: &Path, id: &str) -> Result<(PathBuf, f64)> {
    let folders = criterion_folders(criterion, id);
    let measured = folders.iter().find(|f| f.join("estimates.json").exists());
    let folder = measured.unwrap_or(&folders[0]).clone();
    let median = read(&folder.join("estimates.json"))?["median"]["point_estimate"].as_f64();
    match median.filter(|ns| *ns > 0.0) {
        Some(ns) => Ok((folder, 1e-9 * ns)),
        None => Err(bad(&folder, "no median time")),
    }
}

fn read(file: &Path) -> Result<serde_json::Value> {
    let text = std::fs::read_to_string(file).map_err(|e| bad(file, e))?;
    serde_json::from_str(&text).map_err(|e| bad(file, e))
}

/// Our rate from what criterion wrote, work over the median time of an iteration; and that time over the limit's.
///
/// # Errors
/// Files that are missing or not criterion's; the message names them.
fn our_rate(criterion: &Path, row: &Row) -> Result<(f64, Option<f64>)> {
    let (folder, time) = seconds(criterion, &row.id)?;
    let work = match row.work {
        Some(work) => Some(work),
        None => {
            let stated = &read(&folder.join("benchmark.json"))?["throughput"];
            stated.as_object().and_then(|t| t.values().next()).and_then(serde_json::Value::as_f64)
        }
    };
    let rate = work.ok_or_else(|| bad(&folder, "no work of an iteration"))? / time;
    let limits = row.limit.iter().map(|id| Ok(seconds(criterion, id)?.1));
    let least: f64 = limits.collect::<Result<Vec<f64>>>()?.iter().sum();
    Ok((rate, (least > 0.0).then(|| time / least)))
}

/// Their rate from the lines a script printed.
///
/// # Errors
/// No measurement fits, or its unit is not the row's.
fn their_rate(output: &str, row: &Row) -> Result<(f64, String)> {
    let lines = output.lines().filter_map(|l| serde_json::from_str::<PeerLine>(l).ok());
    let fits = |line: &PeerLine| {
        line.lib == row.lib
            && line
                .params
                .get("op")
                .and_then(|o| o.as_str())
                .is_some_and(|o| o.starts_with(&row.op))
            && row.params.iter().all(|(name, value)| line.params.get(name) == Some(value))
    };
    let fail =
        |reason: String| Error::new(ErrorKind::InvalidData, format!("{}: {reason}", row.what));
    let found: Vec<PeerLine> = lines.filter(|line| fits(line)).collect();
    let Some(line) = found.first() else {
        let reason =
            format!("case {} printed no measurement of {} {:?}", row.case, row.lib, row.op);
        return Err(fail(reason));
    };
    if line.unit != row.unit {
        return Err(fail(format!("their unit is {:?}, ours {:?}", line.unit, row.unit)));
    }
    let rate = line.throughput.filter(|&r| r > 0.0).ok_or_else(|| fail("no rate".into()))?;
    if let Some(remark) = line.contended.as_str() {
        return Err(fail(format!("not measured on a quiet machine: {remark}")));
    }
    Ok((rate, format!("{} {}", line.lib, line.version)))
}

/// Where things are.
#[derive(Debug, Clone)]
pub struct Places {
    /// Root of the repository.
    pub root: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
    /// The Python environments that `setup.sh` built.
    pub environments: PathBuf,
}

impl Places {
    /// The interpreter that runs the peer scripts, where it exists.
    #[must_use]
    pub fn python(&self) -> Option<PathBuf> {
        let python = self.environments.join("main/bin/python");
        python.exists().then_some(python)
    }
}

/// What is measured: processor and code. Results of another are not taken up again.
///
/// # Errors
/// A process that cannot be started.
pub fn measured_of(places: &Places) -> Result<String> {
    let git = |arguments: &[&str]| -> Result<String> {
        let output = Command::new("git").current_dir(&places.root).args(arguments).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // But for what this itself writes.
    let own = ["--", ":!docs/speed.jsonl", ":!docs/PEERS.md"];
    let status = ["status", "--porcelain", "--untracked-files=no"];
    let changed = !git(&[&status[..], &own].concat())?.is_empty();
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let code = if changed { format!("{commit} and changes") } else { commit };
    Ok(format!("{code}; {cores} threads of {}", load::processor()))
}

/// How comparisons are run.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Where things are.
    pub places: &'a Places,
    /// [`measured_of`].
    pub of: &'a str,
    /// Times that ours and theirs take turns.
    pub rounds: usize,
    /// Rows that were measured before: those of this machine and code are not measured again.
    pub known: &'a [Measured],
}

/// Runs ours and theirs in turn for every row of a topic: for each number of threads and each case,
/// first our benches, then the case, and so on. Alternations count during which other programs used at most [`BUSY`] of a core.
///
/// A row is handed to `keep` as soon as it is measured; one that cannot be is told to `complain`.
///
/// # Errors
/// A process that cannot be started, and those of `keep`.
pub fn run(
    topic: &Topic,
    plan: &Plan<'_>,
    mut keep: impl FnMut(Measured) -> Result<()>,
    mut complain: impl FnMut(String),
) -> Result<()> {
    let places = plan.places;
    let Some(python) = places.python() else {
        return Err(Error::new(ErrorKind::NotFound, "the peers' environments are not set up"));
    };
    let mut cases: Vec<(&str, u32)> = Vec::new();
    for row in &topic.rows {
        for &threads in &row.threads {
            let known = plan.known.iter().any(|m| m.is_of((topic, row, threads), plan.of));
            if !known && !cases.contains(&(&row.case, threads)) {
                cases.push((&row.case, threads));
            }
        }
    }
    for (done, (case, threads)) in cases.iter().enumerate() {
        let of_case = |r: &&Row| r.case == *case && r.threads.contains(threads);
        let rows: Vec<&Row> = topic.rows.iter().filter(of_case).collect();
        let mut found = vec![(Vec::new(), String::new()); rows.len()];
        for round in 0..plan.rounds {
            let of = cases.len();
            let at = format!("case {} of {of}, turn {} of {}", done + 1, round + 1, plan.rounds);
            eprintln!("{}: {case}, {threads} threads ({at})", topic.topic);
            let mut ours = Vec::new();
            for row in &rows {
                let load = Load::begin();
                let mut ids: Vec<&String> = core::iter::once(&row.id).chain(&row.limit).collect();
                ids.dedup();
                for id in ids {
                    bench(&row.bench, id, *threads, places)?;
                }
                let rate = our_rate(&places.target.join("criterion"), row);
                ours.push(rate.map(|rate| (rate, load.others())));
            }
            let load = Load::begin();
            let script = places.root.join("benches/peers").join(&topic.script);
            let output = Command::new(&python)
                .arg(&script)
                .arg(case)
                .env("PEERS_ENVS", &places.environments)
                .env("BENCH_LIMIT", std::env::var_os("BENCH_LIMIT").unwrap_or("120".into()))
                .envs(thread_variables(*threads))
                .stderr(Stdio::inherit())
                .output()?;
            let theirs_busy = load.others();
            let text = String::from_utf8_lossy(&output.stdout);
            if !output.status.success() {
                complain(format!("{}: case {case} failed: {}", topic.script, output.status));
            }
            for ((row, ours), found) in rows.iter().zip(ours).zip(&mut found) {
                match (ours, their_rate(&text, row)) {
                    (Ok(((ours, over_limit), busy)), Ok((theirs, peer))) => {
                        let busy = busy.max(theirs_busy);
                        found.1 = peer;
                        found.0.push(Alternation { ours, theirs, over_limit, busy });
                    }
                    (Err(e), _) | (_, Err(e)) => complain(e.to_string()),
                }
            }
        }
        for (row, (mut alternations, peer)) in rows.into_iter().zip(found) {
            let all = alternations.len();
            alternations.retain(|a| a.busy <= BUSY);
            match Measured::new((topic, row, *threads), peer, plan.of, alternations) {
                Some(measured) => keep(measured)?,
                None if all > 0 => complain(format!(
                    "{}, {threads} threads: other programs used more than {BUSY} of a core in each of {all} turns",
                    row.what
                )),
                None => {}
            }
        }
    }
    Ok(())
}

fn thread_variables(threads: u32) -> Vec<(&'static str, String)> {
    [
        "BENCH_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "RAYON_NUM_THREADS",
    ]
    .map(|name| (name, threads.to_string()))
    .to_vec()
}

fn bench(target: &str, id: &str, threads: u32, places: &Places) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(&places.root)
        .args(["bench", "--quiet", "--package", "benches", "--bench", target, "--"])
        .args(["--warm-up-time", "1", "--exact", id])
        .envs(thread_variables(threads))
        .stdout(Stdio::null())
        .status()?;
    if status.success() {
        return Ok(());
    }
    Err(Error::other(format!("bench {target} {id} failed: {status}")))
}

/// The table of a run.
#[must_use]
pub fn table(rows: &[Measured]) -> String {
    let heads = ["what", "threads", "ours", "theirs", "unit", "ours/theirs", "over limit", "peer"];
    let mut lines = vec![heads.map(String::from)];
    lines.extend(rows.iter().map(|r| {
        [
            r.what.clone(),
            r.threads.to_string(),
            format!("{:.3e}", r.ours),
            format!("{:.3e}", r.theirs),
            r.unit.clone(),
            format!("{:.2}", r.ratio),
            r.over_limit.map_or_else(String::new, |over| format!("{over:.2}")),
            r.peer.clone(),
        ]
    }));
    let width = |column: usize| lines.iter().map(|l| l[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..8).map(width).collect();
    lines
        .iter()
        .map(|line| {
            let cells: Vec<String> =
                line.iter().zip(&widths).map(|(cell, &w)| format!("{cell:w$}")).collect();
            format!("{}\n", cells.join("  ").trim_end())
        })
        .collect()
}

#[cfg(test)]
mod tests;
