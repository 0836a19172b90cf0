//! Unit vectors to a file as rows come, in bounded memory.

use super::codec::Parameters;
use super::mechanism::PrivateUnits;
use crate::error::Result;
use crate::rows::RowsView;
use crate::written::{Health, Written};
use core::ops::ControlFlow;
use dp_core::NoiseRng;
use dp_core::output::Destination;
use dp_core::release_file::{Kind, Trailer, Writer, to_json};

/// Releases rows to a file as they come: the numbers of [`PrivateUnits::release`] on all rows at once, however they are cut into
/// batches. The file appears only when [`UnitWriter::finish`] succeeds.
pub struct UnitWriter<'m, 'r> {
    mechanism: &'m PrivateUnits,
    rng: &'r mut NoiseRng,
    out: Writer,
    block: Vec<f64>,
    rows: usize,
    health: Health,
}

impl<'m, 'r> UnitWriter<'m, 'r> {
    /// Opens a path, or begins an output that was opened before.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    pub fn create(
        to: impl Destination,
        mechanism: &'m PrivateUnits,
        rng: &'r mut NoiseRng,
    ) -> Result<Self> {
        let out = Writer::create(to, Kind::UnitVectors)?;
        Ok(Self { mechanism, rng, out, block: Vec::new(), rows: 0, health: Health::Good })
    }

    /// Adds rows. Errors name rows by their place in this batch.
    ///
    /// # Errors
    /// As [`PrivateUnits::release`], and [`dp_core::Error::Io`]. After an error the writer can only be dropped.
    pub fn push(&mut self, rows: RowsView<'_>) -> Result<()> {
        self.health.begin()?;
        self.block.clear();
        let on = &mut |_| ControlFlow::Continue(());
        self.mechanism.release_into(rows, &mut self.block, self.rng, on)?;
        self.out.payload_f32(&self.block)?;
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
        let directions = self.mechanism.directions();
        let (projection, lengths) = (directions.projection.spec(), directions.lengths);
        let shape = (self.rows, directions.width());
        let parameters = to_json(&Parameters { projection, lengths })?;
        let trailer = Trailer::new(shape, projection.fingerprint(), &parameters, certificate)?;
        let certificate = self.out.commit(trailer)?.private()?;
        Ok(Written { rows: self.rows, certificate })
    }
}
