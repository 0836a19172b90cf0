//! Top-k by inner product or cosine over real-valued releases.

use super::hits::{Neighbours, Score};
use crate::error::{Error, Result};
use crate::pieced::BLOCK;
use faer::linalg::matmul::matmul;
use faer::traits::ComplexField;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use std::borrow::Cow;

/// Queries of one matrix product, when there are many: each block of items is packed once
/// for all of them, and the scores still fit the cache.
const QUERIES: usize = 512;
/// Queries of one matrix product, when there are few: work for every thread.
const FEW_QUERIES: usize = 128;
/// Scores compared at once before any is looked at.
const STRIP: usize = 32;

/// Numbers that can be searched: `f32` and `f64`.
pub trait SearchScalar: ComplexField + Copy + PartialOrd + Send + Sync + private::Number {}
impl SearchScalar for f32 {}
impl SearchScalar for f64 {}

mod private {
    /// The few operations the search needs.
    pub trait Number {
        const ZERO: Self;
        const ONE: Self;
        const LEAST: Self;
        fn finite(&self) -> bool;
        fn order(&self, other: &Self) -> core::cmp::Ordering;
        /// One over the l2 norm; zero for a zero row.
        fn inverse_norm(row: &[Self]) -> Self
        where
            Self: Sized;
        fn times(self, other: Self) -> Self;
        /// Half the squared norm.
        fn half_square(row: &[Self]) -> Self
        where
            Self: Sized;
        fn minus(self, other: Self) -> Self;
    }
    macro_rules! number {
        ($($t:ty),*) => {$(
            impl Number for $t {
                const ZERO: Self = 0.0;
                const ONE: Self = 1.0;
                const LEAST: Self = <$t>::NEG_INFINITY;
                fn finite(&self) -> bool {
                    self.is_finite()
                }
                fn order(&self, other: &Self) -> core::cmp::Ordering {
                    // Scores are sums of finite products: -0 and 0 are one value.
                    (*self + 0.0).total_cmp(&(*other + 0.0))
                }
                fn inverse_norm(row: &[Self]) -> Self {
                    // Sums side by side: one alone waits for itself.
                    let (eights, rest) = row.as_chunks::<8>();
                    let mut lanes = [0.0; 8];
                    for eight in eights {
                        lanes.iter_mut().zip(eight).for_each(|(sum, x)| *sum += x * x);
                    }
                    let sums = lanes.iter().sum::<$t>() + rest.iter().map(|x| x * x).sum::<$t>();
                    let norm = if sums.is_normal() {
                        sums.sqrt()
                    } else {
                        // Squares beyond what the type holds, or below.
                        let largest = row.iter().fold(0.0, |m: $t, x| m.max(x.abs()));
                        let share = |x: &$t| (x / largest) * (x / largest);
                        largest * row.iter().map(share).sum::<$t>().sqrt()
                    };
                    if norm > 0.0 { 1.0 / norm } else { 0.0 }
                }
                fn times(self, other: Self) -> Self {
                    self * other
                }
                fn half_square(row: &[Self]) -> Self {
                    row.iter().map(|x| x * x).sum::<$t>() / 2.0
                }
                fn minus(self, other: Self) -> Self {
                    self - other
                }
            }
        )*};
    }
    number!(f32, f64);
}

/// n items of `dim` numbers, searched exhaustively by blocked matrix
/// products and a threshold on the k-th best score. Under [`Score::SquaredDistance`] scores are `<x, q> - |x|^2 / 2`, which fall as the
/// distance rises.
///
/// Plain numbers: it cannot know whether queries came from the projection of the items.
/// [`super::SketchIndex`] does.
#[derive(Debug, Clone)]
pub(super) struct DenseIndex<'a, T: Clone> {
    n: usize,
    dim: usize,
    items: Cow<'a, [T]>,
    score: Score,
    scales: Vec<T>,
}

