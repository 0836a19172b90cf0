//! Files that are written whole or not at all.
//!
//! A temporary file beside the target is written, flushed to the disk and renamed over it: whoever
//! opens the target sees the old content or the new one. What a killed writer leaves behind is
//! removed by the next writer of the same target.

use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{Builder, NamedTempFile};

/// Who may read the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// On Unix, its owner only: for what is as secret as the data.
    Owner,
    /// Whoever the system's settings let: for what is published.
    Shared,
}

/// A file that appears at its path only when [`AtomicFile::commit`] succeeds. Dropped before, it leaves
/// the path as it was.
#[derive(Debug)]
pub struct AtomicFile {
    file: NamedTempFile,
    path: PathBuf,
    listed: Listed,
}

/// What a process has begun and not finished.
#[derive(Debug)]
pub(crate) struct Unfinished {
    /// Its temporary files, each with its target.
    files: Vec<(PathBuf, PathBuf)>,
    /// Whether a ledger was charged.
    pub(crate) charged: bool,
}

static UNFINISHED: Mutex<Unfinished> = Mutex::new(Unfinished { files: Vec::new(), charged: false });

/// While this is held no signal ends the process.
pub(crate) fn unfinished() -> MutexGuard<'static, Unfinished> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place in the list, given back when dropped.
#[derive(Debug)]
pub(crate) struct Listed(PathBuf);

impl Listed {
    pub(crate) fn new(temporary: PathBuf, target: PathBuf) -> Self {
        unfinished().files.push((temporary.clone(), target));
        Self(temporary)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        unfinished().files.retain(|(temporary, _)| *temporary != self.0);
    }
}

/// For a process that a signal ends: removes its temporary files, and tells `end` whether a ledger was charged. Until
/// `end` returns no file can be committed and no release paid for, so what it is told stays true.
pub fn abandon_all<T>(end: impl FnOnce(bool) -> T) -> T {
    let mut process = unfinished();
    for (temporary, _) in process.files.drain(..) {
        // One that is gone already needs no removing.
        let _ = std::fs::remove_file(temporary);
    }
    end(process.charged)
}

/// End of the names of temporary files.
const SUFFIX: &str = ".partial";
/// How often a temporary file is made again when another writer takes it for an abandoned one.
const ATTEMPTS: usize = 16;

