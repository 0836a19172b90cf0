//! What a search by cosine among released rows would find.

use crate::error::{Error, Result};
use crate::estimate::{upper_quantile, upper_tail};
use crate::projection::{Family, Projection, ProjectionSpec, project};
use crate::rows::RowsView;
use crate::search::best_rows;
use crate::units::variance_at;
use dp_core::{Epsilon, PublicSeed};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// A search by cosine among the rows of a release, as far as it is public.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowSearch {
    /// Rows of the release.
    pub rows: usize,
    /// Rows that a search returns.
    pub returned: usize,
    /// How far the cosine of a query and a row worth finding is above the mean cosine of the query and other rows.
    pub contrast: f64,
    /// Standard deviation of the contrast.
    pub contrast_deviation: f64,
    /// Standard deviation of the cosine of a query and other rows.
    pub spread: f64,
}

/// Whether what is searched for carries noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Rows of a release.
    Private,
    /// Rows that were never released.
    Exact,
}

impl Asked {
    /// The variance that noise of this variance a number gives the cosine of a row of k numbers of length one.
    pub(super) fn variance(self, k: usize, noise: f64) -> f64 {
        match self {
            Self::Exact => noise,
            Self::Private => 2.0 * noise + k as f64 * noise * noise,
        }
    }
}

/// Rows of a public sample that stand for queries.
const QUERIES: usize = 200;

/// Cosines after a projection, for each of some public rows: with the rows that are nearest before it, as many as `relevant` among
/// `rows` are, and with all others.
pub(super) fn cosines_of_sample(
    sample: RowsView<'_>,
    projection: &dyn Projection,
    (relevant, rows): (usize, usize),
) -> Result<Vec<(Vec<f64>, Vec<f64>)>> {
    let (n, d) = (sample.n(), sample.d());
    if n < 2 {
        return Err(Error::invalid("rows of a public sample", n, "at least 2"));
    }
    let mut dense = vec![0.0; n * d];
    dense.chunks_exact_mut(d).enumerate().for_each(|(i, x)| sample.copy_row(i, x));
    let k = projection.spec().k();
    let projected = directions(project(projection, sample)?, k);
    let dense = directions(dense, d);
    let near = (relevant * n / rows.max(1)).clamp(1, n - 1);
    let queries = n.min(QUERIES);
    let of_query = |i: usize| {
        let q = i * n / queries;
        let cosines = |of: &[f64], d: usize| {
            let mut all = vec![0.0; n];
            let (rows, query) = (MatRef::from_row_major_slice(of, n, d), &of[q * d..(q + 1) * d]);
            let query = MatRef::from_column_major_slice(query, d, 1);
            let out = MatMut::from_column_major_slice_mut(&mut all, n, 1);
            matmul(out, Accum::Replace, rows, query, 1.0, Par::Seq);
            all
        };
        let before = cosines(&dense, d);
        let nearest = best_rows(n, q, near, |i| before[i]);
        let mut all = cosines(&projected, k);
        let found: Vec<f64> = nearest.iter().map(|hit| all[hit.row]).collect();
        nearest.iter().for_each(|hit| all[hit.row] = f64::NAN);
        all[q] = f64::NAN;
        all.retain(|c| !c.is_nan());
        (found, all)
    };
    Ok((0..queries).into_par_iter().map(of_query).collect())
}

impl RowSearch {
    /// A search that finds less than this share of what it looks for finds nothing.
    pub const FOUND: f64 = 0.1;

    /// Ten rows, or a hundredth of them all, and rows worth finding that are half a cosine above all others: more than most data
    /// offer. What does not work here works nowhere.
    ///
    /// # Errors
    /// No row.
    pub fn generous(rows: usize) -> Result<Self> {
        let returned = (rows / 100).clamp(1, 10);
        let search = Self { rows, returned, contrast: 0.5, contrast_deviation: 0.0, spread: 0.0 };
        search.check().map(|()| search)
    }

    /// For rows of which these are a public sample, after a projection: a row worth finding is one of the `relevant` that are
    /// nearest, before the projection, among `rows`.
    ///
    /// # Errors
    /// Fewer than two public rows, or rows of another d; as [`RowSearch::recall`].
    pub fn of_sample(
        sample: RowsView<'_>,
        projection: &dyn Projection,
        relevant: usize,
        (rows, returned): (usize, usize),
    ) -> Result<Self> {
        let pairs = cosines_of_sample(sample, projection, (relevant, rows))?;
        let (mut contrasts, mut others) = (Running::default(), Running::default());
        for (found, rest) in pairs {
            let mean = rest.iter().sum::<f64>() / rest.len().max(1) as f64;
            found.into_iter().for_each(|c| contrasts.add(c - mean));
            rest.into_iter().for_each(|c| others.add(c - mean));
        }
        let search = Self {
            rows,
            returned,
            contrast: contrasts.mean(),
            contrast_deviation: contrasts.deviation(),
            spread: others.deviation(),
        };
        search.check().map(|()| search)
    }

