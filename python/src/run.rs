//! One run of a mechanism: its generator, who pays, and whether Python wants it to go on.

use crate::error::{Fault, Result};
use crate::payer::Payer;
use core::ops::ControlFlow;
use dp_core::mechanism::Progress;
use dp_core::{FreshSeed, Guarantee, NoiseRng};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// One run.
pub(crate) struct Run {
    pub(crate) rng: NoiseRng,
    pub(crate) watch: Watch,
    /// Of a release in parts: that of its one averaged mechanism.
    seed: Option<FreshSeed>,
}

impl Run {
    /// A run with secret noise, or with noise that anyone can subtract, for tests.
    pub(crate) fn new(
        ledger: Option<&Payer>,
        callback: Option<Py<PyAny>>,
        test_noise: Option<u64>,
    ) -> Result<Self> {
        let rng = match test_noise {
            None => NoiseRng::from_os()?,
            Some(_) if ledger.is_some() => {
                return Err(Fault::invalid(
                    "insecure_test_noise",
                    "a number",
                    "None where a ledger pays: such a release is not private",
                ));
            }
            Some(seed) => NoiseRng::deterministic_not_private(seed),
        };
        Ok(Self { rng, watch: Watch::new(callback), seed: None })
    }

    /// A run that makes a block of a release in parts.
    pub(crate) fn of_block(rng: NoiseRng, seed: FreshSeed) -> Self {
        Self { rng, watch: Watch::new(None), seed: Some(seed) }
    }

    /// The seed of an averaged mechanism; for one release.
    pub(crate) fn fresh(&mut self) -> Result<FreshSeed> {
        Ok(self.seed.take().map_or_else(FreshSeed::draw, Ok)?)
    }

    /// Whether the ledger would agree, before anything is computed.
    pub(crate) fn ask_ledger(
        &self,
        py: Python<'_>,
        ledger: Option<&Payer>,
        promise: Option<&Guarantee>,
    ) -> Result<()> {
        match (ledger, promise) {
            (None, _) => Ok(()),
            (Some(ledger), Some(promise)) => work(py, || ledger.check(promise).map(drop)),
            (Some(_), None) => Err(Fault::invalid(
                "ledger",
                "a file",
                "None: this release gives no differential privacy, and a ledger counts nothing else",
            )),
        }
    }

    /// Pays for what is complete, before anybody sees it.
    pub(crate) fn pay(
        &self,
        py: Python<'_>,
        ledger: Option<&Payer>,
        promise: Option<&Guarantee>,
        label: &str,
    ) -> Result<()> {
        // What was interrupted while it was computed costs nothing.
        py.check_signals()?;
        if let (Some(ledger), Some(promise)) = (ledger, promise) {
            work(py, || ledger.spend(promise, label))?;
        }
        Ok(())
    }
}

/// Python is asked at most this often.
const PAUSE: Duration = Duration::from_millis(50);

/// Asks Python between parts of the work: for Ctrl-C, and what a callback says.
pub(crate) struct Watch {
    callback: Option<Py<PyAny>>,
    asked: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    pub(crate) fn new(callback: Option<Py<PyAny>>) -> Self {
        Self { callback, asked: Instant::now(), raised: None }
    }

    /// The answer to a mechanism's question.
    pub(crate) fn ask(&mut self, progress: Progress) -> ControlFlow<()> {
        let last = progress.done == progress.total;
        if self.asked.elapsed() < PAUSE && !last && progress.done > 0 {
            return ControlFlow::Continue(());
        }
        self.asked = Instant::now();
        let callback = self.callback.as_ref();
        let answer = Python::attach(|py| {
            py.check_signals()?;
            match callback {
                Some(callback) => callback.call1(py, (progress.done, progress.total)).map(drop),
                None => Ok(()),
            }
        });
        match answer {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// As [`Watch::ask`] for work that is cut here.
    pub(crate) fn tick(&mut self, done: usize, total: usize) -> Result<()> {
        match self.ask(Progress::new(done as u64, total as u64)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(self
                .raised
                .take()
                .map_or_else(|| Fault::Data("stopped by the caller".into()), Fault::Python)),
        }
    }

    /// What a mechanism answered; where Python stopped it, what Python raised.
    pub(crate) fn after<T, E>(&mut self, answer: Result<T, E>) -> Result<T>
    where
        Fault: From<E>,
    {
        match self.raised.take() {
            Some(error) => Err(Fault::Python(error)),
            None => Ok(answer?),
        }
    }
}

/// The process that loaded this library.
static HOME: OnceLock<u32> = OnceLock::new();

/// The threads of a process that was forked, and which it is.
static FORKED: Mutex<Option<(u32, &'static ThreadPool)>> = Mutex::new(None);

/// Notes the process that loaded the library.
#[pyfunction]
pub(crate) fn at_home() {
    HOME.get_or_init(std::process::id);
}

/// Works while other threads of Python run.
///
/// The threads that share the work are not copied into a process that was forked, where waiting for them would never end:
/// such a process gets its own. There a Ctrl-C is seen when the work is done, before anything is paid.
pub(crate) fn work<T: Send>(py: Python<'_>, task: impl FnOnce() -> T + Send) -> T {
    py.detach(|| match threads() {
        None => task(),
        Some(pool) => pool.install(task),
    })
}

/// Nothing in the process that loaded the library; nor where no thread can be made, where there is but one.
fn threads() -> Option<&'static ThreadPool> {
    let here = std::process::id();
    if HOME.get().is_none_or(|&home| home == here) {
        return None;
    }
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((process, pool)) = *forked
        && process == here
    {
        return Some(pool);
    }
    // Never dropped: after another fork, that would wait for threads which are not there.
    let pool: &'static ThreadPool = Box::leak(Box::new(ThreadPoolBuilder::new().build().ok()?));
    *forked = Some((here, pool));
    Some(pool)
}
