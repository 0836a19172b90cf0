//! Releasing rows to a file as they come.

use super::sketches::put;
use crate::error::Result;
use crate::private::{PrivateProjection, PrivateSketch, SketchNoise, pass_rows};
use crate::rows::RowsView;
use dp_core::release_file::{FileWriter, Kind, Trailer, to_json};
use dp_core::{Certificate, NoiseRng};
use std::borrow::Cow;
use std::path::Path;

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// All bits of the release.
    F64,
    /// Rounded to the nearest `f32` after the noise was added (post-processing): half the size. Refused
    /// where that rounding would not be negligible beside the noise
    /// ([`PrivateProjection::check_element`]).
    F32,
}

impl Element {
    /// The kind of file.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::F64 => Kind::Sketch64,
            Self::F32 => Kind::Sketch32,
        }
    }

    /// Refuses numbers up to `largest` whose rounding is not negligible: more than 1/256 of the
    /// standard deviation of the noise, or beyond the range of `f32`. Below that it adds at most 2^-16
    /// of the noise's variance: docs/proofs/private-projection.md, "Streams, files, threads".
    ///
    /// # Errors
    /// An invalid element.
    fn check_range(self, largest: f64, noise_variance: f64) -> Result<()> {
        const ROUNDING: f64 = 1.0 / (1 << 24) as f64;
        let fits =
            largest <= f64::from(f32::MAX) && largest * ROUNDING <= noise_variance.sqrt() / 256.0;
        // Below the normal range of f32 the rounding is absolute.
        if self == Self::F64 || fits && noise_variance.sqrt() >= f64::from(f32::MIN_POSITIVE) {
            return Ok(());
        }
        let allowed =
            "f64 for this mechanism: f32 would round by more than 1/256 of the noise, or overflow";
        Err(crate::Error::invalid("element", "f32", allowed))
    }

    /// For a mechanism whose projected rows are at most `magnitude` in absolute value; noise beyond 64
    /// standard deviations is not reckoned with.
    pub(crate) fn check_mechanism(self, magnitude: f64, noise: SketchNoise) -> Result<()> {
        let variance = noise.variance();
        self.check_range(magnitude + 64.0 * variance.sqrt(), variance)
    }

    /// For a finished release.
    pub(super) fn check_release(self, sketch: &PrivateSketch) -> Result<()> {
        let largest = sketch.values().iter().fold(0f64, |m, v| m.max(v.abs()));
        self.check_range(largest, sketch.noise_variance())
    }
}

/// What a finished streaming release was.
#[derive(Debug, Clone, PartialEq)]
pub struct Written<C = Certificate> {
    /// Rows written.
    pub rows: usize,
    /// The certificate, also in the file.
    pub certificate: C,
}

/// Releases rows to a file as they come: memory is bounded by one block of output
/// (at most 8 MiB plus one row batch), whatever the number of rows.
///
/// The numbers are those of [`PrivateProjection::release`] on all rows at once, bit for bit,
/// however the rows are cut into batches. The file appears only when [`ReleaseWriter::finish`]
/// succeeds. Dropping the writer discards everything; noise that was drawn stays used.
pub struct ReleaseWriter<'m, 'r> {
    mechanism: Cow<'m, PrivateProjection>,
    rng: &'r mut NoiseRng,
    out: FileWriter,
    block: Vec<f64>,
    filled: usize,
    rows: usize,
    health: Health,
}

/// Whether everything that was pushed has been taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Good,
    Failed,
}

impl Health {
    /// Marks an operation as failed until it has succeeded; refuses one after a failure.
    pub(super) fn begin(&mut self) -> Result<()> {
        match core::mem::replace(self, Self::Failed) {
            Self::Good => Ok(()),
            Self::Failed => {
                let reason = "an earlier batch failed; nothing is written";
                Err(dp_core::Error::file("writer", reason).into())
            }
        }
    }
}

impl<'m, 'r> ReleaseWriter<'m, 'r> {
    /// Opens a temporary file beside `path`.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`], and as [`PrivateProjection::check_element`].
    pub fn create(
        path: &Path,
        mechanism: &'m PrivateProjection,
        element: Element,
        rng: &'r mut NoiseRng,
    ) -> Result<Self> {
        Self::of(path, Cow::Borrowed(mechanism), element, rng)
    }

    /// As [`ReleaseWriter::create`] for a mechanism that may be the writer's own.
    pub(crate) fn of(
        path: &Path,
        mechanism: Cow<'m, PrivateProjection>,
        element: Element,
        rng: &'r mut NoiseRng,
    ) -> Result<Self> {
        mechanism.check_element(element)?;
        let k = mechanism.projection().spec().k();
        Ok(Self {
            mechanism,
            rng,
            out: FileWriter::create(path, element.kind())?,
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
    pub fn push(&mut self, rows: RowsView<'_>) -> Result<()> {
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
        put(&mut self.out, &self.block[..held])?;
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
        let trailer = Trailer::new(shape, spec.fingerprint(), &to_json(&spec)?, certificate)?;
        let certificate = self.out.commit(trailer)?.private()?;
        Ok(Written { rows: self.rows, certificate })
    }
}
