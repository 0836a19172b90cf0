//! Everything a release and its ledger do to a disk goes through here: one place that tests can make fail,
//! or stop, before any operation.
//!
//! What only some systems can do is in `unix` (and its Linux parts); `portable` has what is left elsewhere,
//! and says which promises it cannot keep.

/// Compiled and tested where it is not used.
#[cfg(all(test, unix))]
#[allow(dead_code, unreachable_pub)]
mod portable;
#[cfg(not(unix))]
#[path = "portable.rs"]
mod system;
#[cfg(unix)]
#[path = "unix.rs"]
mod system;

mod past_cache;
mod seen;

pub(crate) use past_cache::{CACHED, PastCache};
pub(crate) use seen::{Folder, Stamp, may_be};
pub use system::forbid_core_dumps;
pub(crate) use system::{
    Identity, folder_at, has_other_names, identity, identity_of, is_private, is_same_file,
    keep_owner_and_mode, look, names, open_own, stamp,
};

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What can be done to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Stage,
    Write,
    Sync,
    Link,
    Rename,
    Remove,
    Mode,
    SyncFolder,
    Truncate,
}

/// Asked before every operation: may it happen, and for a write, how many of the bytes.
pub(crate) type Gate = dyn Fn(Operation, usize) -> (usize, Result<()>) + Send + Sync;

/// The disk, or one that a test makes fail.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    gate: Option<Arc<Gate>>,
    /// Whether files without a name are used where the system has them.
    named: bool,
}

impl core::fmt::Debug for Disk {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Disk")
    }
}

/// A new file that its owner alone can read, and that nobody finds by the name it will have.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) file: File,
    /// Its name for the time being, where the system has no files without.
    pub(crate) name: Option<PathBuf>,
    /// Whether others are kept from reading it.
    pub(crate) private: bool,
}

/// End of the names of files that are not complete.
const PARTIAL: &str = ".partial";

impl Disk {
    /// A disk that asks `gate` before every operation.
    #[cfg(test)]
    pub(crate) fn gated(gate: Arc<Gate>, named: bool) -> Self {
        Self { gate: Some(gate), named }
    }

    fn pass(&self, operation: Operation) -> Result<()> {
        self.gate.as_ref().map_or(Ok(()), |gate| gate(operation, 0).1)
    }

    /// Opens a new file in `folder` that will be called `name`; removes what killed writers of that name left.
    pub(crate) fn stage(&self, folder: &Path, name: &std::ffi::OsStr) -> Result<Staged> {
        self.pass(Operation::Stage)?;
        self.sweep(folder, name);
        let nameless = if self.named { None } else { system::nameless(folder)? };
        let (file, name) = match nameless {
            Some(file) => (file, None),
            None => {
                let path = folder.join(partial(name, &random_id()?));
                let file = system::create_private(&path)?;
                hold(&file);
                (file, Some(path))
            }
        };
        let private = system::is_private(&file)?;
        Ok(Staged { file, name, private })
    }

