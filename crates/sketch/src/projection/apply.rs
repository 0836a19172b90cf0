//! What every projection can do, and how rows go through it.

use super::spec::ProjectionSpec;
use crate::error::{Error, Result};
use crate::memory::zeros;
use crate::rows::{Incoming, RowsView};
use dp_core::EntryBound;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

mod own {
    /// What has a seal, and can be a trait object.
    pub trait Own {}

    impl<T: dp_core::mechanism::author::Sealed> Own for T {}
}

/// A public projection: d x k, drawn from a published seed. Implemented in this project only: guarantees
/// rest on what it says of its own norms and errors.
///
/// # Shapes
/// Input rows have d features, output rows k numbers.
///
/// # Privacy
/// A projection alone gives none; [`crate::vectors::PrivateProjection`] does.
pub trait Projection: own::Own + Send + Sync + core::fmt::Debug {
    /// Family, shape and seed: everything needed to rebuild the projection.
    fn spec(&self) -> ProjectionSpec;

    /// Projects rows into `out` (n x k, row after row). Parallel over fixed blocks of
    /// rows; the result does not depend on the number of threads.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Length`] when shapes do not agree.
    fn apply(&self, rows: RowsView<'_>, out: &mut [f64]) -> Result<()>;

    /// Writes row `coordinate` of P (the image of one unit vector) into `out` (k numbers).
    ///
    /// # Panics
    /// When `coordinate >= d` or `out.len() != k`.
    fn row(&self, coordinate: usize, out: &mut [f64]);

    /// Largest l2 norm of a row of this very P, rounded up.
    fn max_row_l2(&self) -> f64;

    /// l2 norm of row `coordinate` of this very P, rounded up, where rows differ; none where every
    /// row has the norm [`Projection::max_row_l2`].
    ///
    /// # Panics
    /// When rows differ and `coordinate >= d`.
    fn row_l2(&self, _coordinate: usize) -> Option<f64> {
        None
    }

    /// Largest l1 norm of a row of this very P, rounded up.
    fn max_row_l1(&self) -> f64;

    /// An upper bound on the spectral norm of this very P.
    ///
    /// # Errors
    /// [`Error::Undefined`] when the bound could not be certified.
    fn spectral_norm_bound(&self) -> Result<f64>;

    /// Bound on the absolute floating-point error of any output coordinate, and on the
    /// absolute value of the output, for rows whose entries are at most `bound`.
    fn output_range(&self, bound: EntryBound) -> OutputRange;

    /// Whether [`Projection::apply`] on a few hundred rows costs no more a row than on many:
    /// false when parts of P are generated anew in each call.
    fn is_cheap_for_few_rows(&self) -> bool {
        true
    }

    /// How many output coordinates a change of one input coordinate can touch.
    fn touched_by_one_attribute(&self) -> usize {
        self.spec().k()
    }
}

/// A shared projection of any family.
pub type SharedProjection = Arc<dyn Projection>;

/// What floating-point arithmetic and the data bound say about one output coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutputRange {
    /// Largest absolute value.
    pub magnitude: f64,
    /// Largest absolute difference between the computed and the exact value.
    pub error: f64,
}

impl OutputRange {
    /// The range of a sum of at most `terms` products, computed in any order, with or
    /// without fused operations, plus `extra` further roundings, when the absolute values
    /// of the products sum to at most `absolute_sum`.
    ///
    /// The error is `gamma_m absolute_sum` with `gamma_m = m u / (1 - m u)`,
    /// `m = terms + extra`, `u = 2^-53` (Higham 2002, section 3.1).
    #[must_use]
    pub fn of_sum(terms: usize, extra: usize, absolute_sum: f64) -> Self {
        let mu = (terms + extra) as f64 * (0.5 * f64::EPSILON);
        let gamma = mu / (1.0 - mu) * (1.0 + 4.0 * f64::EPSILON);
        Self { magnitude: absolute_sum * (1.0 + 2.0 * gamma), error: gamma * absolute_sum }
    }
}

/// Values of rows that stay in the second-level cache from their check to their projection.
const CACHED: usize = 1 << 16;

/// Whether a few rows are checked and projected together: else parts of P, which are generated anew in each call, cost more.
pub(crate) fn few_together(parts: &[SharedProjection]) -> bool {
    parts.iter().all(|p| p.is_cheap_for_few_rows())
}

/// Room for numbers, made and zeroed as often only as it is in use at a time.
#[derive(Default)]
pub(crate) struct Rooms(Mutex<Vec<Vec<f64>>>);

impl Rooms {
    /// Room for so many numbers; what stands in it is anything.
    pub(crate) fn with<T>(&self, len: usize, work: impl FnOnce(&mut [f64]) -> T) -> T {
        let free = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut room = free().pop().unwrap_or_default();
        if room.len() < len {
            room.resize(len, 0.0);
        }
        let done = work(&mut room[..len]);
        free().push(room);
        done
    }
}

