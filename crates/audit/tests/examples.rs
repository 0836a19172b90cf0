//! The examples of the libraries run.

#[path = "../../linalg-dp/examples/covariance.rs"]
mod covariance;
#[path = "../../dp-core/examples/ledger.rs"]
mod ledger;
#[path = "../../sketch/examples/sets.rs"]
mod sets;
#[path = "../../sketch/examples/vectors.rs"]
mod vectors;

#[test]
fn ledger_runs() {
    ledger::main().expect("runs");
}

#[test]
fn vectors_runs() {
    vectors::main().expect("runs");
}

#[test]
fn sets_runs() {
    sets::main().expect("runs");
}

#[test]
fn covariance_runs() {
    covariance::main().expect("runs");
}
