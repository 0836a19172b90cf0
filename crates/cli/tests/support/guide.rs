//! Runs the commands of a guide as they are written.

#![allow(dead_code)] // every test file uses its part

use std::path::{Path, PathBuf};
use std::process::Command;

/// Root of the repository.
pub(crate) fn root() -> PathBuf {
    let this = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = this.ancestors().find(|folder| folder.join("docs/guides").is_dir());
    found.expect("a checkout").to_owned()
}

/// The fenced blocks of a language.
pub(crate) fn blocks(markdown: &str, language: &str) -> Vec<String> {
    let (mut found, mut block) = (Vec::new(), None);
    for line in markdown.lines() {
        match &mut block {
            None if line == format!("```{language}") => block = Some(String::new()),
            Some(_) if line == "```" => found.extend(block.take()),
            Some(text) => *text += &format!("{line}\n"),
            None => {}
        }
    }
    found
}

/// Runs the blocks of shell commands that `chosen` picks, in one shell, after `prelude`, with the
/// folder of `binary` on the path; how many there are.
pub(crate) fn run(
    guide: &str,
    folder: &Path,
    binary: &Path,
    prelude: &str,
    chosen: impl Fn(&str) -> bool,
) -> usize {
    let text = std::fs::read_to_string(root().join(guide)).expect("a guide");
    let blocks: Vec<String> = blocks(&text, "sh").into_iter().filter(|b| chosen(b)).collect();
    let tools = binary.parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-eu", "-c", &format!("{prelude}\n{}", blocks.concat())])
        .current_dir(folder)
        .env("PATH", format!("{tools}:{path}"))
        .output()
        .expect("bash runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{guide}: {shown}");
    blocks.len()
}
