//! Writing: one process at a time, by a lock on the ledger itself.

use super::apart::apart;
use super::lines::{Id, MAGIC, MARK, Mark, Payment, Replaced, Step, in_file, line, now};
use super::old;
use super::paid::payload_hash;
use super::replay::{Charge, Contents, Stage, read};
use crate::accounting::{Cost, Entry, Ledger};
use crate::disk::{
    Disk, Folder, Identity, Stamp, folder_at, folder_of, identity, identity_of, is_private, look,
    may_be, names, open_file, open_own, stamp,
};
use crate::error::{Error, Result};
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

/// A release that is to be paid for.
#[derive(Debug)]
pub(crate) struct Bill {
    pub(crate) entry: Entry,
    pub(crate) certificate: Option<String>,
    pub(crate) payload: Option<String>,
}

/// Where a release is to be.
#[derive(Debug, Clone, Copy)]
struct To<'a> {
    path: &'a str,
    folder: Folder,
    replaces: Option<Stamp>,
}

impl Bill {
    /// What is written down of it.
    fn payment(&self, id: Id, to: Option<To<'_>>) -> Payment<&Cost> {
        let Self { entry, certificate, payload } = self;
        Payment {
            certificate: certificate.clone(),
            cost: entry.cost().as_ref(),
            folder: to.map(|to| to.folder),
            id,
            label: entry.label().to_owned(),
            part: entry.part().cloned().map(Box::new),
            path: to.map(|to| to.path.to_owned()),
            payload: payload.clone(),
            replaces: to.and_then(|to| to.replaces).map(Replaced::Seen),
            time: Some(now()),
        }
    }

    /// Refuses what a line has no room for.
    pub(super) fn check_length(&self) -> Result<()> {
        let id = Id::random().map_err(|e| Error::Entropy(e.to_string()))?;
        line("", "spend", &self.payment(id, None)).map(drop)
    }
}

/// A ledger that nobody else can change, in which nothing is open.
#[derive(Debug)]
pub(crate) struct Locked {
    disk: Disk,
    path: PathBuf,
    file: File,
    contents: Contents,
    /// Of all that stands.
    ledger: Ledger,
    recovered: Vec<String>,
    /// Why nothing more can be written: the end of the file is not known.
    broken: bool,
}

/// The hidden name of a release that is being paid for.
fn hidden(path: &Path, id: &str) -> PathBuf {
    folder_of(path).join(format!(".dps-{id}.reserved"))
}

impl Locked {
    /// Waits for the lock, reads, and finishes or takes back what was interrupted.
    pub(crate) fn open(disk: &Disk, path: &Path) -> Result<Self> {
        // A link must lead every process to one file.
        let path = path.canonicalize().map_err(in_file(path))?;
        let file = Self::lock(disk, &path)?;
        let contents = apart(|| read(&file, &path.display().to_string()))??;
        let ledger = Ledger::new(contents.header.adjacency);
        let (disk, recovered) = (disk.clone(), Vec::new());
        let mut this = Self { disk, path, file, contents, ledger, recovered, broken: false };
        this.repair()?;
        this.recover()?;
        this.ledger = apart(|| this.contents.ledger())??;
        Ok(this)
    }

    /// The file, of this layout, when nobody else changes it.
    fn lock(disk: &Disk, path: &Path) -> Result<File> {
        let failed = in_file(path);
        loop {
            let mut file = open_file(path, true).map_err(&failed)?;
            file.lock().map_err(&failed)?;
            // A ledger of an older layout may have been replaced while this one waited.
            if identity_of(&file).map_err(&failed)? != identity(path) {
                continue;
            }
            let mut first = [0];
            if file.read(&mut first).map_err(&failed)? == 1 && first == *b"{" {
                old::convert(disk, path, &file)?;
                continue;
            }
            file.rewind().map_err(&failed)?;
            return Ok(file);
        }
    }

    /// What the ledger answers: everything that takes time while the lock is held is asked here.
    pub(crate) fn ask<T: Send>(&self, ask: impl FnOnce(&Ledger) -> Result<T> + Send) -> Result<T> {
        apart(|| ask(&self.ledger))?
    }