impl<'a, T: SearchScalar> DenseIndex<'a, T> {
    /// Takes n rows of `dim` numbers, row after row.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::NotFinite`], or an invalid `dim` or n.
    pub(super) fn new(dim: usize, items: Cow<'a, [T]>, score: Score) -> Result<Self> {
        let n = rows_of(dim, &items, "items")?;
        if n > u32::MAX as usize {
            return Err(Error::invalid("n", n, "[0, 2^32)"));
        }
        let scales = match score {
            Score::InnerProduct => Vec::new(),
            Score::Cosine => items.par_chunks_exact(dim).map(T::inverse_norm).collect(),
            Score::SquaredDistance => items.par_chunks_exact(dim).map(T::half_square).collect(),
        };
        Ok(Self { n, dim, items, score, scales })
    }

    pub(super) fn score(&self) -> Score {
        self.score
    }

    /// The `k` items of largest score for every query, in the order (score falling,
    /// index rising). Parallel over blocks of queries, each multiplied sequentially, so
    /// the answer does not depend on the number of threads. Scores carry the rounding
    /// of the matrix product, whose order of summation may differ between machines.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::NotFinite`], an invalid `k` (zero), or
    /// [`Error::Undefined`] when products overflow.
    pub(super) fn top_k(&self, queries: &[T], k: usize) -> Result<Neighbours<T>> {
        rows_of(self.dim, queries, "queries")?;
        if k == 0 {
            return Err(Error::invalid("k", k, "[1, inf)"));
        }
        let k = k.min(self.n);
        let many = queries.len() / self.dim >= 8 * QUERIES;
        let block = if many { QUERIES } else { FEW_QUERIES };
        let answers: Vec<_> =
            queries.par_chunks(block * self.dim).map(|block| self.search_block(block, k)).collect();
        if answers.iter().flatten().any(|answer| answer.len() != k) {
            return Err(Error::Undefined { what: "an inner product", reason: "it overflows" });
        }
        Ok(Neighbours::collect(k, answers.into_iter().flatten().collect()))
    }

    fn search_block(&self, queries: &[T], k: usize) -> Vec<Vec<(u32, T)>> {
        let count = queries.len() / self.dim;
        let mut best: Vec<_> = (0..count).map(|_| Selection::new(k)).collect();
        let right = MatRef::from_column_major_slice(queries, self.dim, count);
        let mut scores = vec![T::ZERO; BLOCK * count];
        for (b, items) in self.items.chunks(BLOCK * self.dim).enumerate() {
            let rows = items.len() / self.dim;
            let scores = &mut scores[..rows * count];
            let left = MatRef::from_row_major_slice(items, rows, self.dim);
            let out = MatMut::from_column_major_slice_mut(scores, rows, count);
            matmul(out, Accum::Replace, left, right, T::ONE, Par::Seq);
            let first = b * BLOCK;
            for (column, best) in scores.chunks_exact_mut(rows).zip(&mut best) {
                let scales = self.scales.get(first..first + rows).unwrap_or_default();
                let scaled = column.iter_mut().zip(scales);
                match self.score {
                    Score::InnerProduct => {}
                    Score::Cosine => scaled.for_each(|(s, &c)| *s = s.times(c)),
                    Score::SquaredDistance => scaled.for_each(|(s, &c)| *s = s.minus(c)),
                }
                best.offer_all(first as u32, column);
            }
        }
        let scale = |query: &[T]| match self.score {
            Score::InnerProduct | Score::SquaredDistance => T::ONE,
            Score::Cosine => T::inverse_norm(query),
        };
        queries
            .chunks_exact(self.dim)
            .zip(best)
            .map(|(query, best)| {
                let (scale, mut items) = (scale(query), best.finish());
                items.iter_mut().for_each(|item| item.1 = item.1.times(scale));
                items
            })
            .collect()
    }
}

