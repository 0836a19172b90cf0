//! What public rows tell about a linear sketch.

use crate::data::Points;
use crate::error::{Error, Result};
use dp_core::PublicSeed;
use faer::{Mat, MatRef};
use linalg_dp::dense::{product, symmetric_eigen};
use rand_core::Rng;
use std::sync::OnceLock;

/// Most columns of rows: a matrix of so many squared is held.
pub(super) const COLUMNS: usize = 4096;
/// Of the mean variance: what is added to every variance, so that a few public rows do not promise too much.
const RIDGE: f64 = 1.0 / 64.0;
/// Copies of every public row, each with noise of its own, from which an inversion is learnt.
const COPIES: usize = 16;
/// Directions in which public rows are compared.
const DIRECTIONS: usize = 40;

/// Centred public rows, as a matrix.
pub(crate) struct Prior {
    pub(super) mean: Vec<f64>,
    centred: Mat<f64>,
    ridge: f64,
    directions: OnceLock<Mat<f64>>,
}

impl Prior {
    pub(crate) fn new(public: &Points) -> Result<Self> {
        let (m, d) = (public.n(), public.d());
        if m < 2 {
            return Err(Error::invalid("public rows", m, "at least 2"));
        }
        let mut mean = vec![0.0; d];
        for row in public.values().chunks_exact(d) {
            mean.iter_mut().zip(row).for_each(|(m, x)| *m += x);
        }
        mean.iter_mut().for_each(|x| *x /= m as f64);
        let centred = Mat::from_fn(m, d, |i, j| public.row(i)[j] - mean[j]);
        let variance = centred.squared_norm_l2() / ((m - 1) * d) as f64;
        let (ridge, directions) = ((RIDGE * variance).max(1e-12), OnceLock::new());
        Ok(Self { mean, centred, ridge, directions })
    }

    /// Linear map from centred sketches to centred rows (k x d): the posterior mean of Gaussian rows of these moments
    /// under noise of this variance. `projection` is d x k.
    pub(super) fn posterior(&self, projection: MatRef<'_, f64>, variance: f64) -> Result<Mat<f64>> {
        let m = self.centred.nrows() as f64;
        let seen = product(self.centred.as_ref(), projection);
        let mut cross =
            product(seen.transpose(), self.centred.as_ref()) * faer::Scale(1.0 / (m - 1.0));
        cross += projection.transpose() * faer::Scale(self.ridge);
        let mut within = product(cross.as_ref(), projection);
        for i in 0..within.nrows() {
            within[(i, i)] += variance;
        }
        solve(within.as_ref(), cross.as_ref())
    }

    /// The same map, learnt from noisy sketches of the public rows by ridge regression.
    pub(super) fn learnt(&self, projection: MatRef<'_, f64>, variance: f64) -> Result<Mat<f64>> {
        let k = projection.ncols();
        let seen = product(self.centred.as_ref(), projection);
        let mut generator = PublicSeed::new(28).generator(0);
        // Its law is not known to whoever only learns: of the right size.
        let mut noise = || {
            let mut uniform = || (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let sum: f64 = (0..12).map(|_| uniform()).sum();
            (sum - 6.0) * variance.sqrt()
        };
        let (mut within, mut cross) =
            (Mat::<f64>::zeros(k, k), Mat::<f64>::zeros(k, self.mean.len()));
        for _ in 0..COPIES {
            let mut noisy = seen.clone();
            for j in 0..k {
                for i in 0..noisy.nrows() {
                    noisy[(i, j)] += noise();
                }
            }
            within += product(noisy.transpose(), noisy.as_ref());
            cross += product(noisy.transpose(), self.centred.as_ref());
        }
        let trace: f64 = (0..k).map(|i| within[(i, i)]).sum();
        for i in 0..k {
            within[(i, i)] += 1e-6 * trace / k as f64;
        }
        solve(within.as_ref(), cross.as_ref())
    }

    /// The directions in which public rows vary most: d x at most [`DIRECTIONS`].
    pub(super) fn directions(&self) -> Result<MatRef<'_, f64>> {
        // Not inside the lock: two tasks may both do the work; they agree.
        if self.directions.get().is_none() {
            let _ = self.directions.set(self.leading(DIRECTIONS)?);
        }
        Ok(self.directions.get().expect("set above, by this task or another").as_ref())
    }

    fn leading(&self, most: usize) -> Result<Mat<f64>> {
        let gram = product(self.centred.transpose(), self.centred.as_ref());
        let eigen = symmetric_eigen(gram.as_ref())?;
        Ok(eigen.vectors.subcols(0, most.min(self.mean.len())).to_owned())
    }

    /// Rows less the public mean.
    pub(super) fn centre(&self, rows: &Points) -> Mat<f64> {
        Mat::from_fn(rows.n(), rows.d(), |i, j| rows.row(i)[j] - self.mean[j])
    }

    pub(super) fn rows(&self) -> MatRef<'_, f64> {
        self.centred.as_ref()
    }
}

/// Solves `a x = b` for a positive definite matrix.
fn solve(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Result<Mat<f64>> {
    let eigen = symmetric_eigen(a)?;
    let v = &eigen.vectors;
    let mut turned = product(v.transpose(), b);
    let least = 1e-14 * eigen.values.first().copied().unwrap_or(1.0);
    for j in 0..turned.ncols() {
        for (i, value) in eigen.values.iter().enumerate() {
            turned[(i, j)] /= value.max(least);
        }
    }
    Ok(product(v.as_ref(), turned.as_ref()))
}

/// For every row of `of`, the nearest rows of `among`, nearest first.
pub(super) fn nearest(
    of: MatRef<'_, f64>,
    among: MatRef<'_, f64>,
    count: usize,
) -> Vec<Vec<usize>> {
    // One column a row of `of`: what is compared lies side by side.
    let products = product(among, of.transpose());
    let norms: Vec<f64> = (0..among.nrows()).map(|i| among.row(i).squared_norm_l2()).collect();
    let best = |i: usize| {
        let distances: Vec<f64> =
            norms.iter().zip(products.col(i).iter()).map(|(n, p)| n - 2.0 * p).collect();
        let mut order: Vec<usize> = (0..norms.len()).collect();
        let count = count.min(order.len());
        let compare = |a: &usize, b: &usize| distances[*a].total_cmp(&distances[*b]);
        if count < order.len() {
            order.select_nth_unstable_by(count - 1, compare);
            order.truncate(count);
        }
        order.sort_unstable_by(compare);
        order
    };
    (0..of.nrows()).map(best).collect()
}
