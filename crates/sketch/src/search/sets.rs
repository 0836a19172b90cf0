//! Nearest sets by private signatures. All of it is post-processing of releases.

use super::dense::DenseIndex;
use super::hits::{Hit, Score};
use super::queries::Queries;
use super::set_index::SetIndex;
use crate::error::{Error, Result};
use crate::sets::{BinLaw, Coding, NoisyBits, PrivateSymbols, SetPairs, matches, outcomes};
use dp_core::{Certificate, Release};
use rayon::prelude::*;
use std::borrow::Cow;
use std::cmp::Ordering;

/// How candidates are ordered.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Ranking {
    /// By the estimated similarity.
    Similarity,
    /// By the log-likelihood ratio of similarity `near` against `far`, for sets of `size` items.
    /// For hashed minima it orders as the similarity does; for bins it also weighs what
    /// empty bins say, and does not divide by a noisy number.
    Likelihood {
        /// Typical size of a set.
        size: f64,
        /// Similarity of a neighbour worth finding.
        near: f64,
        /// Similarity of an arbitrary other set.
        far: f64,
    },
}

/// Score of a pair of rows.
type RowScore = dyn Fn(&[u16], &[u16]) -> f64 + Sync;

/// For every query row, a row of the pairs' left side, the `count` best rows of their right side, best first; ties go to
/// the smaller row. Within one release a row does not find itself.
///
/// # Errors
/// When a query does not exist, or the ranking does not fit the release.
pub fn nearest(
    pairs: SetPairs<'_>,
    queries: &[usize],
    count: usize,
    ranking: Ranking,
) -> Result<Vec<Vec<Hit>>> {
    let [asked, symbols] = pairs.sides();
    for &query in queries {
        asked.row(query)?;
    }
    let own = |query| pairs.is_one_release().then_some(query);
    if symbols.is_occupancy() {
        return occupancy([asked, symbols], queries, count, ranking, own);
    }
    let rows = symbols.rows();
    let score: Box<RowScore> = match (symbols.coding(), ranking) {
        (Coding::Hashed { .. }, _) => Box::new(|x, y| f64::from(matches(x, y))),
        (Coding::Bins, Ranking::Similarity) => {
            let law = BinLaw::of(symbols)?;
            Box::new(move |x, y| law.score(outcomes(x, y)))
        }
        (Coding::Bins, Ranking::Likelihood { size, near, far }) => {
            check_similarities(size, near, far)?;
            let weights = BinLaw::of(symbols)?.likelihood_weights(size, near, far);
            Box::new(move |x, y| {
                outcomes(x, y).iter().zip(weights).map(|(&n, w)| f64::from(n) * w).sum()
            })
        }
    };
    Ok(queries
        .par_iter()
        .map(|&query| {
            let row = asked.row_unchecked(query);
            // A row that does not exist is left out where none is.
            let out = own(query).unwrap_or(rows);
            best_rows(rows, out, count, |i| score(row, symbols.row_unchecked(i)))
        })
        .collect())
}

/// As [`nearest`] for occupancy bits, by [`SetIndex`].
fn occupancy(
    [asked, symbols]: [&PrivateSymbols; 2],
    queries: &[usize],
    count: usize,
    ranking: Ranking,
    own: impl Fn(usize) -> Option<usize>,
) -> Result<Vec<Vec<Hit>>> {
    if ranking != Ranking::Similarity {
        let allowed = "similarity: occupancy bits are ranked by their cosine";
        return Err(Error::invalid("ranking", "by likelihood", allowed));
    }
    // A row may be the best of its own search.
    let most = count.saturating_add(1);
    let found = SetIndex::new(symbols)?.top_k(&Queries::rows(asked, queries)?, most)?;
    let others = |(i, &query): (usize, &usize)| {
        let pairs = found.indices(i).iter().zip(found.scores(i));
        let hits = pairs.map(|(&row, &score)| Hit { row: row as usize, score });
        hits.filter(|hit| Some(hit.row) != own(query)).take(count).collect()
    };
    Ok(queries.iter().enumerate().map(others).collect())
}

/// As [`nearest`] for noisy bits, by squared distance (the published search, algorithm 6), found by matrix products: of rows
/// whose distances differ by less than those round, some `L 2^-52` of the squared length of a row of L bits, either may be the
/// last that is found. Scores are exact distances, in their order.
///
/// # Errors
/// When a query does not exist, or distances overflow.
pub fn nearest_noisy(
    release: &Release<NoisyBits, Certificate>,
    queries: &[usize],
    count: usize,
) -> Result<Vec<Vec<Hit>>> {
    let bits = release.payload();
    let rows = queries.iter().map(|&query| bits.row(query)).collect::<Result<Vec<_>>>()?;
    let values = Cow::Borrowed(bits.values());
    let index = DenseIndex::new(bits.scheme().slots, values, Score::SquaredDistance)?;
    // A row is the best of its own search.
    let found = index.top_k(&rows.concat(), count.saturating_add(1))?;
    let hit = |query, row| Ok(Hit { row, score: -bits.squared_distance(query, row)? });
    let others = |(i, &query): (usize, &usize)| {
        let rows = found.indices(i).iter().map(|&row| row as usize).filter(|&row| row != query);
        let mut hits = rows.map(|row| hit(query, row)).collect::<Result<Vec<_>>>()?;
        hits.sort_unstable_by(better);
        hits.truncate(count);
        Ok(hits)
    };
    queries.iter().enumerate().map(others).collect()
}

