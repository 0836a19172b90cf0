//! What is public before a low-rank release: shapes, bounds, adjacency.

use crate::covariance::longer_rows;
use crate::error::{Error, Result};
use crate::products;
use dp_core::certificate::PublicParameters;
use dp_core::{Adjacency, NormBound, PublicSeed, PublicValue, Shift};
use sketch::rows::RowsView;

/// Public shape and bounds of a low-rank problem.
///
/// A is m x n with `m <= n` in the intended use; the sketch has `k = rank + oversampling`
/// columns. One row may shift by an l2 norm of `shift`. Rows longer than `row_bound` are scaled to it
/// first and **not counted** (certificates say so): it moves no two rows apart and keeps
/// floating-point error bounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    m: usize,
    n: usize,
    rank: usize,
    oversampling: usize,
    shift: Shift,
    row_bound: NormBound,
}

impl Setting {
    /// Validates the public parameters.
    ///
    /// # Errors
    /// `rank = 0`, `oversampling < 2` (no error bound holds there), `k > min(m, n)` or above 2^24, m or n from 2^32 on, a shift or row bound
    /// outside `[2^-400, 2^400]`, or a row bound above 2^40 times the shift (floating point would then cost too much).
    pub fn new(
        (m, n): (usize, usize),
        rank: usize,
        oversampling: usize,
        shift: Shift,
        row_bound: NormBound,
    ) -> Result<Self> {
        // Sums over a row or a column count their terms.
        for (name, size) in [("m", m), ("n", n)] {
            if size > u32::MAX as usize {
                return Err(Error::invalid(name, size, "[1, 2^32)"));
            }
        }
        let largest = m.min(n).min(1 << 24);
        if largest < 3 {
            return Err(Error::invalid(
                "min(m, n)",
                largest,
                "at least 3: a rank, and two columns beyond it",
            ));
        }
        if rank == 0 || rank > largest - 2 {
            return Err(Error::invalid("rank", rank, format!("[1, {}]", largest - 2)));
        }
        if oversampling < 2 || oversampling > largest - rank {
            let allowed = format!("[2, {}]", largest - rank);
            return Err(Error::invalid("oversampling", oversampling, allowed));
        }
        for (name, bound) in [("shift", shift.get()), ("row bound", row_bound.get())] {
            // Squares of such numbers neither overflow nor vanish.
            if !(2f64.powi(-400)..=2f64.powi(400)).contains(&bound) {
                return Err(Error::invalid(name, bound, "[2^-400, 2^400]"));
            }
        }
        if row_bound.get() > shift.get() * 2f64.powi(40) {
            return Err(Error::invalid("row bound", row_bound, "at most 2^40 shifts"));
        }
        Ok(Self { m, n, rank, oversampling, shift, row_bound })
    }

    /// With `k = min(m / 3, 20 rank)` columns of the sketch, within what [`Setting::new`] allows.
    ///
    /// What the range finder misses of a matrix of exact rank falls as `k / (p - 1)`, which is then at most 1.12 for
    /// many rows; more columns than a third of m raise what pure noise reaches, `sigma (sqrt m + sqrt k)`.
    ///
    /// # Errors
    /// As [`Setting::new`].
    pub fn recommended(
        (m, n): (usize, usize),
        rank: usize,
        shift: Shift,
        row_bound: NormBound,
    ) -> Result<Self> {
        let k = (m / 3).min(rank.saturating_mul(20)).min(n);
        Self::new((m, n), rank, k.saturating_sub(rank).max(2), shift, row_bound)
    }

    /// Rows m.
    #[must_use]
    pub fn m(&self) -> usize {
        self.m
    }

    /// Columns n.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Target rank r.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Columns p of the sketch beyond the rank.
    #[must_use]
    pub fn oversampling(&self) -> usize {
        self.oversampling
    }

    /// Columns k of the sketch.
    #[must_use]
    pub fn k(&self) -> usize {
        self.rank + self.oversampling
    }

    /// `RowShift` by the shift.
    #[must_use]
    pub fn adjacency(&self) -> Adjacency {
        Adjacency::RowShift { l2: self.shift }
    }

    /// The l2 norm by which one row may shift.
    #[must_use]
    pub fn shift(&self) -> f64 {
        self.shift.get()
    }

    pub(super) fn row_bound(&self) -> f64 {
        self.row_bound.get()
    }

    pub(super) fn check(&self, a: &RowsView<'_>) -> Result<()> {
        if (a.n(), a.d()) == (self.m, self.n) {
            return Ok(());
        }
        let found = format!("{} x {}", a.n(), a.d());
        Err(Error::shape("matrix A", found, format!("{} x {}", self.m, self.n)))
    }

    pub(super) fn clip_factors(&self, a: &RowsView<'_>) -> Result<Vec<f64>> {
        products::clip_factors(a, self.row_bound())
    }

    pub(super) fn public(&self, seed: PublicSeed) -> PublicParameters {
        [
            longer_rows(),
            ("m".to_owned(), PublicValue::from(self.m)),
            ("n".to_owned(), PublicValue::from(self.n)),
            ("rank".to_owned(), PublicValue::from(self.rank)),
            ("oversampling".to_owned(), PublicValue::from(self.oversampling)),
            ("row_bound".to_owned(), PublicValue::from(self.row_bound())),
            ("seed".to_owned(), PublicValue::from(seed)),
        ]
        .into()
    }
}
