//! What is looked for among unit vectors.

use super::direction::Directions;
use super::release::UnitVectors;
use crate::error::{Error, Result};
use crate::projection::ProjectionSpec;
use crate::rows::RowsView;
use dp_core::NormBound;
use std::borrow::Cow;

/// Vectors that unit vectors are compared with: rows that were never released, or rows of a release.
///
/// Whoever asks has the public projection, so that a query of their own needs no noise.
#[derive(Debug, Clone)]
pub struct UnitQueries<'a> {
    projection: ProjectionSpec,
    lengths: Option<NormBound>,
    width: usize,
    values: Cow<'a, [f64]>,
}

impl<'a> UnitQueries<'a> {
    /// Rows as they are, for a release: their unit vectors, or with lengths kept the rows over its bound. Nothing of them is published.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another d.
    pub fn exact(release: &UnitVectors, rows: RowsView<'_>) -> Result<Self> {
        let (projection, lengths, width) =
            (release.projection(), release.lengths(), release.width());
        if rows.d() != projection.d() {
            return Err(Error::Shape {
                what: "d of the queries",
                expected: projection.d(),
                found: rows.d(),
            });
        }
        let mut values = Vec::with_capacity(rows.n() * width);
        if let Some(bound) = lengths {
            let mut x = vec![0.0; rows.d()];
            for i in 0..rows.n() {
                rows.copy_row(i, &mut x);
                // The last number of a row is of its length alone.
                values.extend(x.iter().map(|x| x / bound.get()).chain([0.0]));
            }
        } else {
            let rule = Directions { projection: projection.build(), lengths: None };
            values.extend(rule.of(rows)?.iter().map(|&n| n as f64));
            for x in values.chunks_exact_mut(width) {
                let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                x.iter_mut().for_each(|x| *x /= norm);
            }
        }
        Ok(Self { projection, lengths, width, values: values.into() })
    }

    /// Rows of a release.
    ///
    /// # Errors
    /// [`Error::Index`] for a missing row.
    pub fn released(release: &'a UnitVectors, rows: &[usize]) -> Result<Self> {
        let mut values = Vec::with_capacity(rows.len() * release.width());
        for &row in rows {
            values.extend_from_slice(release.row(row)?);
        }
        let (projection, lengths, width) =
            (release.projection(), release.lengths(), release.width());
        Ok(Self { projection, lengths, width, values: values.into() })
    }

    /// Number of queries.
    #[must_use]
    pub fn n(&self) -> usize {
        self.values.len() / self.width
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn row(&self, index: usize) -> Result<&[f64]> {
        let len = self.n();
        let row = self.values.chunks_exact(self.width).nth(index);
        row.ok_or(Error::Index { what: "query", index, len })
    }

    /// Whether they go with a release.
    pub(crate) fn check(&self, release: &UnitVectors) -> Result<()> {
        if (self.projection, self.lengths) == (release.projection(), release.lengths()) {
            return Ok(());
        }
        let (left, right) = (self.projection.fingerprint(), release.projection().fingerprint());
        Err(Error::Incompatible { what: "projections (fingerprint) or lengths", left, right })
    }
}
