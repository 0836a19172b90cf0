//! The published sketch.

use super::noise::NoiseMoments;
use crate::error::{Error, Result};
use crate::joined::{alike, joinable};
use crate::projection::{Projection, ProjectionSpec, project};
use crate::rows::RowsView;
use dp_core::noise::{Grid, NoiseLaw};

/// The relative rounding of `f32`.
const F32: f64 = 1.0 / (1 << 24) as f64;

/// n noisy projected rows of k numbers, with the public facts estimators need.
#[derive(Debug, Clone, PartialEq)]
pub struct PrivateSketch {
    projection: ProjectionSpec,
    noise: NoiseLaw,
    moments: NoiseMoments,
    /// The grid its values were rounded to when they had their noise.
    rounding: Option<Grid>,
    values: Vec<f64>,
}

impl PrivateSketch {
    /// Rows as they are, projected and without noise: queries that are never published, beside releases of the same
    /// projection. It has no certificate, and no file holds it.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another d.
    pub fn exact(projection: &dyn Projection, rows: RowsView<'_>) -> Result<Self> {
        Self::new(projection.spec(), NoiseLaw::None, project(projection, rows)?)
    }

    /// Binds noisy values to the projection and noise they came from. For authors of
    /// mechanisms and readers of files.
    ///
    /// # Errors
    /// [`Error::Length`] unless the values are whole rows; [`Error::NotFinite`]; a noise law that is
    /// not Gaussian, Laplace, staircase or none.
    pub fn new(projection: ProjectionSpec, noise: NoiseLaw, values: Vec<f64>) -> Result<Self> {
        let k = projection.k();
        if !values.len().is_multiple_of(k) {
            let expected = values.len().next_multiple_of(k);
            return Err(Error::Length { what: "values", expected, found: values.len() });
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { row: at / k, column: at % k });
        }
        let moments = NoiseMoments::of(&noise)?;
        Ok(Self { projection, noise, moments, rounding: None, values })
    }

    /// Values that lie on this grid since they were rounded to it: their error has its variance too.
    pub(super) fn rounded_to(mut self, grid: Grid) -> Self {
        self.moments = self.moments.rounded_to(grid);
        self.rounding = Some(grid);
        self
    }

    /// The coarse grid of its values, when they were read from a compact file.
    pub(crate) fn rounding(&self) -> Option<Grid> {
        self.rounding
    }

    /// The rows of several releases that were made alike, one after the other: what is asked of them all is asked of these.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for another projection, noise or grid, and for one release given twice; [`dp_core::Error::InvalidParameter`] for none.
    pub fn joined(parts: &[&Self]) -> Result<Self> {
        let first = joinable(parts, Self::is_copy_of)?;
        for part in parts {
            first.check_comparable(part)?;
            alike("noise", &first.noise, &part.noise)?;
            alike("steps in which they are stored", &first.rounding, &part.rounding)?;
        }
        let values = parts.iter().flat_map(|part| &part.values).copied().collect();
        Ok(Self { values, noise: first.noise.clone(), ..*first })
    }

    /// Number of rows.
    #[must_use]
    pub fn n(&self) -> usize {
        self.values.len() / self.projection.k()
    }

    /// Numbers in a row.
    #[must_use]
    pub fn k(&self) -> usize {
        self.projection.k()
    }

    /// The projection.
    #[must_use]
    pub fn projection(&self) -> ProjectionSpec {
        self.projection
    }

    /// The law of the noise.
    #[must_use]
    pub fn noise(&self) -> &NoiseLaw {
        &self.noise
    }

    /// Variance of one noise value, with that of a rounding to a coarse grid ([`Element::Compact`](super::Element)).
    #[must_use]
    pub fn noise_variance(&self) -> f64 {
        self.moments.variance
    }

    pub(crate) fn moments(&self) -> NoiseMoments {
        self.moments
    }

    /// One noisy row.
    ///
    /// # Errors
    /// [`Error::Index`] when it does not exist.
    pub fn row(&self, row: usize) -> Result<&[f64]> {
        let k = self.k();
        if row >= self.n() {
            return Err(Error::Index { what: "row", index: row, len: self.n() });
        }
        Ok(&self.values[row * k..(row + 1) * k])
    }

    /// All noisy rows, row after row (n x k).
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Whether two sketches are one release: the same numbers, or one is the other rounded to `f32` or to a coarse
    /// grid. Two releases of the same rows are so on a coarse grid with probability at most `0.036^(n k)`
    /// (`docs/proofs/grid.md`).
    #[must_use]
    pub fn is_copy_of(&self, other: &Self) -> bool {
        let rounded = |wide: &Self, narrow: &Self| {
            let mut pairs = wide.values.iter().zip(&narrow.values);
            match narrow.rounding {
                // The wide one may be rounded to `f32`.
                Some(grid) => {
                    pairs.all(|(&w, &n)| (w - n).abs() <= 0.5 * grid.spacing() + w.abs() * F32)
                }
                None => pairs.all(|(&w, &n)| f64::from(w as f32) == n),
            }
        };
        core::ptr::eq(self, other)
            || (self.projection == other.projection
                && self.noise == other.noise
                && self.values.len() == other.values.len()
                && (self.values == other.values || rounded(self, other) || rounded(other, self)))
    }

    /// Whether two sketches came from the same projection and may be compared.
    ///
    /// # Errors
    /// [`Error::Incompatible`] when they did not.
    pub(crate) fn check_comparable(&self, other: &Self) -> Result<()> {
        let (left, right) = (self.projection, other.projection);
        if left == right {
            return Ok(());
        }
        Err(Error::Incompatible {
            what: "projections (fingerprint)",
            left: left.fingerprint(),
            right: right.fingerprint(),
        })
    }
}
