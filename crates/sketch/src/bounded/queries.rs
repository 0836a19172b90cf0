//! What is looked for among bounded values.

use super::release::BoundedValues;
use crate::error::{Error, Result};
use crate::rows::RowsView;

/// Rows that bounded values are compared with: rows that were never released, or rows of a release.
#[derive(Debug, Clone)]
pub struct BoundedQueries {
    d: usize,
    values: Vec<f64>,
}

impl BoundedQueries {
    /// Rows as they are, in the range or not. Nothing of them is published.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another d.
    pub fn exact(release: &BoundedValues, rows: RowsView<'_>) -> Result<Self> {
        let d = release.d();
        if rows.d() != d {
            return Err(Error::Shape { what: "d of the queries", expected: d, found: rows.d() });
        }
        let mut values = vec![0.0; rows.n() * d];
        values.chunks_exact_mut(d).enumerate().for_each(|(i, x)| rows.copy_row(i, x));
        Ok(Self { d, values })
    }

    /// Rows of a release.
    ///
    /// # Errors
    /// [`Error::Index`] for a missing row.
    pub fn released(release: &BoundedValues, rows: &[usize]) -> Result<Self> {
        let mut values = Vec::with_capacity(rows.len() * release.d());
        for &row in rows {
            values.extend(release.row(row)?.iter().map(|&cell| release.value(cell)));
        }
        Ok(Self { d: release.d(), values })
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn row(&self, index: usize) -> Result<&[f64]> {
        let row = self.values.chunks_exact(self.d).nth(index);
        row.ok_or(Error::Index { what: "query", index, len: self.values.len() / self.d })
    }

    /// Whether they go with a release.
    pub(crate) fn check(&self, release: &BoundedValues) -> Result<()> {
        match self.d == release.d() {
            true => Ok(()),
            false => {
                let (expected, found) = (release.d(), self.d);
                Err(Error::Shape { what: "d of the queries", expected, found })
            }
        }
    }
}
