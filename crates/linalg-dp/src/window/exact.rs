//! The exact window: all rows in memory, one private release.

use super::config::row_moves;
use super::release::{WindowCovariance, WindowSpan};
use crate::covariance::{CovarianceMechanism, RowClip};
use crate::error::{Error, Result};
use crate::release_file::window_parameters;
use dp_core::{Adjacency, Certificate, NoiseRng, Release};
use faer::Mat;
use std::collections::VecDeque;

/// A ring buffer of the last `window` rows (clipped), `O(W d)` memory.
///
/// The baseline of the experiments: its [`ExactWindow::exact`] is not private, and
/// [`ExactWindow::release`] consumes it, because a second release would spend again.
pub struct ExactWindow {
    clip: RowClip,
    window: usize,
    rows: VecDeque<Vec<f64>>,
    pushed: u64,
}

impl ExactWindow {
    /// An empty window of `window` rows.
    ///
    /// # Errors
    /// [`Error::Core`] when the window is empty.
    pub fn new(clip: RowClip, window: usize) -> Result<Self> {
        if window == 0 {
            return Err(Error::invalid("window", window, "[1, inf)"));
        }
        Ok(Self { clip, window, rows: VecDeque::new(), pushed: 0 })
    }

    /// Adds a row, clipped to the bound.
    ///
    /// # Errors
    /// [`Error::Shape`] for another length, [`Error::NotFinite`] for NaN or infinity.
    pub fn push(&mut self, row: &[f64]) -> Result<()> {
        if row.len() != self.clip.dim() {
            return Err(Error::shape("row", row.len(), self.clip.dim()));
        }
        let mut clipped = vec![0.0; row.len()];
        self.clip.quantise(row, &mut clipped)?;
        let unit = 2f64.powi(self.clip.exponent());
        clipped.iter_mut().for_each(|q| *q *= unit);
        self.rows.push_back(clipped);
        if self.rows.len() > self.window {
            self.rows.pop_front();
        }
        self.pushed += 1;
        Ok(())
    }

    /// `A^T A` of the window. **Not private.**
    #[must_use]
    pub fn exact(&self) -> Mat<f64> {
        let (n, d) = (self.rows.len(), self.clip.dim());
        let a = Mat::from_fn(n, d, |i, j| self.rows[i][j]);
        crate::dense::product(a.transpose(), a.as_ref())
    }

    /// The window's one release, spending the mechanism's whole guarantee.
    ///
    /// # Errors
    /// As the mechanism's release; [`Error::Shape`] when it has another dimension;
    /// [`Error::NotProven`] under `AddRemoveRow`: without one row of the window, an older one is in it.
    pub fn release(
        self,
        mechanism: &dyn CovarianceMechanism,
        rng: &mut NoiseRng,
    ) -> Result<Release<WindowCovariance>> {
        if mechanism.dim() != self.clip.dim() {
            return Err(Error::shape("mechanism", mechanism.dim(), self.clip.dim()));
        }
        let adjacency = mechanism.guarantee().adjacency();
        if matches!(adjacency, Adjacency::AddRemoveRow { .. }) {
            return Err(row_moves("exact window", adjacency));
        }
        let flat: Vec<f64> = self.rows.iter().flatten().copied().collect();
        let span =
            WindowSpan { first_row: self.pushed - self.rows.len() as u64, end_row: self.pushed };
        let (covariance, certificate) = mechanism.release(&flat, rng)?.into_parts();
        let mut statement = certificate.statement().clone();
        statement.public.extend(window_parameters(span, 1, covariance.dim(), covariance.noise())?);
        let certificate = Certificate::new(statement, certificate.guarantee().clone());
        Ok(Release::certified(WindowCovariance::new(span, 1, covariance), certificate))
    }
}
