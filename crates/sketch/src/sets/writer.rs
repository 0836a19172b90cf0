//! Releasing set signatures to a file as sets come.

use super::items::ItemSet;
use crate::error::Result;
use crate::written::{Health, Written};
use dp_core::NoiseRng;
use dp_core::noise::GeneratorKind;
use dp_core::output::Destination;
use dp_core::release_file::{Kind, Trailer, Writer};

/// A mechanism of set signatures or counts.
pub trait SetMechanism {
    /// The seed of its hash functions; nothing where it draws none.
    type Seed;

    /// The kind of its releases.
    const KIND: Kind;

    /// The same with its hash functions drawn.
    ///
    /// # Errors
    /// Hash functions that do not exist for its shape.
    fn drawn(&self, seed: Self::Seed) -> Result<Box<dyn SetSource + '_>>;
}

/// A mechanism of set signatures, with its hash functions drawn.
pub trait SetSource {
    /// Checks sets and makes the slots of their rows, without noise.
    ///
    /// # Errors
    /// Sets that the mechanism does not take.
    fn slots(&self, sets: &[ItemSet]) -> Result<Vec<u32>>;

    /// How many of this many slots fill whole noise streams.
    fn whole(&self, held: usize) -> usize;

    /// Adds noise to slots and writes them.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    fn put(&self, held: Vec<u32>, rng: &mut NoiseRng, out: &mut Writer) -> Result<()>;

    /// What follows the payload of a release of this many sets.
    ///
    /// # Errors
    /// Sizes that no file states.
    fn trailer(&self, sets: usize, generator: GeneratorKind) -> Result<Trailer>;
}

/// Slots from which on a block is written.
const BLOCK: usize = 1 << 20;
/// Sets whose signatures are made at once.
const SETS: usize = 1024;

/// Releases signatures of sets to a file as they come: memory is bounded by one block of about 2^20 slots
/// and the signatures of 1024 sets, whatever the number of sets.
///
/// The numbers are those of one release of all sets, however they are cut into batches. The file
/// appears only when [`SetWriter::finish`] succeeds. Dropping the writer discards everything;
/// noise that was drawn stays used.
pub struct SetWriter<'a> {
    source: Box<dyn SetSource + 'a>,
    rng: &'a mut NoiseRng,
    out: Writer,
    held: Vec<u32>,
    sets: usize,
    health: Health,
}

impl<'a> SetWriter<'a> {
    /// Opens a path, or begins an output that was opened before. The seed is what the mechanism's release takes: a fresh one,
    /// a public one, or none (`()`, [`GroupCounts`](super::GroupCounts)).
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    pub fn create<M: SetMechanism>(
        to: impl Destination,
        mechanism: &'a M,
        seed: M::Seed,
        rng: &'a mut NoiseRng,
    ) -> Result<Self> {
        let source = mechanism.drawn(seed)?;
        let out = Writer::create(to, M::KIND)?;
        Ok(Self { source, rng, out, held: Vec::new(), sets: 0, health: Health::Good })
    }

    /// Adds sets. Errors name sets by their place in this batch.
    ///
    /// # Errors
    /// As the mechanism's release, and [`dp_core::Error::Io`]. After an error the writer can only
    /// be dropped: part of the batch may have been taken in.
    pub fn push(&mut self, sets: &[ItemSet]) -> Result<()> {
        self.health.begin()?;
        for (i, part) in sets.chunks(SETS).enumerate() {
            self.held.extend(self.source.slots(part).map_err(|e| e.offset_row(i * SETS))?);
            let whole = self.source.whole(self.held.len());
            if whole >= BLOCK {
                let rest = self.held.split_off(whole);
                let block = core::mem::replace(&mut self.held, rest);
                self.source.put(block, self.rng, &mut self.out)?;
            }
        }
        self.sets += sets.len();
        self.health = Health::Good;
        Ok(())
    }

    /// Writes the certificate and puts the file in its place.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    pub fn finish(mut self) -> Result<Written> {
        self.health.begin()?;
        self.source.put(self.held, self.rng, &mut self.out)?;
        let trailer = self.source.trailer(self.sets, self.rng.kind())?;
        let certificate = self.out.commit(trailer)?.private()?;
        Ok(Written { rows: self.sets, certificate })
    }
}
