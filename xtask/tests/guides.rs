//! The commands of the guide to the papers are run as they are written.

#[path = "../../crates/cli/tests/support/guide.rs"]
mod guide;

use std::path::Path;

#[test]
fn regenerating_the_papers() {
    let xtask = Path::new(env!("CARGO_BIN_EXE_xtask"));
    // `cargo xtask` would only build and start the binary that these tests were built with.
    let cargo = "cargo() { test \"$1\" = xtask; shift; command xtask \"$@\"; }";
    let ran =
        guide::run("docs/guides/regenerate-the-papers.md", &guide::root(), xtask, cargo, |_| true);
    assert!(ran >= 2);
}