impl AtomicFile {
    /// Opens a temporary file `.NAME.*.partial` in the folder of `path`, and removes those that
    /// killed writers of the same name left there. A writer holds a lock on its own, so that nobody
    /// removes it while it is written.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path, access: Access) -> Result<Self> {
        let failed = |e: std::io::Error| Error::io(path.display(), &e);
        let Some(name) = path.file_name() else {
            return Err(Error::invalid("path", path.display(), "the name of a file"));
        };
        let folder = folder_of(path);
        let mut prefix = OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        remove_abandoned(folder, &prefix);
        for _ in 0..ATTEMPTS {
            let mut builder = Builder::new();
            builder.prefix(&prefix).suffix(SUFFIX);
            #[cfg(unix)]
            if access == Access::Shared {
                use std::os::unix::fs::PermissionsExt;
                builder.permissions(std::fs::Permissions::from_mode(0o666));
            }
            let file = builder.tempfile_in(folder).map_err(failed)?;
            // Where the file system knows no locks, abandoned files stay: they are harmless.
            let _ = file.as_file().lock();
            if file.path().exists() {
                let listed = Listed::new(file.path().to_owned(), path.to_owned());
                return Ok(Self { file, path: path.to_owned(), listed });
            }
        }
        Err(failed(std::io::Error::other("its temporary files keep disappearing")))
    }

    /// Where the file will appear.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Flushes the content to the disk and renames the file to its path.
    ///
    /// # Errors
    /// [`Error::Io`]; the path then still holds what it held before, unless the failure is in making
    /// the renaming itself durable.
    pub fn commit(self) -> Result<()> {
        let Self { file, path, listed } = self;
        let failed = |e: std::io::Error| Error::io(path.display(), &e);
        file.as_file().sync_all().map_err(failed)?;
        let files = unfinished();
        let persisted = file.persist(&path);
        drop(files);
        drop(listed);
        persisted.map_err(|e| failed(e.error))?;
        // A renaming is durable when its folder is.
        #[cfg(unix)]
        File::open(folder_of(&path)).and_then(|f| f.sync_all()).map_err(failed)?;
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Writes a whole file: all of it or nothing.
///
/// # Errors
/// [`Error::Io`].
pub fn write(path: &Path, bytes: &[u8], access: Access) -> Result<()> {
    let mut file = AtomicFile::create(path, access)?;
    file.write_all(bytes).map_err(|e| Error::io(path.display(), &e))?;
    file.commit()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes temporary files that nobody holds. Failures are harmless.
fn remove_abandoned(folder: &Path, prefix: &OsStr) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if !name.starts_with(prefix.as_encoded_bytes()) || !name.ends_with(SUFFIX.as_bytes()) {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue };
        match file.try_lock() {
            // The lock is held while the name goes: its maker waits, sees that, and makes another.
            Ok(()) => drop(std::fs::remove_file(entry.path())),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<OsString> {
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_dropped_file_changes_nothing_and_a_committed_one_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"old", Access::Shared).unwrap();
        let mut file = AtomicFile::create(&path, Access::Shared).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        drop(file);
        assert_eq!((std::fs::read(&path).unwrap(), names(folder.path()).len()), (b"old".into(), 1));
        write(&path, b"new", Access::Owner).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert!(write(Path::new("/"), b"", Access::Owner).is_err());
        assert!(write(&folder.path().join("no/such"), b"", Access::Owner).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn secret_files_are_their_owners() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mode = |access| {
            write(&path, b"x", access).unwrap();
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777
        };
        assert_eq!(mode(Access::Owner), 0o600);
        assert_eq!(mode(Access::Shared) & 0o600, 0o600);
    }

    #[test]
    fn abandoned_files_go_and_those_in_use_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let abandoned = folder.path().join(".a.x1.partial");
        std::fs::write(&abandoned, b"half").unwrap();
        let other = folder.path().join(".b.x1.partial");
        std::fs::write(&other, b"of another file").unwrap();
        let first = AtomicFile::create(&path, Access::Shared).unwrap();
        assert!(!abandoned.exists() && other.exists());
        let second = AtomicFile::create(&path, Access::Shared).unwrap();
        assert!(first.file.path().exists(), "a file that is being written stays");
        first.commit().unwrap();
        second.commit().unwrap();
        assert_eq!(names(folder.path()), [".b.x1.partial", "a"].map(OsString::from));
    }

    #[test]
    fn an_abandoned_file_goes_and_cannot_be_committed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = AtomicFile::create(&path, Access::Shared).unwrap();
        // Other tests of this process may have files of their own: theirs are not touched here.
        let temporary = file.file.path().to_owned();
        assert!(unfinished().files.contains(&(temporary.clone(), path.clone())));
        std::fs::remove_file(&temporary).unwrap();
        assert!(file.commit().is_err() && names(folder.path()).is_empty());
        assert!(!unfinished().files.iter().any(|(t, _)| *t == temporary));
    }

    #[test]
    fn many_writers_at_once_never_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::thread::scope(|scope| {
            for i in 0..8u8 {
                let path = &path;
                scope.spawn(move || {
                    (0..50).for_each(|_| write(path, &[i; 100], Access::Shared).unwrap());
                });
            }
        });
        let content = std::fs::read(&path).unwrap();
        assert!(content.len() == 100 && content.iter().all(|&b| b == content[0]));
        assert_eq!(names(folder.path()), [OsString::from("a")]);
    }
}
