//! The command line against 40-digit reference values, and its errors.

use serde_json::Value;
use std::process::{Command, Output};

fn dps(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dps"))
        .args(arguments.split_whitespace())
        .output()
        .expect("the binary runs")
}

fn json(arguments: &str) -> Value {
    let output = dps(&format!("{arguments} --json"));
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Values computed from the profiles with 40-digit arithmetic (see `tools/reference`).
#[test]
fn calibrations_match_the_reference_on_the_safe_side() {
    for (arguments, key, exact) in [
        ("gaussian --epsilon 1 --delta 1e-6 --sensitivity 1", "sigma", 4.224_678_889_326_835),
        ("gaussian --epsilon 200 --delta 1e-8", "sigma", 0.065_783_636_299_354_49),
        ("gaussian --epsilon 1 --delta 1e-100", "sigma", 21.009_409_042_300_62),
        ("range-finder --k 20 --epsilon 1 --delta 1e-6", "rho", 21.995_262_854_384_915),
        ("jl --rows 100 --epsilon 1 --delta 1e-6", "w2", 35.540_172_106_975_25),
        ("jl --rows 100 --adjacency replace --epsilon 1 --delta 1e-6", "w2", 43.411_286_087_968_35),
        ("wishart --dim 10 --dof 52 --epsilon 1 --delta 1e-6", "scale", 0.996_370_971_891_406_7),
    ] {
        let record = json(&format!("calibrate {arguments}"));
        let value = record[key].as_f64().expect("a number");
        let excess = value / exact - 1.0;
        assert!((-1e-14..1e-9).contains(&excess), "{arguments}: {value} against {exact}");
        let target = record["delta"].as_f64().expect("delta");
        assert!(record["true_delta"].as_f64().expect("true delta") <= target);
    }
    assert!(
        (json("calibrate laplace --epsilon 2 --delta 0")["scale"].as_f64().unwrap() - 0.5).abs()
            < 1e-9
    );
}

#[test]
fn published_rules_show_what_they_truly_give() {
    let refused =
        dps("calibrate gaussian --rule hardt-roth-theorem26 --epsilon 1 --delta 1e-6 --json");
    assert_eq!(refused.status.code(), Some(1));
    let error: Value = serde_json::from_slice(&refused.stdout).expect("JSON");
    let true_delta = error["true_delta"].as_f64().expect("shown");
    assert!((true_delta - 9.3e-6).abs() < 1e-7, "{true_delta}");
    let accepted = json(
        "calibrate gaussian --rule hardt-roth-theorem26 --accept-true-delta --epsilon 1 --delta 1e-6",
    );
    assert_eq!(accepted["true_delta"], error["true_delta"]);
    let wishart =
        json("calibrate wishart --dim 10 --rule sheffet-wishart --epsilon 1 --delta 1e-6");
    assert_eq!(wishart["dof"], 436);
}

#[test]
fn mistakes_are_named() {
    for (arguments, words) in [
        ("calibrate gaussian --epsilon 1", "--delta"),
        ("calibrate gaussian --delta 1e-6", "--epsilon"),
        ("calibrate gaussian --epsilon 0 --delta 1e-6", "epsilon = 0"),
        ("calibrate gaussian --epsilon 1 --delta 1", "delta = 1"),
        ("calibrate gaussian --epsilon 1 --delta 0", "delta"),
        ("calibrate gaussian --epsilon 1 --delta 1e-6 --sensitivity nan", "sensitivity"),
        // Sums over bits take time with the root of their number: no certificate has more.
        (
            "calibrate randomized-response --bits 18446744073709551615 --epsilon 1 --delta 1e-6",
            "--bits",
        ),
        (
            "calibrate kary-response --alphabet 4 --responses 18446744073709551615 --epsilon 1 --delta 0",
            "--responses",
        ),
        ("calibrate wishart --dim 10 --dof 9 --epsilon 1 --delta 1e-6", "dof = 9"),
        ("calibrate gaussian --rule nobody --epsilon 1 --delta 1e-6", "dwork-roth-classic"),
        ("calibrate laplace --rule sheffet-jl --epsilon 1 --delta 1e-6", "sheffet-jl"),
    ] {
        let output = dps(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(words), "{arguments}: {text}");
        assert!(output.stdout.is_empty());
    }
}
