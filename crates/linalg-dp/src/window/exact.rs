//! The exact window: all rows in memory, one private release.

use super::config::row_moves;
use super::release::{WindowCovariance, WindowSpan};
use crate::covariance::{CovarianceMechanism, ExactGram, RowClip};
use crate::error::{Error, Result};
use crate::release_file::window_parameters;
use dp_core::{Adjacency, Certificate, NoiseRng, Release};
use faer::Mat;
use std::collections::VecDeque;

/// A ring buffer of the last `window` rows, `O(W d)` memory; clipped once, when they are used.
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

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::Shape`] for another length, [`Error::NotFinite`] for NaN or infinity.
    pub fn push(&mut self, row: &[f64]) -> Result<()> {
        if row.len() != self.clip.dim() {
            return Err(Error::shape("row", row.len(), self.clip.dim()));
        }
        if row.iter().any(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: "a row" });
        }
        self.rows.push_back(row.to_vec());
        if self.rows.len() > self.window {
            self.rows.pop_front();
        }
        self.pushed += 1;
        Ok(())
    }

    /// `A^T A` of the window's clipped rows. **Not private.**
    ///
    /// # Errors
    /// None: the rows are finite.
    pub fn exact(&self) -> Result<Mat<f64>> {
        let d = self.clip.dim();
        let mut gram = ExactGram::new(self.clip);
        gram.push(&self.rows.iter().flatten().copied().collect::<Vec<_>>())?;
        let values = gram.to_values();
        Ok(Mat::from_fn(d, d, |i, j| values[i * d + j]))
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
