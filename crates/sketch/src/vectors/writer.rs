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

/// Releases rows to a file as they come: memory is bounded by two blocks of output
/// (at most 16 MiB plus one row batch), whatever the number of rows. While a block gets its noise, the one before is written.
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
    /// A block that has its noise and is not written yet, and the numbers in it.
    ready: (Vec<f64>, usize),
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
            ready: (vec![0.0; pass_rows(k) * k], 0),
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
            if take * k == self.block.len() {
                let release = |m: &PrivateProjection, out: &mut [f64], rng: &mut NoiseRng| {
                    m.release_into(part, out, rng).map_err(|e| e.offset_row(done))
                };
                self.finish_block(take * k, release)?;
            } else {
                let out = &mut self.block[self.filled..self.filled + take * k];
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
        self.finish_block(self.filled, |m, values, rng| m.add_noise(values, rng))
    }

    /// Finishes so many numbers of the block, and writes the block before meanwhile.
    fn finish_block(
        &mut self,
        held: usize,
        finish: impl FnOnce(&PrivateProjection, &mut [f64], &mut NoiseRng) -> Result<()> + Send,
    ) -> Result<()> {
        let Self { mechanism, rng, out, block, ready, .. } = self;
        let mechanism: &PrivateProjection = mechanism;
        let form = (mechanism.projection().spec().k(), &mechanism.law());
        let (finished, written) = rayon::join(
            || finish(mechanism, &mut block[..held], rng),
            || put(out, &ready.0[..ready.1], form),
        );
        finished?;
        written?;
        core::mem::swap(block, &mut ready.0);
        (ready.1, self.filled) = (held, 0);
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
        let (spec, law) = (self.mechanism.projection().spec(), self.mechanism.law());
        put(&mut self.out, &self.ready.0[..self.ready.1], (spec.k(), &law))?;
        let shape = (self.rows, spec.k());
        let parameters = parameters_in(self.out.kind(), spec, &law)?;
        let trailer = Trailer::new(shape, spec.fingerprint(), &parameters, certificate)?;
        let certificate = self.out.commit(trailer)?.private()?;
        Ok(Written { rows: self.rows, certificate })
    }
}
