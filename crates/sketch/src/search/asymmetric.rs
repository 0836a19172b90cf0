//! Signs ranked by rows that were never released.

use super::dense::Selection;
use super::hamming::HammingIndex;
use super::hits::Neighbours;
use super::simd::LANES;
use crate::error::Result;
use crate::signs::SignQueries;
use rayon::prelude::*;

/// Rows scored before any is looked at.
const ROWS: usize = 512;

impl HammingIndex {
    /// The `k` rows of largest score for every query that was never released, in the order (score falling, index rising): the score
    /// is the sum of the query's projected coordinates, each with the row's published sign.
    ///
    /// The coordinates are used whole, where [`HammingIndex::top_k`] knows their signs alone: a sign says more where the query's
    /// coordinate is large. For a Gaussian projection this is nearly the slope of the log-likelihood at a right angle, whatever the
    /// flip rule (`docs/proofs/sign-flips.md`, section 7). Sums of 64-bit numbers in one order: the answer does not depend on threads.
    ///
    /// # Errors
    /// [`crate::Error::Incompatible`] when the queries were projected in another way; an invalid `k` (zero).
    pub fn top_k_exact(&self, queries: &SignQueries, k: usize) -> Result<Neighbours<f64>> {
        let k = self.checked(queries.projections(), k)?;
        let rows: Vec<&[f64]> = queries.rows().collect();
        let answers = rows.par_iter().map(|query| self.scored(query, k)).collect();
        Ok(Neighbours::collect(k, answers))
    }

    fn scored(&self, query: &[f64], k: usize) -> Vec<(u32, f64)> {
        let width = query.len().div_ceil(64);
        let mut tables = vec![[0.0; 256]; 8 * width];
        tables.iter_mut().zip(query.chunks(8)).for_each(|(table, y)| *table = sums(y));
        let mut best = Selection::new(k);
        for (block, lanes) in self.lanes().chunks(ROWS / LANES * width).enumerate() {
            let mut scores = [0.0; ROWS];
            for (group, out) in lanes.chunks_exact(width).zip(scores.chunks_exact_mut(LANES)) {
                for (lane, tables) in group.iter().zip(tables.chunks_exact(8)) {
                    for (byte, table) in tables.iter().enumerate() {
                        for (score, word) in out.iter_mut().zip(lane.0) {
                            *score += table[(word >> (8 * byte)) as usize & 255];
                        }
                    }
                }
            }
            let first = block * ROWS;
            best.offer_all(first as u32, &scores[..ROWS.min(self.n() - first)]);
        }
        best.finish()
    }
}

/// Of up to eight numbers: their sum with every choice of signs, minus where a bit is zero.
fn sums(y: &[f64]) -> [f64; 256] {
    let mut table = [0.0; 256];
    for (bits, sum) in table.iter_mut().enumerate() {
        let signed = |(i, y): (usize, &f64)| if bits >> i & 1 == 1 { *y } else { -y };
        *sum = y.iter().enumerate().map(signed).sum();
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::{HammingIndex, Queries};
    use crate::projection::{Family, Sampling};
    use crate::rows::RowsView;
    use crate::signs::{SignQueries, SignSketch};
    use dp_core::PublicSeed;

    fn rows(n: usize, d: usize) -> Vec<f64> {
        (0..n * d).map(|i| ((i * 7919 + i / d * 31) % 101) as f64 / 50.0 - 1.0).collect()
    }

    #[test]
    fn scores_are_sums_of_signed_coordinates() {
        for (family, bits, parts) in [
            (Family::Gaussian, 1, 1),
            (Family::Gaussian, 7, 1),
            (Family::Rademacher, 64, 4),
            (Family::Srht { sampling: Sampling::WithReplacement }, 130, 13),
        ] {
            for n in [1, 8, 9, 513] {
                let d = 20;
                let (database, queries) = (rows(n, d), rows(5, d));
                let sketch = SignSketch::repeated(family, d, bits, parts, PublicSeed::new(3))
                    .expect("valid");
                let view = |n, x| RowsView::f64(n, d, x).expect("finite");
                let release = sketch.simhash(view(n, &database)).expect("valid");
                let codes = release.payload();
                let exact = SignQueries::exact(&release, view(5, &queries)).expect("valid");
                let found = HammingIndex::new(codes).expect("valid").top_k_exact(&exact, n);
                let found = found.expect("valid");
                for (q, y) in exact.rows().enumerate() {
                    let score = |row: usize| -> f64 {
                        let sign = |j| if codes.bits().get(row, j) { 1.0 } else { -1.0 };
                        y.iter().enumerate().map(|(j, y)| sign(j) * y).sum()
                    };
                    let mut left: Vec<usize> = (0..n).collect();
                    let mut last = f64::INFINITY;
                    for (&row, &found) in found.indices(q).iter().zip(found.scores(q)) {
                        assert!((found - score(row as usize)).abs() < 1e-12);
                        assert!(found <= last);
                        last = found;
                        left.retain(|&one| one != row as usize);
                    }
                    assert!(left.is_empty());
                }
            }
        }
    }

    #[test]
    fn other_queries_are_refused() {
        let d = 20;
        let rows = rows(3, d);
        let view = RowsView::f64(3, d, &rows).expect("finite");
        let signs = |seed| {
            let sketch = SignSketch::single(Family::Gaussian, d, 8, PublicSeed::new(seed));
            sketch.expect("valid").simhash(view).expect("valid")
        };
        let (one, other) = (signs(1), signs(2));
        let index = HammingIndex::new(one.payload()).expect("valid");
        let exact = SignQueries::exact(&other, view).expect("valid");
        let error = index.top_k_exact(&exact, 1).expect_err("another seed").to_string();
        assert!(error.contains("projections"), "{error}");
        let exact = SignQueries::exact(&one, view).expect("valid");
        assert!(index.top_k_exact(&exact, 0).is_err());
        let narrow = RowsView::f64(1, d - 1, &rows[..d - 1]).expect("finite");
        assert!(SignQueries::exact(&one, narrow).is_err());
        let huge = vec![f64::MAX; d];
        let huge = RowsView::f64(1, d, &huge).expect("finite");
        assert!(SignQueries::exact(&one, huge).is_err());
        // Rows of a release are asked for as before.
        assert!(index.top_k(&Queries::all(one.payload()), 1).is_ok());
    }
}
