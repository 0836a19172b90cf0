//! A ledger of a hundred thousand releases is read once, and held once.
//!
//! Work is counted by calls of the allocator, not by a clock: a second reading, a copy of the entries or a step that
//! goes through all of them for each shows. One test in one process, because the allocator is the process's.

#[path = "support/counting.rs"]
mod counting;
#[path = "support/ledgers.rs"]
mod ledgers;

use counting::counted;
use dp_core::accounting::{FilterRule, Ledger, Method};
use dp_core::ledger_file::BudgetFile;
use dp_core::{Delta, Guarantee};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a release may take in memory, and its part; calls of the allocator for its three lines.
const BYTES: usize = 700;
const PART_BYTES: usize = 200;
const CALLS: usize = 100;

/// All that `dps ledger show` asks a ledger.
fn shown(path: &Path) -> usize {
    let file = BudgetFile::open(path).expect("a ledger");
    let delta = Delta::new(1e-2).expect("valid");
    let answers = Method::ALL.map(|method| file.ledger().epsilon(delta, method).is_ok());
    assert!(answers.contains(&true));
    file.ledger().entries().len()
}

#[test]
fn a_long_ledger_is_read_once_and_held_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let used = |family: &str, name: &str, entries: usize| {
        let path = folder.path().join(name);
        ledgers::write(&path, family, FilterRule::Gdp, entries);
        let (read, used) = counted(|| shown(&path));
        assert_eq!(read, entries);
        used
    };
    let families = [("gaussian-parts", BYTES + PART_BYTES), ("gaussian", BYTES)];
    let [_, long] = families.map(|(family, bytes)| {
        let (short, long) = (used(family, "short", 2_000), used(family, "long", 20_000));
        let (most, times) = (long.most - short.most, long.times - short.times);
        assert!(most < 18_000 * bytes, "{family}: {} bytes a release", most / 18_000);
        assert!(times < 18_000 * CALLS, "{family}: {} calls a release", times / 18_000);
        long
    });

    // Lines that say nothing are refused in little memory, however many there are.
    let ledger = std::fs::read(folder.path().join("short")).expect("a ledger");
    let empty = folder.path().join("empty");
    std::fs::write(&empty, [&ledger[..221], &vec![b'\n'; 4 << 20][..]].concat()).expect("written");
    let (refused, used) = counted(|| BudgetFile::open(&empty).is_err());
    assert!(refused && used.most < 8 << 20, "{used:?}");

    // A payment costs one line more, whatever stands before it.
    let path = folder.path().join("long");
    let before = std::fs::metadata(&path).expect("exists").len();
    let guarantee: &Guarantee = &ledgers::guarantee("gaussian", 3);
    let (_, paid) = counted(|| BudgetFile::declare(&path, guarantee, 1, "one more").map(drop));
    assert!(paid.times < long.times + 10_000, "{paid:?}");
    let written = std::fs::metadata(&path).expect("exists").len() - before;
    assert!(written < 1_000, "{written} bytes");

    // Losses of very different sizes: three releases at epsilon 1, and one of almost nothing.
    for kind in ["pure-dp", "laplace"] {
        for small in [1e-4, 1e-5, 1e-9] {
            let mut ledger = Ledger::new(ledgers::adjacency());
            for epsilon in [1.0, 1.0, 1.0, small] {
                let profile = match kind {
                    "laplace" => json!({"kind": kind, "sensitivity": epsilon, "scale": 1.0}),
                    _ => json!({"kind": kind, "epsilon": epsilon}),
                };
                let done = ledger.spend_accepting_claim(&ledgers::declared(profile), 1, kind);
                done.expect("no limit");
            }
            let delta = Delta::new(1e-6).expect("valid");
            let (answers, used) =
                counted(|| Method::ALL.map(|method| ledger.epsilon(delta, method).is_ok()));
            assert!(answers[6] && used.most < 200 << 20, "{kind} {small}: {used:?}");
        }
    }

    // The command itself, of every family, where the process may have 200 MiB in all.
    if cfg!(target_os = "linux") {
        for (family, rules) in ledgers::FAMILIES {
            let entries = if family == "gaussian" { 100_000 } else { 1_000 };
            ledgers::write(&folder.path().join(family), family, rules[0], entries);
            let dps = env!("CARGO_BIN_EXE_dps");
            let run = format!("ulimit -d 204800; exec {dps} ledger show {family}");
            let mut command = Command::new("sh");
            // Each thread reserves room for its stack.
            command.args(["-c", &run]).env("RAYON_NUM_THREADS", "2");
            let ended = command.current_dir(folder.path()).stdin(Stdio::null()).output();
            let ended = ended.expect("runs");
            let words = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success(), "{family}: {words}");
        }
    }
}

/// Writes them where `DPS_LEDGERS` says, those of families whose name holds `DPS_FAMILY`, for measurements of a
/// released build.
#[test]
#[ignore = "writes files for measurements"]
fn write_all() {
    let folder = std::env::var("DPS_LEDGERS").expect("DPS_LEDGERS names a folder");
    let only = std::env::var("DPS_FAMILY").unwrap_or_default();
    for (family, rules) in ledgers::FAMILIES.iter().filter(|(family, _)| family.contains(&only)) {
        for rule in *rules {
            let name = format!("{family}-{rule:?}").to_lowercase();
            ledgers::write(&Path::new(&folder).join(name), family, *rule, 100_000);
        }
    }
}
