//! Guarantees handed to other accountants and back: dp_accounting and OpenDP, where a Python has them
//! (`tools/verify/requirements.txt`, in `tools/verify/.venv` or on the path, or the program named by
//! `DPS_PYTHON`).

use dp_core::accounting::{Foreign, Ledger};
use dp_core::profile::CoordinateProfile;
use dp_core::{
    Adjacency, Budget, Delta, Epsilon, Guarantee, L1Sensitivity, L2Sensitivity, LaplaceScale,
    NoiseScale, PrivacyProfile, Probability, Profile,
};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SCRIPT: &str = include_str!("accountants.py");
/// As in the script.
const DELTAS: [f64; 2] = [1e-4, 1e-6];

/// A Python with this package; without one it says loudly that nothing is tested.
fn python(package: &str) -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/verify/.venv/bin/python");
    let named = std::env::var_os("DPS_PYTHON").map(PathBuf::from);
    let places = named.into_iter().chain([tools, PathBuf::from("python3")]);
    let works = |python: &PathBuf| {
        let run = Command::new(python).args(["-c", &format!("import {package}")]).output();
        run.is_ok_and(|output| output.status.success())
    };
    let found = places.into_iter().find(works);
    if found.is_none() {
        // Not a macro: the test harness would hold it back.
        let line = format!("SKIPPED: guarantees handed to {package}: no python3 has it\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    found
}

fn asked(python: &Path, package: &str, ours: &str) -> Value {
    let mut child = Command::new(python)
        .args(["-c", SCRIPT, package])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(ours.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{package}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn row() -> Adjacency {
    serde_json::from_str(r#"{"kind": "add-remove-row", "bound": 1.0}"#).unwrap()
}

fn epsilon(foreign: &Foreign, delta: f64) -> f64 {
    foreign.guarantee(Some(Delta::new(delta).unwrap())).unwrap().budget().epsilon.get()
}

/// A Gaussian, Laplace noise, a mixture, and the composition of all of them.
fn ours() -> Vec<Foreign> {
    let keep = Probability::new(0.8).unwrap();
    let profiles = [
        Profile::Gaussian {
            sensitivity: L2Sensitivity::new(1.0).unwrap(),
            sigma: NoiseScale::new(2.0).unwrap(),
        },
        Profile::Laplace {
            sensitivity: L1Sensitivity::new(1.0).unwrap(),
            scale: LaplaceScale::new(3.0).unwrap(),
        },
        Profile::BinomialMixture {
            trials: 10,
            probability: Probability::new(0.05).unwrap(),
            coordinate: CoordinateProfile::RandomizedResponse { keep },
        },
    ];
    let mut ledger = Ledger::new(row());
    let mut all = Vec::new();
    for profile in profiles {
        let epsilon = Epsilon::new(0.2).unwrap();
        let delta = Delta::new(profile.log_delta(epsilon).delta() * 1.01).unwrap();
        let budget = Budget { epsilon, delta };
        let guarantee = Guarantee::declared(row(), budget, profile, "us", "a test").unwrap();
        ledger.spend_accepting_claim(&guarantee, 2, "ours").unwrap();
        all.push(Foreign::of(&guarantee).unwrap());
    }
    all.push(Foreign::of_ledger(&ledger).unwrap());
    all
}

fn handed_over(package: &str) {
    let Some(python) = python(package) else { return };
    let ours = ours();
    let texts: Vec<String> = ours.iter().map(Foreign::to_json).collect();
    let answers = asked(&python, package, &format!("[{}]", texts.join(",")));
    let mut compared = 0;
    for (foreign, answer) in ours.iter().zip(answers["of ours"].as_array().unwrap()) {
        // What a package has no form for.
        let Some(theirs) = answer.as_array() else { continue };
        for (theirs, delta) in theirs.iter().zip(DELTAS) {
            let (theirs, own) = (theirs.as_f64().unwrap(), epsilon(foreign, delta));
            assert!((theirs / own - 1.0).abs() < 2e-3, "{package}: {theirs} for {own}");
            compared += 1;
        }
    }
    for theirs in answers["of theirs"].as_array().unwrap() {
        let foreign = Foreign::from_json(&theirs["form"].to_string()).unwrap();
        for (found, delta) in theirs["epsilons"].as_array().unwrap().iter().zip(DELTAS) {
            let own = match foreign.guarantee(None) {
                Ok(guarantee) => guarantee.budget().epsilon.get(),
                Err(_) => epsilon(&foreign, delta),
            };
            let found = found.as_f64().unwrap();
            assert!((own / found - 1.0).abs() < 2e-3, "{}: {own} for {found}", theirs["name"]);
            compared += 1;
        }
    }
    assert!(compared >= 8, "{package}: {compared}");
}

#[test]
fn dp_accounting_reads_and_writes_the_same_guarantees() {
    handed_over("dp_accounting");
}

#[test]
fn opendp_reads_and_writes_the_same_guarantees() {
    handed_over("opendp");
}
