//! Python environments of the project's own.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Why there is none.
pub(crate) struct Skipped(pub(crate) String);

/// The workspace, and where things are built.
pub(crate) fn folders() -> (PathBuf, PathBuf) {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    (root, target)
}

/// The interpreter of a new environment in `folder`, with the packages that this file names.
pub(crate) fn fresh(folder: &Path, packages: &Path) -> Result<PathBuf, Skipped> {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let made = Command::new(&python).args(["-m", "venv", "--clear"]).arg(folder).status();
    match made {
        Ok(status) if status.success() => {}
        Ok(_) => return Err(Skipped(format!("{} makes no environment", python.display()))),
        Err(error) => return Err(Skipped(format!("{}: {error}", python.display()))),
    }
    let interpreter = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let interpreter = folder.join(interpreter);
    let fetched = Command::new(&interpreter)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        // What is imported is compiled then: a small part of all.
        .args(["--no-compile", "-r"])
        .arg(packages)
        .status();
    match fetched {
        Ok(status) if status.success() => Ok(interpreter),
        _ => Err(Skipped(format!("the packages of {} cannot be fetched", packages.display()))),
    }
}

/// Runs an interpreter; what it compiles is kept, beside no source.
pub(crate) fn python(interpreter: &Path, target: &Path) -> std::io::Result<Command> {
    let mut command = Command::new(interpreter);
    command.env("PYTHONPYCACHEPREFIX", target.canonicalize()?.join("pycache"));
    Ok(command)
}
