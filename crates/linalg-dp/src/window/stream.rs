//! The private stream: rows in, releases at block ends, one certificate.

use super::blocks::Blocks;
use super::checkpoint::OpenJournal;
use super::config::{Pace, Schedule, StreamConfig};
use super::release::{WindowCovariance, WindowSpan};
use super::sums::{Factorised, Row, SumNoise};
use super::tree::Tree;
use crate::covariance::{CovarianceNoise, ExactGram, PrivateCovariance, RowClip, longer_rows};
use crate::error::{Error, Result};
use crate::release_file::window_parameters;
use dp_core::certificate::{PublicParameters, Statement, canonical};
use dp_core::noise::GeneratorKind;
use dp_core::{Certificate, Guarantee, NoiseRng, NoiseScale, PublicValue, Release};

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
    pub(super) config: StreamConfig,
    clip: RowClip,
    guarantee: Guarantee,
    pub(super) engine: Engine,
    rows_in_block: u64,
    pub(super) blocks_closed: u64,
    /// The weakest generator that any call was given: rows meet noise as they come under JL.
    pub(super) generator: Option<GeneratorKind>,
    pub(super) journal: Option<OpenJournal>,
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

/// The schedule at work.
pub(super) enum Engine {
    Blocks(Blocks),
    Tree(Box<Tree>),
    Factorised { sums: Factorised, open: ExactGram },
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
        let engine = match config.schedule {
            Schedule::Block { noise, keep } => Engine::Blocks(Blocks::new(&config, noise, keep)?),
            Schedule::Tree { noise } => {
                Engine::Tree(Box::new(Tree::new(&config, noise, clip, row)?))
            }
            Schedule::Factorised { .. } | Schedule::Decayed { .. } => Engine::Factorised {
                sums: Factorised::new(&config, clip, row)?,
                open: ExactGram::new(clip),
            },
        };
        let guarantee = match &engine {
            Engine::Blocks(blocks) => blocks.guarantee().clone(),
            Engine::Tree(tree) => tree.guarantee().clone(),
            Engine::Factorised { sums, .. } => sums.noise.guarantee(&config)?,
        };
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
        let engine = match (&self.engine, config.schedule) {
            (Engine::Blocks(blocks), Schedule::Block { keep, .. }) => {
                Engine::Blocks(blocks.restarted(&config, keep)?)
            }
            (Engine::Tree(tree), _) => Engine::Tree(Box::new(tree.restarted(clip))),
            (Engine::Factorised { sums, .. }, _) => Engine::Factorised {
                sums: sums.restarted(&config, clip),
                open: ExactGram::new(clip),
            },
            (Engine::Blocks(_), _) => unreachable!("blocks come from a schedule of blocks"),
        };
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
        match &self.engine {
            Engine::Blocks(blocks) => blocks.matrices(),
            Engine::Tree(tree) => tree.matrices(),
            Engine::Factorised { sums, .. } => sums.matrices(),
        }
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
            match &mut self.engine {
                Engine::Blocks(blocks) => blocks.push(now, rng)?,
                Engine::Tree(tree) => tree.push(now, rng)?,
                Engine::Factorised { open, .. } => open.push(now)?,
            }
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
        match &mut self.engine {
            Engine::Blocks(blocks) => blocks.close(index, rng)?,
            Engine::Tree(tree) => tree.close(index, rng)?,
            Engine::Factorised { sums, open } => {
                let block = core::mem::replace(open, ExactGram::new(self.clip));
                sums.close(block, window_blocks, rng)?;
            }
        }
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
        let window_first = closed.saturating_sub(self.config.window_blocks()?);
        let (matrix, first, noise, law) = match &self.engine {
            Engine::Blocks(blocks) => {
                let (matrix, first) = blocks.sum(closed);
                let (statement, one, _) = blocks
                    .described
                    .as_ref()
                    .ok_or(Error::Unusable { what: "stream", reason: "no block has closed yet" })?;
                (matrix, first, scale_noise(*one, closed - first)?, statement.noise.clone())
            }
            Engine::Tree(tree) => {
                let (matrix, nodes) = tree.sum(window_first, closed);
                (matrix, window_first, scale_noise(tree.node_noise(), nodes)?, tree.law())
            }
            Engine::Factorised { sums, .. } => {
                let (matrix, factor) = sums.sum();
                let first = match self.config.schedule {
                    Schedule::Decayed { .. } => 0,
                    _ => window_first,
                };
                (matrix, first, gaussian(&sums.noise, factor)?, sums.noise.law())
            }
        };
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

fn gaussian(noise: &SumNoise, factor: f64) -> Result<CovarianceNoise> {
    let sigma = NoiseScale::new(noise.sigma.get() * factor.max(f64::MIN_POSITIVE))?;
    Ok(CovarianceNoise::SymmetricGaussian { sigma })
}

/// The law of the sum of `count` independent noises.
fn scale_noise(one: CovarianceNoise, count: u64) -> Result<CovarianceNoise> {
    let root = (count.max(1) as f64).sqrt();
    Ok(match one {
        CovarianceNoise::SymmetricGaussian { sigma } => {
            CovarianceNoise::SymmetricGaussian { sigma: NoiseScale::new(sigma.get() * root)? }
        }
        CovarianceNoise::Wishart { dof, scale } => {
            CovarianceNoise::Wishart { dof: dof * count.max(1), scale }
        }
        // The sum of the lifts: sqrt(m) w stands for m w^2.
        CovarianceNoise::JlSketch { rows, lift } => {
            CovarianceNoise::JlSketch { rows, lift: NoiseScale::new(lift.get() * root)? }
        }
    })
}
