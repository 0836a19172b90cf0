//! Search over releases.

use crate::error::Result;
use crate::private::{Pairs, SketchRelease};

/// How two rows are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Score {
    /// Inner product of the noisy rows.
    InnerProduct,
    /// Cosine of the noisy rows.
    Cosine,
}

/// A row that was found, with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Row of the database.
    pub row: usize,
    /// Its score.
    pub score: f64,
}

/// The `count` best rows of `database` for row `query` of `queries`, best first; ties go to
/// the smaller row.
///
/// # Errors
/// When the releases are not comparable or the query does not exist.
pub fn top_k(
    database: &SketchRelease,
    queries: &SketchRelease,
    query: usize,
    count: usize,
    score: Score,
) -> Result<Vec<Hit>> {
    Pairs::between(queries, database)?;
    let q = queries.payload().row(query)?;
    let k = database.payload().k();
    let mut hits: Vec<Hit> = database
        .payload()
        .values()
        .chunks_exact(k)
        .enumerate()
        .map(|(row, x)| {
            let product: f64 = x.iter().zip(q).map(|(a, b)| a * b).sum();
            let norm = || x.iter().map(|a| a * a).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
            let score = if score == Score::Cosine { product / norm() } else { product };
            Hit { row, score }
        })
        .collect();
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
    hits.truncate(count);
    if score == Score::Cosine {
        let norm = q.iter().map(|a| a * a).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        hits.iter_mut().for_each(|h| h.score /= norm);
    }
    Ok(hits)
}