/// Checks and projects rows, a few at a time where there are rooms for it: the check then reads them from
/// memory, and the projection from the cache. Rows that fail leave zeros in `out`.
pub(crate) fn project_checked(
    rows: Incoming<'_>,
    out: &mut [f64],
    few: Option<&Rooms>,
    check: impl Fn(Incoming<'_>) -> Result<RowsView<'_>> + Sync,
    project: impl Fn(RowsView<'_>, &mut [f64]) -> Result<()> + Sync,
) -> Result<()> {
    let Some(rooms) = few else {
        return project(check(rows)?, out);
    };
    let width = out.len() / rows.n().max(1);
    let step = (CACHED / rows.d()).max(1).next_multiple_of(8);
    let piece = |(i, out): (usize, &mut [f64])| {
        let first = i * step;
        let rows = rows.slice(first..first + out.len() / width);
        let within = |e: Error| e.offset_row(first);
        if rows.view().is_some() {
            return project(check(rows).map_err(within)?, out);
        }
        // Columns side by side are laid row after row first.
        rooms.with(rows.n() * rows.d(), |room| {
            project(rows.lay(room).and_then(&check).map_err(within)?, out)
        })
    };
    let pieces = out.par_chunks_mut((step * width).max(1)).enumerate();
    let done: Vec<Result<()>> = pieces.map(piece).collect();
    let done: Result<()> = done.into_iter().collect();
    if done.is_err() {
        out.fill(0.0);
    }
    done
}

pub(crate) fn check_apply(spec: ProjectionSpec, rows: RowsView<'_>, out: &[f64]) -> Result<()> {
    if rows.d() != spec.d() {
        return Err(Error::Shape { what: "d of the rows", expected: spec.d(), found: rows.d() });
    }
    let expected = output_len(spec, rows.n())?;
    if out.len() != expected {
        return Err(Error::Length { what: "out", expected, found: out.len() });
    }
    Ok(())
}

/// Numbers of n projected rows.
pub(crate) fn output_len(spec: ProjectionSpec, n: usize) -> Result<usize> {
    let most = isize::MAX as usize / size_of::<f64>();
    let len = n.checked_mul(spec.k()).filter(|len| *len <= most);
    len.ok_or_else(|| Error::invalid("n", n, "such that n k numbers fit in memory"))
}

/// Projects rows into a new n x k vector.
///
/// # Errors
/// As [`Projection::apply`].
pub fn project(projection: &dyn Projection, rows: RowsView<'_>) -> Result<Vec<f64>> {
    let mut out = zeros(output_len(projection.spec(), rows.n())?);
    projection.apply(rows, &mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::spec::Family;
    use super::*;
    use dp_core::PublicSeed;

    #[test]
    fn rows_are_projected_and_checked_in_pieces_as_at_once() {
        // Pieces of eight rows, the last one short.
        let (n, d, k) = (21, CACHED / 4 + 1, 6);
        let one = EntryBound::new(1.0).expect("positive");
        let p = ProjectionSpec::new(Family::Oporp, d, k, PublicSeed::new(5)).expect("valid");
        let p = p.build();
        let mut x: Vec<f64> = (0..n * d).map(|i| (i % 97) as f64 / 97.0).collect();
        let rooms = Rooms::default();
        let project = |rows: Incoming<'_>, few: bool| {
            let mut out = vec![f64::NAN; n * k];
            let apply = |rows: RowsView<'_>, out: &mut [f64]| p.apply(rows, out);
            let few = few.then_some(&rooms);
            (project_checked(rows, &mut out, few, |rows| rows.check_bound(one), apply), out)
        };
        let run = |x: &[f64], few: bool| {
            let rows = RowsView::f64(n, d, x).expect("finite");
            project(rows.into(), few)
        };
        // Columns that nobody has looked at.
        let unread = |x: &[f64], few: bool| {
            let beside: Vec<f64> = (0..n * d).map(|at| x[at % n * d + at / n]).collect();
            let beside: Vec<&[f64]> = beside.chunks_exact(n).collect();
            project(Incoming::columns(n, &beside).expect("of one length"), few)
        };
        let whole = run(&x, false);
        assert!(whole.0.is_ok());
        for other in [run(&x, true), unread(&x, true), unread(&x, false)] {
            assert!(other.0.is_ok());
            assert_eq!(whole.1, other.1);
        }
        for (row, column) in [(0, 3), (7, 0), (8, 1), (17, d - 1), (20, 2)] {
            let (at, kept) = (row * d + column, x[row * d + column]);
            x[at] = 1.5;
            // A later one is not the first.
            x[n * d - 1] = -2.0;
            for (refused, out) in [run(&x, true), unread(&x, true)] {
                match refused {
                    Err(Error::OutOfRange { row: r, column: c, .. }) => {
                        assert_eq!((r, c), (row, column));
                    }
                    other => panic!("row {row}: {other:?}"),
                }
                assert!(out.iter().all(|&v| v == 0.0), "row {row}");
            }
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                x[at] = value;
                for few in [true, false] {
                    match unread(&x, few).0 {
                        Err(Error::NotFinite { row: r, column: c }) => {
                            assert_eq!((r, c), (row, column));
                        }
                        other => panic!("row {row}: {other:?}"),
                    }
                }
            }
            (x[at], x[n * d - 1]) = (kept, 0.0);
        }
    }
}
