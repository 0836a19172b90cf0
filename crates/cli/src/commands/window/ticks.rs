//! A release file a tick, and the one payment for all of them.
//!
//! A tick is published after the journal holds its noise, and before the next tick begins: so after a crash at most the
//! newest is missing, and the journal makes it again, bit for bit. The ledger pays with the first tick, by the steps of
//! every release (`docs/LEDGER.md`); its label names the stream, so that a run that goes on knows whether that was done.

use crate::commands::release::noted;
use crate::error::{Error, Result, shown};
use crate::output::Record;
use dp_core::accounting::Named;
use dp_core::certificate::preprocessing::Preprocessing;
use dp_core::ledger_file::BudgetFile;
use dp_core::output::{Existing, Output, Paid};
use dp_core::{PublicSeed, release_file};
use linalg_dp::window::{PrivateStream, WindowMechanism};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a journal of `dps window` says besides.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    /// The number of the stream, drawn at random: in the label of its payment.
    stream: String,
    /// The number of the ledger that pays; none where none does.
    ledger: Option<String>,
    /// The columns that enter, where the input has columns.
    pub(super) columns: Option<Vec<String>>,
    /// What becomes of their values before anything else, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) preprocessing: Option<Preprocessing>,
}

impl Note {
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("strings serialise")
    }

    pub(super) fn of(stream: &PrivateStream, journal: &Path) -> Result<Self> {
        serde_json::from_str(stream.note()).map_err(|_| {
            let name = shown(journal);
            Error::Refused(format!("{name} is no journal of dps window: another program began it"))
        })
    }
}

/// Where ticks go.
pub(super) struct Ticks {
    folder: PathBuf,
    journal: PathBuf,
    ledger: Option<PathBuf>,
    /// What becomes of values before anything else.
    pub(super) mapped: Option<Arc<Preprocessing>>,
    /// What the ledger calls the stream.
    label: String,
    /// Whether nothing is left to be paid.
    paid: bool,
    receipt: Option<Paid>,
    published: u64,
}

impl Ticks {
    pub(super) fn new(folder: &Path, journal: &Path, ledger: Option<&Path>) -> Self {
        let (folder, journal) = (folder.to_owned(), journal.to_owned());
        let (label, paid, receipt) = (String::new(), ledger.is_none(), None);
        Self {
            folder,
            journal,
            ledger: ledger.map(Path::to_owned),
            mapped: None,
            label,
            paid,
            receipt,
            published: 0,
        }
    }

    fn file(&self, tick: u64) -> PathBuf {
        self.folder.join(format!("tick-{tick:08}.dps"))
    }

