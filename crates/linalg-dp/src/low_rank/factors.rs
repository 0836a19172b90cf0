//! A low-rank approximation as two factors.

use crate::dense;
use crate::error::{Error, Result};
use faer::{Mat, MatMut, MatRef};
use rayon::prelude::*;
use sketch::rows::RowsView;

/// Rows expanded at a time.
const ROWS: usize = 16;

/// `B = L C`: left factor L (m x k) and coefficients C (k x n), never multiplied out
/// unless asked for.
///
/// Stored within release files alone, whose reader checks it:
///
/// ```compile_fail,E0277
/// fn readable<T: serde::de::DeserializeOwned>() {}
/// readable::<linalg_dp::low_rank::LowRank>();
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LowRank {
    m: usize,
    n: usize,
    k: usize,
    /// m x k, row-major.
    left: Vec<f64>,
    /// C^T: n x k, row-major.
    coefficients: Vec<f64>,
}

impl LowRank {
    /// Wraps two factors: `left` m x k and `coefficients` n x k (C transposed), row-major.
    ///
    /// # Errors
    /// [`Error::Shape`] when the lengths do not fit.
    pub fn new(
        (m, n, k): (usize, usize, usize),
        left: Vec<f64>,
        coefficients: Vec<f64>,
    ) -> Result<Self> {
        let fits = |rows: usize, found: usize| rows.checked_mul(k) == Some(found);
        if !fits(m, left.len()) || !fits(n, coefficients.len()) {
            let found = format!("{} and {} values", left.len(), coefficients.len());
            return Err(Error::shape("factors", found, format!("{m} x {k} and {n} x {k}")));
        }
        Ok(Self { m, n, k, left, coefficients })
    }

    /// The zero matrix.
    #[must_use]
    pub fn zero(m: usize, n: usize) -> Self {
        Self { m, n, k: 0, left: Vec::new(), coefficients: Vec::new() }
    }

    /// (m, n).
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.m, self.n)
    }

    /// Number k of columns of the left factor: the rank is at most this.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.k
    }

    /// The left factor, m x k.
    #[must_use]
    pub fn left(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.left, self.m, self.k)
    }

    /// The coefficients C, k x n.
    #[must_use]
    pub fn coefficients(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.coefficients, self.k, self.n)
    }

    pub(super) fn left_slice(&self) -> &[f64] {
        &self.left
    }

    pub(super) fn coefficient_slice(&self) -> &[f64] {
        &self.coefficients
    }

    /// One entry of B.
    ///
    /// # Panics
    /// When the entry does not exist.
    #[must_use]
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        assert!(i < self.m && j < self.n, "entry inside the matrix");
        let left = &self.left[i * self.k..(i + 1) * self.k];
        let right = &self.coefficients[j * self.k..(j + 1) * self.k];
        left.iter().zip(right).map(|(a, b)| a * b).sum()
    }

    /// Writes rows `first..first + count` of B into `out` (row-major, `count * n`).
    ///
    /// # Panics
    /// When the rows do not exist or `out` has another length.
    pub(crate) fn expand_rows(&self, first: usize, count: usize, out: &mut [f64]) {
        assert!(first + count <= self.m && out.len() == count * self.n, "rows inside the matrix");
        let left = self.left().subrows(first, count);
        let out = MatMut::from_row_major_slice_mut(out, count, self.n);
        dense::product_into(out, faer::Accum::Replace, left, self.coefficients());
    }

    /// The whole of B, m x n. Costs the memory the factors save.
    #[must_use]
    pub fn expand(&self) -> Mat<f64> {
        dense::product(self.left(), self.coefficients())
    }

    /// `B` with its coefficients multiplied from the left: `L (M C)`.
    pub(super) fn recombined(&self, matrix: MatRef<'_, f64>) -> Self {
        let image = dense::product(self.left(), matrix);
        let left = (0..self.m * self.k).map(|i| image[(i / self.k, i % self.k)]).collect();
        Self { left, ..self.clone() }
    }

    /// `||A - B||_F`, row block by row block. It reads the data: for evaluation only.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes differ.
    pub fn distance(&self, a: &RowsView<'_>) -> Result<f64> {
        if (a.n(), a.d()) != (self.m, self.n) {
            let found = format!("{} x {}", a.n(), a.d());
            return Err(Error::shape("matrix", found, format!("{} x {}", self.m, self.n)));
        }
        let blocks: Vec<f64> = (0..self.m.div_ceil(ROWS))
            .into_par_iter()
            .map(|block| {
                let first = block * ROWS;
                let count = ROWS.min(self.m - first);
                let mut out = vec![0.0; count * self.n];
                if self.k > 0 {
                    self.expand_rows(first, count, &mut out);
                }
                for (i, row) in out.chunks_mut(self.n).enumerate() {
                    a.for_each_entry(first + i, |j, x| row[j] -= x);
                }
                out.iter().map(|x| x * x).sum::<f64>()
            })
            .collect();
        Ok(blocks.iter().sum::<f64>().sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expansion_entries_and_distance_agree() {
        let (m, n, k) = (37, 19, 3);
        let value = |i: usize| ((i * 29) % 23) as f64 / 11.0 - 1.0;
        let left = (0..m * k).map(value).collect();
        let right = (0..n * k).map(|i| value(i + 5)).collect();
        let b = LowRank::new((m, n, k), left, right).unwrap();
        let full = b.expand();
        assert_eq!(full[(30, 17)], b.entry(30, 17));
        let data: Vec<f64> = (0..m * n).map(|i| full[(i / n, i % n)] + 1.0).collect();
        let view = RowsView::f64(m, n, &data).unwrap();
        assert!((b.distance(&view).unwrap() - ((m * n) as f64).sqrt()).abs() < 1e-10);
        assert!(matches!(LowRank::zero(3, 3).distance(&view), Err(Error::Shape { .. })));
        assert!(LowRank::new((2, 2, 2), vec![0.0; 3], vec![0.0; 4]).is_err());
        // The products wrap to zero.
        for shape in [(1 << 63, 1 << 63, 2), (1 << 32, 0, 1 << 32), (usize::MAX, 1, usize::MAX)] {
            let refused = LowRank::new(shape, vec![], vec![]);
            assert!(matches!(refused, Err(Error::Shape { .. })), "{shape:?}");
        }
    }
}
