//! Learning from releases: linear classification, and segmentation with a maintained library.

mod svm;

pub(crate) use svm::{LinearSvm, SvmOptions};

use crate::error::{Error, Result};
use smartcore::cluster::kmeans::{KMeans, KMeansParameters};
use smartcore::linalg::basic::matrix::DenseMatrix;

fn refused(what: &'static str) -> impl Fn(smartcore::error::Failed) -> Error {
    move |e| Error::malformed(what, e.to_string())
}

/// Segments rows into clusters by k-means, from one start.
///
/// # Errors
/// When there are fewer than two clusters or fewer rows than clusters.
pub(crate) fn segment(rows: &[f64], d: usize, clusters: usize, seed: u64) -> Result<Vec<u32>> {
    let x = DenseMatrix::new(rows.len() / d, d, rows.to_vec(), false).map_err(refused("matrix"))?;
    let parameters = KMeansParameters { k: clusters, max_iter: 50, seed: Some(seed) };
    let model: KMeans<f64, u32, _, Vec<u32>> =
        KMeans::fit(&x, parameters).map_err(refused("k-means"))?;
    model.predict(&x).map_err(refused("k-means"))
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
pub(crate) fn adjusted_rand_index(a: &[u32], b: &[u32]) -> f64 {
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
pub(crate) fn normalised_mutual_information(a: &[u32], b: &[u32]) -> f64 {
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
    fn clusters_are_found() {
        let rows: Vec<f64> = (0..60)
            .flat_map(|i| {
                let jitter = 0.01 * f64::from(i % 7);
                if i % 2 == 0 { [1.0 + jitter, 0.0] } else { [-1.0, 0.2 + jitter] }
            })
            .collect();
        let truth: Vec<u32> = (0..60).map(|i| i % 2).collect();
        let found = segment(&rows, 2, 2, 1).unwrap();
        assert_eq!(adjusted_rand_index(&found, &truth), 1.0);
    }
}