    pub(crate) fn charges(&self) -> impl Iterator<Item = &Charge> {
        self.contents.charges.iter().filter(|charge| charge.counts())
    }

    pub(crate) fn head(&self) -> &str {
        &self.contents.head
    }

    pub(crate) fn recovered(&self) -> &[String] {
        &self.recovered
    }

    /// What the file holds now, and what was found interrupted.
    pub(super) fn finish(self) -> (Contents, Ledger, Vec<String>) {
        (self.contents, self.ledger, self.recovered)
    }

    fn failed(&self, error: std::io::Error) -> Error {
        in_file(&self.path)(error)
    }

    /// Takes away a line that was never finished, and brings the marks up to date.
    fn repair(&mut self) -> Result<()> {
        if self.contents.torn > 0 {
            let cut = self.disk.truncate(&self.file, self.contents.end);
            cut.map_err(|e| self.failed(e))?;
            let name = self.path.display();
            let said = format!("{name}: a line that was never finished is taken away");
            self.recovered.push(said);
        }
        if self.contents.torn > 0 { self.sync() } else { self.sync_added() }
    }

    /// Makes the lines durable that no mark counts.
    fn sync_added(&mut self) -> Result<()> {
        let marked = self.contents.marks.iter().flatten().map(|m| m.lines).max();
        if marked == Some(self.contents.lines) { Ok(()) } else { self.sync() }
    }

    /// Makes all lines durable, and marks the last.
    fn sync(&mut self) -> Result<()> {
        self.disk.sync(&self.file).map_err(|e| self.failed(e))?;
        let mark = Mark { lines: self.contents.lines, head: self.contents.head.clone() };
        let age = |i: &usize| self.contents.marks[*i].as_ref().map_or(0, |m| m.lines);
        let oldest = [0, 1].into_iter().min_by_key(age).unwrap_or(0);
        let place = (MAGIC.len() + oldest * MARK) as u64;
        // A mark that is missing, or half written, is made good by the next command: the other one stands.
        if self.disk.write_at(&self.file, place, mark.text().as_bytes()).is_ok() {
            self.contents.marks[oldest] = Some(mark);
        }
        Ok(())
    }

    /// Adds a line. Where it cannot be added whole, and durable if `durable`, it is taken away again.
    fn append(&mut self, word: &str, body: &impl Serialize, durable: bool) -> Result<()> {
        if self.broken {
            return Err(self.failed(std::io::Error::other("its end is not known any more")));
        }
        let (text, head) = line(&self.contents.head, word, body)?;
        // So only the last line can be unfinished.
        self.sync_added()?;
        let (at, before) = (self.contents.end, self.contents.head.clone());
        let written = self.disk.write_at(&self.file, at, text.as_bytes());
        let done = written.map_err(|e| self.failed(e)).and_then(|()| {
            self.contents.head = head;
            self.contents.lines += 1;
            self.contents.end += text.len() as u64;
            if durable { self.sync() } else { Ok(()) }
        });
        if done.is_err() {
            if self.contents.end > at {
                self.contents.head = before;
                self.contents.lines -= 1;
                self.contents.end = at;
            }
            self.broken = self.disk.truncate(&self.file, at).is_err();
        }
        done
    }

    /// Writes a payment down; returns its place among the charges. Its line is the longest that the payment will need: those of
    /// the steps after it have a few numbers each.
    fn pay(&mut self, word: &str, bill: &Bill, to: Option<To<'_>>) -> Result<usize> {
        let id = Id::random().map_err(|e| self.failed(e))?;
        let payment = bill.payment(id, to);
        self.append(word, &payment, true)?;
        let charge = Charge::of(word, payment);
        self.contents.charges.push(charge);
        Ok(self.contents.charges.len() - 1)
    }

    /// Counts a payment that stands; returns its number.
    fn count(&mut self, place: usize, bill: Bill) -> String {
        self.ledger.push(bill.entry);
        self.contents.charges[place].id.into()
    }

    /// Pays for what others may see from now on: never taken back.
    pub(crate) fn spend(&mut self, bill: Bill) -> Result<String> {
        let place = self.pay("spend", &bill, None)?;
        Ok(self.count(place, bill))
    }

