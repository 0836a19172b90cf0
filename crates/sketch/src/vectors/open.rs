//! Rows that come in portions, released in memory.

use super::mechanism::PrivateProjection;
use super::sketch::PrivateSketch;
use crate::error::Result;
use crate::projection::output_len;
use crate::rows::{Incoming, pass_rows};
use crate::written::Health;
use dp_core::{NoiseRng, Release};
use std::borrow::Cow;

/// A release of rows on its way: memory holds the released numbers so far and nothing else.
///
/// The numbers are those of [`PrivateProjection::release`] on all rows at once, bit for bit, however the rows are cut into
/// portions. Private until it is closed; dropping it discards everything.
pub struct OpenSketch<'m, 'r> {
    mechanism: Cow<'m, PrivateProjection>,
    rng: &'r mut NoiseRng,
    values: Vec<f64>,
    /// Of the values, those that have their noise: whole blocks.
    noisy: usize,
    health: Health,
}

impl<'m, 'r> OpenSketch<'m, 'r> {
    /// Starts a release.
    #[must_use]
    pub fn new(mechanism: &'m PrivateProjection, rng: &'r mut NoiseRng) -> Self {
        Self::of(Cow::Borrowed(mechanism), rng)
    }

    /// As [`OpenSketch::new`] for a mechanism that may be its own.
    pub(super) fn of(mechanism: Cow<'m, PrivateProjection>, rng: &'r mut NoiseRng) -> Self {
        Self { mechanism, rng, values: Vec::new(), noisy: 0, health: Health::Good }
    }

    /// Makes room for as many more rows, where there is any: what is expected, for speed alone.
    pub fn reserve(&mut self, rows: usize) {
        let k = self.mechanism.projection().spec().k();
        // Whoever expects too much waits for the error of the rows that come.
        let _ = self.values.try_reserve_exact(rows.saturating_mul(k));
    }

    /// Adds rows. Errors name rows by their place in this portion.
    ///
    /// # Errors
    /// As [`PrivateProjection::release`]; afterwards this can only be dropped.
    pub fn push<'a>(&mut self, rows: impl Into<Incoming<'a>>) -> Result<()> {
        let rows = rows.into();
        self.health.begin()?;
        let spec = self.mechanism.projection().spec();
        let k = spec.k();
        let (mut done, mut filled, block) = (0, self.values.len(), pass_rows(k) * k);
        self.values.resize(filled + output_len(spec, rows.n())?, 0.0);
        while done < rows.n() {
            let left = (rows.n() - done) * k;
            let whole = if filled == self.noisy { left / block * block } else { 0 };
            let size = if whole > 0 { whole } else { left.min(self.noisy + block - filled) };
            let part = rows.slice(done..done + size / k);
            let out = &mut self.values[filled..filled + size];
            filled += size;
            if whole > 0 {
                self.mechanism.release_into(part, out, self.rng).map_err(|e| e.offset_row(done))?;
                self.noisy = filled;
            } else {
                self.mechanism.project_block(part, out).map_err(|e| e.offset_row(done))?;
                if filled == self.noisy + block {
                    self.finish_block()?;
                }
            }
            done += size / k;
        }
        self.health = Health::Good;
        Ok(())
    }

    /// Adds noise to what has none, up to one block.
    fn finish_block(&mut self) -> Result<()> {
        let k = self.mechanism.projection().spec().k();
        let end = self.values.len().min(self.noisy + pass_rows(k) * k);
        self.mechanism.add_noise(&mut self.values[self.noisy..end], self.rng)?;
        self.noisy = end;
        Ok(())
    }

    /// Releases the last rows and publishes.
    ///
    /// # Errors
    /// As [`OpenSketch::push`].
    pub fn close(mut self) -> Result<Release<PrivateSketch>> {
        self.health.begin()?;
        if self.noisy < self.values.len() {
            self.finish_block()?;
        }
        let spec = self.mechanism.projection().spec();
        let certificate = self.mechanism.certificate(self.values.len() / spec.k(), self.rng.kind());
        let sketch = PrivateSketch::new(spec, self.mechanism.law(), self.values)?;
        Ok(Release::certified(sketch, certificate))
    }
}