fn rows_of<T: SearchScalar>(dim: usize, values: &[T], what: &'static str) -> Result<usize> {
    if !(1..=u32::MAX as usize).contains(&dim) {
        return Err(Error::invalid("dim", dim, "[1, 2^32)"));
    }
    let n = values.len() / dim;
    if n * dim != values.len() {
        return Err(Error::Length { what, expected: n * dim, found: values.len() });
    }
    match values.iter().position(|v| !v.finite()) {
        Some(at) => Err(Error::NotFinite { row: at / dim, column: at % dim }),
        None => Ok(n),
    }
}

/// The best items of one query so far; items come in index order, so an item that
/// only equals the k-th best score loses its tie.
pub(super) struct Selection<T> {
    k: usize,
    threshold: T,
    kept: Vec<(u32, T)>,
}

impl<T: SearchScalar> Selection<T> {
    pub(super) fn new(k: usize) -> Self {
        Self { k, threshold: T::LEAST, kept: Vec::with_capacity(2 * k + STRIP) }
    }

    pub(super) fn offer_all(&mut self, first: u32, scores: &[T]) {
        for (s, strip) in scores.chunks(STRIP).enumerate() {
            let threshold = self.threshold;
            let any = strip.iter().fold(false, |any, &score| any | (score > threshold));
            if any {
                self.offer_strip(first + (s * STRIP) as u32, strip);
            }
        }
    }

    #[cold]
    fn offer_strip(&mut self, first: u32, strip: &[T]) {
        for (index, &score) in (first..).zip(strip) {
            if score > self.threshold {
                self.kept.push((index, score));
            }
        }
        if self.kept.len() >= 2 * self.k {
            self.cut();
        }
    }

    /// Keeps the best k and raises the threshold to the worst of them.
    fn cut(&mut self) {
        if self.k > 0 && self.kept.len() >= self.k {
            self.kept.select_nth_unstable_by(self.k - 1, better);
            self.kept.truncate(self.k);
            self.threshold = self.kept[self.k - 1].1;
        }
    }

    pub(super) fn finish(mut self) -> Vec<(u32, T)> {
        self.kept.sort_unstable_by(better);
        self.kept.truncate(self.k);
        self.kept
    }
}

