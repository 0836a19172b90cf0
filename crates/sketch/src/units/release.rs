//! The published vectors.

use super::moments::CapMoments;
use crate::error::{Error, Result};
use crate::joined::{alike, joinable};
use crate::projection::ProjectionSpec;
use dp_core::NormBound;
use dp_core::certificate::PublicParameters;
use dp_core::noise::NoiseLaw;

/// n noisy unit vectors, with the public facts that estimators need.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitVectors {
    projection: ProjectionSpec,
    lengths: Option<NormBound>,
    noise: NoiseLaw,
    moments: CapMoments,
    values: Vec<f64>,
}

impl UnitVectors {
    /// The key of the kept length in certificates.
    const LENGTHS: &str = "lengths up to";

    pub(super) fn new(
        projection: ProjectionSpec,
        lengths: Option<NormBound>,
        noise: NoiseLaw,
        values: Vec<f64>,
    ) -> Result<Self> {
        let width = projection.k() + usize::from(lengths.is_some());
        if !values.len().is_multiple_of(width) {
            let expected = values.len().next_multiple_of(width);
            return Err(Error::Length { what: "values", expected, found: values.len() });
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { row: at / width, column: at % width });
        }
        let moments = CapMoments::of(&noise)?;
        if lengths.is_some() && moments.excess <= 0.0 {
            return Err(Error::invalid("threshold", 0.0, "above zero where lengths are kept"));
        }
        Ok(Self { projection, lengths, noise, moments, values })
    }

    /// The projection before the directions were taken.
    #[must_use]
    pub fn projection(&self) -> ProjectionSpec {
        self.projection
    }

    /// The norm bound of rows whose lengths were kept, in one more number; none where only directions were.
    #[must_use]
    pub fn lengths(&self) -> Option<NormBound> {
        self.lengths
    }

    /// The rows of several releases that were made alike, one after the other: what is asked of them all is asked of these.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for another projection or noise, and for one release given twice; [`dp_core::Error::InvalidParameter`] for none.
    pub fn joined(parts: &[&Self]) -> Result<Self> {
        let first = joinable(parts, Self::eq)?;
        for part in parts {
            first.check_comparable(part)?;
            alike("noise", &first.noise, &part.noise)?;
        }
        let values = parts.iter().flat_map(|part| &part.values).copied().collect();
        Self::new(first.projection, first.lengths, first.noise.clone(), values)
    }

    /// Number of rows.
    #[must_use]
    pub fn n(&self) -> usize {
        self.values.len() / self.width()
    }

    /// Numbers of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.projection.k() + usize::from(self.lengths.is_some())
    }

    /// All rows, one after the other. Over [`UnitVectors::mean`] they are unbiased for the unit vectors.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The expected length of a row along its direction.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.moments.mean
    }

    /// The law of the noise.
    #[must_use]
    pub fn noise(&self) -> &NoiseLaw {
        &self.noise
    }

    pub(super) fn moments(&self) -> CapMoments {
        self.moments
    }

    /// A row.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn row(&self, index: usize) -> Result<&[f64]> {
        let (len, k) = (self.n(), self.width());
        match self.values.get(index * k..(index + 1) * k) {
            Some(row) if index < len => Ok(row),
            _ => Err(Error::Index { what: "row", index, len }),
        }
    }

    pub(super) fn public(
        projection: ProjectionSpec,
        lengths: Option<NormBound>,
        n: usize,
    ) -> PublicParameters {
        let mut public = projection.public_parameters();
        public.insert("n".into(), n.into());
        if let Some(bound) = lengths {
            public.insert(Self::LENGTHS.into(), bound.get().into());
        }
        public
    }

    /// Whether two releases came from the same projection and keep the same lengths.
    ///
    /// # Errors
    /// [`Error::Incompatible`].
    pub(crate) fn check_comparable(&self, other: &Self) -> Result<()> {
        if (self.projection, self.lengths) == (other.projection, other.lengths) {
            return Ok(());
        }
        let name = |s: &Self| match s.lengths {
            Some(bound) => format!("{}, lengths up to {bound}", s.projection.fingerprint()),
            None => s.projection.fingerprint(),
        };
        let (left, right) = (name(self), name(other));
        Err(Error::Incompatible { what: "projections (fingerprint)", left, right })
    }
}