    /// Removes partial files of this name that nobody holds.
    fn sweep(&self, folder: &Path, name: &std::ffi::OsStr) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let start = partial(name, "");
        let start = &start.as_encoded_bytes()[..start.len() - PARTIAL.len()];
        for entry in entries.flatten() {
            let found = entry.file_name();
            let bytes = found.as_encoded_bytes();
            if !bytes.starts_with(start) || !bytes.ends_with(PARTIAL.as_bytes()) {
                continue;
            }
            // Others' files, files in use, and what is no file stay.
            if entry.file_type().is_ok_and(|kind| kind.is_file())
                && let Ok(file) = system::open_own(&entry.path())
                && file.try_lock().is_ok()
            {
                let _ = self.remove(&entry.path());
            }
        }
    }

    pub(crate) fn write(&self, mut file: &File, bytes: &[u8]) -> Result<usize> {
        let Some(gate) = &self.gate else { return file.write(bytes) };
        let (allowed, verdict) = gate(Operation::Write, bytes.len());
        if verdict.is_err() {
            file.write_all(&bytes[..allowed])?;
        }
        verdict.and_then(|()| file.write(bytes))
    }

    /// Writes bytes at a place, all of them.
    pub(crate) fn write_at(&self, mut file: &File, at: u64, bytes: &[u8]) -> Result<()> {
        use std::io::{Seek, SeekFrom};
        file.seek(SeekFrom::Start(at))?;
        self.write_all(file, bytes)
    }

    fn write_all(&self, file: &File, bytes: &[u8]) -> Result<()> {
        let mut left = bytes;
        while !left.is_empty() {
            match self.write(file, left) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => left = &left[written..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    pub(crate) fn sync(&self, file: &File) -> Result<()> {
        self.pass(Operation::Sync)?;
        file.sync_all()
    }

    pub(crate) fn truncate(&self, file: &File, length: u64) -> Result<()> {
        self.pass(Operation::Truncate)?;
        file.set_len(length)
    }

    /// Gives a staged file this name, which nothing else has.
    pub(crate) fn name(&self, staged: &mut Staged, path: &Path) -> Result<()> {
        let link = || system::link_nameless(&staged.file, path);
        let answer = match &staged.name {
            Some(old) => self.rename_new(old, path),
            None => self.pass(Operation::Link).and_then(|()| link()),
        };
        self.answered(answer, staged, path)
    }

    /// Gives a staged file that has a name this one, whatever has it.
    pub(crate) fn name_over(&self, staged: &mut Staged, path: &Path) -> Result<()> {
        let old = staged.name.as_deref().unwrap_or(path);
        let answer = self.rename_over(old, path);
        self.answered(answer, staged, path)
    }

    /// What was to have the name `path` has it where the name leads to it, whatever was answered: a file system of the
    /// network may do what it is told, lose the answer, and fail when it is told again.
    fn answered(&self, answer: Result<()>, staged: &mut Staged, path: &Path) -> Result<()> {
        if let Err(error) = answer {
            // What such a file system remembers of a folder is asked anew when it is opened.
            let _ = self.sync_folder(folder_of(path));
            if !system::leads_to(path, &staged.file) {
                return Err(error);
            }
            // In two steps: the first name may be left.
            if let Some(old) = staged.name.as_deref().filter(|old| *old != path) {
                let _ = self.remove(old);
            }
        }
        staged.name = Some(path.to_owned());
        Ok(())
    }

    /// Renames a file; fails where the new name is taken.
    pub(crate) fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        self.pass(Operation::Rename)?;
        system::rename_new(from, to)
    }

    /// Renames a file over another one.
    pub(crate) fn rename_over(&self, from: &Path, to: &Path) -> Result<()> {
        self.pass(Operation::Rename)?;
        std::fs::rename(from, to)
    }

    /// Gives a file another name besides, which nothing else has.
    pub(crate) fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.pass(Operation::Link)?;
        std::fs::hard_link(from, to)
    }

    /// Removes a file; one that is gone already is no error.
    pub(crate) fn remove(&self, path: &Path) -> Result<()> {
        self.pass(Operation::Remove)?;
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// Lets others read the file as far as the process's settings do.
    pub(crate) fn share(&self, file: &File) -> Result<()> {
        self.pass(Operation::Mode)?;
        system::share(file)
    }

    /// Makes names in a folder durable.
    pub(crate) fn sync_folder(&self, folder: &Path) -> Result<()> {
        self.pass(Operation::SyncFolder)?;
        system::sync_folder(folder)
    }
}

/// The name of an unfinished file. A long name is left out of it: names have at most 255 bytes.
fn partial(name: &std::ffi::OsStr, id: &str) -> OsString {
    let mut partial = OsString::from(".");
    if name.len() <= 200 {
        partial.push(name);
    }
    partial.push(".");
    partial.push(id);
    partial.push(PARTIAL);
    partial
}

/// Nobody sweeps a file that is held. Where the file system knows no locks, an abandoned file stays: it is harmless.
pub(crate) fn hold(file: &File) {
    let _ = file.try_lock();
}

/// A name for a file that will take the place of another one.
pub(crate) fn partial_of(path: &Path) -> Result<PathBuf> {
    let name = path.file_name().unwrap_or_default();
    Ok(folder_of(path).join(partial(name, &random_id()?)))
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// 128 random bits in hexadecimal digits.
pub(crate) fn random_id() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| Error::other(e.to_string()))?;
    Ok(crate::certificate::hex(&bytes))
}

/// Opens a file that exists for reading, and for writing if `write`; refuses what is no file (a pipe would wait for
/// its other end for ever).
pub(crate) fn open_file(path: &Path, write: bool) -> Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    OpenOptions::new().read(true).write(write).open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::{ErrorKind, portable};

    /// What is left where nothing is known of the system: nothing is private, so everything is paid for first, and no
    /// name is taken from another file.
    #[test]
    fn what_every_system_has_replaces_nothing_and_claims_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let file = portable::create_private(&one).unwrap();
        assert!(!portable::is_private(&file).unwrap());
        let again = portable::create_private(&one).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        assert!(portable::nameless(folder.path()).unwrap().is_none());
        let none = portable::link_nameless(&file, &two).unwrap_err();
        assert_eq!(none.kind(), ErrorKind::Unsupported);
        std::fs::write(&two, "first").unwrap();
        assert!(portable::rename_new(&one, &two).is_err() && one.exists());
        assert_eq!(std::fs::read(&two).unwrap(), b"first");
        std::fs::remove_file(&two).unwrap();
        assert!(portable::identity(&two).is_none() && portable::identity(&one).is_some());
        portable::rename_new(&one, &two).unwrap();
        assert!(two.exists() && !one.exists());
        assert_eq!(portable::identity(&two), portable::identity_of(&file).unwrap());
        assert!(!portable::has_other_names(&file).unwrap());
        assert!(!portable::leads_to(&two, &file), "it may be another file");
        assert!(portable::is_same_file(&two, &folder.path().join("./two")));
        assert!(!portable::is_same_file(&one, &two) && !portable::is_same_file(&one, &one));
        let before = portable::stamp(&two);
        // As long as before: the time alone tells.
        let now = std::fs::read(&two).unwrap();
        let stamps = || [portable::stamp(&two), super::stamp(&two)];
        let first = stamps();
        std::thread::sleep(std::time::Duration::from_millis(30));
        std::fs::write(&two, now).unwrap();
        assert!(first.iter().zip(stamps()).all(|(before, now)| now.is_some() && *before != now));
        std::fs::write(&two, "longer than before").unwrap();
        assert!(before.is_some() && portable::stamp(&two) != before);
        assert!(portable::stamp(&one).is_none());
        assert!(portable::folder_at(folder.path()).is_ok() && portable::folder_at(&two).is_err());
        assert_eq!((portable::names(&one), portable::names(&two)), (0, 1));
        assert!(portable::look(&two.join("none")).is_err() && portable::look(&one).is_ok());
        portable::keep_owner_and_mode(&file, &file).unwrap();
        portable::share(&file).unwrap();
        portable::sync_folder(folder.path()).unwrap();
        portable::forbid_core_dumps().unwrap();
    }
}
