//! Data sets that may not be shipped: how to obtain and check them.

use crate::error::{Error, Result};
use dp_core::output::{self, Access};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A data set that a command can fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obtainable {
    /// MovieLens 100k (GroupLens; its licence forbids passing it on), from the example data of the
    /// Python package recbole 1.2.1.
    MovieLens100k,
}

impl Obtainable {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::MovieLens100k];

    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MovieLens100k => "movielens-100k",
        }
    }

    /// File that ends up in the folder.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::MovieLens100k => "ml-100k.inter",
        }
    }

    /// SHA-256 of the file.
    #[must_use]
    pub fn sha256(self) -> &'static str {
        match self {
            Self::MovieLens100k => {
                "4edb74e2a81178c2ba9ff381495f754f996c4aea351b1272ca36b43da0935eff"
            }
        }
    }

    /// What to do without the command.
    #[must_use]
    pub fn by_hand(self) -> &'static str {
        match self {
            Self::MovieLens100k => {
                "By hand: get MovieLens 100k from GroupLens, unpack it, and put its file u.data into this \
                 folder (or name the folder with --data). The HetRec 2011 files user_ratedmovies.dat and \
                 user_artists.dat are read from the same place."
            }
        }
    }

    /// Downloads with `pip`, unpacks with Python's `zipfile`, checks the digest, and leaves the file in `folder`.
    /// Does nothing when the right file is already there.
    ///
    /// # Errors
    /// When a program is missing or fails, or when the digest is another one.
    pub fn fetch(self, folder: &Path) -> Result<PathBuf> {
        let target = folder.join(self.file());
        if target.is_file() && check(&target, self.sha256()).is_ok() {
            return Ok(target);
        }
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        let work = tempfile::tempdir_in(folder).map_err(|e| Error::io(folder, e))?;
        let (package, wheel, inside) = match self {
            Self::MovieLens100k => (
                "recbole==1.2.1",
                "recbole-1.2.1-py3-none-any.whl",
                "recbole/dataset_example/ml-100k/ml-100k.inter",
            ),
        };
        let python = |arguments: &[&str]| run("python3", arguments, work.path());
        python(&["-m", "pip", "download", "--quiet", "--no-deps", "--dest", ".", package])?;
        python(&["-m", "zipfile", "-e", wheel, "unpacked"])?;
        let unpacked = work.path().join("unpacked").join(inside);
        let bytes = check(&unpacked, self.sha256())?;
        // Flushed before it takes its name: after a power cut the file is right or absent.
        output::write(&target, &bytes, Access::Shared)?;
        Ok(target)
    }
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<()> {
    let status = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .status()
        .map_err(|e| Error::io(program, e))?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::malformed(
            format!("{program} {}", arguments.join(" ")),
            format!("ended with {status}"),
        ))
    }
}

/// The bytes of a file of this SHA-256.
fn check(path: &Path, expected: &str) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    let found: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    if found == expected {
        Ok(bytes)
    } else {
        let reason = format!("SHA-256 is {found}, expected {expected}");
        Err(Error::malformed(path.display().to_string(), reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_another_digest_is_refused() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("x");
        std::fs::write(&path, b"abc").expect("written");
        // SHA-256 of "abc", FIPS 180-4.
        let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(check(&path, right).expect("the right digest"), b"abc");
        std::fs::write(&path, b"abd").expect("written");
        let error = check(&path, right).expect_err("altered").to_string();
        assert!(error.contains(right), "{error}");
    }

    #[test]
    fn a_failing_program_is_named() {
        let folder = std::env::temp_dir();
        let error = run("cargo", &["no-such-command"], &folder).expect_err("fails").to_string();
        assert!(error.contains("cargo no-such-command"), "{error}");
    }
}
