//! Sliding windows over rows that keep coming.

use crate::error::{Fault, Result};
use crate::mechanism::Mechanism;
use crate::payer::Payer;
use crate::release::Release;
use crate::rows::{Rows, append, check_width};
use crate::run::{Run, work};
use dp_core::ledger_file::BudgetFile;
use dp_core::{NoiseRng, PublicSeed};
use linalg_dp::any::AnyRelease;
use linalg_dp::window::{PrivateStream, WindowMechanism};
use pyo3::prelude::*;
use sketch::rows::Storage;
use std::path::{Path, PathBuf};

/// What a journal says of the ledger that pays for its stream: its number, and the label of the payment.
struct Payment {
    ledger: String,
    label: String,
}

impl Payment {
    fn text(&self) -> String {
        serde_json::json!({ "ledger": self.ledger, "payment": self.label }).to_string()
    }

    /// Of a journal; none where no ledger pays.
    fn of(note: &str) -> Result<Option<Self>> {
        if note.is_empty() {
            return Ok(None);
        }
        let said: serde_json::Value = serde_json::from_str(note).unwrap_or_default();
        match (said["ledger"].as_str(), said["payment"].as_str()) {
            (Some(ledger), Some(label)) => {
                Ok(Some(Self { ledger: ledger.to_owned(), label: label.to_owned() }))
            }
            _ => Err(refused("another program began the stream: go on with it there")),
        }
    }
}

fn refused(why: &str) -> Fault {
    Fault::Data(format!("the journal is not taken up: {why}"))
}

/// Opens a stream whose journal names the payment, and pays; where the ledger refuses there is no journal.
fn paid_with_journal(
    window: &WindowMechanism,
    path: &Path,
    ledger: &Payer,
    label: &str,
    rng: NoiseRng,
) -> Result<PrivateStream<NoiseRng>> {
    let file = ledger.check(window.guarantee())?;
    // Unlike that of any other stream, so that a stream that goes on knows whether it was paid for.
    let label = format!("{label} ({})", PublicSeed::draw()?);
    let payment = Payment { ledger: file.id().to_owned(), label };
    let stream = window.stream_with_journal(path, &payment.text(), rng)?;
    if let Err(error) = ledger.spend(window.guarantee(), &payment.label) {
        // Just begun, and of no use without the payment.
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    Ok(stream)
}

/// A stream of rows.
#[pyclass(module = "dps._dps")]
pub(crate) struct Stream {
    stream: PrivateStream<NoiseRng>,
    /// The process that opened it.
    home: u32,
}

impl Stream {
    fn of(stream: PrivateStream<NoiseRng>) -> Self {
        Self { stream, home: std::process::id() }
    }

    /// Refuses a copy in a process that was forked: what was paid for once would be released twice.
    fn check(&self) -> Result<()> {
        if self.home == std::process::id() {
            return Ok(());
        }
        let what = "a stream in a process that was forked would release a second time what was paid for once";
        Err(Fault::Data(format!("{what}: open or resume it in the process that goes on with it")))
    }
}

#[pymethods]
impl Stream {
    /// Opens a stream; the ledger pays now, since releases are seen as they come.
    #[new]
    #[pyo3(signature = (mechanism, *, journal=None, ledger=None, label=None, test_noise=None))]
    fn new(
        py: Python<'_>,
        mechanism: &Mechanism,
        journal: Option<PathBuf>,
        ledger: Option<&Bound<'_, Payer>>,
        label: Option<&str>,
        test_noise: Option<u64>,
    ) -> Result<Self> {
        let Some(window) = mechanism.window() else {
            return Err(Fault::Data("this mechanism opens no stream".into()));
        };
        let ledger = ledger.map(Bound::get);
        let rng = Run::new(ledger, None, test_noise)?.rng;
        let label = label.unwrap_or("a stream from Python");
        let stream = work(py, || match (journal, ledger) {
            (Some(path), Some(ledger)) => paid_with_journal(window, &path, ledger, label, rng),
            (Some(path), None) => Ok(window.stream_with_journal(&path, "", rng)?),
            (None, Some(ledger)) => {
                ledger.spend(window.guarantee(), label)?;
                Ok(window.stream(rng))
            }
            (None, None) => Ok(window.stream(rng)),
        })?;
        Ok(Self::of(stream))
    }

    /// Takes a stream up where its journal ends. The ledger that pays for it is named again: it holds the payment, or pays
    /// now where no block has ended.
    #[staticmethod]
    #[pyo3(signature = (journal, *, ledger=None))]
    fn resume(py: Python<'_>, journal: PathBuf, ledger: Option<&Bound<'_, Payer>>) -> Result<Self> {
        let rng = NoiseRng::from_os()?;
        let ledger = ledger.map(Bound::get);
        let stream = work(py, || {
            let stream = WindowMechanism::resume(&journal, rng)?;
            let (ledger, payment) = match (ledger, Payment::of(stream.note())?) {
                (None, None) => return Ok(stream),
                (Some(_), None) => {
                    let why = "the stream began without a ledger: leave `ledger` out, and record the first of its releases";
                    return Err(refused(why));
                }
                (None, Some(_)) => {
                    return Err(refused("a ledger pays for the stream: name it as `ledger`"));
                }
                (Some(ledger), Some(payment)) => (ledger, payment),
            };
            let file = BudgetFile::open(ledger.ledger())?;
            if file.id() != payment.ledger {
                return Err(refused("another ledger pays for the stream: name that one"));
            }
            let paid = file.ledger().entries().iter().any(|entry| entry.label() == payment.label);
            if !paid && stream.blocks_closed() > 0 {
                return Err(refused(
                    "the ledger does not hold its payment, and its releases are out: put the newest copy of the ledger in place",
                ));
            }
            if !paid {
                ledger.spend(stream.guarantee(), &payment.label)?;
            }
            Ok(stream)
        })?;
        Ok(Self::of(stream))
    }

    /// Adds rows; how many blocks ended.
    fn push(&mut self, py: Python<'_>, data: &Bound<'_, PyAny>) -> Result<u64> {
        self.check()?;
        let (d, stream) = (self.stream.config().dim, &mut self.stream);
        let mut kept = None;
        let source = Rows::of(data)?.source(&mut kept)?;
        // All of them are read before one is taken: whoever mends rows that were refused and pushes them again would count twice
        // those before the bad one.
        work(py, || {
            source.whole(&mut |_, _| Ok(()), |rows| {
                check_width(&rows.into(), d)?;
                // At once: of several pushes those before the refused one would stay.
                let mut values = Vec::new();
                Ok(stream.push(match rows.storage() {
                    Storage::F64(values) => values,
                    _ => {
                        append(&rows, &mut values);
                        &values
                    }
                })?)
            })
        })
    }

    /// Ends a block, where a clock does.
    fn tick(&mut self) -> Result<()> {
        self.check()?;
        Ok(self.stream.tick()?)
    }

    /// The window that ends with the last full block.
    fn release(&self, py: Python<'_>) -> Result<Release> {
        self.check()?;
        let release = work(py, || self.stream.release())?;
        Ok(Release::new(AnyRelease::Window(release).into()))
    }

    /// Number of the next row, from zero.
    fn next_row(&self) -> u64 {
        self.stream.next_row()
    }
}
