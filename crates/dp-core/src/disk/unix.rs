//! Unix, and what only Linux has: files without a name, renaming without replacement.

use super::seen::{Folder, Stamp, since_1970};
use rustix::fs::{Mode, fchmod, fchown};
use rustix::process::umask;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Which file it is, whatever its names: device and number.
pub(crate) type Identity = [u64; 2];

fn of(metadata: &Metadata) -> Identity {
    [metadata.dev(), metadata.ino()]
}

/// The file that a name leads to, itself; `None` where there is none.
pub(crate) fn look(path: &Path) -> Result<Option<Identity>> {
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        found => Ok(found.ok().as_ref().map(of)),
    }
}

/// As [`look`]; `None` too where nobody can say.
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    look(path).ok().flatten()
}

/// As [`identity`], and as of when.
pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    let found = std::fs::symlink_metadata(path).ok()?;
    let [device, number] = of(&found);
    let [seconds, nanoseconds] = [found.ctime(), found.ctime_nsec()].map(i64::cast_unsigned);
    Some([device, number, seconds, nanoseconds, found.len()])
}

/// The folder that a path leads to.
pub(crate) fn folder_at(path: &Path) -> Result<Folder> {
    let found = std::fs::metadata(path)?;
    if !found.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    let [seconds, nanoseconds] = since_1970(found.created());
    Ok([found.ino(), seconds, nanoseconds])
}

/// Whether two paths lead to one file, by links or not.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(|path| std::fs::metadata(path).ok().as_ref().map(of));
    one.is_some() && one == other
}

/// The file that is open.
pub(crate) fn identity_of(file: &File) -> Result<Option<Identity>> {
    file.metadata().map(|m| Some(of(&m)))
}

/// Whether a name leads to the file that is open.
pub(super) fn leads_to(path: &Path, file: &File) -> bool {
    identity_of(file).is_ok_and(|file| file.is_some() && identity(path) == file)
}

/// How many names the file of this name has; 0 where nobody can say.
pub(crate) fn names(path: &Path) -> u64 {
    std::fs::symlink_metadata(path).map_or(0, |found| found.nlink())
}

/// Opens a file for reading that is one, of the user who runs this: no link is followed, and nothing that waits is opened.
pub(crate) fn open_own(path: &Path) -> Result<File> {
    use rustix::fs::OFlags;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::new(ErrorKind::PermissionDenied, "not a file of this user"));
    }
    Ok(file)
}

/// Whether the file has a second name.
pub(crate) fn has_other_names(file: &File) -> Result<bool> {
    Ok(file.metadata()?.nlink() > 1)
}

/// A file in `folder` that has no name, and is gone when it is closed; `None` where the system has none.
#[cfg(target_os = "linux")]
pub(super) fn nameless(folder: &Path) -> Result<Option<File>> {
    use rustix::fs::{OFlags, open};
    use rustix::io::Errno;
    // A name is given through /proc.
    if !Path::new("/proc/self/fd").is_dir() {
        return Ok(None);
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match open(folder, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(Some(File::from(file))),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn nameless(_folder: &Path) -> Result<Option<File>> {
    Ok(None)
}

/// Gives a file without a name this one, which nothing else has.
#[cfg(target_os = "linux")]
pub(super) fn link_nameless(file: &File, path: &Path) -> Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd;
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn link_nameless(_file: &File, _path: &Path) -> Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// A new file with a name.
pub(super) fn create_private(path: &Path) -> Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Whether only its owner can read the file: some file systems know no modes.
pub(crate) fn is_private(file: &File) -> Result<bool> {
    Ok(file.metadata()?.permissions().mode() & 0o077 == 0)
}

/// Renames without replacement: at once where the system can, else by a second name and the removal of the first,
/// after which a killed process may leave both names.
pub(super) fn rename_new(from: &Path, to: &Path) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            done => return Ok(done?),
        }
    }
    std::fs::hard_link(from, to)?;
    // The release has its name; the other one only remains.
    let _ = std::fs::remove_file(from);
    Ok(())
}

/// The process's mask is read by setting it: one reader at a time.
static MASK: Mutex<()> = Mutex::new(());

/// The mode of a new file: what the process's mask leaves.
pub(super) fn share(file: &File) -> Result<()> {
    let held = MASK.lock().unwrap_or_else(PoisonError::into_inner);
    let mask = umask(Mode::from_raw_mode(0o077));
    umask(mask);
    drop(held);
    Ok(fchmod(file, Mode::from_raw_mode(0o666 & !mask.as_raw_mode()))?)
}

/// Gives `file` the owner, group and mode of `old`.
pub(crate) fn keep_owner_and_mode(old: &File, file: &File) -> Result<()> {
    let (old, new) = (old.metadata()?, file.metadata()?);
    if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
        let owner = Some(rustix::fs::Uid::from_raw(old.uid()));
        fchown(file, owner, Some(rustix::fs::Gid::from_raw(old.gid())))?;
    }
    file.set_permissions(old.permissions())
}

/// Whether what is written next goes past the system's cache, whole blocks from memory at whole blocks of the file.
///
/// # Errors
/// A file system, or a system, that cannot.
#[cfg(target_os = "linux")]
pub(super) fn pass_cache(file: &File, past: bool) -> Result<()> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let flags = fcntl_getfl(file)?.difference(OFlags::DIRECT);
    Ok(fcntl_setfl(file, if past { flags | OFlags::DIRECT } else { flags })?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn pass_cache(_file: &File, past: bool) -> Result<()> {
    if past { Err(ErrorKind::Unsupported.into()) } else { Ok(()) }
}

pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)?.sync_all()
}

/// From here on a crash of this process writes no memory to a disk: data may be in it. On Linux other processes of
/// the same user cannot look into it either.
///
/// # Errors
/// What the system says.
pub fn forbid_core_dumps() -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Core).maximum;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum })?;
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}
