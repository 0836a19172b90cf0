//! The budget file of a data set: a [`Ledger`] with a limit that survives crashes and races.
//!
//! A charge is entered **before** its release appears. The order is: take the
//! lock, read the file, let the ledger check the limit, write the new state to a temporary
//! file beside it, flush it to the disk, rename it over the old one, flush the folder. A
//! process that dies at any point leaves either the old state (nothing was released yet) or the
//! new one (paid, perhaps for nothing): never a state in which more was released than paid.
//! Processes exclude each other by a lock on `FILE.lock`, which the system gives back when a
//! process dies.
//!
//! A file with hard links is refused. What it cannot see: a copy of the file, a lock file that is
//! deleted while its holder is still at work, or a release made without naming the file.

use dp_core::accounting::{FilterRule, Ledger};
use dp_core::atomic_file::{Access, AtomicFile};
use dp_core::text::json_fault;
use dp_core::{Adjacency, Budget, Certificate, Guarantee};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Version of the file's layout.
pub const FORMAT: u32 = 1;

/// Why a budget file was not read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file or its folder could not be used.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a budget file, or its entries do not hold together.
    #[error("{path}: not a valid ledger: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A budget file is never overwritten by a new one.
    #[error("{0}: exists already; a ledger is never started again over an old one")]
    Exists(PathBuf),
    /// A file of several names would be split in two by the next change: each name has a lock of its
    /// own, and a new state takes the place of one name only.
    #[error(
        "{0}: has other names (hard links); a ledger must have one, or its budget could be spent once for each"
    )]
    SeveralNames(PathBuf),
    /// The ledger refused the charge; nothing was changed.
    #[error(transparent)]
    Refused(#[from] dp_core::Error),
}

/// The points a change passes, in order: what tests interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The lock is held.
    Locked,
    /// The old state is read.
    Read,
    /// The new state keeps the limit.
    Checked,
    /// The temporary file is written, perhaps not yet on the disk.
    Written,
    /// The new state has taken the old one's place and is on the disk.
    Entered,
}

impl Step {
    /// All steps in order.
    pub const ALL: [Self; 5] =
        [Self::Locked, Self::Read, Self::Checked, Self::Written, Self::Entered];
}

/// The content of a budget file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetFile {
    format: u32,
    data: String,
    ledger: Ledger,
}

impl BudgetFile {
    /// Starts the ledger of a data set; `data` is its public name.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Io`].
    pub fn create(
        path: &Path,
        data: &str,
        adjacency: Adjacency,
        limit: Budget,
        rule: FilterRule,
    ) -> Result<Self, Error> {
        let ledger = Ledger::with_limit(adjacency, limit, rule);
        let this = Self { format: FORMAT, data: data.to_owned(), ledger };
        let _lock = lock(path)?;
        if path.exists() {
            return Err(Error::Exists(path.to_owned()));
        }
        this.write(path)?.commit()?;
        Ok(this)
    }

    /// Reads a budget file; every entry and the limit are checked again.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Malformed`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let malformed = |reason| Error::Malformed { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => malformed("it is not text".into()),
            _ => io(path, e),
        })?;
        let this: Self = serde_json::from_str(&text).map_err(|e| malformed(json_fault(&e)))?;
        if this.format != FORMAT {
            return Err(malformed(format!("format {} is not {FORMAT}", this.format)));
        }
        Ok(this)
    }

    /// Enters `count` runs of a guarantee, on the disk, before anything is released.
    ///
    /// # Errors
    /// [`Error::Refused`] when the limit would be passed or the adjacency is another one; the
    /// file is then unchanged. [`Error::Io`], [`Error::Malformed`].
    pub fn spend(
        path: &Path,
        guarantee: &Guarantee,
        count: u64,
        label: &str,
    ) -> Result<Self, Error> {
        Self::spend_in_steps(path, guarantee, count, label, |_| {})
    }

    /// Whether [`BudgetFile::spend`] would agree as things stand; enters nothing.
    ///
    /// # Errors
    /// As [`BudgetFile::spend`].
    pub fn check(path: &Path, guarantee: &Guarantee, count: u64) -> Result<(), Error> {
        Ok(Self::read(path)?.ledger.spend(guarantee, count, "dry run")?)
    }

    /// As [`BudgetFile::spend`], calling `at` at every step; for fault injection.
    ///
    /// # Errors
    /// As [`BudgetFile::spend`].
    pub fn spend_in_steps(
        path: &Path,
        guarantee: &Guarantee,
        count: u64,
        label: &str,
        at: impl FnMut(Step),
    ) -> Result<Self, Error> {
        Self::change(path, |ledger| ledger.spend(guarantee, count, label), at)
    }

    /// Enters a release that was made elsewhere, by its certificate.
    ///
    /// # Errors
    /// [`Error::Refused`] also when the certificate does not verify, or when somebody could know
    /// the release's randomness; otherwise as [`BudgetFile::spend`].
    pub fn add(path: &Path, certificate: &Certificate, label: &str) -> Result<Self, Error> {
        Self::change(path, |ledger| ledger.add_labelled(certificate, label), |_| {})
    }

    /// Enters runs of a mechanism that somebody declares, at their word.
    ///
    /// # Errors
    /// As [`BudgetFile::spend`].
    pub fn declare(
        path: &Path,
        guarantee: &Guarantee,
        count: u64,
        label: &str,
    ) -> Result<Self, Error> {
        let enter = |ledger: &mut Ledger| ledger.spend_accepting_claim(guarantee, count, label);
        Self::change(path, enter, |_| {})
    }

    fn change(
        path: &Path,
        enter: impl FnOnce(&mut Ledger) -> dp_core::Result<()>,
        mut at: impl FnMut(Step),
    ) -> Result<Self, Error> {
        // A link must lead every process to one file and one lock.
        let path = &path.canonicalize().map_err(|e| io(path, e))?;
        let _lock = lock(path)?;
        one_name(path)?;
        at(Step::Locked);
        let mut this = Self::read(path)?;
        at(Step::Read);
        enter(&mut this.ledger)?;
        at(Step::Checked);
        let file = this.write(path)?;
        at(Step::Written);
        file.commit()?;
        at(Step::Entered);
        Ok(this)
    }

    /// The new state in a temporary file.
    fn write(&self, path: &Path) -> Result<AtomicFile, Error> {
        let text = serde_json::to_string_pretty(self).expect("string keys only");
        let mut file = AtomicFile::create(path, Access::Shared)?;
        file.write_all(text.as_bytes()).map_err(|e| io(path, e))?;
        Ok(file)
    }

    /// The public name of the data set.
    #[must_use]
    pub fn data(&self) -> &str {
        &self.data
    }

    /// What was spent, and the limit.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

fn io(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path.to_owned(), source }
}

/// Refuses a file with hard links, where the system counts them.
fn one_name(path: &Path) -> Result<(), Error> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if std::fs::metadata(path).map_err(|e| io(path, e))?.nlink() > 1 {
            return Err(Error::SeveralNames(path.to_owned()));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Waits for the lock. Nothing here deletes its file; where somebody did while we waited, the lock we got
/// is on a file that others no longer find, and we wait for the one they do.
fn lock(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock = PathBuf::from(name);
    loop {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&lock);
        let file = file.map_err(|e| io(&lock, e))?;
        file.lock().map_err(|e| io(&lock, e))?;
        if is_at(&file, &lock).map_err(|e| io(&lock, e))? {
            return Ok(file);
        }
    }
}

/// Whether the path still leads to this open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let held = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (held.dev(), held.ino())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Elsewhere an open file's name is not free for another one.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> std::io::Result<bool> {
    Ok(true)
}
