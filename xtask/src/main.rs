//! Runs the experiments, the benches and everything CI checks.
fn main() {}
