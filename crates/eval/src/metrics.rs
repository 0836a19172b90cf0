//! How good an answer is.

use crate::error::Result;
use dp_core::PublicSeed;
use dp_core::noise::NoiseLaw;
use sketch::projection::{Family, ProjectionSpec};
use sketch::search::{Neighbours, Queries, Score, SketchIndex};
use sketch::vectors::PrivateSketch;

/// Mean, and its standard error when there are at least two samples.
#[must_use]
pub fn mean_and_error(samples: &[f64]) -> (f64, Option<f64>) {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    if samples.len() < 2 {
        return (mean, None);
    }
    let square = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    (mean, Some((square / (n - 1.0) / n).sqrt()))
}

/// For every query, the rows of the database by falling cosine, the best `count` of them.
///
/// Shapes: `queries` is q x d and `database` n x d, row-major; q lists of
/// `min(count, n)` indices, ties by index. A zero row has cosine zero with everything.
///
/// # Errors
/// [`crate::Error::Sketch`] when a length is not a multiple of `d`, a value is not finite,
/// or `d` or `count` is zero.
pub fn nearest_by_cosine(
    queries: &[f64],
    database: &[f64],
    d: usize,
    count: usize,
) -> Result<Vec<Vec<usize>>> {
    let (queries, database) = (plain(queries.to_vec(), d)?, plain(database.to_vec(), d)?);
    let found =
        SketchIndex::new(&database, Score::Cosine)?.top_k(&Queries::all(&queries), count)?;
    Ok(lists(&found))
}

/// As [`nearest_by_cosine`] in a release, whose numbers are rounded to `f32`: far below its noise, and twice as fast.
///
/// # Errors
/// [`crate::Error::Sketch`] for releases that are not comparable, numbers beyond the range of `f32`, or a `count` of zero.
#[cfg(feature = "experiments")]
pub(crate) fn nearest_in_release(
    queries: &PrivateSketch,
    database: &PrivateSketch,
    count: usize,
) -> Result<Vec<Vec<usize>>> {
    let found =
        SketchIndex::rounded(database, Score::Cosine)?.top_k(&Queries::all(queries), count)?;
    Ok(lists(&found))
}

/// Plain rows of `d` numbers: sketches under no projection.
pub(crate) fn plain(rows: Vec<f64>, d: usize) -> Result<PrivateSketch> {
    let spec = ProjectionSpec::new(Family::Identity, d, d, PublicSeed::new(0))?;
    Ok(PrivateSketch::new(spec, NoiseLaw::None, rows)?)
}

/// One list a query.
pub(crate) fn lists<S>(found: &Neighbours<S>) -> Vec<Vec<usize>> {
    let list = |query| found.indices(query).iter().map(|&i| i as usize).collect();
    (0..found.n()).map(list).collect()
}

/// Precision and recall of one ranked answer after its first `returned` items:
/// hits / returned and hits / number of relevant items.
///
/// # Panics
/// When `returned` or the set of relevant items is empty.
#[must_use]
pub fn precision_recall(answer: &[usize], relevant: &[usize], returned: usize) -> (f64, f64) {
    assert!(returned > 0 && !relevant.is_empty(), "precision of nothing");
    let wanted: std::collections::HashSet<usize> = relevant.iter().copied().collect();
    let hits = answer.iter().take(returned).filter(|i| wanted.contains(i)).count() as f64;
    (hits / returned as f64, hits / relevant.len() as f64)
}

/// [`precision_recall`] averaged over queries.
///
/// # Panics
/// When there are no queries, or not as many answers as sets of relevant items.
#[must_use]
pub fn mean_precision_recall(
    answers: &[Vec<usize>],
    relevant: &[Vec<usize>],
    returned: usize,
) -> (f64, f64) {
    assert!(!answers.is_empty() && answers.len() == relevant.len(), "one answer a query");
    let sum = answers.iter().zip(relevant).fold((0.0, 0.0), |(p, r), (answer, relevant)| {
        let one = precision_recall(answer, relevant, returned);
        (p + one.0, r + one.1)
    });
    let n = answers.len() as f64;
    (sum.0 / n, sum.1 / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_error_by_hand() {
        let (mean, error) = mean_and_error(&[1.0, 2.0, 3.0, 6.0]);
        assert_eq!(mean, 3.0);
        // Squares 4 + 1 + 0 + 9 = 14; 14 / 3 / 4.
        assert!((error.unwrap() - (14.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!(mean_and_error(&[5.0]), (5.0, None));
    }

    #[test]
    fn precision_and_recall_by_hand() {
        let relevant = [1, 2, 3, 4];
        assert_eq!(precision_recall(&[1, 9, 2, 8, 3], &relevant, 3), (2.0 / 3.0, 0.5));
        assert_eq!(precision_recall(&[1], &relevant, 2), (0.5, 0.25));
        let mean = mean_precision_recall(&[vec![1], vec![7]], &[vec![1], vec![8]], 1);
        assert_eq!(mean, (0.5, 0.5));
    }

    #[test]
    fn cosine_ignores_length_and_zero_rows_come_after_similar_ones() {
        let database = [10.0, 1.0, 0.0, 0.0, 0.1, 0.2, -1.0, 0.0];
        let lists = nearest_by_cosine(&[5.0, 0.0, 0.0, 0.3], &database, 2, 4).unwrap();
        assert_eq!(lists, [vec![0, 2, 1, 3], vec![2, 0, 1, 3]]);
        assert_eq!(nearest_by_cosine(&[5.0, 0.0], &database, 2, 9).unwrap()[0].len(), 4);
        assert!(nearest_by_cosine(&[5.0], &database, 2, 9).is_err());
    }
}