    fn check(&self) -> Result<()> {
        let positive = |x: f64| (0.0..=2.0).contains(&x);
        if self.rows == 0 {
            return Err(Error::invalid("rows", 0, "[1, inf)"));
        }
        if !(1..=self.rows).contains(&self.returned) {
            return Err(Error::invalid("returned", self.returned, format!("[1, {}]", self.rows)));
        }
        for (name, value, ok, allowed) in [
            ("contrast", self.contrast, (-2.0..=2.0).contains(&self.contrast), "[-2, 2]"),
            (
                "deviation of the contrast",
                self.contrast_deviation,
                positive(self.contrast_deviation),
                "[0, 2]",
            ),
            ("spread", self.spread, positive(self.spread), "[0, 2]"),
        ] {
            if !ok {
                return Err(Error::invalid(name, value, allowed));
            }
        }
        Ok(())
    }

    /// The share of the rows worth finding that is predicted to be among those returned, for released rows of k numbers whose
    /// noise has this variance a number when rows have length one; scores are taken as normal.
    ///
    /// # Errors
    /// No row, more returned than there are, or numbers that no cosines have.
    pub fn recall(&self, k: usize, variance: f64, asked: Asked) -> Result<f64> {
        self.check()?;
        if self.returned == self.rows {
            return Ok(1.0);
        }
        let noise = asked.variance(k, variance);
        let share = self.returned as f64 / self.rows as f64;
        let threshold = (self.spread.powi(2) + noise).sqrt() * upper_quantile(share);
        let deviation = (self.contrast_deviation.powi(2) + noise).sqrt().max(1e-12);
        Ok(upper_tail((threshold - self.contrast) / deviation))
    }

    /// The same of unit vectors of d features, after a random projection to k numbers where k is less than d.
    ///
    /// # Errors
    /// As [`RowSearch::recall`]; a k outside `[1, d]`; an epsilon that no unit vectors have.
    pub fn units(&self, d: usize, k: usize, epsilon: Epsilon, asked: Asked) -> Result<f64> {
        let mut search = *self;
        if k != d {
            let spec = ProjectionSpec::new(Family::Oporp, d, k, PublicSeed::new(0))?;
            let one = (spec.moments().pair / k as f64).sqrt();
            search.spread = search.spread.hypot(one);
            search.contrast_deviation =
                search.contrast_deviation.hypot(one * (1.0 - self.contrast.powi(2)));
        }
        search.recall(k, variance_at(epsilon)?, asked)
    }

    /// The size of a random projection, a power of two or none at all, at which unit vectors of d features find most, and the
    /// share that they find.
    ///
    /// # Errors
    /// As [`RowSearch::units`].
    pub fn best_units(&self, d: usize, epsilon: Epsilon, asked: Asked) -> Result<(usize, f64)> {
        let sizes = (0..).map(|i| 1 << i).take_while(|&k| k < d.min(1 << 20)).chain([d]);
        let mut best = (d, 0.0);
        for k in sizes {
            let recall = self.units(d, k, epsilon, asked)?;
            if recall > best.1 {
                best = (k, recall);
            }
        }
        Ok(best)
    }

    /// The least epsilon, to a per cent, at which unit vectors of d features find [`RowSearch::FOUND`] at size k, or at the
    /// best one; none up to 64.
    ///
    /// # Errors
    /// As [`RowSearch::units`].
    pub fn epsilon_needed(
        &self,
        d: usize,
        k: Option<usize>,
        asked: Asked,
    ) -> Result<Option<Epsilon>> {
        super::least_epsilon(|epsilon| {
            let recall = match k {
                Some(k) => self.units(d, k, epsilon, asked)?,
                None => self.best_units(d, epsilon, asked)?.1,
            };
            Ok(recall >= Self::FOUND)
        })
    }
}

/// Rows of length one; a row of zeros stays.
fn directions(mut rows: Vec<f64>, d: usize) -> Vec<f64> {
    for x in rows.chunks_exact_mut(d) {
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        x.iter_mut().for_each(|x| *x /= norm);
    }
    rows
}

/// Sums of numbers and of their squares.
#[derive(Default)]
struct Running {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Running {
    fn add(&mut self, x: f64) {
        self.n += 1.0;
        self.sum += x;
        self.squares += x * x;
    }

    fn mean(&self) -> f64 {
        self.sum / self.n.max(1.0)
    }

    fn deviation(&self) -> f64 {
        (self.squares / self.n.max(1.0) - self.mean().powi(2)).max(0.0).sqrt()
    }
}
