//! Bounded values to a file as rows come, in bounded memory.

use super::codec::BoundedFacts;
use super::mechanism::PrivateBounded;
use crate::error::Result;
use crate::rows::RowsView;
use crate::written::{Health, Written};
use core::ops::ControlFlow;
use dp_core::NoiseRng;
use dp_core::output::Destination;
use dp_core::release_file::{Kind, Trailer, Writer, to_json};

/// Releases rows to a file as they come: the cells of [`PrivateBounded::release`] on all rows at once, however they are cut into
/// batches. The file appears only when [`BoundedWriter::finish`] succeeds.
pub struct BoundedWriter<'m, 'r> {
    mechanism: &'m PrivateBounded,
    rng: &'r mut NoiseRng,
    out: Writer,
    block: Vec<u8>,
    rows: usize,
    health: Health,
}

impl<'m, 'r> BoundedWriter<'m, 'r> {
    /// Opens a path, or begins an output that was opened before.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    pub fn create(
        to: impl Destination,
        mechanism: &'m PrivateBounded,
        rng: &'r mut NoiseRng,
    ) -> Result<Self> {
        let out = Writer::create(to, Kind::BoundedValues)?;
        Ok(Self { mechanism, rng, out, block: Vec::new(), rows: 0, health: Health::Good })
    }

    /// Adds rows. Errors name rows by their place in this batch.
    ///
    /// # Errors
    /// As [`PrivateBounded::release`], and [`dp_core::Error::Io`]. After an error the writer can only be dropped.
    pub fn push(&mut self, rows: RowsView<'_>) -> Result<()> {
        self.health.begin()?;
        self.block.clear();
        let on = &mut |_| ControlFlow::Continue(());
        self.mechanism.release_into(rows, &mut self.block, self.rng, on)?;
        self.out.payload(&self.block)?;
        self.rows += rows.n();
        self.health = Health::Good;
        Ok(())
    }

    /// Writes the certificate and puts the file in its place.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    pub fn finish(mut self) -> Result<Written> {
        self.health.begin()?;
        let certificate = self.mechanism.certificate(self.rows, self.rng.kind());
        let config = self.mechanism.config();
        let facts = BoundedFacts::new(config.range, self.mechanism.law());
        let shape = (self.rows, config.d);
        let trailer = Trailer::new(shape, facts.fingerprint(), &to_json(&facts)?, certificate)?;
        let certificate = self.out.commit(trailer)?.private()?;
        Ok(Written { rows: self.rows, certificate })
    }
}
