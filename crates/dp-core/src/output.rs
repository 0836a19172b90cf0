//! Where a release goes, and what pays for it: one order of steps for every release.
//!
//! 1. The output is opened in its folder, without a name and for its owner alone: what cannot be written fails here.
//! 2. The data is read and checked, the release computed and written.
//! 3. The file is flushed to the disk.
//! 4. The ledger is charged, and agrees or refuses.
//! 5. The file gets its name, which nothing else has.
//!
//! Until the last step nothing can be read by others, so a release that fails, or is killed, costs nothing; the ledger's
//! lines make the last two steps one (`docs/LEDGER.md`). What others can read as it is written, a stream or a file
//! system without modes, is paid for before the first byte, and never taken back.

use crate::accounting::Named;
use crate::certificate::AnyCertificate;
use crate::certificate::preprocessing::Preprocessing;
use crate::disk::{
    CACHED, Disk, PastCache, Staged, Stamp, folder_of, hold, is_same_file, partial_of, stamp,
};
use crate::error::{Error, Result};
use crate::guarantee::Guarantee;
use crate::ledger_file::{Bill, BudgetFile, Locked, bill};
use crate::row_ids::RowIds;
use crate::unfinished::{Listed, unfinished};
use std::io::{ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

mod payment;
#[cfg(test)]
#[path = "output/tests.rs"]
mod tests;

use payment::Payment;
pub use payment::{Paid, Receipt};

/// What may happen to a file that has the output's name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays: the release is refused.
    Keep,
    /// The release takes its place; a file that comes later stays.
    Replace,
}

/// Who may read a file that is [written](write()).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// On Unix, its owner only: for what is as secret as the data.
    Owner,
    /// Whoever the system's settings let: for what is published.
    Shared,
}

/// Writes a whole file in the place of whatever has its name: whoever opens it sees the old content or the new one.
/// What a killed writer leaves is removed by the next one of the same name.
///
/// # Errors
/// [`Error::Io`]; the name then still leads to what it led to before, unless the failure is in making the renaming
/// itself durable.
pub fn write(path: &Path, bytes: &[u8], access: Access) -> Result<()> {
    write_on(Disk::default(), path, bytes, access)
}

fn write_on(disk: Disk, path: &Path, bytes: &[u8], access: Access) -> Result<()> {
    let mut output = Output::on(disk, path, Existing::Replace)?;
    if let To::File { over, .. } = &mut output.to {
        *over = Some(access);
    }
    output.write_all(bytes).map_err(|e| Error::io(path.display(), &e))?;
    output.commit()
}

/// A release, or another file, that is being made.
#[derive(Debug)]
pub struct Output {
    disk: Disk,
    staged: Staged,
    to: To,
    /// Bytes that were written through the system's cache.
    cached: u64,
    /// What comes after the first of them in a large file.
    large: Option<PastCache>,
    payment: Option<Payment>,
    receipt: Receipt,
    ids: Option<Arc<Mutex<RowIds>>>,
    preprocessing: Option<Arc<Preprocessing>>,
    /// Its name for the time being, for a signal that ends the process.
    listed: Option<Listed>,
}

enum To {
    File {
        path: PathBuf,
        replaces: Option<Stamp>,
        /// It takes the place of a file that came later too, and this is who may read it.
        over: Option<Access>,
    },
    Stream {
        name: String,
        stream: Box<dyn Write + Send>,
    },
}

impl core::fmt::Debug for To {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::File { path, .. } => write!(f, "{}", path.display()),
            Self::Stream { name, .. } => f.write_str(name),
        }
    }
}

/// A path, or an [`Output`] that was opened before.
pub trait Destination {
    /// Opens it; a file that has the name is replaced when the release is complete.
    ///
    /// # Errors
    /// [`Error::Io`].
    fn open(self) -> Result<Output>;
}

impl Destination for Output {
    fn open(self) -> Result<Output> {
        Ok(self)
    }
}

impl<P: AsRef<Path> + ?Sized> Destination for &P {
    fn open(self) -> Result<Output> {
        Output::create(self.as_ref(), Existing::Replace)
    }
}

