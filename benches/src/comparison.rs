//! Our benches beside other libraries' cases: which meets which is data in
//! `benches/comparisons/*.json`, one file a topic.

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
}

/// A measured comparison: one line of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// `ours / theirs`: above 1 we are faster.
    pub ratio: f64,
    /// What their script says about a busy machine; empty when it was quiet.
    pub remark: String,
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

/// Our rate from what criterion wrote: work over the median time of an iteration.
///
/// # Errors
/// Files that are missing or not criterion's; the message names them.
pub(crate) fn our_rate(criterion: &Path, row: &Row) -> Result<f64> {
    let folders = criterion_folders(criterion, &row.id);
    let measured = folders.iter().find(|f| f.join("estimates.json").exists());
    let folder = measured.unwrap_or(&folders[0]);
    let read = |name: &str| -> Result<serde_json::Value> {
        let file = folder.join(name);
        let text = std::fs::read_to_string(&file).map_err(|e| bad(&file, e))?;
        serde_json::from_str(&text).map_err(|e| bad(&file, e))
    };
    let nanoseconds = read("estimates.json")?["median"]["point_estimate"].as_f64();
    let work = match row.work {
        Some(work) => Some(work),
        None => {
            let stated = &read("benchmark.json")?["throughput"];
            stated.as_object().and_then(|t| t.values().next()).and_then(serde_json::Value::as_f64)
        }
    };
    match (work, nanoseconds) {
        (Some(work), Some(ns)) if ns > 0.0 => Ok(work / (1e-9 * ns)),
        _ => Err(bad(folder, "no median time, or no work of an iteration")),
    }
}

/// Their rate from the lines a script printed.
///
/// # Errors
/// No measurement fits, or its unit is not the row's.
fn their_rate(output: &str, row: &Row) -> Result<(f64, String, String)> {
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
    let remark = line.contended.as_str().unwrap_or_default().to_owned();
    Ok((rate, format!("{} {}", line.lib, line.version), remark))
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

/// Runs ours and theirs in turn for every row of a topic: for each number of threads and each case,
/// first our benches, then the case.
///
/// A row that cannot be measured is told to `complain` and skipped.
///
/// # Errors
/// A process that cannot be started.
pub fn run(
    topic: &Topic,
    places: &Places,
    mut complain: impl FnMut(String),
) -> Result<Vec<Measured>> {
    let Some(python) = places.python() else {
        return Err(Error::new(ErrorKind::NotFound, "the peers' environments are not set up"));
    };
    let mut measured = Vec::new();
    let mut cases: Vec<(&str, u32)> = Vec::new();
    for row in &topic.rows {
        for &threads in &row.threads {
            if !cases.contains(&(&row.case, threads)) {
                cases.push((&row.case, threads));
            }
        }
    }
    for (case, threads) in cases {
        let of_case = |r: &&Row| r.case == case && r.threads.contains(&threads);
        let mut ours = Vec::new();
        for row in topic.rows.iter().filter(of_case) {
            bench(row, threads, places)?;
            ours.push((row, our_rate(&places.target.join("criterion"), row)));
        }
        let script = places.root.join("benches/peers").join(&topic.script);
        let output = Command::new(&python)
            .arg(&script)
            .arg(case)
            .env("PEERS_ENVS", &places.environments)
            .env("BENCH_LIMIT", std::env::var_os("BENCH_LIMIT").unwrap_or("30".into()))
            .envs(thread_variables(threads))
            .stderr(Stdio::inherit())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            complain(format!("{}: case {case} failed: {}", topic.script, output.status));
        }
        for (row, ours) in ours {
            match (ours, their_rate(&text, row)) {
                (Ok(ours), Ok((theirs, peer, remark))) => measured.push(Measured {
                    topic: topic.topic.clone(),
                    what: row.what.clone(),
                    threads,
                    unit: row.unit.clone(),
                    ours,
                    theirs,
                    peer,
                    ratio: ours / theirs,
                    remark,
                }),
                (Err(e), _) | (_, Err(e)) => complain(e.to_string()),
            }
        }
    }
    Ok(measured)
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

fn bench(row: &Row, threads: u32, places: &Places) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(&places.root)
        .args(["bench", "--quiet", "--package", "benches", "--bench", &row.bench, "--"])
        .args(["--exact", &row.id])
        .envs(thread_variables(threads))
        .stdout(Stdio::null())
        .status()?;
    if status.success() {
        return Ok(());
    }
    Err(Error::other(format!("bench {} {} failed: {status}", row.bench, row.id)))
}

/// The table of a run.
#[must_use]
pub fn table(rows: &[Measured]) -> String {
    let mut lines = vec![
        ["what", "threads", "ours", "theirs", "unit", "ours/theirs", "peer"].map(String::from),
    ];
    lines.extend(rows.iter().map(|r| {
        [
            r.what.clone(),
            r.threads.to_string(),
            format!("{:.3e}", r.ours),
            format!("{:.3e}", r.theirs),
            r.unit.clone(),
            format!("{:.2}", r.ratio),
            if r.remark.is_empty() { r.peer.clone() } else { format!("{} ({})", r.peer, r.remark) },
        ]
    }));
    let width = |column: usize| lines.iter().map(|l| l[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
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
