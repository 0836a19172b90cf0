//! The private stream: rows in, releases at block ends, one certificate.

use super::codec::window_parameters;
use super::config::{Pace, Row, StreamConfig};
use super::engine::{Engine, WindowSum};
use super::journal::{Journal, OpenJournal};
use super::release::{WindowCovariance, WindowSpan};
use crate::covariance::{PrivateCovariance, RowClip, longer_rows};
use crate::error::{Error, Result};
use dp_core::certificate::{PublicParameters, Statement, canonical};
use dp_core::noise::GeneratorKind;
use dp_core::{Certificate, Guarantee, NoiseRng, PublicValue, Release};
use std::path::Path;

const NAME: &str = "sliding-window covariance";

/// A private sliding window over a stream of rows.
///
/// # Privacy
/// Adjacency: two streams that differ in the row of one time step (`ZeroRow`: one of the
/// two rows is zero; `ReplaceRow`: both arbitrary) or, under [`Pace::Clock`], in whether one row
/// is there (`AddRemoveRow`). The certificate covers **all** releases of the stream together.
/// When blocks end is public; under [`Pace::Rows`] so is that a row arrived, and `AddRemoveRow` is
/// refused. Under [`Pace::Clock`] the guarantee is among streams of at most `block` rows a tick:
/// more are refused, and that refusal is not private. Rows longer than the bound are scaled to it;
/// how many is not reported.
///
/// # Cost
/// A row: `d^2` multiplications (or `r d` for JL). Memory: see [`super`]'s table, in matrices of
/// `8 d^2` bytes.
pub struct PrivateStream {
    config: StreamConfig,
    clip: RowClip,
    guarantee: Guarantee,
    engine: Engine,
    rows_in_block: u64,
    blocks_closed: u64,
    /// The weakest generator that any call was given: rows meet noise as they come under JL.
    generator: Option<GeneratorKind>,
    journal: Option<OpenJournal>,
    state: Health,
}

/// Whether the stream may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Sound,
    /// A block's noise was drawn but could not be made durable: releasing it, and then resuming
    /// from the journal and drawing again, would spend twice.
    Poisoned,
}

impl core::fmt::Debug for PrivateStream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PrivateStream")
            .field("config", &self.config)
            .field("blocks_closed", &self.blocks_closed)
            .finish_non_exhaustive()
    }
}

impl PrivateStream {
    /// Calibrates a stream.
    ///
    /// # Errors
    /// [`Error::Core`] for sizes out of range or a budget that cannot be met;
    /// [`Error::NotProven`] for an adjacency or combination without proof.
    pub fn new(config: StreamConfig) -> Result<Self> {
        config.window_blocks()?;
        let row = config.row(NAME)?;
        let clip = RowClip::new(config.dim, row.bound)?;
        let row = Row { bound: clip.certified_bound(), ..row };
        let (engine, guarantee) = Engine::new(&config, clip, row)?;
        Ok(Self::empty(config, clip, guarantee, engine))
    }

    /// A new stream of the same configuration: as [`PrivateStream::new`] without calibrating again.
    /// Nothing of this stream's rows or noise goes into it, it writes no journal, and it spends
    /// the budget anew.
    ///
    /// # Errors
    /// None that [`PrivateStream::new`] did not give.
    pub fn restarted(&self) -> Result<Self> {
        let Self { config, clip, .. } = *self;
        let engine = self.engine.restarted(&config, clip)?;
        Ok(Self::empty(config, clip, self.guarantee.clone(), engine))
    }

    fn empty(config: StreamConfig, clip: RowClip, guarantee: Guarantee, engine: Engine) -> Self {
        Self {
            config,
            clip,
            guarantee,
            engine,
            rows_in_block: 0,
            blocks_closed: 0,
            generator: None,
            journal: None,
            state: Health::Sound,
        }
    }

    /// As [`PrivateStream::new`], with a journal: at every block end the state is written to `path`
    /// (a temporary file, flushed, then renamed, then its folder flushed) **before** the block can
    /// be released. `PATH.lock` is locked as long as the stream lives.
    ///
    /// Under `Tree`, `Factorised` and `Decayed` the file holds exact sums of the data: it is as
    /// secret as the data, and on Unix readable by its owner only. Under `Block` it holds
    /// released matrices only.
    ///
    /// # Errors
    /// As [`PrivateStream::new`]; [`Error::Io`] when the file exists already or cannot be written;
    /// [`Error::Unusable`] while another stream holds it.
    pub fn with_journal(config: StreamConfig, path: &Path) -> Result<Self> {
        let mut stream = Self::new(config)?;
        let journal = OpenJournal::lock(path)?;
        if path.exists() {
            return Err(Error::Io {
                what: "journal",
                reason: "the file exists: resume from it".into(),
            });
        }
        stream.journal = Some(journal);
        stream.write_journal()?;
        Ok(stream)
    }

