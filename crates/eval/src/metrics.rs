//! How good an answer is.

use rayon::prelude::*;

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

/// Indices of the `count` largest scores, best first; equal scores in order of index, NaN last.
#[must_use]
pub fn top(scores: &[f64], count: usize) -> Vec<usize> {
    let key = |i: usize| if scores[i].is_nan() { f64::NEG_INFINITY } else { scores[i] };
    let better = |&a: &usize, &b: &usize| key(b).total_cmp(&key(a)).then(a.cmp(&b));
    let mut order: Vec<usize> = (0..scores.len()).collect();
    if count < order.len() {
        order.select_nth_unstable_by(count, better);
        order.truncate(count);
    }
    order.sort_unstable_by(better);
    order
}

/// For every query, the rows of the database by falling cosine, the best `count` of them.
///
/// Shapes: `queries` is q x d and `database` n x d, row-major; q lists of
/// `min(count, n)` indices. A zero row has cosine zero with everything.
///
/// # Panics
/// When a length is not a multiple of `d`.
#[must_use]
pub fn nearest_by_cosine(
    queries: &[f64],
    database: &[f64],
    d: usize,
    count: usize,
) -> Vec<Vec<usize>> {
    let (queries, database) = (normalised(queries, d), normalised(database, d));
    let rows = database.len() / d;
    let database = faer::MatRef::from_row_major_slice(&database, rows, d);
    // Blocks of queries: one product each, sequential inside, so no result depends on threads.
    queries
        .par_chunks(64 * d)
        .flat_map_iter(|block| {
            let block = faer::MatRef::from_row_major_slice(block, block.len() / d, d);
            let mut scores = faer::Mat::<f64>::zeros(rows, block.nrows());
            faer::linalg::matmul::matmul(
                scores.as_mut(),
                faer::Accum::Replace,
                database,
                block.transpose(),
                1.0,
                faer::Par::Seq,
            );
            let of = |j: usize| scores.col_as_slice(j).to_vec();
            (0..block.nrows()).map(|j| top(&of(j), count)).collect::<Vec<_>>()
        })
        .collect()
}

fn normalised(rows: &[f64], d: usize) -> Vec<f64> {
    assert!(d > 0 && rows.len().is_multiple_of(d), "{} values in rows of {d}", rows.len());
    rows.par_chunks(d)
        .flat_map_iter(|row| {
            let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            let factor = if norm > 0.0 { norm.recip() } else { 0.0 };
            row.iter().map(move |x| x * factor)
        })
        .collect()
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
    use proptest::prelude::*;

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
        let lists = nearest_by_cosine(&[5.0, 0.0, 0.0, 0.3], &database, 2, 4);
        assert_eq!(lists, [vec![0, 2, 1, 3], vec![2, 0, 1, 3]]);
        assert_eq!(nearest_by_cosine(&[5.0, 0.0], &database, 2, 9)[0].len(), 4);
    }

    proptest! {
        #[test]
        fn top_is_a_prefix_of_the_full_sort(
            scores in prop::collection::vec(prop_oneof![-3.0..3.0, Just(0.0), Just(f64::NAN)], 0..60),
            count in 0usize..70,
        ) {
            let mut full: Vec<usize> = (0..scores.len()).collect();
            full.sort_by(|&a, &b| {
                let (x, y): (f64, f64) = (scores[a], scores[b]);
                x.is_nan().cmp(&y.is_nan()).then(y.partial_cmp(&x).unwrap_or(a.cmp(&b))).then(a.cmp(&b))
            });
            full.truncate(count);
            prop_assert_eq!(top(&scores, count), full);
        }
    }
}
