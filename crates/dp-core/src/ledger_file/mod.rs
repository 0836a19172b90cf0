//! The budget file of a data set: a [`Ledger`] that survives crashes, races and full disks.
//!
//! Lines are only ever added. Each carries a hash of itself and of all before it; two marks at the beginning say how
//! many lines were on the disk, so that a file that was cut off is noticed, and a last line that was never finished is
//! told from one that was altered. The hash of the last line, the [head](BudgetFile::head), stands for the whole file:
//! whoever keeps it notices a ledger that was written anew as a whole, which nothing else would show.
//!
//! Processes exclude each other by a lock on the ledger itself: whoever may write it may take the lock, in whatever
//! group he is, and there is no second file whose owner or mode could be wrong.
//!
//! A release is paid for [last](crate::output::Output), when it is complete and on the disk. What it cannot see: a copy of
//! the file, an older state put back, or a release made without naming the file. `docs/LEDGER.md` has the states, and
//! why no interruption loses a budget or lets a release go unpaid.

mod apart;
mod lines;
mod locked;
mod old;
mod paid;
#[cfg(test)]
mod paid_tests;
mod replay;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;

pub use lines::FORMAT;
pub(crate) use locked::{Bill, Locked};
pub use replay::Charge;

use crate::accounting::{Filter, FilterRule, Ledger, Named, Standing};
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::certificate::Certificate;
use crate::disk::{Disk, folder_of, open_file, random_id};
use crate::error::{Error, Result};
use crate::guarantee::Guarantee;
use apart::apart;
use lines::{Header, in_file, new_ledger, now};
use replay::Contents;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::Path;

/// What a budget file holds.
#[derive(Debug)]
pub struct BudgetFile {
    id: String,
    data: String,
    ledger: Ledger,
    charges: Vec<Charge>,
    head: String,
    lines: u64,
    recovered: Vec<String>,
}

/// What to do with a release that is in the ledger already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It is one release, told twice.
    Refuse,
    /// It is another one that came out the same: small releases can.
    Enter,
}

impl BudgetFile {
    /// Starts the ledger of a data set; `data` is its public name.
    ///
    /// # Errors
    /// [`Error::Ledger`] when the file exists; [`Error::InvalidParameter`] for a name that a line has no room for;
    /// [`Error::Io`].
    pub fn create(
        path: &Path,
        data: &str,
        adjacency: Adjacency,
        limit: Budget,
        rule: FilterRule,
    ) -> Result<Self> {
        let (disk, failed) = (Disk::default(), in_file(path));
        let filter = Some(Filter { limit, rule });
        let header = Header {
            adjacency,
            converted: None,
            data: data.to_owned(),
            filter,
            format: FORMAT,
            id: random_id().map_err(&failed)?,
            time: now(),
        };
        let name = path.file_name().unwrap_or_default();
        let bytes = new_ledger(&header, std::iter::empty())?;
        let mut staged = disk.stage(folder_of(path), name).map_err(&failed)?;
        let begun = disk
            .write_at(&staged.file, 0, &bytes)
            .and_then(|()| disk.share(&staged.file))
            .and_then(|()| disk.sync(&staged.file))
            .and_then(|()| disk.name(&mut staged, path))
            .and_then(|()| disk.sync_folder(folder_of(path)));
        if let Err(error) = begun {
            if let Some(name) = staged.name.filter(|name| name != path) {
                let _ = disk.remove(&name);
            }
            return Err(match error.kind() {
                ErrorKind::AlreadyExists => Error::Ledger {
                    path: path.display().to_string(),
                    reason: "exists already; a ledger is never started again over an old one"
                        .into(),
                },
                _ => failed(error),
            });
        }
        // Where it had a name from the start it is locked.
        drop(staged);
        Self::read(path)
    }

    /// Reads a budget file as it stands, whoever may be writing it; every entry is checked again.
    ///
    /// # Errors
    /// [`Error::Ledger`], [`Error::Io`].
    pub fn read(path: &Path) -> Result<Self> {
        let file = open_file(path, false).map_err(in_file(path))?;
        // Where a reader cannot lock, the last line may look torn: it is not counted yet.
        let _ = file.lock_shared();
        apart(|| Self::read_open(path, &file))?
    }

