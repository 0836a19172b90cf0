//! Learning from releases with a maintained library: linear classification and segmentation.

use crate::error::{Error, Result};
use smartcore::cluster::kmeans::{KMeans, KMeansParameters};
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::svm::Kernels;
use smartcore::svm::svc::{SVC, SVCParameters};

fn refused(what: &'static str) -> impl Fn(smartcore::error::Failed) -> Error {
    move |e| Error::malformed(what, e.to_string())
}

fn matrix(values: &[f64], d: usize) -> Result<DenseMatrix<f64>> {
    DenseMatrix::new(values.len() / d, d, values.to_vec(), false).map_err(refused("matrix"))
}

/// Share of test rows that a linear support vector machine, trained on the training rows,
/// labels right. Labels are +1 and -1.
///
/// # Errors
/// When the training rows do not hold both labels.
pub fn svm_accuracy(
    train: (&[f64], &[i32]),
    test: (&[f64], &[i32]),
    d: usize,
    c: f64,
) -> Result<f64> {
    // The library looks at no more features than there are training rows (0.7.0).
    if d > train.1.len() {
        let [x, z] = in_training_span(train.0, test.0, d)?;
        return svm_accuracy((&x, train.1), (&z, test.1), train.1.len(), c);
    }
    let (x, y) = (matrix(train.0, d)?, train.1.to_vec());
    let parameters =
        SVCParameters::default().with_c(c).with_kernel(Kernels::linear()).with_seed(Some(1));
    let machine = SVC::fit(&x, &y, &parameters).map_err(refused("support vector machine"))?;
    let scores = matrix(test.0, d)?;
    let labels = machine.predict(&scores).map_err(refused("support vector machine"))?;
    let right = labels.iter().zip(test.1).filter(|&(&a, &b)| (a > 0.0) == (b > 0)).count();
    Ok(right as f64 / test.1.len() as f64)
}

/// Training and test rows in coordinates of the span of the training rows: as many numbers a row
/// as there are training rows, with the same inner products between any row and a training row,
/// which is all that a linear machine can see.
fn in_training_span(train: &[f64], test: &[f64], d: usize) -> Result<[Vec<f64>; 2]> {
    let of = |rows| faer::MatRef::from_row_major_slice(rows, <[f64]>::len(rows) / d, d);
    let (x, y) = (of(train), of(test));
    let n = x.nrows();
    let products = |a: faer::MatRef<'_, f64>| {
        let mut out = faer::Mat::<f64>::zeros(a.nrows(), n);
        let accum = faer::Accum::Replace;
        faer::linalg::matmul::matmul(out.as_mut(), accum, a, x.transpose(), 1.0, faer::Par::Seq);
        out
    };
    let eigen = products(x)
        .self_adjoint_eigen(faer::Side::Lower)
        .map_err(|_| Error::malformed("Gram matrix", "its eigenvalues did not converge"))?;
    let (u, s) = (eigen.U(), eigen.S());
    let largest = (0..n).map(|j| s[j]).fold(0.0, f64::max);
    let root = |j: usize| if s[j] > 1e-12 * largest { s[j].sqrt() } else { f64::INFINITY };
    let rotated = |a: faer::MatRef<'_, f64>| {
        let z = products(a) * u;
        (0..a.nrows())
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .map(|at| z[at] / root(at.1))
            .collect()
    };
    Ok([rotated(x), rotated(y)])
}

/// Segments rows into clusters by k-means, the best of `tries` starts.
///
/// # Errors
/// When there are fewer than two clusters or fewer rows than clusters.
pub fn segment(rows: &[f64], d: usize, clusters: usize, tries: u64, seed: u64) -> Result<Vec<u32>> {
    let x = matrix(rows, d)?;
    let mut best: Option<(f64, Vec<u32>)> = None;
    for attempt in 0..tries {
        let parameters =
            KMeansParameters { k: clusters, max_iter: 50, seed: Some(seed.wrapping_add(attempt)) };
        let model: KMeans<f64, u32, _, Vec<u32>> =
            KMeans::fit(&x, parameters).map_err(refused("k-means"))?;
        let labels = model.predict(&x).map_err(refused("k-means"))?;
        let spread = spread(rows, d, &labels, clusters);
        if best.as_ref().is_none_or(|(least, _)| spread < *least) {
            best = Some((spread, labels));
        }
    }
    best.map(|(_, labels)| labels).ok_or_else(|| Error::invalid("tries", tries, "at least 1"))
}

/// Sum of squared distances to the clusters' means.
fn spread(rows: &[f64], d: usize, labels: &[u32], clusters: usize) -> f64 {
    let mut means = vec![0.0; clusters * d];
    let mut counts = vec![0.0f64; clusters];
    for (row, &c) in rows.chunks_exact(d).zip(labels) {
        counts[c as usize] += 1.0;
        let mean = &mut means[c as usize * d..(c as usize + 1) * d];
        mean.iter_mut().zip(row).for_each(|(m, x)| *m += x);
    }
    for (mean, count) in means.chunks_exact_mut(d).zip(&counts) {
        mean.iter_mut().for_each(|m| *m /= count.max(1.0));
    }
    rows.chunks_exact(d)
        .zip(labels)
        .map(|(row, &c)| {
            let mean = &means[c as usize * d..(c as usize + 1) * d];
            row.iter().zip(mean).map(|(x, m)| (x - m) * (x - m)).sum::<f64>()
        })
        .sum()
}