/// A folder that takes no file: which one, and the way out.
fn no_folder(path: &Path, error: &std::io::Error) -> Error {
    let way = match error.kind() {
        ErrorKind::NotFound => "create it",
        ErrorKind::PermissionDenied => "make it writable for this user",
        ErrorKind::NotADirectory | ErrorKind::ReadOnlyFilesystem => "it takes no file",
        _ => return Error::io(path.display(), error),
    };
    let reason =
        format!("{error}: the folder is {}; {way}, or name another", folder_of(path).display());
    Error::Io { what: path.display().to_string(), kind: error.kind(), reason }
}

impl Output {
    /// Opens a file that gets its name when the release is complete.
    ///
    /// # Errors
    /// [`Error::Io`], also for a name that is taken, where that file is to stay.
    pub fn create(path: &Path, existing: Existing) -> Result<Self> {
        Self::on(Disk::default(), path, existing)
    }

    /// As [`Output::create`] for a file that stays its owner's.
    pub(crate) fn private(path: &Path, existing: Existing) -> Result<Self> {
        let mut output = Self::create(path, existing)?;
        if let To::File { over, .. } = &mut output.to {
            *over = Some(Access::Owner);
        }
        Ok(output)
    }

    fn on(disk: Disk, path: &Path, existing: Existing) -> Result<Self> {
        let Some(name) = path.file_name() else {
            return Err(Error::invalid("path", path.display(), "the name of a file"));
        };
        let folder = folder_of(path);
        let path = folder.canonicalize().map_err(|e| no_folder(path, &e))?.join(name);
        // A name that is too long, or in a folder that cannot be looked into, fails here too.
        let replaces = match path.symlink_metadata() {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(no_folder(&path, &e)),
            _ => stamp(&path),
        };
        let refused = |kind, reason: &str| {
            Err(Error::Io { what: path.display().to_string(), kind, reason: reason.into() })
        };
        if path.symlink_metadata().is_ok_and(|there| there.is_dir()) {
            return refused(ErrorKind::IsADirectory, "it is a folder: name a file in it");
        }
        if replaces.is_some() && existing == Existing::Keep {
            let way = "it exists, and is not written over unasked: choose another name";
            return refused(ErrorKind::AlreadyExists, way);
        }
        let staged = disk.stage(folder_of(&path), name).map_err(|e| no_folder(&path, &e))?;
        Ok(Self::of(disk, staged, To::File { path, replaces, over: None }))
    }

