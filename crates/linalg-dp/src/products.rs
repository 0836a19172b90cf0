//! Products with a large matrix A (m x n), dense or sparse, by blocks.
//!
//! Every entry of a result is computed by one task in one order: results are the same
//! bits at any number of threads, and no dense copy of A is made.

use crate::dense;
use crate::error::{Error, Result};
use dp_core::NoiseScale;
use dp_core::noise::Grid;
use faer::{Accum, Mat, MatMut, MatRef};
use rayon::prelude::*;
use sketch::rows::{RowsView, Storage};

/// Rows of A in a converted tile.
const ROWS: usize = 64;
/// Columns of A in a block of `W^T A`.
const COLUMNS: usize = 2048;

/// `A right`, m x k, for `right` n x k.
pub(crate) fn times(a: &RowsView<'_>, right: MatRef<'_, f64>) -> Mat<f64> {
    let (n, k) = right.shape();
    debug_assert_eq!(n, a.d());
    let mut out = vec![0.0; a.n() * k];
    out.par_chunks_mut(ROWS * k).enumerate().for_each(|(block, out)| {
        let first = block * ROWS;
        let rows = out.len() / k;
        let mut tile = vec![0.0; rows * COLUMNS.min(n)];
        for from in (0..n).step_by(COLUMNS) {
            let width = COLUMNS.min(n - from);
            for (i, t) in tile[..rows * width].chunks_mut(width).enumerate() {
                a.copy_columns(first + i, from, t);
            }
            let left = MatRef::from_row_major_slice(&tile[..rows * width], rows, width);
            let out = MatMut::from_row_major_slice_mut(out, rows, k);
            dense::product_into(out, Accum::Add, left, right.subrows(from, width));
        }
    });
    MatRef::from_row_major_slice(&out, a.n(), k).to_owned()
}

/// `A^T left`, n x k row-major, for `left` m x k: column j of `left^T A` is row j.
pub(crate) fn transposed_times(a: &RowsView<'_>, left: MatRef<'_, f64>) -> Vec<f64> {
    let (m, n, k) = (a.n(), a.d(), left.ncols());
    debug_assert_eq!(left.nrows(), m);
    let mut out = vec![0.0; n * k];
    if let Storage::Csr(csr) = a.storage() {
        let rows: Vec<f64> = (0..m * k).map(|i| left[(i / k, i % k)]).collect();
        // Wide blocks: every block looks up its columns in every row.
        let width = n.div_ceil(64).max(COLUMNS);
        out.par_chunks_mut(width * k).enumerate().for_each(|(block, out)| {
            let (first, end) = (block * width, block * width + out.len() / k);
            for i in 0..m {
                let (columns, values) = csr.row(i);
                let start = columns.partition_point(|&c| (c as usize) < first);
                let w = &rows[i * k..(i + 1) * k];
                for (&c, &x) in columns[start..].iter().zip(&values[start..]) {
                    let c = c as usize;
                    if c >= end {
                        break;
                    }
                    let out = &mut out[(c - first) * k..(c - first + 1) * k];
                    for (o, w) in out.iter_mut().zip(w) {
                        *o += x * w;
                    }
                }
            }
        });
        return out;
    }
    out.par_chunks_mut(COLUMNS * k).enumerate().for_each(|(block, out)| {
        let first = block * COLUMNS;
        let width = out.len() / k;
        let out = MatMut::from_column_major_slice_mut(out, k, width);
        let mut out = out;
        let mut tile = vec![0.0; ROWS * width];
        for from in (0..m).step_by(ROWS) {
            let rows = ROWS.min(m - from);
            a.copy_block(from, first, width, &mut tile[..rows * width]);
            let tile = MatRef::from_row_major_slice(&tile[..rows * width], rows, width);
            let left = left.subrows(from, rows);
            dense::product_into(out.as_mut(), Accum::Add, left.transpose(), tile);
        }
    });
    out
}

/// Rows of `A A^T` that are made at once, up to the diagonal.
const STRIP: usize = 64;

