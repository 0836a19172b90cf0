//! The rules hold in this workspace.

use std::path::Path;
use structure::Report;

#[test]
fn this_workspace_has_no_knot_and_no_hidden_edge() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let complaints = Report::of(&root).expect("reads").complaints().expect("has its page");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
