//! OPORP, whose norms follow from its shape: it is drawn when it first meets a row.

use super::apply::{OutputRange, Projection};
use super::norms::up;
use super::sparse_signs::SparseSigns;
use super::spec::ProjectionSpec;
use crate::author::AUTHOR;
use crate::error::Result;
use crate::rows::RowsView;
use dp_core::EntryBound;
use dp_core::mechanism::author;
use std::sync::OnceLock;

/// One permutation, one random projection: every coordinate falls, with a sign, into one of k bins of `ceil(d/k)` places.
///
/// A row of P has one nonzero, of size one. Of the places fewer than k stay empty, so that some bin is full whatever the
/// permutation is: the fullest holds `ceil(d/k)` coordinates. A calibration needs no more, and a plan tries many sizes.
#[derive(Debug)]
pub(super) struct Oporp {
    spec: ProjectionSpec,
    drawn: OnceLock<SparseSigns>,
}

impl Oporp {
    pub(super) fn from_spec(spec: ProjectionSpec) -> Self {
        Self { spec, drawn: OnceLock::new() }
    }

    fn drawn(&self) -> &SparseSigns {
        self.drawn.get_or_init(|| SparseSigns::from_spec(self.spec))
    }

    fn fullest_bin(&self) -> usize {
        self.spec.d().div_ceil(self.spec.k())
    }
}

impl author::Sealed for Oporp {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Projection for Oporp {
    fn spec(&self) -> ProjectionSpec {
        self.spec
    }

    fn apply(&self, rows: RowsView<'_>, out: &mut [f64]) -> Result<()> {
        self.drawn().apply(rows, out)
    }

    fn row(&self, coordinate: usize, out: &mut [f64]) {
        self.drawn().row(coordinate, out);
    }

    fn max_row_l2(&self) -> f64 {
        1.0
    }

    fn max_row_l1(&self) -> f64 {
        1.0
    }

    fn spectral_norm_bound(&self) -> Result<f64> {
        // Columns of P have disjoint supports: the norm is that of the fullest bin.
        Ok(up((self.fullest_bin() as f64).sqrt()))
    }

    fn output_range(&self, bound: EntryBound) -> OutputRange {
        let terms = self.fullest_bin();
        OutputRange::of_sum(terms, 0, up(terms as f64 * bound.get()))
    }

    fn touched_by_one_attribute(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::Family;
    use dp_core::PublicSeed;

    /// Every number that a calibration reads is that of the projection as it is drawn, bit for bit.
    #[test]
    fn norms_are_those_of_what_is_drawn() {
        let bound = EntryBound::new(0.7).expect("bound");
        for d in (1..40).chain([97, 1000, 4095, 4096, 4097]) {
            for k in (1..=d.min(50)).chain([d / 2 + 1, d]) {
                let seed = PublicSeed::new((d * 31 + k) as u64);
                let spec = ProjectionSpec::new(Family::Oporp, d, k, seed).expect("valid");
                let (known, drawn) = (Oporp::from_spec(spec), SparseSigns::from_spec(spec));
                let norms = |p: &dyn Projection| {
                    let spectral = p.spectral_norm_bound().expect("a norm");
                    let range = format!("{:?}", p.output_range(bound));
                    let few = (p.touched_by_one_attribute(), p.is_cheap_for_few_rows());
                    ([p.max_row_l1(), p.max_row_l2(), spectral], p.row_l2(0), range, few)
                };
                assert_eq!(norms(&known), norms(&drawn), "d = {d}, k = {k}");
                assert!(known.drawn.get().is_none(), "no norm needs the draw");
                let (mut a, mut b) = (vec![0.0; k], vec![0.0; k]);
                known.row(d - 1, &mut a);
                drawn.row(d - 1, &mut b);
                assert_eq!(a, b);
            }
        }
    }
}