/// Adds `rows rows^T`, up to the diagonal and a little beyond it; every number is the one of the whole product.
fn add_lower(mut sum: MatMut<'_, f64>, rows: MatRef<'_, f64>) {
    let m = rows.nrows();
    for first in (0..m).step_by(STRIP) {
        let end = m.min(first + STRIP);
        let strip = sum.as_mut().subrows_mut(first, end - first).subcols_mut(0, end);
        let (left, right) = (rows.subrows(first, end - first), rows.subrows(0, end));
        dense::product_into(strip, Accum::Add, left, right.transpose());
    }
}

/// `A A^T`, m x m, for A with few rows.
pub(crate) fn row_gram(a: &RowsView<'_>) -> Mat<f64> {
    let (m, n) = (a.n(), a.d());
    let tiles: Vec<usize> = (0..n).step_by(COLUMNS).collect();
    // Fixed groups of tiles, added in their order.
    let groups: Vec<Mat<f64>> = tiles
        .par_chunks(tiles.len().div_ceil(8).max(1))
        .map(|tiles| {
            let mut sum = Mat::zeros(m, m);
            let mut tile = vec![0.0; m * COLUMNS.min(n)];
            for &from in tiles {
                let width = COLUMNS.min(n - from);
                a.copy_block(0, from, width, &mut tile[..m * width]);
                let t = MatRef::from_row_major_slice(&tile[..m * width], m, width);
                add_lower(sum.as_mut(), t);
            }
            sum
        })
        .collect();
    let mut sum = groups.into_iter().fold(Mat::zeros(m, m), |a, b| a + b);
    for j in 1..m {
        (0..j).for_each(|i| sum[(i, j)] = sum[(j, i)]);
    }
    sum
}

/// l2 norms of the rows.
pub(crate) fn row_norms(a: &RowsView<'_>) -> Vec<f64> {
    (0..a.n())
        .into_par_iter()
        .map(|i| {
            if let Storage::F64(values) = a.storage() {
                return sum_of_squares(&values[i * a.d()..(i + 1) * a.d()]).sqrt();
            }
            let mut sum = 0.0;
            a.for_each_entry(i, |_, x| sum += x * x);
            sum.sqrt()
        })
        .collect()
}

