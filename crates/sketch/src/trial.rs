//! What a search would find: tried among public rows or sets, with simulated noise.

use dp_core::PublicGenerator;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rand_core::Rng;
use rayon::prelude::*;

/// The likest hundredth of all others, for each of many public rows; a search finds a share of them among five times as many.
#[derive(Debug)]
pub(crate) struct Trial {
    likest: Vec<Vec<usize>>,
    returned: usize,
}

impl Trial {
    /// Of n rows, at least two, by how alike two are.
    pub(crate) fn new(n: usize, alike: impl Fn(usize, usize) -> f64 + Sync) -> Self {
        let near = (n / 100).max(1);
        let of = |i: usize| {
            let score = |j: usize| if i == j { f64::NEG_INFINITY } else { alike(i, j) };
            largest((0..n).map(score).collect(), near)
        };
        let likest = (0..n).into_par_iter().map(of).collect();
        Self { likest, returned: (5 * near).min(n - 1) }
    }

    /// As [`Trial::new`], by the cosine of rows of d numbers.
    pub(crate) fn of_rows(rows: &[f64], d: usize) -> Self {
        let cosines = cosines(rows.to_vec(), d);
        Self::new(cosines.nrows(), |i, j| cosines[(i, j)])
    }

    /// The share of the likest that a search by the cosine of these rows of k numbers finds.
    pub(crate) fn found(&self, rows: Vec<f64>, k: usize) -> f64 {
        let (n, cosines) = (self.likest.len(), cosines(rows, k));
        let hits = (0..n).into_par_iter().map(|i| {
            let score = |j: usize| if i == j { f64::NEG_INFINITY } else { cosines[(i, j)] };
            let found = largest((0..n).map(score).collect(), self.returned);
            self.likest[i].iter().filter(|near| found.contains(near)).count()
        });
        hits.sum::<usize>() as f64 / (n * self.likest[0].len()) as f64
    }
}

/// Scales a row to length one; a row of zeros stays.
pub(crate) fn unit(row: &mut [f64]) {
    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    row.iter_mut().for_each(|x| *x /= norm);
}

fn cosines(mut rows: Vec<f64>, k: usize) -> Mat<f64> {
    rows.chunks_exact_mut(k).for_each(unit);
    let n = rows.len() / k;
    let rows = MatRef::from_row_major_slice(&rows, n, k);
    let mut out = Mat::<f64>::zeros(n, n);
    matmul(out.as_mut(), Accum::Replace, rows, rows.transpose(), 1.0, Par::rayon(0));
    out
}

/// A number of an exponential law of mean one, from public randomness: it hides nothing.
pub(crate) fn exponential(draw: &mut PublicGenerator) -> f64 {
    -(((draw.next_u64() >> 11) as f64 + 0.5) * 2f64.powi(-53)).ln()
}

/// The places of the largest scores.
fn largest(scores: Vec<f64>, count: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..scores.len()).collect();
    let order = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
    if count < all.len() {
        all.select_nth_unstable_by(count, order);
        all.truncate(count);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows on a circle: those beside each are the likest, and the same rows find them all.
    #[test]
    fn what_is_likest_is_found_by_the_rows_themselves() {
        let at = |i: usize| (i as f64 * 0.01).sin_cos();
        let rows: Vec<f64> = (0..300).flat_map(|i| [at(i).0, at(i).1]).collect();
        let trial = Trial::of_rows(&rows, 2);
        assert_eq!((trial.likest[150].len(), trial.returned), (3, 15));
        assert!(trial.likest[150].iter().all(|j| j.abs_diff(150) <= 2));
        assert_eq!(trial.found(rows, 2), 1.0);
        // Rows that are all alike find the first of all.
        assert!(trial.found(vec![1.0; 600], 2) < 0.2);
    }
}
