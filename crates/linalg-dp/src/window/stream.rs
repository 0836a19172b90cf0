//! The private stream: rows in, releases at block ends, one certificate.

use super::codec::window_parameters;
use super::config::{Pace, StreamConfig};
use super::engine::{Engine, WindowSum};
use super::inputs::Inputs;
use super::journal::{Journal, OpenJournal};
use super::release::{WindowCovariance, WindowSpan};
use crate::author::AUTHOR;
use crate::covariance::{PrivateCovariance, RowClip, longer_rows};
use crate::error::{Error, Result};
use core::borrow::BorrowMut;
use dp_core::certificate::{PublicParameters, Statement, canonical};
use dp_core::noise::GeneratorKind;
use dp_core::{Guarantee, NoiseRng, PublicValue, Release};
use std::path::Path;

const NAME: &str = "sliding-window covariance";

/// A private sliding window over a stream of rows.
///
/// Opened by [`super::WindowMechanism`], which says what it promises. It holds the generator of its noise:
/// one from the first row to the last (the journal of a resumed stream remembers a weaker one), named in
/// every certificate.
pub struct PrivateStream<R = NoiseRng> {
    config: StreamConfig,
    clip: RowClip,
    guarantee: Guarantee,
    engine: Engine,
    /// Rows of block `at` that were given.
    rows_in_block: u64,
    /// The block that is given now: the one after those that closed, or one of them that is given again.
    at: u64,
    blocks_closed: u64,
    /// The weakest generator that drew the noise of a block: that of the call which ended it.
    generator: Option<GeneratorKind>,
    memory: Option<Memory>,
    journal: Option<OpenJournal>,
    state: Health,
    rng: R,
}

/// What a stream with a journal knows besides.
struct Memory {
    inputs: Inputs,
    note: String,
}

/// Whether the stream may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Sound,
    /// A block's noise was drawn but could not be made durable: releasing it, and then resuming
    /// from the journal and drawing again, would spend twice.
    Poisoned,
}

impl<R> core::fmt::Debug for PrivateStream<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PrivateStream")
            .field("config", &self.config)
            .field("blocks_closed", &self.blocks_closed)
            .finish_non_exhaustive()
    }
}

impl<R: BorrowMut<NoiseRng>> PrivateStream<R> {
    pub(super) fn open(
        config: StreamConfig,
        clip: RowClip,
        guarantee: Guarantee,
        engine: Engine,
        rng: R,
    ) -> Self {
        Self {
            config,
            clip,
            guarantee,
            engine,
            rows_in_block: 0,
            at: 0,
            blocks_closed: 0,
            generator: None,
            memory: None,
            journal: None,
            state: Health::Sound,
            rng,
        }
    }

    /// With a journal in a new file.
    pub(super) fn journalled(mut self, path: &Path, note: &str) -> Result<Self> {
        let journal = OpenJournal::lock(path)?;
        if path.exists() {
            return Err(Error::Io {
                what: "journal",
                reason: "the file exists: resume from it".into(),
            });
        }
        let inputs = Inputs::new(self.rng.borrow_mut());
        self.memory = Some(Memory { inputs, note: note.to_owned() });
        let stream = self.held_by(journal);
        stream.write_journal()?;
        Ok(stream)
    }

    /// With an open journal.
    pub(super) fn held_by(self, journal: OpenJournal) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// With the blocks that a journal of the same configuration remembers.
    pub(super) fn taken_up(mut self, journal: Journal) -> Result<Self> {
        self.blocks_closed = journal.blocks_closed;
        self.at = journal.blocks_closed;
        self.generator = journal.generator;
        let inputs = Inputs::restored(&journal.inputs, journal.blocks_closed)?;
        self.memory = Some(Memory { inputs, note: journal.note });
        self.engine.restore(journal.state, journal.blocks_closed)?;
        Ok(self)
    }