    /// The folder is there, and the journal is not in it.
    pub(super) fn prepare(&self) -> Result<()> {
        let failed = |e| Error::io(&self.folder, e);
        match std::fs::create_dir(&self.folder) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(failed(e)),
            _ => {}
        }
        let folder = self.folder.canonicalize().map_err(failed)?;
        let beside = self.journal.parent().filter(|p| !p.as_os_str().is_empty());
        let beside = beside.unwrap_or(Path::new(".")).canonicalize();
        if beside.map_err(|e| Error::io(&self.journal, e))?.starts_with(folder) {
            return Err(Error::usage(
                "--journal lies in the folder of the releases: it is as secret as the rows, and they are published; \
                 keep it elsewhere",
            ));
        }
        Ok(())
    }

    /// What is refused before a stream begins, and what its journal is to say.
    pub(super) fn begin(
        &mut self,
        mechanism: &WindowMechanism,
        columns: Option<&[String]>,
    ) -> Result<Note> {
        self.check_newer(0)?;
        let stream = PublicSeed::draw()?.to_string();
        let ledger = match &self.ledger {
            None => None,
            Some(path) => {
                let named = Named::from("a stream").mapped(self.mapped.as_deref());
                let file = BudgetFile::check(path, mechanism.guarantee(), 1, named)?;
                file.recovered().iter().for_each(|said| noted(said));
                Some(file.id().to_owned())
            }
        };
        let columns = columns.map(<[String]>::to_vec);
        let preprocessing = self.mapped.as_deref().cloned();
        let note = Note { stream, ledger, columns, preprocessing };
        self.label = label(&note);
        Ok(note)
    }

    /// The ledger and the folder of a stream that goes on.
    pub(super) fn go_on(&mut self, stream: &PrivateStream) -> Result<()> {
        let closed = stream.blocks_closed();
        self.check_newer(closed)?;
        let note = Note::of(stream, &self.journal)?;
        self.label = label(&note);
        let journal = shown(&self.journal);
        let (path, id) = match (&self.ledger, note.ledger) {
            (None, None) => return Ok(()),
            (Some(_), None) => {
                return Err(Error::Refused(format!(
                    "the stream of {journal} began without a ledger, and its releases are out: leave --ledger out, and enter \
                     the first of them by dps ledger record"
                )));
            }
            (None, Some(_)) => {
                return Err(Error::Refused(format!(
                    "a ledger pays for the stream of {journal}: name it with --ledger"
                )));
            }
            (Some(path), Some(id)) => (path, id),
        };
        // Finishes, or takes back, a payment that was interrupted.
        let file = BudgetFile::open(path)?;
        file.recovered().iter().for_each(|said| noted(said));
        let name = shown(path);
        if file.id() != id {
            return Err(Error::Refused(format!(
                "another ledger than {name} pays for the stream of {journal}: name that one"
            )));
        }
        self.paid = file.ledger().entries().iter().any(|entry| entry.label() == self.label);
        let seen = closed > 1 || closed == 1 && self.file(0).exists();
        if seen && !self.paid {
            return Err(Error::Refused(format!(
                "{name} does not hold the payment of the stream of {journal}, whose releases are out: an older copy of it \
                 was put back; put the newest in its place"
            )));
        }
        Ok(())
    }

    /// Refuses a folder with ticks that the journal knows nothing of: their noise was drawn, and would be drawn again.
    fn check_newer(&self, closed: u64) -> Result<()> {
        let files = match std::fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(Error::io(&self.folder, e)),
        };
        for file in files {
            let name = file.map_err(|e| Error::io(&self.folder, e))?.file_name();
            let Some(tick) = name.to_str().and_then(number).filter(|tick| *tick >= closed) else {
                continue;
            };
            let (folder, journal) = (shown(&self.folder), shown(&self.journal));
            return Err(Error::Refused(if self.journal.exists() {
                format!(
                    "{folder} holds tick {tick}, which {journal} has not come to: an older copy of the journal was put back, \
                     or the folder is another stream's. Going on would draw new noise for rows that were released; put \
                     the newest journal in its place"
                )
            } else {
                format!(
                    "{folder} holds tick {tick} of a stream, and {journal} is not there: name that stream's journal, or \
                     another folder for a new one"
                )
            }));
        }
        Ok(())
    }

    /// Gives the newest tick its file, where it has none; a file that is there must be that very release.
    pub(super) fn publish(&mut self, stream: &PrivateStream) -> Result<()> {
        let release = stream.release()?;
        let release = match &self.mapped {
            Some(mapped) => release.of_mapped(mapped)?,
            None => release,
        };
        let path = self.file(stream.blocks_closed() - 1);
        if path.symlink_metadata().is_ok() {
            let same =
                path.is_file() && release_file::read(&path)? == release_file::encode(&release)?;
            if same && self.paid {
                return Ok(());
            }
            return Err(Error::Refused(format!(
                "{} exists and is not what this stream releases there; it is not written over",
                shown(&path)
            )));
        }
        let mut output = Output::create(&path, Existing::Keep)?;
        self.mapped.iter().for_each(|mapped| output.mapped(mapped.clone()));
        let receipt = output.receipt();
        if let Some(ledger) = self.ledger.as_ref().filter(|_| !self.paid) {
            output.pay_from(ledger, stream.guarantee(), &self.label)?;
        }
        let written = release_file::write(output, &release);
        receipt.recovered().iter().for_each(|said| noted(said));
        written?;
        self.paid = true;
        self.receipt = receipt.paid().or(self.receipt.take());
        self.published += 1;
        Ok(())
    }

    /// What was done.
    pub(super) fn written(&self, stream: &PrivateStream, columns: Option<&[String]>) -> Record {
        let (closed, block) = (stream.blocks_closed(), stream.config().block);
        let mut record = Record::new().integer("published now", self.published);
        if closed > 0 {
            record = record.text("newest release", self.file(closed - 1).display().to_string());
        }
        record = record.integer("next tick", closed);
        if stream.config().pace == linalg_dp::window::Pace::Rows {
            // Their number is public here.
            record = record.integer("rows that wait for a full block", stream.next_row() % block);
        }
        if let Some(names) = columns {
            record = record.names("columns that entered", names);
        }
        if let (Some(ledger), Some(paid)) = (&self.ledger, &self.receipt) {
            record = record.text("paid from", ledger.display().to_string());
            record = record.text("release id", &paid.id).text("ledger head", &paid.head);
        }
        record
    }
}

/// What a ledger calls the stream.
fn label(note: &Note) -> String {
    format!("sliding window, stream {}", note.stream)
}

/// The tick of a file's name.
fn number(name: &str) -> Option<u64> {
    name.strip_prefix("tick-")?.strip_suffix(".dps")?.parse().ok()
}