    /// Enters what has happened.
    pub(crate) fn record(&mut self, bill: Bill) -> Result<String> {
        let place = self.pay("record", &bill, None)?;
        Ok(self.count(place, bill))
    }

    fn step(&mut self, word: &str, place: usize, file: Option<Identity>, to: Stage) -> Result<()> {
        let step = Step { file, id: self.contents.charges[place].id };
        // Closing only spares the next command a look: it need not be on the disk.
        self.append(word, &step, word != "close")?;
        self.contents.charges[place].stage = to;
        Ok(())
    }

    /// Pays for a complete file that nobody but its owner can read, and gives it the name `path`. `hide` gives it the
    /// name it is told first. On an error nothing is spent, unless the error says otherwise.
    pub(crate) fn publish(
        &mut self,
        bill: Bill,
        path: &Path,
        replaces: Option<Stamp>,
        file: &File,
        hide: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Result<String> {
        let Some(name) = path.to_str() else {
            let allowed = "a path in UTF-8 where a ledger pays: the ledger writes it down";
            return Err(Error::invalid("output", path.display(), allowed));
        };
        let identity = identity_of(file).map_err(in_file(path))?;
        let folder = folder_at(folder_of(path)).map_err(in_file(path))?;
        let place = self.pay("reserve", &bill, Some(To { path: name, folder, replaces }))?;
        let hidden = hidden(path, self.contents.charges[place].id());
        let named = hide(&hidden).and_then(|()| self.disk.sync_folder(folder_of(path)));
        let ready = named
            .map_err(in_file(path))
            .and_then(|()| self.step("commit", place, identity, Stage::Committed(identity)));
        let before = names(&hidden);
        let ready = ready.map(|()| self.rename(&hidden, path, replaces).map_err(in_file(path)));
        if let Ok(Err(error)) = &ready
            && identity.is_none_or(|file| !self.is_hidden(&hidden, path, file, before))
        {
            // It may have its name, whatever was answered, and the next command finds out.
            return Err(self.left_open(error));
        }
        if let Err(error) = ready.flatten() {
            return Err(match self.take_back(place, &hidden) {
                Ok(()) => error,
                Err(_) => self.left_open(&error),
            });
        }
        // From here on the release can be seen, and is paid for, whatever happens.
        let id = self.count(place, bill);
        let shared = self.disk.share(file);
        // Renaming in two steps may have left it.
        let removed = self.disk.remove(&hidden);
        let shared = shared.and_then(|()| self.disk.sync_folder(folder_of(path)));
        shared.map_err(|error| Error::Ledger {
            path: path.display().to_string(),
            reason: format!("{error}; the release has its name and is paid for"),
        })?;
        // What is not closed here is closed by the next command.
        if removed.is_ok() {
            let _ = self.step("close", place, None, Stage::Closed);
        }
        Ok(id)
    }

    fn left_open(&self, error: &Error) -> Error {
        let name = self.path.display().to_string();
        let reason = format!(
            "{error}; what was begun stands in the ledger, and the next command that uses it \
             finishes it or takes it back"
        );
        Error::Ledger { path: name, reason }
    }

    fn rename(&self, from: &Path, to: &Path, replaces: Option<Stamp>) -> std::io::Result<()> {
        if replaces.is_some() && stamp(to) == replaces {
            return self.disk.rename_over(from, to);
        }
        self.disk.rename_new(from, to)
    }

    /// Whether a file is seen to have no name but the hidden one after `path` was refused to it: with as many names as
    /// `before`. A file system of the network may give a name, lose the answer, and refuse it when it is asked again.
    fn is_hidden(&self, hidden: &Path, path: &Path, file: Identity, before: u64) -> bool {
        // What such a file system remembers of a folder is asked anew when it is opened.
        self.disk.sync_folder(folder_of(path)).is_ok()
            && look(hidden).is_ok_and(|found| found == Some(file))
            && look(path).is_ok_and(|found| found != Some(file))
            && names(hidden) == before
    }

    /// For a release that nobody could have seen.
    fn take_back(&mut self, place: usize, hidden: &Path) -> Result<()> {
        self.step("void", place, None, Stage::Voided)?;
        self.clear(place, hidden)
    }

    /// Removes, for good, the file of a payment that is void.
    fn clear(&mut self, place: usize, hidden: &Path) -> Result<()> {
        let removed = self.disk.remove(hidden);
        let removed = removed.and_then(|()| self.disk.sync_folder(folder_of(hidden)));
        removed.map_err(in_file(hidden))?;
        self.step("close", place, None, Stage::Gone)
    }

    /// Finishes or takes back what was interrupted: whoever did it holds no lock any more.
    fn recover(&mut self) -> Result<()> {
        for place in 0..self.contents.charges.len() {
            let charge = &self.contents.charges[place];
            let stage = charge.stage;
            if matches!(stage, Stage::Closed | Stage::Gone) {
                continue;
            }
            let (replaces, folder) =
                charge.held.as_ref().map_or((None, None), |held| (held.replaces, held.folder));
            let path = PathBuf::from(charge.path.clone().unwrap_or_default());
            let hidden = hidden(&path, charge.id());
            let said = match folder_at(folder_of(&path)) {
                Err(_) => "is left as it is: its folder is not there".to_owned(),
                // What lies in its own folder is not known.
                Ok(found) if folder.is_some_and(|own| !may_be(own, found)) => {
                    "is left as it is: another folder has the name of its own; put that one back"
                        .to_owned()
                }
                Ok(_) => match self.settle(place, stage, &path, &hidden, replaces) {
                    Ok(said) => said.to_owned(),
                    Err(error) => format!("is left as it is: {error}"),
                },
            };
            let name = self.path.display();
            self.recovered
                .push(format!("{name}: the release {} was interrupted and {said}", path.display()));
        }
        Ok(())
    }

    /// Whether the file of this name is the release that a payment is for, and may be read by others: whoever can write a ledger could
    /// name any file of its reader's otherwise. So it is this file itself, and holds what was paid for.
    fn is_paid_for(&self, place: usize, path: &Path, expected: Option<Identity>) -> bool {
        let itself = || {
            let file = open_own(path).ok()?;
            let found = identity_of(&file).ok()?;
            let payload = payload_hash(&file).ok()??;
            Some(found == expected && Some(payload) == self.contents.charges[place].payload)
        };
        expected.is_some() && itself().unwrap_or(false)
    }

    fn settle(
        &mut self,
        place: usize,
        stage: Stage,
        path: &Path,
        hidden: &Path,
        replaces: Option<Stamp>,
    ) -> Result<&'static str> {
        let back = "is taken back: nobody has seen it, and nothing is spent";
        let Stage::Committed(expected) = stage else {
            if stage == Stage::Reserved {
                self.take_back(place, hidden)?;
            } else {
                self.clear(place, hidden)?;
            }
            return Ok(back);
        };
        let failed = in_file(path);
        let said = match look(hidden).map_err(&failed)? {
            Some(file) => {
                let before = names(hidden);
                // Two names of one file: renaming was done in two steps, and interrupted between them.
                let done = look(path).map_err(&failed)? == Some(file);
                let renamed = if done { Ok(()) } else { self.rename(hidden, path, replaces) };
                if let Err(e) = renamed {
                    if e.kind() != std::io::ErrorKind::AlreadyExists
                        || before > 1
                        || !is_unseen(hidden)
                        || !self.is_hidden(hidden, path, file, before)
                    {
                        return Err(failed(e));
                    }
                    self.take_back(place, hidden)?;
                    return Ok(
                        "is taken back: its name was taken, nobody has seen it, and nothing is spent",
                    );
                }
                self.disk.remove(hidden).map_err(&failed)?;
                "is published now: it was paid for"
            }
            // Once it had its name, others may have read it.
            None => "was published already: its payment stands",
        };
        if self.is_paid_for(place, path, expected) {
            let file = open_own(path).map_err(&failed)?;
            if identity_of(&file).map_err(&failed)? == expected {
                self.disk.share(&file).map_err(&failed)?;
            }
        }
        self.disk.sync_folder(folder_of(path)).map_err(&failed)?;
        self.step("close", place, None, Stage::Closed)?;
        Ok(said)
    }
}

/// Whether nobody but its owner could read a file: one that had its name once lost that.
fn is_unseen(hidden: &Path) -> bool {
    open_own(hidden).and_then(|file| is_private(&file)).unwrap_or(false)
}
