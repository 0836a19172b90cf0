//! What is looked for among signs without being published.

use super::codes::{SignCodes, SignSketch};
use super::fresh::is_lifted;
use crate::error::{Error, Result};
use crate::projection::ProjectionSpec;
use crate::rows::RowsView;
use dp_core::Release;
use dp_core::certificate::Statement;

/// Rows that were never released, projected as the signs of a release were. Nothing of them is published.
#[derive(Debug, Clone)]
pub struct SignQueries {
    projections: Vec<ProjectionSpec>,
    bits: usize,
    values: Vec<f64>,
}

impl SignQueries {
    /// Projects rows as those of a release. Where a constant was appended to each of those ([`super::NormFloor::Lifted`]), these get a zero:
    /// it takes no part in inner products.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another d, [`Error::Undefined`] where a projected value overflows.
    pub fn exact<C: AsRef<Statement>>(
        release: &Release<SignCodes, C>,
        rows: RowsView<'_>,
    ) -> Result<Self> {
        Self::beside(release.payload().projections(), release.certificate().as_ref(), rows)
    }

    /// The same of a release with these projections and this statement.
    pub(crate) fn beside(
        projections: &[ProjectionSpec],
        statement: &Statement,
        rows: RowsView<'_>,
    ) -> Result<Self> {
        let sketch = SignSketch::new(projections.iter().map(|spec| spec.build()).collect())?;
        let lifted = is_lifted(statement);
        let (d, expected) = (rows.d(), sketch.d() - usize::from(lifted));
        if d != expected {
            return Err(Error::Shape { what: "d of the queries", expected, found: d });
        }
        let bits = sketch.bits();
        let mut values = Vec::with_capacity(rows.n() * bits);
        let mut project = |rows: RowsView<'_>| {
            sketch.for_each_block(rows, |_, block| {
                values.extend_from_slice(block);
                Ok(())
            })
        };
        if lifted {
            let mut padded = vec![0.0; rows.n() * (d + 1)];
            let each = padded.chunks_exact_mut(d + 1).enumerate();
            each.for_each(|(i, row)| rows.copy_row(i, &mut row[..d]));
            project(RowsView::f64(rows.n(), d + 1, &padded)?)?;
        } else {
            project(rows)?;
        }
        let finite = |row: &[f64]| row.iter().map(|x| x.abs()).sum::<f64>().is_finite();
        if !values.chunks_exact(bits).all(finite) {
            return Err(Error::Undefined { what: "a projected query", reason: "it overflows" });
        }
        Ok(Self { projections: projections.to_vec(), bits, values })
    }

    pub(crate) fn projections(&self) -> &[ProjectionSpec] {
        &self.projections
    }

    /// One slice of projected values a query.
    pub(crate) fn rows(&self) -> core::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signs::{FreshConfig, FreshSigns, NormFloor};
    use dp_core::{Adjacency, Budget, EntryBound, FreshSeed, NoiseRng, NormBound, Shift};

    /// Of rows that a constant is appended to: several queries are projected each with a zero behind it.
    #[test]
    fn queries_of_lifted_rows_get_a_zero() {
        const D: usize = 20;
        let config = FreshConfig {
            d: D,
            bits: 16,
            floor: NormFloor::Lifted(NormBound::new(1.0).expect("positive")),
            bound: EntryBound::new(2.0).expect("positive"),
            adjacency: Adjacency::RowShift { l2: Shift::new(0.5).expect("positive") },
        };
        let signs = FreshSigns::exact(config, Budget::new(4.0, 1e-6).expect("valid"));
        let rows: Vec<f64> = (0..3 * D).map(|i| (i * 31 % 17) as f64 / 10.0 - 0.8).collect();
        let view = RowsView::f64(3, D, &rows).expect("finite");
        let (seed, mut rng) =
            (FreshSeed::reproducible_not_private(1), NoiseRng::deterministic_not_private(2));
        let release = signs.expect("calibrates").release(view, seed, &mut rng).expect("in bounds");
        let queries = SignQueries::exact(&release, view).expect("of that shape");
        let projection = release.payload().projections()[0].build();
        let padded: Vec<f64> = rows.chunks(D).flat_map(|x| [x, &[0.0]].concat()).collect();
        let padded = RowsView::f64(3, D + 1, &padded).expect("finite");
        let expected = crate::projection::project(projection.as_ref(), padded).expect("shapes");
        assert_eq!(queries.rows().count(), 3);
        for (found, expected) in queries.rows().flatten().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