/// In eight fixed lanes: as fast as memory, and no less accurate than one after the other.
fn sum_of_squares(row: &[f64]) -> f64 {
    let (eights, rest) = row.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for eight in eights {
        for (lane, x) in lanes.iter_mut().zip(eight) {
            *lane += x * x;
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|x| x * x).sum::<f64>()
}

/// Refuses noise that has outgrown the grid chosen for a first, rough scale: beyond `2^51` steps samples
/// are clamped. It happens at budgets so small that calibration is no longer accurate.
///
/// # Errors
/// [`Error::Core`] for a sigma above `2^36` steps.
pub(crate) fn check_grid(sigma: NoiseScale, grid: Grid) -> Result<()> {
    let most = 2f64.powi(36) * grid.spacing();
    if sigma.get() <= most {
        return Ok(());
    }
    let allowed = format!("(0, {most:e}] on its grid; raise epsilon or delta");
    Err(Error::invalid("noise scale sigma", sigma, allowed))
}

/// Per-row factors in `(0, 1]` that bring each row's norm to at most `bound`; the projection
/// to a ball moves no two rows apart, so the adjacency is kept.
///
/// # Errors
/// [`Error::NotFinite`] when a squared norm overflows.
pub(crate) fn clip_factors(a: &RowsView<'_>, bound: f64) -> Result<Vec<f64>> {
    let norms = row_norms(a);
    if norms.iter().any(|x| !x.is_finite()) {
        return Err(Error::NotFinite { what: "the norm of a row" });
    }
    Ok(norms.iter().map(|&x| if x > bound { bound / x } else { 1.0 }).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use sketch::rows::CsrView;

    /// The same matrix as dense f64, dense f32 and CSR parts.
    pub(crate) struct Sample {
        pub(crate) m: usize,
        pub(crate) n: usize,
        pub(crate) dense: Vec<f64>,
        pub(crate) single: Vec<f32>,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
    }

    impl Sample {
        pub(crate) fn new(m: usize, n: usize) -> Self {
            let value = |i: usize| match (i * 2654435761) % 97 {
                r if r < 30 => (r as f64 - 15.0) / 8.0,
                _ => 0.0,
            };
            let dense: Vec<f64> = (0..m * n).map(value).collect();
            let single = dense.iter().map(|&x| x as f32).collect();
            let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in dense.chunks(n) {
                for (c, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                    columns.push(c as u32);
                    values.push(x);
                }
                offsets.push(values.len());
            }
            Self { m, n, dense, single, offsets, columns, values }
        }

        pub(crate) fn views(&self) -> [RowsView<'_>; 3] {
            let csr =
                CsrView { offsets: &self.offsets, columns: &self.columns, values: &self.values };
            [
                RowsView::f64(self.m, self.n, &self.dense).unwrap(),
                RowsView::f32(self.m, self.n, &self.single).unwrap(),
                RowsView::csr(self.m, self.n, csr).unwrap(),
            ]
        }
    }

    #[test]
    fn the_lower_half_has_the_bits_of_the_whole_product() {
        for (m, n) in [(1, 5), (63, 300), (130, 2048), (300, 777)] {
            let sample = Sample::new(m, n);
            let rows: Vec<f64> = sample.dense.iter().map(|x| (x + 0.1).sin()).collect();
            let rows = MatRef::from_row_major_slice(&rows, m, n);
            let (mut whole, mut half) = (Mat::<f64>::ones(m, m), Mat::<f64>::ones(m, m));
            dense::product_into(whole.as_mut(), Accum::Add, rows, rows.transpose());
            add_lower(half.as_mut(), rows);
            for i in 0..m {
                (0..=i).for_each(|j| assert_eq!(half[(i, j)], whole[(i, j)], "{m} x {n}: {i} {j}"));
            }
        }
    }

    #[test]
    fn every_storage_gives_the_plain_product_at_any_thread_count() {
        for (m, n, k) in [(1, 1, 1), (7, 5000, 3), (130, 70, 11), (65, 2049, 4)] {
            let sample = Sample::new(m, n);
            let left = Mat::from_fn(m, k, |i, j| ((i * 5 + j * 3) % 13) as f64 / 6.0 - 1.0);
            let a = |i: usize, j: usize| sample.dense[i * n + j];
            for view in sample.views() {
                let right = Mat::from_fn(n, k, |i, j| ((i + 7 * j) % 17) as f64 / 8.0 - 1.0);
                let y = times(&view, right.as_ref());
                let z = transposed_times(&view, left.as_ref());
                let g = row_gram(&view);
                for i in [0, m - 1, m / 2] {
                    let exact: f64 = (0..n).map(|j| a(i, j) * right[(j, k - 1)]).sum();
                    assert!((y[(i, k - 1)] - exact).abs() < 1e-10 * n as f64);
                    let exact: f64 = (0..n).map(|j| a(i, j) * a(0, j)).sum();
                    assert!((g[(i, 0)] - exact).abs() < 1e-10 * n as f64);
                }
                for (j, l) in [(0, 0), (n - 1, k - 1), (n / 2, k / 2)] {
                    let exact: f64 = (0..m).map(|i| a(i, j) * left[(i, l)]).sum();
                    assert!((z[j * k + l] - exact).abs() < 1e-10 * m as f64);
                }
                for threads in [1, 2, 8] {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    let again = pool.unwrap().install(|| {
                        (
                            times(&view, right.as_ref()),
                            transposed_times(&view, left.as_ref()),
                            row_gram(&view),
                        )
                    });
                    assert_eq!((&y, &z, &g), (&again.0, &again.1, &again.2));
                }
            }
        }
    }
}
