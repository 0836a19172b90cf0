//! Systems of which only what every system has is known.
//!
//! Not kept here: that nobody but the owner can read a file before it is paid for. Such files count as seen, so
//! a release is paid for before it is written, and never taken back. Memory dumps are the system's to forbid.

use super::seen::{Folder, Stamp, since_1970};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Result};
use std::path::Path;

/// Which file it is, whatever its names: not known here, so all are alike.
pub(crate) type Identity = [u64; 2];

/// Whether there is a file of this name.
pub(crate) fn look(path: &Path) -> Result<Option<Identity>> {
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        found => Ok(found.ok().map(|_| [0, 0])),
    }
}

/// As [`look`]; `None` too where nobody can say.
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    look(path).ok().flatten()
}

/// What every system says of a file: when its content changed last, and its length.
pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    let found = std::fs::symlink_metadata(path).ok()?;
    let [seconds, nanoseconds] = since_1970(found.modified());
    Some([0, 0, seconds, nanoseconds, found.len()])
}

/// When the folder was made that a path leads to: its number is not known here.
pub(crate) fn folder_at(path: &Path) -> Result<Folder> {
    let found = std::fs::metadata(path)?;
    if !found.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    let [seconds, nanoseconds] = since_1970(found.created());
    Ok([0, seconds, nanoseconds])
}

/// Whether two paths lead to one file; second names of it are not known here.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// All files are alike.
pub(crate) fn identity_of(_file: &File) -> Result<Option<Identity>> {
    Ok(Some([0, 0]))
}

/// Not known here: it may be another file.
pub(super) fn leads_to(_path: &Path, _file: &File) -> bool {
    false
}

/// One, where there is a file of this name: others are not known here.
pub(crate) fn names(path: &Path) -> u64 {
    u64::from(identity(path).is_some())
}

/// Not known here.
pub(crate) fn has_other_names(_file: &File) -> Result<bool> {
    Ok(false)
}

pub(super) fn nameless(_folder: &Path) -> Result<Option<File>> {
    Ok(None)
}

pub(super) fn link_nameless(_file: &File, _path: &Path) -> Result<()> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn create_private(path: &Path) -> Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

/// Opens a file for reading; whose it is is not known here.
pub(crate) fn open_own(path: &Path) -> Result<File> {
    File::open(path)
}

/// Who can read a file is not known here.
pub(crate) fn is_private(_file: &File) -> Result<bool> {
    Ok(false)
}

pub(super) fn rename_new(from: &Path, to: &Path) -> Result<()> {
    std::fs::hard_link(from, to)?;
    // The release has its name; the other one only remains.
    let _ = std::fs::remove_file(from);
    Ok(())
}

pub(super) fn share(_file: &File) -> Result<()> {
    Ok(())
}

pub(crate) fn keep_owner_and_mode(old: &File, file: &File) -> Result<()> {
    file.set_permissions(old.metadata()?.permissions())
}

/// How to pass the cache is not known here.
pub(super) fn pass_cache(_file: &File, past: bool) -> Result<()> {
    if past { Err(std::io::ErrorKind::Unsupported.into()) } else { Ok(()) }
}

/// Folders cannot be opened everywhere.
pub(super) fn sync_folder(_folder: &Path) -> Result<()> {
    Ok(())
}

/// Nothing is known of core dumps here.
///
/// # Errors
/// None.
pub fn forbid_core_dumps() -> Result<()> {
    Ok(())
}
