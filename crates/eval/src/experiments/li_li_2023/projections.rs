//! Projections that many releases of the same rows share: drawn once, scanned for their norms once, applied once.

use crate::error::Result;
use dp_core::mechanism::author::{Seal, Sealed};
use dp_core::{
    Budget, EntryBound, PublicSeed, Shift, authority, calibrate::published::PublishedRule,
};
use sketch::RowsView;
use sketch::projection::{Family, OutputRange, Projection, ProjectionSpec, SharedProjection};
use sketch::rows::Storage;
use sketch::vectors::{PrivateProjection, System};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Where rows lie in memory.
type Place = Range<usize>;

/// The projections of one repetition.
pub(super) struct Projections {
    rows: Vec<Place>,
    built: Mutex<Vec<(ProjectionSpec, SharedProjection)>>,
}

impl Projections {
    /// For rows that all releases are of, and that outlive this.
    pub(super) fn of(rows: &[RowsView<'_>]) -> Self {
        let rows = rows.iter().filter_map(|rows| place(*rows)).collect();
        Self { rows, built: Mutex::default() }
    }

    /// The projection of a family, a shape and a seed.
    pub(super) fn get(
        &self,
        family: Family,
        (d, k): (usize, usize),
        seed: PublicSeed,
    ) -> Result<SharedProjection> {
        let spec = ProjectionSpec::new(family, d, k, seed)?;
        // Others are applied faster than an image is copied.
        if !matches!(family, Family::Gaussian | Family::Rademacher) {
            return Ok(spec.build());
        }
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = built.iter().find(|(known, _)| *known == spec) {
            return Ok(Arc::clone(known));
        }
        let (inner, rows) = (spec.build(), self.rows.clone());
        let made: SharedProjection = Arc::new(Remembered { inner, rows, images: Mutex::default() });
        built.push((spec, Arc::clone(&made)));
        Ok(made)
    }

    /// As [`System::mechanism`], over a projection of these.
    pub(super) fn mechanism(
        &self,
        system: System,
        (d, k): (usize, usize),
        seed: PublicSeed,
        budget: Budget,
    ) -> Result<PrivateProjection> {
        let (beta, bound) = (Shift::new(1.0)?, EntryBound::new(1.0)?);
        let k = if system == System::RawDataGOpt { d } else { k };
        let projection = self.get(system.family(), (d, k), seed)?;
        let adjacency = dp_core::Adjacency::Attribute { beta };
        let published = match system {
            System::DpRpG => PublishedRule::KenthapadiTheorem1,
            System::AnalyticDpRpG => PublishedRule::AnalyticDpRpG,
            _ if system.is_pure() => {
                let pure = Budget::pure(budget.epsilon);
                return Ok(PrivateProjection::laplace(projection, adjacency, bound, pure)?);
            }
            _ => return Ok(PrivateProjection::gaussian(projection, adjacency, bound, budget)?),
        };
        Ok(PrivateProjection::published(projection, published, beta, bound, budget)?)
    }
}

fn place(rows: RowsView<'_>) -> Option<Place> {
    let values = match rows.storage() {
        Storage::F64(values) => values,
        // Entries of these rows alone.
        Storage::Csr(csr) => &csr.values[csr.offsets[0]..csr.offsets[rows.n()]],
        _ => return None,
    };
    let Range { start, end } = values.as_ptr_range();
    Some(start as usize..end as usize)
}

/// A projection that keeps the images of the rows named, or of parts of them; other rows it projects anew.
#[derive(Debug)]
struct Remembered {
    inner: SharedProjection,
    rows: Vec<Place>,
    images: Mutex<Vec<(Place, Arc<Vec<f64>>)>>,
}

impl Sealed for Remembered {
    const SEAL: Seal<Self> = authority!().seal();
}

impl Projection for Remembered {
    fn spec(&self) -> ProjectionSpec {
        self.inner.spec()
    }

    fn apply(&self, rows: RowsView<'_>, out: &mut [f64]) -> sketch::Result<()> {
        let within = |all: &Place, part: &Place| all.start <= part.start && part.end <= all.end;
        let part = place(rows).filter(|part| self.rows.iter().any(|all| within(all, part)));
        let Some(part) = part else { return self.inner.apply(rows, out) };
        // Not applied inside the lock: a task that waits there might be given another that wants it.
        let images = || self.images.lock().unwrap_or_else(PoisonError::into_inner);
        let known = images().iter().find(|(known, _)| *known == part).map(|(_, x)| Arc::clone(x));
        if let Some(image) = known.filter(|image| image.len() == out.len()) {
            out.copy_from_slice(&image);
            return Ok(());
        }
        self.inner.apply(rows, out)?;
        images().push((part, Arc::new(out.to_vec())));
        Ok(())
    }

    fn row(&self, coordinate: usize, out: &mut [f64]) {
        self.inner.row(coordinate, out);
    }

    fn max_row_l2(&self) -> f64 {
        self.inner.max_row_l2()
    }

    fn row_l2(&self, coordinate: usize) -> Option<f64> {
        self.inner.row_l2(coordinate)
    }

    fn max_row_l1(&self) -> f64 {
        self.inner.max_row_l1()
    }

    fn spectral_norm_bound(&self) -> sketch::Result<f64> {
        self.inner.spectral_norm_bound()
    }

    fn output_range(&self, bound: EntryBound) -> OutputRange {
        self.inner.output_range(bound)
    }

    /// So that it is asked for the same rows each time.
    fn is_cheap_for_few_rows(&self) -> bool {
        false
    }

    fn touched_by_one_attribute(&self) -> usize {
        self.inner.touched_by_one_attribute()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::NoiseRng;

    #[test]
    fn shared_projections_release_what_systems_do() {
        let (n, d, k) = (70, 40, 16);
        let row = |shift: usize| -> Vec<f64> {
            (0..n * d).map(|i| ((i + shift) % 17) as f64 / 17.0).collect()
        };
        let (ours, theirs) = (row(0), row(5));
        let view = |x| RowsView::f64(n, d, x).unwrap();
        let shared = Projections::of(&[view(&ours)]);
        let (seed, one) = (PublicSeed::new(3), Shift::new(1.0).unwrap());
        let bound = EntryBound::new(1.0).unwrap();
        for epsilon in [1.0, 4.0] {
            for system in System::ALL {
                let budget = Budget::new(epsilon, 1e-6).unwrap();
                let named = system.mechanism(d, k, seed, one, bound, budget);
                let made = shared.mechanism(system, (d, k), seed, budget);
                let (named, made) = match (named, made) {
                    (Ok(named), Ok(made)) => (named, made),
                    // A published rule may miss its budget with this matrix.
                    (Err(_), Err(_)) if system == System::AnalyticDpRpG => continue,
                    (a, b) => panic!("{}: {} and {}", system.name(), a.is_ok(), b.is_ok()),
                };
                // Rows that are remembered, their second half, and rows that are not.
                for rows in [view(&ours), view(&ours).slice(30..n), view(&theirs), view(&ours)] {
                    let released = |mechanism: &PrivateProjection| {
                        let mut rng = NoiseRng::deterministic_not_private(7);
                        mechanism.release(rows, &mut rng).unwrap().payload().values().to_vec()
                    };
                    assert_eq!(released(&named), released(&made), "{}", system.name());
                }
            }
        }
    }
}
