//! No projection at all: the raw data, for comparison.

use super::apply::{OutputRange, Projection, check_apply};
use super::spec::ProjectionSpec;
use crate::author::AUTHOR;
use crate::error::Result;
use crate::rows::RowsView;
use dp_core::EntryBound;
use dp_core::mechanism::author;
use rayon::prelude::*;

/// x -> x: P is the d x d identity.
#[derive(Debug)]
pub(super) struct Identity {
    spec: ProjectionSpec,
}

impl Identity {
    pub(crate) fn from_spec(spec: ProjectionSpec) -> Self {
        Self { spec }
    }
}

impl author::Sealed for Identity {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Projection for Identity {
    fn spec(&self) -> ProjectionSpec {
        self.spec
    }

    fn apply(&self, rows: RowsView<'_>, out: &mut [f64]) -> Result<()> {
        check_apply(self.spec, rows, out)?;
        out.par_chunks_mut(self.spec.d())
            .with_min_len(64)
            .enumerate()
            .for_each(|(row, out)| rows.copy_row(row, out));
        Ok(())
    }

    fn row(&self, coordinate: usize, out: &mut [f64]) {
        assert!(coordinate < self.spec.d() && out.len() == self.spec.k(), "a row of P");
        out.fill(0.0);
        out[coordinate] = 1.0;
    }

    fn max_row_l2(&self) -> f64 {
        1.0
    }

    fn max_row_l1(&self) -> f64 {
        1.0
    }

    fn spectral_norm_bound(&self) -> Result<f64> {
        Ok(1.0)
    }

    fn output_range(&self, bound: EntryBound) -> OutputRange {
        OutputRange { magnitude: bound.get(), error: 0.0 }
    }

    fn touched_by_one_attribute(&self) -> usize {
        1
    }
}