fn check_similarities(size: f64, near: f64, far: f64) -> Result<()> {
    if size < 1.0 || !size.is_finite() {
        return Err(Error::invalid("typical set size", size, "[1, inf)"));
    }
    let ordered = (0.0..1.0).contains(&far) && far < near && near <= 1.0;
    if ordered {
        Ok(())
    } else {
        Err(Error::invalid(
            "similarities far, near",
            format!("{far}, {near}"),
            "0 <= far < near <= 1",
        ))
    }
}

/// The `count` of `rows` rows with the highest scores, without the query itself; best first, ties
/// by row. For scores that are not those of a release (exact similarities, for instance).
#[must_use]
pub fn best_rows(
    rows: usize,
    query: usize,
    count: usize,
    score: impl Fn(usize) -> f64,
) -> Vec<Hit> {
    let (mut hits, mut beaten): (Vec<Hit>, Option<f64>) = (Vec::new(), None);
    for row in (0..rows).filter(|&row| row != query) {
        let score = score(row);
        // So many rows before it have a score that is no lower.
        if beaten.is_some_and(|beaten| score.total_cmp(&beaten).is_le()) {
            continue;
        }
        hits.push(Hit { row, score });
        if count > 0 && hits.len() == count.saturating_mul(2) {
            beaten = Some(hits.select_nth_unstable_by(count - 1, better).1.score);
            hits.truncate(count);
        }
    }
    if count < hits.len() {
        hits.select_nth_unstable_by(count, better);
        hits.truncate(count);
    }
    hits.sort_unstable_by(better);
    hits
}

/// The higher score first, then the smaller row.
fn better(a: &Hit, b: &Hit) -> Ordering {
    b.score.total_cmp(&a.score).then(a.row.cmp(&b.row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::{BinResponse, ItemSet, NoisySecureMinHash, SetNeighbours};
    use dp_core::calibrate::Acceptance;
    use dp_core::{Budget, FreshSeed, NoiseRng, PublicSeed};

    fn set(items: impl Iterator<Item = u64>) -> ItemSet {
        ItemSet::new(items.collect()).expect("set")
    }

    /// Beside sorting all of them: falling, rising, equal and mixed scores, and some that are no numbers.
    #[test]
    fn the_best_rows_are_the_first_of_all_in_order() {
        let kinds: [fn(usize) -> f64; 6] = [
            |i| -(i as f64),
            |i| i as f64,
            |_| 1.0,
            |i| (i * 7919 % 101) as f64,
            |i| [0.0, -0.0, 1.0][i % 3],
            |i| [f64::NAN, f64::INFINITY, 2.0, -f64::NAN][i % 4],
        ];
        for (score, count) in kinds.iter().flat_map(|s| [0, 1, 5, 99, 100, 300].map(|c| (s, c))) {
            let mut all: Vec<usize> = (0..200).filter(|i| *i != 3).collect();
            all.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
            all.truncate(count);
            let found = best_rows(200, 3, count, score);
            assert!(found.iter().all(|hit| hit.score.to_bits() == score(hit.row).to_bits()));
            assert_eq!(found.iter().map(|hit| hit.row).collect::<Vec<_>>(), all, "{count}");
        }
    }

    #[test]
    fn search_finds_the_planted_neighbour() {
        let mut sets: Vec<ItemSet> = (0..50u64).map(|i| set(1000 * i..1000 * i + 40)).collect();
        sets.push(set((0..38).chain(77_000..77_002)));
        let mut rng = NoiseRng::deterministic_not_private(15);
        let budget = Budget::new(8.0, 0.0).expect("budget");
        let bins = BinResponse::calibrate(100, 16, 1, budget).expect("calibrated");
        let release = bins.release(&sets, PublicSeed::new(1), &mut rng).expect("release");
        for ranking in
            [Ranking::Similarity, Ranking::Likelihood { size: 40.0, near: 0.5, far: 0.01 }]
        {
            let hits = nearest(SetPairs::within(&release), &[0], 5, ranking).expect("search");
            assert_eq!((hits[0][0].row, hits[0].len()), (50, 5));
        }
        let backwards = Ranking::Likelihood { size: 40.0, near: 0.1, far: 0.5 };
        assert!(
            nearest(SetPairs::within(&release), &[0], 5, backwards)
                .is_err_and(|e| e.to_string().contains("far < near"))
        );
        assert!(
            nearest(SetPairs::within(&release), &[51], 5, Ranking::Similarity)
                .is_err_and(|e| e.to_string().contains("51"))
        );
    }

    /// Beside looking at every row: queries in any order and twice, more rows than there are, and none.
    #[test]
    fn noisy_bits_are_ranked_by_their_distances() {
        let sets: Vec<ItemSet> = (0..150u64).map(|i| set(3 * i..3 * i + 40)).collect();
        let mut rng = NoiseRng::deterministic_not_private(16);
        let (neighbours, accept) =
            (SetNeighbours::new(1, 40).expect("neighbours"), Acceptance::AcceptTrueDelta);
        let budget = Budget::new(20.0, 1e-4).expect("budget");
        for positions in [1, 8, 37] {
            let bits = NoisySecureMinHash::published(positions, 1, neighbours, budget, accept);
            let bits = bits.expect("mechanism");
            let fresh = FreshSeed::reproducible_not_private(1);
            let release = bits.release(&sets, fresh, &mut rng).expect("release");
            let queries = [149, 0, 7, 7];
            for count in [0, 1, 20, 149, 1000] {
                let found = nearest_noisy(&release, &queries, count).expect("search");
                for (hits, query) in found.iter().zip(queries) {
                    let far = |i| release.payload().squared_distance(query, i).expect("rows");
                    assert_eq!(*hits, best_rows(150, query, count, |i| -far(i)), "{positions}");
                }
            }
        }
    }
}
