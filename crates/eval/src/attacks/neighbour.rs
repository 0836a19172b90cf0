//! The change of a row that an adjacency names, as far as it goes.

use crate::data::Points;
use dp_core::Adjacency;
use faer::{Mat, MatRef};
use linalg_dp::dense::product;
use std::cmp::Ordering;

/// For every row one that the adjacency sets against it: the one that moves a linear image most, or nearly.
pub(super) struct Neighbours {
    /// What the attack between the two is called.
    pub(super) name: &'static str,
    pub(super) rows: Mat<f64>,
}

impl Neighbours {
    /// Rows are projected by `w` (d x k), where values count by `cost`; none for other adjacencies.
    pub(super) fn of(
        adjacency: Adjacency,
        w: MatRef<'_, f64>,
        truth: &Points,
        cost: impl Fn(f64) -> f64,
    ) -> Option<Self> {
        let mut rows = Mat::from_fn(truth.n(), truth.d(), |i, j| truth.row(i)[j]);
        let name = match adjacency {
            Adjacency::Attribute { beta } => {
                let size = |j: usize| (0..w.ncols()).map(|c| cost(w[(j, c)])).sum::<f64>();
                let most = (0..w.nrows()).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
                // Towards zero, so that the value stays where values are.
                (0..rows.nrows())
                    .for_each(|i| rows[(i, most)] = towards(rows[(i, most)], beta.get()));
                "one value: likelihood ratio"
            }
            Adjacency::RowShift { l2 } => {
                let direction = farthest(w);
                for i in 0..rows.nrows() {
                    (0..rows.ncols()).for_each(|j| rows[(i, j)] += l2.get() * direction[j]);
                }
                "one row against one as far as the adjacency says: likelihood ratio"
            }
            Adjacency::ReplaceRow { bound } => {
                let direction = farthest(w);
                for i in 0..rows.nrows() {
                    // The longest row opposite to it.
                    let along: f64 = (0..rows.ncols()).map(|j| rows[(i, j)] * direction[j]).sum();
                    let length = if along > 0.0 { -bound.get() } else { bound.get() };
                    (0..rows.ncols()).for_each(|j| rows[(i, j)] = length * direction[j]);
                }
                "one row against the farthest one: likelihood ratio"
            }
            Adjacency::AnyInput => {
                rows *= faer::Scale(-1.0);
                "one row against its opposite: likelihood ratio"
            }
            _ => return None,
        };
        Some(Self { name, rows })
    }

    /// Rows of the truth, as numbers in a row.
    pub(super) fn row(&self, i: usize) -> Vec<f64> {
        self.rows.row(i).iter().copied().collect()
    }

    /// What they are projected to.
    pub(super) fn images(&self, w: MatRef<'_, f64>) -> Mat<f64> {
        product(self.rows.as_ref(), w)
    }
}

/// A value moved by so much, towards zero and beyond.
pub(super) fn towards(value: f64, by: f64) -> f64 {
    if value > 0.0 { value - by } else { value + by }
}

/// One where the first cost is the lesser, one half where they are equal.
pub(super) fn lesser(own: f64, other: f64) -> f64 {
    match own.total_cmp(&other) {
        Ordering::Less => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Greater => 0.0,
    }
}

/// The unit direction whose image is longest: by the power method.
fn farthest(w: MatRef<'_, f64>) -> Vec<f64> {
    let unit = |mut v: Vec<f64>| {
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-300);
        v.iter_mut().for_each(|x| *x /= norm);
        v
    };
    let mut v = unit((0..w.nrows()).map(|i| 1.0 + (i % 7) as f64).collect());
    for _ in 0..60 {
        let image = |c: usize| (0..w.nrows()).map(|j| v[j] * w[(j, c)]).sum::<f64>();
        let y: Vec<f64> = (0..w.ncols()).map(image).collect();
        v = unit((0..w.nrows()).map(|j| (0..w.ncols()).map(|c| y[c] * w[(j, c)]).sum()).collect());
    }
    v
}
