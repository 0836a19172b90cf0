//! `cargo xtask bench --instructions`: counts what noise on the machine cannot move.
//!
//! Each kernel of `benches/examples/kernels.rs` runs under valgrind twice, done three times over and once: half of the difference is what
//! one takes, start and tables left out. Valgrind shows programs a processor with AVX2 and without AVX-512, whatever it runs on.

use crate::environment::folders;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Instructions beyond the stored ones that count as slower: compilers of one version and systems differ by less.
const MORE: f64 = 0.05;
/// Where the counts are stored.
const STORED: &str = "benches/instructions.json";

fn output(command: &mut Command) -> Outcome<(String, String)> {
    let output = command.output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    if output.status.success() {
        Ok((out, errors))
    } else {
        Err(format!("{command:?} failed: {errors}").into())
    }
}

/// Instructions of a kernel that is done so many times.
fn count(program: &Path, kernel: &str, times: u32) -> Outcome<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    command.arg(program).args([kernel, &times.to_string()]).env("RAYON_NUM_THREADS", "1");
    read(&output(&mut command)?.1)
}

/// The number in valgrind's line `I   refs:      1,234`.
fn read(report: &str) -> Outcome<u64> {
    let line = report
        .lines()
        .find_map(|line| line.split_once("refs:"))
        .ok_or("valgrind counted nothing")?;
    Ok(line.1.trim().replace(',', "").parse()?)
}

/// Kernels that take more than was stored, or were not stored, in words.
fn worse(stored: &BTreeMap<String, u64>, counted: &BTreeMap<String, u64>) -> Vec<String> {
    let judged = counted.iter().filter_map(|(name, &now)| {
        let Some(&before) = stored.get(name) else { return Some(format!("{name}: not stored")) };
        let more = now as f64 / before as f64 - 1.0;
        (more > MORE)
            .then(|| format!("{name}: {:.1} % more instructions than stored", 100.0 * more))
    });
    judged.collect()
}

/// Counts and compares, or stores.
pub(crate) fn run(store: bool, optional: bool) -> Outcome<ExitCode> {
    let (root, target) = folders();
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("SKIPPED: valgrind is not installed, so no instructions were counted.");
        return Ok(if optional { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let mut build = Command::new("cargo");
    // Of all packages: for one alone its libraries would be built with other features, once more.
    build.current_dir(&root).args(["build", "--release", "--quiet", "--example", "kernels"]);
    output(&mut build)?;
    let program = target.join("release/examples/kernels");
    let mut counted = BTreeMap::new();
    for kernel in output(&mut Command::new(&program))?.0.lines() {
        let instructions = (count(&program, kernel, 3)? - count(&program, kernel, 1)?) / 2;
        println!("{kernel:24} {instructions:>12}");
        counted.insert(kernel.to_owned(), instructions);
    }
    let file = root.join(STORED);
    if store {
        std::fs::write(file, serde_json::to_string_pretty(&counted)? + "\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let stored = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    let worse = worse(&stored, &counted);
    worse.iter().for_each(|line| eprintln!("{line}"));
    Ok(if worse.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    #[test]
    fn counts_are_read_and_compared() {
        assert_eq!(super::read("==7== x\n==7== I   refs:      1,234,567\n").unwrap(), 1_234_567);
        assert!(super::read("==7== nothing").is_err());
        let of = |all: &[(&str, u64)]| all.iter().map(|&(n, i)| (n.to_owned(), i)).collect();
        let stored = of(&[("a", 1000), ("b", 1000), ("c", 1000)]);
        let found = super::worse(&stored, &of(&[("a", 1049), ("b", 1051), ("c", 10), ("d", 1)]));
        assert_eq!(found, ["b: 5.1 % more instructions than stored", "d: not stored"]);
    }
}
