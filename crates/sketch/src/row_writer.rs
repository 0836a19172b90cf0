//! Rows to a file as they come, for mechanisms that answer row by row.

use crate::error::Result;
use crate::rows::RowsView;
use crate::written::{Health, Written};
use dp_core::NoiseRng;
use dp_core::noise::GeneratorKind;
use dp_core::output::Destination;
use dp_core::release_file::{Kind, Trailer, Writer};

/// A mechanism whose release is the same however its rows are cut into batches.
pub trait RowMechanism {
    /// What a payload is made of.
    type Number;

    /// The kind of its releases.
    const KIND: Kind;

    /// Appends what is released of these rows.
    ///
    /// # Errors
    /// As the mechanism's release.
    fn append(
        &self,
        rows: RowsView<'_>,
        block: &mut Vec<Self::Number>,
        rng: &mut NoiseRng,
    ) -> Result<()>;

    /// Writes what is released of some rows.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    fn put(block: &[Self::Number], out: &mut Writer) -> Result<()>;

    /// What follows the payload of a release of this many rows.
    ///
    /// # Errors
    /// Sizes that no file states.
    fn trailer(&self, rows: usize, generator: GeneratorKind) -> Result<Trailer>;
}

/// Releases rows to a file as they come: what [`PrivateUnits`](crate::units::PrivateUnits) or
/// [`PrivateBounded`](crate::bounded::PrivateBounded) release of all rows at once, however they are cut into batches. The file appears
/// only when [`RowWriter::finish`] succeeds.
pub struct RowWriter<'m, 'r, M: RowMechanism> {
    mechanism: &'m M,
    rng: &'r mut NoiseRng,
    out: Writer,
    block: Vec<M::Number>,
    rows: usize,
    health: Health,
}

impl<'m, 'r, M: RowMechanism> RowWriter<'m, 'r, M> {
    /// Opens a path, or begins an output that was opened before.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    pub fn create(to: impl Destination, mechanism: &'m M, rng: &'r mut NoiseRng) -> Result<Self> {
        let out = Writer::create(to, M::KIND)?;
        Ok(Self { mechanism, rng, out, block: Vec::new(), rows: 0, health: Health::Good })
    }

    /// Adds rows. Errors name rows by their place in this batch.
    ///
    /// # Errors
    /// As the mechanism's release, and [`dp_core::Error::Io`]. After an error the writer can only be dropped.
    pub fn push(&mut self, rows: RowsView<'_>) -> Result<()> {
        self.health.begin()?;
        self.block.clear();
        self.mechanism.append(rows, &mut self.block, self.rng)?;
        M::put(&self.block, &mut self.out)?;
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
        let trailer = self.mechanism.trailer(self.rows, self.rng.kind())?;
        let certificate = self.out.commit(trailer)?.private()?;
        Ok(Written { rows: self.rows, certificate })
    }
}
