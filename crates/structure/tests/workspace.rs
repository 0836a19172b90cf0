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
    const MOST: (usize, usize) = (390, 1254);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (types, functions) = Report::of(&root).expect("reads").public();
    assert!(types <= MOST.0 && functions <= MOST.1, "{types} types, {functions} functions");
    // A reader that sees nothing would pass.
    assert!(types > 200 && functions > 600, "{types} types, {functions} functions");
}

/// Where the tests of a crate are one program, each file is a module of it or a program of its own: a file that
/// is neither would not run, and nobody would notice.
#[test]
fn every_file_of_tests_runs() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seen = 0;
    for entry in std::fs::read_dir(crates).expect("a folder") {
        let folder = entry.expect("an entry").path();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        if !manifest.contains("autotests = false") {
            continue;
        }
        let main = std::fs::read_to_string(folder.join("tests/main.rs")).expect("a program");
        for file in std::fs::read_dir(folder.join("tests")).expect("a folder") {
            let file = file.expect("an entry").path();
            let name = file.file_stem().expect("a name").to_str().expect("UTF-8");
            if file.extension().is_none_or(|e| e != "rs") || name == "main" {
                continue;
            }
            let module = main.lines().any(|line| line == format!("mod {name};"));
            let program = manifest.lines().any(|line| line == format!("name = \"{name}\""));
            assert!(module != program, "{} is a module or a program", file.display());
            seen += 1;
        }
    }
    assert!(seen > 80, "{seen} files");
}
