//! The rules hold in this workspace.

use std::path::Path;
use structure::Report;

#[test]
fn this_workspace_has_no_knot_and_no_hidden_edge() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let complaints = Report::of(&root).expect("reads").complaints().expect("has its page");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// What nobody outside its crate uses is not public. Whoever adds something that others use raises the number
/// in the same change.
#[test]
fn no_more_is_public_than_is_said_here() {
    const MOST: (usize, usize) = (390, 1232);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (types, functions) = Report::of(&root).expect("reads").public();
    assert!(types <= MOST.0 && functions <= MOST.1, "{types} types, {functions} functions");
    // A reader that sees nothing would pass.
    assert!(types > 200 && functions > 600, "{types} types, {functions} functions");
}