    /// A release that goes to a stream, `name` to people: it is made in a temporary file and handed on as a whole.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn stream(name: &str, stream: impl Write + Send + 'static) -> Result<Self> {
        let (disk, folder) = (Disk::default(), std::env::temp_dir());
        let staged = disk.stage(&folder, "dps-stream".as_ref());
        let staged = staged.map_err(|e| Error::io(folder.display(), &e))?;
        let stream = Box::new(stream);
        Ok(Self::of(disk, staged, To::Stream { name: name.to_owned(), stream }))
    }

    fn of(disk: Disk, staged: Staged, to: To) -> Self {
        let listed = staged.name.clone().map(Listed::new);
        Self {
            disk,
            staged,
            to,
            cached: 0,
            large: None,
            payment: None,
            receipt: Receipt::default(),
            ids: None,
            preprocessing: None,
            listed,
        }
    }

    /// The rows of the release are to be called what stands here when it is complete: these names are published, and not
    /// protected.
    pub fn name_rows(&mut self, ids: Arc<Mutex<RowIds>>) {
        self.ids = Some(ids);
    }

    /// The rows of the release were mapped first: its certificate states how.
    pub fn mapped(&mut self, preprocessing: Arc<Preprocessing>) {
        self.preprocessing = Some(preprocessing);
    }

    pub(crate) fn preprocessing(&self) -> Option<&Preprocessing> {
        self.preprocessing.as_deref()
    }

    /// What its rows are called.
    pub(crate) fn ids(&self) -> Option<RowIds> {
        let ids = self.ids.as_ref()?;
        Some(core::mem::take(&mut *ids.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// What the ledger will have answered when the release is complete.
    #[must_use]
    pub fn receipt(&self) -> Receipt {
        self.receipt.clone()
    }

    /// A ledger is to pay for the release. It is asked now whether it would, for `guarantee`, and charged when the
    /// release is complete; now, where others can read what is written.
    ///
    /// # Errors
    /// As [`BudgetFile::spend`]; [`Error::InvalidParameter`] for an output that would take the place of the ledger.
    pub fn pay_from<'a>(
        &mut self,
        ledger: &Path,
        guarantee: &Guarantee,
        label: impl Into<Named<'a>>,
    ) -> Result<()> {
        if let To::File { path, .. } = &self.to
            && is_same_file(path, ledger)
        {
            let allowed =
                "the name of another file: the release would take the place of the ledger";
            return Err(Error::invalid("output", path.display(), allowed));
        }
        let map = self.preprocessing.clone();
        let named = label.into().mapped(map.as_deref());
        let paid = if self.staged.private {
            let file = BudgetFile::check(ledger, guarantee, 1, named)?;
            self.receipt.slip().recovered.extend_from_slice(file.recovered());
            None
        } else {
            let mut locked = self.lock(ledger)?;
            let (entry, unit) = locked.ask(|ledger| {
                Ok((ledger.planned_runs(guarantee, 1, named)?, ledger.adjacency()))
            })?;
            let cost = entry.cost().clone();
            let mut process = unfinished();
            let id = locked.spend(Bill { entry, certificate: None, payload: None })?;
            process.charged = true;
            self.receipt.slip().paid = Some(Paid { id, head: locked.head().to_owned() });
            Some((unit, cost))
        };
        let (label, part) = (named.label.to_owned(), named.part.cloned());
        self.payment = Some(Payment { ledger: ledger.to_owned(), label, part, paid });
        Ok(())
    }

    /// The ledger, when nobody else can change it. The lock comes before [`unfinished`], here as everywhere.
    fn lock(&self, ledger: &Path) -> Result<Locked> {
        let locked = Locked::open(&self.disk, ledger)?;
        self.receipt.slip().recovered.extend_from_slice(locked.recovered());
        Ok(locked)
    }

    /// A file that nothing is to be paid for is complete: flushes it, and gives it its name.
    ///
    /// # Errors
    /// [`Error::Io`], also where another file got the name first, and where the file has its name, which a crash may
    /// undo: then the error says so; [`Error::InvalidParameter`] where a ledger pays, which takes a certificate
    /// ([`Output::finish`]).
    pub fn commit(mut self) -> Result<()> {
        if self.payment.is_some() {
            return Err(Error::invalid("certificate", "none", "one: a ledger pays for this"));
        }
        self.sync()?;
        self.place()
    }

    fn sync(&mut self) -> Result<()> {
        let (disk, file) = (&self.disk, &self.staged.file);
        let rest = self.large.take().map_or(Ok(()), |large| large.end(disk, file));
        let done = rest.and_then(|()| disk.sync(file));
        done.map_err(|e| Error::io(format_args!("{:?}", self.to), &e))
    }

    /// The release is complete: flushes it, pays for it, and gives the file its name.
    ///
    /// # Errors
    /// [`Error::Io`]; as [`BudgetFile::add`] where a ledger pays. Then nothing is published and nothing is spent, unless
    /// the error says so, or it was paid for when it was opened ([`Output::pay_from`]): that stays spent.
    pub fn finish(mut self, certificate: &AnyCertificate) -> Result<()> {
        self.sync()?;
        let Some(payment) = self.payment.clone() else {
            return self.place();
        };
        let AnyCertificate::Private(certificate) = certificate else {
            let allowed = "differential privacy: a ledger pays for nothing else";
            return Err(Error::invalid(
                "certificate",
                format!("{:?}", certificate.class()),
                allowed,
            ));
        };
        if payment.covers(certificate)? {
            return self.place();
        }
        let mut locked = self.lock(&payment.ledger)?;
        let entry = locked.ask(|ledger| ledger.planned(certificate, payment.named()))?;
        // From here on a signal waits: the process ends before all of it or after.
        let mut process = unfinished();
        let (paid, handed_on) = self.pay(&mut locked, bill(entry, certificate))?;
        process.charged = true;
        drop(process);
        self.receipt.slip().paid = Some(paid);
        drop(locked);
        if handed_on { Ok(()) } else { self.place() }
    }

    /// Charges the ledger, and gives a file its name; whether that was done.
    fn pay(&mut self, locked: &mut Locked, bill: Bill) -> Result<(Paid, bool)> {
        let To::File { path, replaces, .. } = &self.to else {
            let id = locked.spend(bill)?;
            return Ok((Paid { id, head: locked.head().to_owned() }, false));
        };
        if stamp(path).is_some() && stamp(path) != *replaces {
            return Err(taken(path));
        }
        let (path, replaces) = (path.clone(), *replaces);
        let (disk, staged) = (&self.disk, &mut self.staged);
        let file = staged.file.try_clone().map_err(|e| Error::io(path.display(), &e))?;
        let done = locked.publish(bill, &path, replaces, &file, |hidden| disk.name(staged, hidden));
        // The ledger knows its name from here on, and what is to become of it.
        if done.is_ok() || self.staged.name.as_deref().is_some_and(is_reserved) {
            self.staged.name = None;
        }
        let id = done.map_err(|error| match error {
            Error::Io { kind: ErrorKind::AlreadyExists, .. } => taken(&path),
            error => error,
        })?;
        Ok((Paid { id, head: locked.head().to_owned() }, true))
    }

    /// Gives a file its name, or hands it on, where nothing is left to be paid.
    fn place(&mut self) -> Result<()> {
        let (disk, staged) = (&self.disk, &mut self.staged);
        match &mut self.to {
            To::Stream { name, stream } => {
                let copied = staged.file.rewind();
                let copied = copied.and_then(|()| std::io::copy(&mut staged.file, stream));
                copied.and_then(|_| stream.flush()).map_err(|e| Error::io(name, &e))
            }
            To::File { path, replaces, over } => {
                let _none_ends_it_here = unfinished();
                let failed = |e: std::io::Error| match e.kind() {
                    ErrorKind::AlreadyExists => taken(path),
                    _ => Error::io(path.display(), &e),
                };
                if *over != Some(Access::Owner) {
                    disk.share(&staged.file).map_err(failed)?;
                }
                let same = replaces.is_some() && stamp(path) == *replaces;
                if same || over.is_some() {
                    if staged.name.is_none() {
                        // The next writer of this name removes it, should this one be killed.
                        let hidden = partial_of(path).map_err(failed)?;
                        hold(&staged.file);
                        disk.name(staged, &hidden).map_err(failed)?;
                    }
                    disk.name_over(staged, path).map_err(failed)?;
                } else {
                    disk.name(staged, path).map_err(failed)?;
                }
                staged.name = None;
                disk.sync_folder(folder_of(path)).map_err(|e| Error::Io {
                    what: path.display().to_string(),
                    kind: e.kind(),
                    reason: format!("{e}; the file has its name, which a crash may undo"),
                })
            }
        }
    }
}

fn is_reserved(name: &Path) -> bool {
    name.extension().is_some_and(|end| end == "reserved")
}

/// Another file got the name first; one that was changed is another one.
fn taken(path: &Path) -> Error {
    Error::Io {
        what: path.display().to_string(),
        kind: ErrorKind::AlreadyExists,
        reason: "another file took the name meanwhile, or the one there was changed; nothing was published"
            .into(),
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let (disk, file) = (&self.disk, &self.staged.file);
        // What goes on to a stream is read again at once.
        let whole = matches!(self.to, To::Stream { .. });
        if self.cached == CACHED && self.large.is_none() && !whole {
            // Where the system has no thread left the cache will do.
            self.large = PastCache::begin(disk, file).ok();
        }
        if let Some(large) = &mut self.large {
            return large.write(bytes);
        }
        let room = if whole || self.cached >= CACHED { u64::MAX } else { CACHED - self.cached };
        let written = disk.write(file, &bytes[..room.min(bytes.len() as u64) as usize])?;
        self.cached += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.listed = None;
        if let Some(name) = &self.staged.name {
            let _ = self.disk.remove(name);
        }
    }
}