    fn write_journal(&self) -> Result<()> {
        let (Some(open), Some(memory)) = (&self.journal, &self.memory) else { return Ok(()) };
        open.write(&Journal {
            config: self.config,
            guarantee: self.guarantee.clone(),
            blocks_closed: self.blocks_closed,
            generator: self.generator,
            note: memory.note.clone(),
            inputs: memory.inputs.snapshot(),
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

    /// Index of the next row: after [`super::WindowMechanism::resume`], the first to feed again.
    #[must_use]
    pub fn next_row(&self) -> u64 {
        self.at * self.config.block + self.rows_in_block
    }

    /// The caller's words in the journal; empty without one.
    #[must_use]
    pub fn note(&self) -> &str {
        self.memory.as_ref().map_or("", |memory| &memory.note)
    }

    /// The rows from block `block` on are given again, next. Those of closed blocks are only held against what the
    /// blocks were made of, by a keyed digest in the journal: the blocks keep their noise, nothing is drawn or
    /// counted twice, and other rows are refused at the end of their block.
    ///
    /// # Errors
    /// [`Error::Unusable`] without a journal, or while rows of an open block are held; [`Error::Core`] for a block
    /// after the next.
    pub fn rewind(&mut self, block: u64) -> Result<()> {
        self.check_health()?;
        let held = self.at == self.blocks_closed && self.rows_in_block > 0;
        let Some(memory) = self.memory.as_mut().filter(|_| !held) else {
            let reason = if held {
                "rows of a block that has not closed are in it already, and would count twice"
            } else {
                "without a journal it does not know which rows its blocks were made of"
            };
            return Err(Error::Unusable { what: "stream", reason });
        };
        if block > self.blocks_closed {
            return Err(Error::invalid("block", block, format!("[0, {}]", self.blocks_closed)));
        }
        (self.at, self.rows_in_block) = (block, 0);
        memory.inputs.begin(block);
        Ok(())
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
    /// [`Error::Unusable`] for other rows than a closed block was made of, after [`PrivateStream::rewind`];
    /// [`Error::Shape`] unless whole rows are given; [`Error::NotFinite`] for NaN or infinity, in
    /// which case **no** row of the call was added; [`Error::Core`] for rows beyond the horizon, likewise,
    /// and the last window stays there to be released; [`Error::Io`] when the journal cannot
    /// be written, after which the stream must be resumed from it.
    pub fn push(&mut self, rows: &[f64]) -> Result<u64> {
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
        let (mut rest, mut closed) = (rows, 0);
        while left > 0 {
            let room =
                usize::try_from(self.config.block - self.rows_in_block).unwrap_or(usize::MAX);
            let take = left.min(room);
            let (now, later) = rest.split_at(take * d);
            if self.at == self.blocks_closed {
                self.engine.push(now)?;
            }
            if let Some(memory) = &mut self.memory {
                memory.inputs.push(now);
            }
            self.rows_in_block += take as u64;
            (rest, left) = (later, left - take);
            if self.rows_in_block == self.config.block && self.config.pace == Pace::Rows {
                closed += self.end_block()?;
            }
        }
        Ok(closed)
    }

    /// As [`PrivateStream::push`] for one sparse row of `(column, value)` pairs; columns may repeat.
    ///
    /// # Errors
    /// As [`PrivateStream::push`]; [`Error::Core`] for a column out of range.
    pub fn push_sparse(&mut self, row: &[(usize, f64)]) -> Result<u64> {
        let mut dense = vec![0.0; self.config.dim];
        for (column, value) in row {
            let allowed = || format!("[0, {})", self.config.dim);
            *dense
                .get_mut(*column)
                .ok_or_else(|| Error::invalid("column", column, allowed()))? += value;
        }
        self.push(&dense)
    }

    /// Ends the block now, whatever it holds: the caller's public clock has struck.
    ///
    /// # Errors
    /// [`Error::Unusable`] under [`Pace::Rows`]; [`Error::Core`] after the last block of the horizon;
    /// [`Error::Unusable`] and [`Error::Io`] as [`PrivateStream::push`].
    pub fn tick(&mut self) -> Result<()> {
        self.check_health()?;
        match self.config.pace {
            Pace::Clock => {
                self.check_room(0)?;
                self.end_block().map(drop)
            }
            Pace::Rows => Err(Error::Unusable {
                what: "clock",
                reason: "this stream's blocks end after a number of rows",
            }),
        }
    }

    /// Closes the block, or holds it against what it was when it closed; how many closed.
    fn end_block(&mut self) -> Result<u64> {
        if self.at == self.blocks_closed {
            self.close()?;
            return Ok(1);
        }
        let index = self.at;
        self.rows_in_block = 0;
        let memory = self.memory.as_mut();
        if memory.is_some_and(|memory| memory.inputs.is_same(index)) {
            self.at += 1;
            return Ok(0);
        }
        // What comes next has no place that is known, so it is taken for this block again.
        self.memory.iter_mut().for_each(|memory| memory.inputs.begin(index));
        Err(Error::Unusable {
            what: "rows",
            reason: "a closed block was made of others: a block is made once, and with other rows its noise would \
                     protect neither; give the rows that it had, or go on with the next block",
        })
    }

    fn close(&mut self) -> Result<()> {
        let index = self.blocks_closed;
        let window_blocks = self.config.window_blocks()?;
        // Until the journal holds this block's noise, no release may show it.
        self.state = Health::Poisoned;
        // Named is the one that draws.
        let rng = self.rng.borrow_mut();
        let kind = rng.kind();
        self.generator = Some(self.generator.map_or(kind, |seen| seen.weaker(kind)));
        self.engine.close(index, window_blocks, rng)?;
        self.blocks_closed += 1;
        (self.at, self.rows_in_block) = (self.blocks_closed, 0);
        self.memory.iter_mut().for_each(|memory| memory.inputs.close());
        self.write_journal()?;
        self.state = Health::Sound;
        Ok(())
    }

    /// Refuses rows (or, for none, a tick) that would need a block beyond the last.
    fn check_room(&self, rows: u64) -> Result<()> {
        let most = self.config.most_blocks();
        let more = self.rows_in_block.saturating_add(rows).div_ceil(self.config.block).max(1);
        if more <= most - self.at.min(most) {
            return Ok(());
        }
        let allowed =
            format!("[0, {most}], the horizon; release the last window, and start a new stream");
        Err(Error::invalid("blocks", self.at.saturating_add(more), allowed))
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
        Ok(Release::certified(payload, AUTHOR.certificate(statement, self.guarantee.clone())))
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
