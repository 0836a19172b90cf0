//! The calibrated sliding window: one calibration, any number of streams.

use super::config::{Pace, Row, StreamConfig};
use super::engine::Engine;
use super::journal::{Journal, OpenJournal};
use super::release::WindowCovariance;
use super::stream::PrivateStream;
use crate::author::AUTHOR;
use crate::covariance::RowClip;
use crate::error::{Error, Result};
use core::borrow::BorrowMut;
use core::ops::ControlFlow;
use dp_core::mechanism::{Mechanism, Prediction, Progress, author};
use dp_core::{Budget, Guarantee, NoiseRng, Release, SquaredNorm};
use std::path::Path;

const NAME: &str = "sliding-window covariance";

/// A sliding window of second moments, calibrated: what a [`PrivateStream`] is opened from.
///
/// # Privacy
/// Adjacency: two streams that differ in the row of one time step (`ZeroRow`: one of the
/// two rows is zero; `ReplaceRow`: both arbitrary) or, under [`super::Pace::Clock`], in whether one row
/// is there (`AddRemoveRow`). The certificate covers **all** releases of the stream together.
/// When blocks end is public; under [`super::Pace::Rows`] so is that a row arrived, and `AddRemoveRow` is
/// refused. Under [`super::Pace::Clock`] the guarantee is among streams of at most `block` rows a tick:
/// more are refused, and that refusal is not private. Rows longer than the bound are scaled to it;
/// how many is not reported. Each stream spends the budget.
///
/// # Cost
/// A row: `d^2` multiplications. Memory: see [`super`]'s table, and the sum of the open block.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
/// use linalg_dp::window::{StreamConfig, WindowMechanism};
///
/// // The last 64 rows of two numbers, of norm at most 1; what one row holds is protected.
/// let adjacency = Adjacency::ZeroRow { bound: NormBound::new(1.0)? };
/// let config = StreamConfig::new(2, 64, adjacency, Budget::new(1.0, 1e-6)?);
/// let mechanism = WindowMechanism::calibrate(config)?;
/// let mut stream = mechanism.stream(NoiseRng::from_os()?);
/// for _ in 0..100 {
///     stream.push(&[0.6, 0.8])?;
/// }
/// let release = stream.release()?;
/// assert_eq!(release.payload().span().end_row, 100);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
pub struct WindowMechanism {
    config: StreamConfig,
    clip: RowClip,
    guarantee: Guarantee,
    /// Without a row.
    engine: Engine,
}

impl core::fmt::Debug for WindowMechanism {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WindowMechanism").field("config", &self.config).finish_non_exhaustive()
    }
}

impl WindowMechanism {
    /// The least noise that meets the budget for everything that a stream will release.
    ///
    /// # Errors
    /// [`Error::Core`] for sizes out of range or a budget that cannot be met;
    /// [`Error::NotProven`] for an adjacency or combination without proof.
    pub fn calibrate(config: StreamConfig) -> Result<Self> {
        config.window_blocks()?;
        let row = config.row(NAME)?;
        let clip = RowClip::new(config.dim, row.bound)?.check_room()?;
        let row = Row { bound: clip.certified_bound(), ..row };
        let (engine, guarantee) = Engine::new(&config, clip, row)?;
        Ok(Self { config, clip, guarantee, engine })
    }

    /// The public parameters.
    #[must_use]
    pub fn config(&self) -> &StreamConfig {
        &self.config
    }

    /// What all releases of one stream together promise.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// A stream without rows. It keeps the generator, and its certificates name it; `R` is a generator, or
    /// `&mut` one.
    pub fn stream<R: BorrowMut<NoiseRng>>(&self, rng: R) -> PrivateStream<R> {
        let engine = self.engine.restarted(&self.config, self.clip);
        PrivateStream::open(self.config, self.clip, self.guarantee.clone(), engine, rng)
    }