    fn read_open(path: &Path, mut file: &File) -> Result<Self> {
        let failed = in_file(path);
        let mut first = [0];
        if file.read(&mut first).map_err(&failed)? == 1 && first == *b"{" {
            let (header, ledger) = old::read(path, file)?;
            let (charges, head, recovered) = (Vec::new(), String::new(), Vec::new());
            let (id, data) = (header.id, header.data);
            return Ok(Self { id, data, ledger, charges, head, lines: 0, recovered });
        }
        file.rewind().map_err(&failed)?;
        Self::as_read(replay::read(file, &path.display().to_string())?)
    }

    /// As [`BudgetFile::read`] from the bytes of a file.
    ///
    /// # Errors
    /// [`Error::Ledger`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::as_read(replay::read(bytes, "ledger")?)
    }

    /// The hashes of the lines of these numbers, from the bytes of a file, all of which is checked: whether it goes on
    /// from a head that somebody kept. `None` for a line that is not there.
    ///
    /// # Errors
    /// [`Error::Ledger`].
    pub fn heads_after<const N: usize>(
        bytes: &[u8],
        numbers: [u64; N],
    ) -> Result<[Option<String>; N]> {
        let read = replay::read(bytes, "ledger")?;
        let mut rest = &bytes[lines::BEGINNING..];
        let mut heads = [const { None }; N];
        for line in 1..=read.lines {
            let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            let hash = || Some(String::from_utf8_lossy(&rest[..64]).into_owned());
            for (head, _) in heads.iter_mut().zip(numbers).filter(|(_, n)| *n == line) {
                *head = hash();
            }
            rest = &rest[end + 1..];
        }
        Ok(heads)
    }

    /// Reads a budget file after all that was interrupted is finished or taken back, as every command that uses a
    /// ledger does; where it may not be written, as it stands.
    ///
    /// # Errors
    /// As [`BudgetFile::read`].
    pub fn open(path: &Path) -> Result<Self> {
        match Locked::open(&Disk::default(), path) {
            Ok(locked) => Ok(Self::after(locked)),
            Err(Error::Io {
                kind: ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem,
                ..
            }) => Self::read(path),
            Err(error) => Err(error),
        }
    }

    /// As it stands when the lock is given back; long ledgers are in memory once.
    fn after(locked: Locked) -> Self {
        let (contents, ledger, recovered) = locked.finish();
        Self::of(contents, ledger, recovered)
    }

    /// As a file was read.
    fn as_read(mut contents: Contents) -> Result<Self> {
        let ledger = contents.ledger()?;
        Ok(Self::of(contents, ledger, Vec::new()))
    }

    fn of(contents: Contents, ledger: Ledger, recovered: Vec<String>) -> Self {
        let Contents { header, head, lines, mut charges, .. } = contents;
        charges.retain(Charge::counts);
        Self { id: header.id, data: header.data, ledger, charges, head, lines, recovered }
    }

    /// Enters `count` runs of a guarantee, on the disk, before anything is released: for what can be seen from then
    /// on. A release that is a file is paid for by its [`Output`](crate::output::Output).
    ///
    /// # Errors
    /// As [`Ledger::spend`], and for a label that a line has no room for: the file is then unchanged; [`Error::Ledger`],
    /// [`Error::Io`].
    pub fn spend<'a>(
        path: &Path,
        guarantee: &Guarantee,
        count: u64,
        label: impl Into<Named<'a>>,
    ) -> Result<Self> {
        let (mut locked, named) = (Locked::open(&Disk::default(), path)?, label.into());
        let entry = locked.ask(|ledger| ledger.planned_runs(guarantee, count, named))?;
        locked.spend(Bill { entry, certificate: None, payload: None })?;
        Ok(Self::after(locked))
    }

    /// Whether [`BudgetFile::spend`] would agree as things stand; enters nothing.
    ///
    /// # Errors
    /// As [`BudgetFile::spend`].
    pub fn check<'a>(
        path: &Path,
        guarantee: &Guarantee,
        count: u64,
        label: impl Into<Named<'a>>,
    ) -> Result<Self> {
        let this = Self::open(path)?;
        let entry = this.ledger.planned_runs(guarantee, count, label.into())?;
        Bill { entry, certificate: None, payload: None }.check_length()?;
        Ok(this)
    }

    /// Pays for a release that was made elsewhere and that nobody has seen yet, by its certificate.
    ///
    /// # Errors
    /// As [`Ledger::add`], and for a release that is in the ledger already.
    pub fn add<'a>(
        path: &Path,
        certificate: &Certificate,
        label: impl Into<Named<'a>>,
    ) -> Result<Self> {
        let (mut locked, named) = (Locked::open(&Disk::default(), path)?, label.into());
        refuse_repeated(&locked, certificate)?;
        let entry = locked.ask(|ledger| ledger.planned(certificate, named))?;
        locked.spend(bill(entry, certificate))?;
        Ok(Self::after(locked))
    }

    /// Enters runs of a mechanism that somebody declares, at their word, before they are seen.
    ///
    /// # Errors
    /// As [`Ledger::spend_accepting_claim`], and the file is then unchanged; [`Error::Ledger`], [`Error::Io`].
    pub fn declare<'a>(
        path: &Path,
        guarantee: &Guarantee,
        count: u64,
        label: impl Into<Named<'a>>,
    ) -> Result<Self> {
        let (mut locked, named) = (Locked::open(&Disk::default(), path)?, label.into());
        let entry = locked.ask(|ledger| ledger.planned_at_its_word(guarantee, count, named))?;
        locked.spend(Bill { entry, certificate: None, payload: None })?;
        Ok(Self::after(locked))
    }

    /// Enters a release that has happened, even past the limit: a ledger that forgot it would allow more.
    ///
    /// # Errors
    /// As [`Ledger::record`], and for a release that is in the ledger already, unless `repeat` says that it is another.
    pub fn record<'a>(
        path: &Path,
        certificate: &Certificate,
        label: impl Into<Named<'a>>,
        repeat: Repeat,
    ) -> Result<(Self, Standing)> {
        let (mut locked, named) = (Locked::open(&Disk::default(), path)?, label.into());
        if repeat == Repeat::Refuse {
            refuse_repeated(&locked, certificate)?;
        }
        let (entry, standing) = locked.ask(|ledger| ledger.happened(certificate, named))?;
        locked.record(bill(entry, certificate))?;
        Ok((Self::after(locked), standing))
    }

    /// What the methods' epsilons rest on, in words: they compose releases that were planned before any answer was seen, and only a
    /// limit bounds what is chosen on the way, where it let every entry through (`docs/proofs/filters.md`).
    #[must_use]
    pub fn answers_hold(&self) -> String {
        let planned = "only where every release's parameters were fixed before any answer was seen";
        let recorded = self.charges.iter().filter(|charge| charge.is_recorded()).count();
        match (self.ledger.filter(), self.ledger.standing()) {
            (None, _) => planned.to_owned(),
            (Some(_), Standing::Passed(_)) => {
                format!("{planned}: the limit was passed, and promises nothing any more")
            }
            (Some(filter), Standing::Kept) if recorded == 0 => format!(
                "{planned}; however they are chosen, the guarantee is the limit, {}, kept by the rule above",
                filter.limit
            ),
            (Some(_), Standing::Kept) => format!(
                "{planned}: {recorded} were entered after they had happened, and nobody asked the limit before"
            ),
        }
    }

    /// The number of the ledger, drawn at random when it was begun: its copies share it, and no other has it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
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

    /// When, and for which release, each entry of the ledger was made (none for a file of an older layout).
    #[must_use]
    pub fn charges(&self) -> &[Charge] {
        &self.charges
    }

    /// Whether the release of a certificate is among the entries.
    #[must_use]
    pub fn holds(&self, certificate: &Certificate) -> bool {
        let digest = certificate.digest();
        self.charges.iter().filter_map(Charge::certificate).any(|named| named == digest)
    }

    /// Hash of the last line, which stands for all of them: kept elsewhere, it shows whether the file was written anew.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Number of lines.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// What this command found interrupted, and what became of it: a line each.
    #[must_use]
    pub fn recovered(&self) -> &[String] {
        &self.recovered
    }
}

/// What the ledger writes down of a release.
pub(crate) fn bill(entry: crate::accounting::Entry, certificate: &Certificate) -> Bill {
    let payload = certificate.payload_hash().map(|hash| hash.to_string());
    Bill { entry, certificate: Some(certificate.digest()), payload }
}

/// Refuses a release that is there already. A certificate that names no payload may be of many releases.
fn refuse_repeated(locked: &Locked, certificate: &Certificate) -> Result<()> {
    let Some(payload) = certificate.payload_hash().map(|hash| hash.to_string()) else {
        return Ok(());
    };
    let digest = certificate.digest();
    let same = |charge: &&Charge| {
        charge.certificate() == Some(digest.as_str()) || charge.payload() == Some(payload.as_str())
    };
    match locked.charges().find(same) {
        None => Ok(()),
        Some(charge) => Err(Error::Mismatch {
            what: "this release and a new one",
            left: format!("payload {payload}"),
            right: format!("entered already, as {}", charge.id()),
        }),
    }
}