fn better<T: SearchScalar>(a: &(u32, T), b: &(u32, T)) -> core::cmp::Ordering {
    b.1.order(&a.1).then(a.0.cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::PublicSeed;
    use rand_core::Rng;

    /// Small integers: every product and sum is exact, so scores and ties are too.
    fn integers(len: usize, stream: u64) -> Vec<f64> {
        let mut rng = PublicSeed::new(7).generator(stream);
        (0..len).map(|_| (rng.next_u64() % 7) as f64 - 3.0).collect()
    }

    fn naive(items: &[f64], queries: &[f64], dim: usize, k: usize) -> Vec<Vec<(u32, f64)>> {
        queries
            .chunks_exact(dim)
            .map(|q| {
                let dot = |x: &[f64]| x.iter().zip(q).map(|(a, b)| a * b).sum::<f64>();
                let scores = items.chunks_exact(dim).map(dot);
                let mut all: Vec<_> = (0u32..).zip(scores).collect();
                all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                all.truncate(k);
                all
            })
            .collect()
    }

    #[test]
    fn agrees_with_sorting_in_both_precisions() {
        for (n, dim, nq, k) in [(1, 1, 1, 1), (1100, 5, 300, 50), (700, 17, 3, 1000), (40, 3, 9, 7)]
        {
            let (items, queries) = (integers(n * dim, 1), integers(nq * dim, 2));
            let expected = naive(&items, &queries, dim, k);
            let narrow = |v: &[f64]| v.iter().map(|&x| x as f32).collect::<Vec<_>>();
            let (items32, queries32) = (narrow(&items), narrow(&queries));
            let index =
                DenseIndex::new(dim, Cow::Borrowed(&items), Score::InnerProduct).expect("valid");
            let index32 =
                DenseIndex::new(dim, Cow::Borrowed(&items32), Score::InnerProduct).expect("valid");
            let found = index.top_k(&queries, k).expect("valid");
            let found32 = index32.top_k(&queries32, k).expect("valid");
            for (q, expected) in expected.iter().enumerate() {
                let indices: Vec<u32> = expected.iter().map(|e| e.0).collect();
                assert_eq!(found.indices(q), indices);
                assert_eq!(found32.indices(q), indices);
                assert!(found.scores(q).iter().zip(expected).all(|(s, e)| *s == e.1));
            }
        }
    }

    #[test]
    fn cosine_ranks_by_angle_and_scores_zero_rows_zero() {
        let items = [2.0, 0.0, 0.0, 0.0, 3.0, 3.0, -1.0, 0.0];
        let index = DenseIndex::new(2, Cow::Borrowed(&items), Score::Cosine).expect("valid");
        let found = index.top_k(&[10.0, 0.0], 4).expect("valid");
        assert_eq!(found.indices(0), [0, 2, 1, 3]);
        let expected = [1.0, 0.5f64.sqrt(), 0.0, -1.0];
        assert!(found.scores(0).iter().zip(expected).all(|(s, e)| (s - e).abs() < 1e-15));
    }

    #[test]
    fn bad_inputs_are_refused() {
        assert!(DenseIndex::new(2, Cow::Borrowed(&[1.0f32; 3]), Score::InnerProduct).is_err());
        assert!(DenseIndex::new(0, Cow::Borrowed(&[1.0f32; 3]), Score::InnerProduct).is_err());
        assert!(DenseIndex::new(1, Cow::Borrowed(&[f64::NAN]), Score::InnerProduct).is_err());
        let index =
            DenseIndex::new(1, Cow::Borrowed(&[1.0f64]), Score::InnerProduct).expect("valid");
        assert!(index.top_k(&[f64::INFINITY], 1).is_err());
        assert!(index.top_k(&[1.0], 0).is_err());
        let huge = DenseIndex::new(2, Cow::Borrowed(&[1e300, -1e300]), Score::InnerProduct)
            .expect("valid");
        assert!(huge.top_k(&[1e300, 1e300], 1).is_err());
        let none =
            DenseIndex::<f64>::new(3, Cow::Borrowed(&[]), Score::InnerProduct).expect("valid");
        assert_eq!(none.top_k(&[1.0; 6], 2).expect("valid").k(), 0);
    }

    #[test]
    fn answers_do_not_depend_on_threads() {
        let (items, queries) = (integers(2000 * 8, 3), integers(600 * 8, 4));
        let index = DenseIndex::new(8, Cow::Borrowed(&items), Score::Cosine).expect("valid");
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("pool").install(|| index.top_k(&queries, 20).expect("valid"))
        };
        assert_eq!(run(1), run(2));
    }

    /// Squares that overflow, or underflow, do not make a row one of zeros.
    #[test]
    fn rows_of_any_size_have_their_cosines() {
        let items = [3.0, 4.0, -4.0, 3.0, 0.3, 0.1];
        for (size, query) in
            [(1e160, 1.0), (1e200, 1e-100), (1e-170, 1.0), (1.0, 1e-200), (1.0, 1e300)]
        {
            let items: Vec<f64> = items.iter().map(|x| x * size).collect();
            let index = DenseIndex::new(2, items.into(), Score::Cosine).unwrap();
            let found = index.top_k(&[query * 0.6, query * 0.8], 3).unwrap();
            assert_eq!(found.indices(0), [0, 2, 1], "{size} {query}");
            assert!((found.scores(0)[0] - 1.0).abs() < 1e-12, "{size} {query}");
        }
        let items: Vec<f32> = items.iter().map(|x| (x * 1e25) as f32).collect();
        let found = DenseIndex::new(2, items.into(), Score::Cosine).unwrap().top_k(&[0.6, 0.8], 3);
        assert_eq!(found.unwrap().indices(0), [0, 2, 1]);
    }
}
