//! The exact window: all rows in memory, one private release.

use crate::error::{Error, Result};
use dp_core::{Adjacency, NoiseRng, Release};
use faer::{Mat, MatRef};
use linalg_dp::covariance::{CovarianceMechanism, PrivateCovariance, RowClip};
use linalg_dp::dense::product;
use linalg_dp::window::WindowSpan;
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
    /// An empty window.
    pub fn new(clip: RowClip, window: usize) -> Result<Self> {
        if window == 0 {
            return Err(Error::invalid("window", window, "[1, inf)"));
        }
        Ok(Self { clip, window, rows: VecDeque::new(), pushed: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Another length, NaN or infinity.
    pub fn push(&mut self, row: &[f64]) -> Result<()> {
        if row.len() != self.clip.dim() {
            let expected = format!("d = {}", self.clip.dim());
            return Err(Error::invalid("row length", row.len(), expected));
        }
        if row.iter().any(|x| !x.is_finite()) {
            return Err(Error::malformed("a row", "it holds a value that is not finite"));
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
        let unit = 2f64.powi(self.clip.exponent());
        let mut rows = vec![0.0; self.rows.len() * d];
        for (row, out) in self.rows.iter().zip(rows.chunks_mut(d)) {
            self.clip.quantise(row, out)?;
            out.iter_mut().for_each(|q| *q *= unit);
        }
        let rows = MatRef::from_row_major_slice(&rows, self.rows.len(), d);
        Ok(product(rows.transpose(), rows))
    }

    /// The window's one release, spending the mechanism's whole guarantee, and the rows it covers.
    ///
    /// # Errors
    /// As the mechanism's release; a mechanism of another dimension; `AddRemoveRow`: without one row of
    /// the window, an older one is in it.
    pub fn release(
        self,
        mechanism: &dyn CovarianceMechanism,
        rng: &mut NoiseRng,
    ) -> Result<(WindowSpan, Release<PrivateCovariance>)> {
        if mechanism.dim() != self.clip.dim() {
            let expected = format!("d = {}", self.clip.dim());
            return Err(Error::invalid("mechanism's dimension", mechanism.dim(), expected));
        }
        let adjacency = mechanism.guarantee().adjacency();
        if matches!(adjacency, Adjacency::AddRemoveRow { .. }) {
            let allowed =
                "ZeroRow or ReplaceRow: one row fewer brings an older one into the window";
            return Err(Error::invalid("adjacency", adjacency, allowed));
        }
        let flat: Vec<f64> = self.rows.iter().flatten().copied().collect();
        let span =
            WindowSpan { first_row: self.pushed - self.rows.len() as u64, end_row: self.pushed };
        Ok((span, mechanism.release(&flat, rng)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::{Budget, NormBound};
    use linalg_dp::covariance::GaussianCovariance;

    fn window(bound: NormBound) -> Result<ExactWindow> {
        let mut window = ExactWindow::new(RowClip::new(2, bound)?, 3)?;
        for row in [[9.0, 0.0], [0.5, 0.0], [0.0, 0.25], [0.0, 2.0]] {
            window.push(&row)?;
        }
        Ok(window)
    }

    #[test]
    fn one_release_of_the_last_rows_and_none_of_added_ones() -> Result<()> {
        let bound = NormBound::new(1.0)?;
        let exact = window(bound)?.exact()?;
        assert_eq!((exact[(0, 0)], exact[(1, 1)], exact[(0, 1)]), (0.25, 1.0625, 0.0));
        let budget = Budget::new(1.0, 1e-6)?;
        let mut rng = NoiseRng::deterministic_not_private(8);
        let zero = GaussianCovariance::calibrate(2, Adjacency::ZeroRow { bound }, budget)?;
        let (span, release) = window(bound)?.release(&zero, &mut rng)?;
        assert_eq!((span.first_row, span.end_row, release.payload().dim()), (1, 4, 2));
        let add = GaussianCovariance::calibrate(2, Adjacency::AddRemoveRow { bound }, budget)?;
        let refused = window(bound)?.release(&add, &mut rng);
        assert!(matches!(refused, Err(Error::InvalidParameter { name: "adjacency", .. })));
        assert!(
            window(bound)?.push(&[1.0]).is_err() && window(bound)?.push(&[f64::NAN; 2]).is_err()
        );
        Ok(())
    }
}
