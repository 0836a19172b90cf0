//! Norms of matrices, and how far a release is from one.

use super::matrices::Matrix;
use crate::error::Result;
use faer::{Mat, MatRef};
use linalg_dp::dense::product;
use linalg_dp::low_rank::LowRank;
use sketch::RowsView;
use sketch::rows::Storage;

/// `||A||_F`.
pub(super) fn frobenius(matrix: &Matrix) -> Result<f64> {
    let view = matrix.view()?;
    if let Storage::F64(values) = view.storage() {
        let rows = values.chunks(matrix.n).map(|row| row.iter().map(|x| x * x).sum::<f64>());
        return Ok(rows.sum::<f64>().sqrt());
    }
    let mut sum = 0.0;
    for i in 0..matrix.m {
        view.for_each_entry(i, |_, x| sum += x * x);
    }
    Ok(sum.sqrt())
}

/// `||A - B||_F` of a release, from `||A||_F` and small products: cheaper than B, and as exact as B is far from A.
pub(super) fn distance(release: &LowRank, view: RowsView<'_>, norm: f64) -> f64 {
    from_image(release, image(release.coefficients(), view).as_ref(), norm)
}

/// The same of a release and of what shrinkage makes of it, which mostly has the same coefficients: A is then read once.
pub(super) fn distances(releases: [&LowRank; 2], view: RowsView<'_>, norm: f64) -> [f64; 2] {
    let [first, second] = releases.map(LowRank::coefficients);
    let of_first = image(first, view);
    let of_second = if first == second { None } else { Some(image(second, view)) };
    let images = [&of_first, of_second.as_ref().unwrap_or(&of_first)];
    [0, 1].map(|i| from_image(releases[i], images[i].as_ref(), norm))
}

/// `A C^T` of coefficients C.
fn image(coefficients: MatRef<'_, f64>, view: RowsView<'_>) -> Mat<f64> {
    let (m, k) = (view.n(), coefficients.nrows());
    let mut image = Mat::zeros(m, k);
    match view.storage() {
        _ if k == 0 => {}
        Storage::F64(values) => {
            let a = MatRef::from_row_major_slice(values, m, view.d());
            image = product(a, coefficients.transpose());
        }
        _ => (0..m).for_each(|i| {
            view.for_each_entry(i, |j, x| {
                (0..k).for_each(|l| image[(i, l)] += x * coefficients[(l, j)])
            });
        }),
    }
    image
}

fn from_image(release: &LowRank, image: MatRef<'_, f64>, norm: f64) -> f64 {
    let (left, right) = (release.left(), release.coefficients());
    if release.rank() == 0 {
        return norm;
    }
    let inner = |a: MatRef<'_, f64>, b: MatRef<'_, f64>| -> f64 {
        let column = |l| a.col(l).iter().zip(b.col(l).iter()).map(|(x, y)| x * y).sum::<f64>();
        (0..a.ncols()).map(column).sum()
    };
    let own =
        inner(product(left.transpose(), left).as_ref(), product(right, right.transpose()).as_ref());
    (norm * norm - 2.0 * inner(image, left) + own).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sketch::rows::CsrView;

    #[test]
    fn distances_by_small_products_are_those_of_the_whole_matrices() {
        let (m, n, k) = (23, 41, 3);
        let value = |i: usize| ((i * 29) % 23) as f64 / 11.0 - 1.0;
        let left: Vec<f64> = (0..m * k).map(value).collect();
        let right: Vec<f64> = (0..n * k).map(|i| value(i + 5)).collect();
        let release = LowRank::new((m, n, k), left.clone(), right.clone()).unwrap();
        let dense: Vec<f64> =
            (0..m * n).map(|i| if i % 3 == 0 { value(i + 2) } else { 0.0 }).collect();
        let norm = dense.iter().map(|x| x * x).sum::<f64>().sqrt();
        let offsets: Vec<usize> = (0..=m).map(|i| (i * n).div_ceil(3)).collect();
        let columns: Vec<u32> = (0..m * n).step_by(3).map(|i| (i % n) as u32).collect();
        let values: Vec<f64> = dense.iter().copied().step_by(3).collect();
        let csr = CsrView { offsets: &offsets, columns: &columns, values: &values };
        for view in [RowsView::f64(m, n, &dense).unwrap(), RowsView::csr(m, n, csr).unwrap()] {
            let whole = release.distance(&view).unwrap();
            assert!((distance(&release, view, norm) / whole - 1.0).abs() < 1e-12);
            assert_eq!(distance(&LowRank::zero(m, n), view, norm), norm);
            let double = left.iter().map(|x| 2.0 * x).collect();
            let double = LowRank::new((m, n, k), double, right.clone()).unwrap();
            for other in [&double, &LowRank::zero(m, n)] {
                let alone = [&release, other].map(|b| distance(b, view, norm));
                assert_eq!(distances([&release, other], view, norm), alone);
            }
        }
    }
}
