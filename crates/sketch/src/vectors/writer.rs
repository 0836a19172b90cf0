//! Releasing rows to a file as they come.

use super::codec::{parameters_in, put};
use super::element::Element;
use super::mechanism::PrivateProjection;
use crate::error::Result;
use crate::rows::{Incoming, pass_rows};
use crate::written::{Health, Written};
use dp_core::NoiseRng;
use dp_core::output::Destination;
use dp_core::release_file::{Trailer, Writer};
use std::borrow::Cow;

/// Releases rows to a file as they come: memory is bounded by one block of output
/// (at most 8 MiB plus one row batch), whatever the number of rows.
///
/// The numbers are those of [`PrivateProjection::release`] on all rows at once, bit for bit,
/// however the rows are cut into batches. The file appears only when [`ReleaseWriter::finish`]
/// succeeds. Dropping the writer discards everything; noise that was drawn stays used.
pub struct ReleaseWriter<'m, 'r> {
    mechanism: Cow<'m, PrivateProjection>,
    rng: &'r mut NoiseRng,
    out: Writer,
    block: Vec<f64>,
    filled: usize,
    rows: usize,
    health: Health,
}

impl<'m, 'r> ReleaseWriter<'m, 'r> {
    /// Opens a path, or begins an output that was opened before.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`], and as [`PrivateProjection::check_element`].
    pub fn create(
        to: impl Destination,
        mechanism: &'m PrivateProjection,
        element: Element,
        rng: &'r mut NoiseRng,
    ) -> Result<Self> {
        Self::of(to, Cow::Borrowed(mechanism), element, rng)
    }

    /// As [`ReleaseWriter::create`] for a mechanism that may be the writer's own.
    pub(crate) fn of(
        to: impl Destination,
        mechanism: Cow<'m, PrivateProjection>,
        element: Element,
        rng: &'r mut NoiseRng,
    ) -> Result<Self> {
        mechanism.check_element(element)?;
        let k = mechanism.projection().spec().k();
        Ok(Self {
            mechanism,
            rng,
            out: Writer::create(to, element.kind())?,
            block: vec![0.0; pass_rows(k) * k],
            filled: 0,
            rows: 0,
            health: Health::Good,
        })
    }

    /// Adds rows. Errors name rows by their place in this batch.
    ///
    /// # Errors
    /// As [`PrivateProjection::release`], and [`dp_core::Error::Io`]. After an error the writer
    /// can only be dropped: part of the batch may have been taken in.
    pub fn push<'a>(&mut self, rows: impl Into<Incoming<'a>>) -> Result<()> {
        let rows = rows.into();
        self.health.begin()?;
        let k = self.mechanism.projection().spec().k();
        let mut done = 0;
        while done < rows.n() {
            let room = (self.block.len() - self.filled) / k;
            let take = room.min(rows.n() - done);
            let part = rows.slice(done..done + take);
            let whole = take * k == self.block.len();
            let out = &mut self.block[self.filled..self.filled + take * k];
            if whole {
                self.mechanism.release_into(part, out, self.rng).map_err(|e| e.offset_row(done))?;
                self.write_block(take * k)?;
            } else {
                self.mechanism.project_block(part, out).map_err(|e| e.offset_row(done))?;
                self.filled += take * k;
                if self.filled == self.block.len() {
                    self.flush()?;
                }
            }
            done += take;
        }
        self.rows += rows.n();
        self.health = Health::Good;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let held = self.filled;
        self.mechanism.add_noise(&mut self.block[..held], self.rng)?;
        self.write_block(held)
    }

    fn write_block(&mut self, held: usize) -> Result<()> {
        let k = self.mechanism.projection().spec().k();
        put(&mut self.out, &self.block[..held], (k, &self.mechanism.law()))?;
        self.filled = 0;
        Ok(())
    }

    /// Writes the certificate and puts the file in its place.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    pub fn finish(mut self) -> Result<Written> {
        self.health.begin()?;
        if self.filled > 0 {
            self.flush()?;
        }
        let certificate = self.mechanism.certificate(self.rows, self.rng.kind());
        let spec = self.mechanism.projection().spec();
        let shape = (self.rows, spec.k());
        let parameters = parameters_in(self.out.kind(), spec, &self.mechanism.law())?;
        let trailer = Trailer::new(shape, spec.fingerprint(), &parameters, certificate)?;
        let certificate = self.out.commit(trailer)?.private()?;
        Ok(Written { rows: self.rows, certificate })
    }
}