    /// As [`WindowMechanism::stream`], with a journal: at every block end the state is written to `path`
    /// (a temporary file, flushed, then renamed, then its folder flushed) **before** the block can
    /// be released. `PATH.lock` is locked as long as the stream lives.
    ///
    /// The file is as secret as the data, and on Unix readable by its owner only: under `Tree`, `Factorised` and
    /// `Decayed` it holds exact sums, and always a key with a digest of every block's rows, so that rows that are given
    /// again are known ([`PrivateStream::rewind`]). It grows by 32 bytes a block, and is written whole at each. `note`
    /// is kept as it is ([`PrivateStream::note`]).
    ///
    /// # Errors
    /// [`Error::Io`] when the file exists already or cannot be written;
    /// [`Error::Unusable`] while another stream holds it.
    pub fn stream_with_journal<R: BorrowMut<NoiseRng>>(
        &self,
        path: &Path,
        note: &str,
        rng: R,
    ) -> Result<PrivateStream<R>> {
        self.stream(rng).journalled(path, note)
    }

    /// Takes a stream up where its journal ends. Feed the rows from
    /// [`PrivateStream::next_row`] on again: closed blocks keep the noise they were given, and the
    /// guarantee is the one of the first day. The certificate names the weaker of the generators.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be read; [`Error::Corrupt`] when it is truncated,
    /// altered, of another version, or does not fit this library's calibration;
    /// [`Error::Unusable`] while another stream, of this process or another, holds it.
    pub fn resume<R: BorrowMut<NoiseRng>>(path: &Path, rng: R) -> Result<PrivateStream<R>> {
        // A link must lead every stream to one file and one lock.
        let path = path.canonicalize().map_err(Error::journal)?;
        let held = OpenJournal::lock(&path)?;
        let bytes = std::fs::read(&path).map_err(Error::journal)?;
        Ok(Self::from_journal(&bytes, rng)?.held_by(held))
    }

    /// As [`WindowMechanism::resume`] for the bytes of a journal; the stream writes none itself, and
    /// nothing keeps two from drawing noise for one block: to look at, not to go on. Arbitrary bytes
    /// give an error, never a panic.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn from_journal<R: BorrowMut<NoiseRng>>(bytes: &[u8], rng: R) -> Result<PrivateStream<R>> {
        let journal = Journal::decode(bytes)?;
        let calibrated = Self::calibrate(journal.config)?;
        if calibrated.guarantee != journal.guarantee {
            return Err(Error::corrupt("its guarantee is not what its configuration gives"));
        }
        calibrated.stream(rng).taken_up(journal)
    }
}

impl author::Sealed for WindowMechanism {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

/// Rows between two questions to the hook.
const PART: usize = 1 << 16;

impl Mechanism for WindowMechanism {
    /// Its budget is the one that is given beside it.
    type Config = StreamConfig;
    /// All rows of a stream. Under [`Pace::Clock`] they are those of one tick.
    type Input<'a> = &'a [f64];
    /// The window that ends with the last full block.
    type Output = Release<WindowCovariance>;
    /// A bound on the total squared norm of the rows of a window.
    type Facts = SquaredNorm;
    type Error = Error;

    fn calibrate(config: StreamConfig, budget: Budget) -> Result<Self> {
        Self::calibrate(StreamConfig { budget, ..config })
    }

    fn guarantee(&self) -> &Guarantee {
        self.guarantee()
    }

    /// Of a full window; a histogram of blocks may cover more.
    fn predict(&self, trace: SquaredNorm) -> Result<Prediction> {
        let error = self.engine.expected_error(trace);
        Ok(Prediction::new("the window's second moments in Frobenius norm", error))
    }

    fn release_watched(
        &self,
        rows: &[f64],
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<WindowCovariance>> {
        let parts = rows.chunks(PART * self.config.dim);
        let total = parts.len() as u64;
        let mut stream = self.stream(rng);
        for (done, part) in (0u64..).zip(parts) {
            Progress::new(done, total).ask(hook)?;
            stream.push(part)?;
        }
        if self.config.pace == Pace::Clock {
            stream.tick()?;
        }
        stream.release()
    }
}
