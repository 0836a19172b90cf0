//! Sliding windows over rows that keep coming.

use crate::error::{Fault, Result};
use crate::mechanism::Mechanism;
use crate::payer::Payer;
use crate::release::Release;
use crate::rows::{Rows, check_width, each_slice};
use crate::run::{Run, work};
use dp_core::NoiseRng;
use linalg_dp::any::AnyRelease;
use linalg_dp::window::{PrivateStream, WindowMechanism};
use pyo3::prelude::*;
use std::path::PathBuf;

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

    /// Refuses a copy in a process that was forked: it would draw the noise that the original draws.
    fn check(&self) -> Result<()> {
        if self.home == std::process::id() {
            return Ok(());
        }
        let what = "a stream in a process that was forked would draw the noise of the one it was copied from";
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
        let stream = match journal {
            Some(path) => window.stream_with_journal(&path, "", rng)?,
            None => window.stream(rng),
        };
        if let Some(ledger) = ledger {
            let label = label.unwrap_or("a stream from Python");
            work(py, || ledger.spend(window.guarantee(), label))?;
        }
        Ok(Self::of(stream))
    }

    /// Takes a stream up where its journal ends.
    #[staticmethod]
    fn resume(py: Python<'_>, journal: PathBuf) -> Result<Self> {
        let rng = NoiseRng::from_os()?;
        let stream = work(py, || WindowMechanism::resume(&journal, rng))?;
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
                let (mut values, mut ended) = (Vec::new(), 0);
                each_slice(&rows, &mut values, &mut |values| {
                    ended += stream.push(values)?;
                    Ok(())
                })?;
                Ok(ended)
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
