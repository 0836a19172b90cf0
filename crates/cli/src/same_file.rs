//! Files that are one file, by whatever names.

use crate::error::{Error, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Refuses a file that is named twice, by whatever names: each of its rows would be two, and less would be hidden of it than is
/// promised.
pub(crate) fn once(first: &Path, more: &[PathBuf]) -> Result<()> {
    let mut seen = HashSet::new();
    for path in all(first, more) {
        // What is not there is said where it is opened.
        if identity(path).is_some_and(|file| !seen.insert(file)) {
            let name = path.display();
            return Err(Error::usage(format!(
                "{name} is named twice: each of its rows would enter twice; name it once"
            )));
        }
    }
    Ok(())
}

/// Refuses a public file that is one of those that are released: what follows from it is published, and nothing pays for that.
pub(crate) fn refuse_released(
    option: &str,
    public: &Path,
    first: &Path,
    more: &[PathBuf],
) -> Result<()> {
    let file = identity(public);
    if file.is_none() || all(first, more).all(|released| identity(released) != file) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{option} names a file that is released: what follows from it is not public, and no guarantee covers it; set rows or \
         sets aside that may be known"
    )))
}

fn all<'a>(first: &'a Path, more: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
    [first].into_iter().chain(more.iter().map(PathBuf::as_path))
}

/// Which file it is, links or not.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    // Standard input may be a file that has a name too.
    let path = if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path };
    path.metadata().ok().map(|of| (of.dev(), of.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