/// How often each pair of labels occurs, and the totals of both sides.
fn contingency(a: &[u32], b: &[u32]) -> (Vec<Vec<f64>>, Vec<f64>, Vec<f64>) {
    assert_eq!(a.len(), b.len(), "one label a row on both sides");
    let size = |l: &[u32]| l.iter().max().map_or(0, |&m| m as usize + 1);
    let mut table = vec![vec![0.0; size(b)]; size(a)];
    a.iter().zip(b).for_each(|(&i, &j)| table[i as usize][j as usize] += 1.0);
    let rows = table.iter().map(|r| r.iter().sum()).collect();
    let columns = (0..size(b)).map(|j| table.iter().map(|r| r[j]).sum()).collect();
    (table, rows, columns)
}

/// Adjusted Rand index of two segmentations: 1 when equal up to names, 0 on average by chance
/// (Hubert and Arabie 1985).
///
/// # Panics
/// When the lengths differ.
#[must_use]
pub fn adjusted_rand_index(a: &[u32], b: &[u32]) -> f64 {
    let (table, rows, columns) = contingency(a, b);
    let pairs = |n: &f64| n * (n - 1.0) / 2.0;
    let together: f64 = table.iter().flatten().map(pairs).sum();
    let (left, right): (f64, f64) = (rows.iter().map(pairs).sum(), columns.iter().map(pairs).sum());
    let expected = left * right / pairs(&(a.len() as f64)).max(1.0);
    let most = 0.5 * (left + right);
    if most == expected { 1.0 } else { (together - expected) / (most - expected) }
}

/// Normalised mutual information of two segmentations: mutual information over the mean of the
/// two entropies, in `[0, 1]`.
///
/// # Panics
/// When the lengths differ.
#[must_use]
pub fn normalised_mutual_information(a: &[u32], b: &[u32]) -> f64 {
    let (table, rows, columns) = contingency(a, b);
    let n = a.len() as f64;
    let entropy = |counts: &[f64]| -> f64 {
        counts.iter().filter(|&&c| c > 0.0).map(|c| -c / n * (c / n).ln()).sum()
    };
    let mut shared = 0.0;
    for (i, row) in table.iter().enumerate() {
        for (j, &c) in row.iter().enumerate().filter(|(_, c)| **c > 0.0) {
            shared += c / n * (n * c / (rows[i] * columns[j])).ln();
        }
    }
    let mean = 0.5 * (entropy(&rows) + entropy(&columns));
    if mean == 0.0 { 1.0 } else { (shared / mean).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_of_segmentations() {
        let a = [0, 0, 1, 1, 2, 2];
        assert_eq!(adjusted_rand_index(&a, &[2, 2, 0, 0, 1, 1]), 1.0);
        assert!((normalised_mutual_information(&a, &[2, 2, 0, 0, 1, 1]) - 1.0).abs() < 1e-12);
        // scikit-learn's documentation: ARI([0,0,1,2], [0,0,1,1]) = 0.57 and NMI = 0.8.
        let (x, y) = ([0, 0, 1, 2], [0, 0, 1, 1]);
        assert!((adjusted_rand_index(&x, &y) - 4.0 / 7.0).abs() < 1e-12);
        assert!((normalised_mutual_information(&x, &y) - 0.8).abs() < 1e-12);
        assert!(adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 0, 1]) < 0.0);
    }

    #[test]
    fn clusters_and_halves_are_found() {
        let rows: Vec<f64> = (0..60)
            .flat_map(|i| {
                let jitter = 0.01 * f64::from(i % 7);
                if i % 2 == 0 { [1.0 + jitter, 0.0] } else { [-1.0, 0.2 + jitter] }
            })
            .collect();
        let truth: Vec<u32> = (0..60).map(|i| i % 2).collect();
        let found = segment(&rows, 2, 2, 3, 1).unwrap();
        assert_eq!(adjusted_rand_index(&found, &truth), 1.0);
        let labels: Vec<i32> = truth.iter().map(|&t| 1 - 2 * t as i32).collect();
        let (x, y) = (&rows[..80], &labels[..40]);
        let accuracy = svm_accuracy((x, y), (&rows[80..], &labels[40..]), 2, 1.0).unwrap();
        assert_eq!(accuracy, 1.0);
        let (x, z) = (&[3.0, 1.0, 2.0, 0.0, 1.0, 5.0], &[1.0, 2.0, 3.0]);
        let [a, b] = in_training_span(x, z, 3).unwrap();
        let product = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(p, q)| p * q).sum::<f64>();
        assert_eq!((a.len(), b.len()), (4, 2));
        assert!((product(&a[..2], &a[2..]) - 11.0).abs() < 1e-12);
        assert!((product(&b, &a[..2]) - 11.0).abs() < 1e-12);
        assert!((product(&b, &a[2..]) - 17.0).abs() < 1e-12);
    }
}