    /// Takes a stream up where its journal ends. Feed the rows from
    /// [`PrivateStream::next_row`] on again: closed blocks keep the noise they were given, and the
    /// guarantee is the one of the first day.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be read; [`Error::Corrupt`] when it is truncated,
    /// altered, of another version, or does not fit this library's calibration;
    /// [`Error::Unusable`] while another stream, of this process or another, holds it.
    pub fn resume(path: &Path) -> Result<Self> {
        // A link must lead every stream to one file and one lock.
        let path = path.canonicalize().map_err(Error::journal)?;
        let held = OpenJournal::lock(&path)?;
        let mut stream = Self::from_journal(&std::fs::read(&path).map_err(Error::journal)?)?;
        stream.journal = Some(held);
        Ok(stream)
    }

    /// As [`PrivateStream::resume`] for the bytes of a journal; the stream writes none itself, and
    /// nothing keeps two from drawing noise for one block: to look at, not to go on. Arbitrary bytes
    /// give an error, never a panic.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn from_journal(bytes: &[u8]) -> Result<Self> {
        let journal = Journal::decode(bytes)?;
        let mut stream = Self::new(journal.config)?;
        if *stream.guarantee() != journal.guarantee {
            return Err(Error::corrupt("its guarantee is not what its configuration gives"));
        }
        stream.blocks_closed = journal.blocks_closed;
        stream.generator = journal.generator;
        stream.engine.restore(journal.state, journal.blocks_closed)?;
        Ok(stream)
    }

    fn write_journal(&self) -> Result<()> {
        let Some(open) = &self.journal else { return Ok(()) };
        open.write(&Journal {
            config: self.config,
            guarantee: self.guarantee.clone(),
            blocks_closed: self.blocks_closed,
            generator: self.generator,
            state: self.engine.snapshot(),
        })
    }

    /// The public parameters.
    #[must_use]
    pub fn config(&self) -> &StreamConfig {
        &self.config
    }

    /// What all releases together promise.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Blocks closed so far.
    #[must_use]
    pub fn blocks_closed(&self) -> u64 {
        self.blocks_closed
    }

    /// Index of the next row: after [`PrivateStream::resume`], the first to feed again.
    #[must_use]
    pub fn next_row(&self) -> u64 {
        self.blocks_closed * self.config.block + self.rows_in_block
    }

    /// Matrices (of `d^2` numbers) held.
    #[must_use]
    pub fn matrices(&self) -> usize {
        self.engine.matrices()
    }

    /// Adds rows (row-major, any number); blocks that fill up close on the way.
    /// Returns how many closed.
    ///
    /// # Errors
    /// [`Error::Shape`] unless whole rows are given; [`Error::NotFinite`] for NaN or infinity, in
    /// which case **no** row of the call was added; [`Error::Core`] for rows beyond the horizon, likewise,
    /// and the last window stays there to be released; [`Error::Io`] when the journal cannot
    /// be written, after which the stream must be resumed from it.
    pub fn push(&mut self, rows: &[f64], rng: &mut NoiseRng) -> Result<u64> {
        self.check_health()?;
        let d = self.config.dim;
        let mut left = self.clip.rows_in(rows)?;
        if rows.iter().any(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: "a row" });
        }
        let free = self.config.block - self.rows_in_block;
        if self.config.pace == Pace::Clock && left as u64 > free {
            // How many came before is private.
            let most = self.config.block;
            let found = format!("more than {most}");
            return Err(Error::invalid("rows between ticks", found, format!("[0, {most}]")));
        }
        if left == 0 {
            return Ok(0);
        }
        self.check_room(left as u64)?;
        self.note_generator(rng);
        let (mut rest, mut closed) = (rows, 0);
        while left > 0 {
            let room =
                usize::try_from(self.config.block - self.rows_in_block).unwrap_or(usize::MAX);
            let take = left.min(room);
            let (now, later) = rest.split_at(take * d);
            self.engine.push(now, rng)?;
            self.rows_in_block += take as u64;
            (rest, left) = (later, left - take);
            if self.rows_in_block == self.config.block && self.config.pace == Pace::Rows {
                self.close(rng)?;
                closed += 1;
            }
        }
        Ok(closed)
    }

    /// As [`PrivateStream::push`] for one sparse row of `(column, value)` pairs; columns may repeat.
    ///
    /// # Errors
    /// As [`PrivateStream::push`]; [`Error::Core`] for a column out of range.
    pub fn push_sparse(&mut self, row: &[(usize, f64)], rng: &mut NoiseRng) -> Result<u64> {
        let mut dense = vec![0.0; self.config.dim];
        for (column, value) in row {
            let allowed = || format!("[0, {})", self.config.dim);
            *dense
                .get_mut(*column)
                .ok_or_else(|| Error::invalid("column", column, allowed()))? += value;
        }
        self.push(&dense, rng)
    }

    /// Ends the block now, whatever it holds: the caller's public clock has struck.
    ///
    /// # Errors
    /// [`Error::Unusable`] under [`Pace::Rows`]; [`Error::Core`] after the last block of the horizon;
    /// [`Error::Io`] as [`PrivateStream::push`].
    pub fn tick(&mut self, rng: &mut NoiseRng) -> Result<()> {
        self.check_health()?;
        match self.config.pace {
            Pace::Clock => {
                self.check_room(0)?;
                self.note_generator(rng);
                self.close(rng)
            }
            Pace::Rows => Err(Error::Unusable {
                what: "clock",
                reason: "this stream's blocks end after a number of rows",
            }),
        }
    }

    fn close(&mut self, rng: &mut NoiseRng) -> Result<()> {
        let index = self.blocks_closed;
        let window_blocks = self.config.window_blocks()?;
        // Until the journal holds this block's noise, no release may show it.
        self.state = Health::Poisoned;
        self.engine.close(index, window_blocks, rng)?;
        self.blocks_closed += 1;
        self.rows_in_block = 0;
        self.write_journal()?;
        self.state = Health::Sound;
        Ok(())
    }

    /// Refuses rows (or, for none, a tick) that would need a block beyond the last.
    fn check_room(&self, rows: u64) -> Result<()> {
        let most = self.config.most_blocks();
        let more = self.rows_in_block.saturating_add(rows).div_ceil(self.config.block).max(1);
        if more <= most - self.blocks_closed.min(most) {
            return Ok(());
        }
        let allowed =
            format!("[0, {most}], the horizon; release the last window, and start a new stream");
        Err(Error::invalid("blocks", self.blocks_closed.saturating_add(more), allowed))
    }

    fn note_generator(&mut self, rng: &NoiseRng) {
        let kind = rng.kind();
        self.generator = Some(self.generator.map_or(kind, |seen| seen.weaker(kind)));
    }

    fn check_health(&self) -> Result<()> {
        match self.state {
            Health::Sound => Ok(()),
            Health::Poisoned => Err(Error::Unusable {
                what: "stream",
                reason: "closing a block failed; resume from the journal or start a new stream",
            }),
        }
    }

    /// The private second moments of the window that ends with the last closed block
    /// (of the blocks so far, when fewer). Post-processing: costs no budget.
    ///
    /// # Errors
    /// [`Error::Unusable`] before the first block has closed.
    pub fn release(&self) -> Result<Release<WindowCovariance>> {
        self.check_health()?;
        let closed = self.blocks_closed;
        let Some(generator) = self.generator.filter(|_| closed > 0) else {
            return Err(Error::Unusable { what: "stream", reason: "no block has closed yet" });
        };
        let WindowSum { matrix, first, noise, law } = self.engine.window(&self.config, closed)?;
        let span = WindowSpan {
            first_row: first * self.config.block,
            end_row: closed * self.config.block,
        };
        let d = self.config.dim;
        // `PrivateCovariance` stores the raw matrix: put the public mean of the noise back.
        let offset = noise.mean();
        let values = (0..d * d)
            .map(|e| matrix[(e / d, e % d)] + if e / d == e % d { offset } else { 0.0 })
            .collect();
        let covariance = PrivateCovariance::new(d, values, None, noise);
        let payload = WindowCovariance::new(span, closed - first, covariance);
        let statement = Statement {
            mechanism: NAME.to_owned(),
            noise: law,
            generator,
            public: self.public_parameters(window_parameters(span, closed - first, d, noise)?),
        };
        Ok(Release::certified(payload, Certificate::new(statement, self.guarantee.clone())))
    }

    /// Those of the release, and those of the stream.
    fn public_parameters(&self, mut public: PublicParameters) -> PublicParameters {
        let schedule = canonical(&self.config.schedule);
        public.extend([longer_rows()]);
        let stream = [
            ("window", PublicValue::from(self.config.window)),
            ("block", self.config.block.into()),
            ("pace", self.config.pace.name().into()),
            ("schedule", schedule.into()),
        ];
        public.extend(stream.map(|(name, value)| (name.to_owned(), value)));
        if self.config.pace == Pace::Clock {
            // The guarantee is among such streams only.
            public.insert("most rows a tick".to_owned(), self.config.block.into());
        }
        public
    }
}
