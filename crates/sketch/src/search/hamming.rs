//! Top-k by Hamming distance.

use super::hits::Neighbours;
use super::queries::Queries;
use super::simd::{BLOCK, Hits, Kernel, LANES, Lane};
use crate::error::{Error, Result};
use crate::projection::ProjectionSpec;
use crate::signs::{PackedBits, SignCodes, same_projections};
use rayon::prelude::*;

/// Queries that share one pass over the codes.
const CHUNK: usize = 64;
/// Queries scanned together, so that one load of a code serves them all.
const TOGETHER: usize = 4;
/// Accepted items kept before those that can no longer win are dropped.
const KEEP: usize = 4096;

/// Signs laid out for searching: word by word in groups of eight. It remembers their
/// projections, and refuses queries that came from others.
///
/// Exhaustive and exact; one pass computes `n` distances a query. Every query keeps a
/// histogram of the distances it accepted, whose k-th smallest is the threshold that
/// later codes must beat, so almost all codes cost a comparison and nothing more.
#[derive(Debug, Clone)]
pub struct HammingIndex {
    projections: Vec<ProjectionSpec>,
    n: usize,
    bits: usize,
    lanes: Vec<Lane>,
    kernel: Kernel,
}

impl HammingIndex {
    /// Lays out the signs of a release.
    ///
    /// # Errors
    /// An invalid `n`: at most `2^32 - 1024` rows.
    pub fn new(signs: &SignCodes) -> Result<Self> {
        Self::with_kernel(signs, Kernel::best())
    }

    fn with_kernel(signs: &SignCodes, kernel: Kernel) -> Result<Self> {
        let codes = signs.bits();
        let (n, width) = (codes.n(), codes.width());
        if n > u32::MAX as usize - 2 * BLOCK {
            return Err(Error::invalid("n", n, "[0, 2^32 - 1024]"));
        }
        let mut lanes = vec![Lane([0; LANES]); n.div_ceil(LANES) * width];
        for row in 0..n {
            for (w, &word) in codes.row(row).iter().enumerate() {
                lanes[row / LANES * width + w].0[row % LANES] = word;
            }
        }
        let projections = signs.projections().to_vec();
        Ok(Self { projections, n, bits: codes.bits(), lanes, kernel })
    }

    /// Number of codes.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// The `k` codes nearest to every query, with their Hamming distances, in the
    /// order (distance, index). Parallel over queries; the answer does not depend on
    /// the number of threads or on the instructions used.
    ///
    /// # Errors
    /// [`Error::Incompatible`] when the queries came from other projections; an invalid `k` (zero).
    pub fn top_k(&self, queries: &Queries<'_, SignCodes>, k: usize) -> Result<Neighbours<u32>> {
        let queries = queries.signs()?;
        let k = self.checked(queries.projections(), k)?;
        let queries = queries.bits();
        let chunks = queries.n().div_ceil(CHUNK);
        let answers: Vec<_> = (0..chunks)
            .into_par_iter()
            .map(|c| self.search_chunk(queries, c * CHUNK..((c + 1) * CHUNK).min(queries.n()), k))
            .collect();
        Ok(Neighbours::collect(k, answers.into_iter().flatten().collect()))
    }

    /// How many rows are found for k of queries that were projected so.
    pub(super) fn checked(&self, projections: &[ProjectionSpec], k: usize) -> Result<usize> {
        same_projections(projections, &self.projections)?;
        if k == 0 {
            return Err(Error::invalid("k", k, "[1, inf)"));
        }
        Ok(k.min(self.n))
    }

    /// The codes, word by word in groups of eight.
    pub(super) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    fn search_chunk(
        &self,
        queries: &PackedBits,
        range: core::ops::Range<usize>,
        k: usize,
    ) -> Vec<Vec<(u32, u32)>> {
        let width = queries.width();
        let mut best: Vec<_> = range.clone().map(|_| Selection::new(self.bits, k)).collect();
        let mut hits = [const { Hits::new() }; TOGETHER];
        if k > 0 {
            for (b, block) in self.lanes.chunks(BLOCK / LANES * width).enumerate() {
                let first = (b * BLOCK) as u32;
                for (i, group) in best.chunks_mut(TOGETHER).enumerate() {
                    let row = range.start + i * TOGETHER;
                    if let Ok(group) = <&mut [Selection; TOGETHER]>::try_from(&mut *group) {
                        self.scan(block, queries, row, first, group, &mut hits);
                    } else {
                        for (j, one) in group.iter_mut().enumerate() {
                            let one = core::array::from_mut(one);
                            self.scan(block, queries, row + j, first, one, &mut hits);
                        }
                    }
                }
            }
        }
        best.into_iter().map(Selection::finish).collect()
    }

    /// Scans one block for `Q` consecutive queries.
    fn scan<const Q: usize>(
        &self,
        block: &[Lane],
        queries: &PackedBits,
        row: usize,
        first: u32,
        best: &mut [Selection; Q],
        hits: &mut [Hits],
    ) {
        let words = core::array::from_fn::<_, Q, _>(|q| queries.row(row + q));
        let thresholds = core::array::from_fn(|q| best[q].threshold);
        self.kernel.scan(queries.width(), block, words, thresholds, first, hits);
        for (best, hits) in best.iter_mut().zip(hits) {
            for &(index, distance) in hits.items() {
                if (index as usize) < self.n {
                    best.offer(index, distance);
                }
            }
            hits.clear();
        }
    }
}

/// The best items of one query so far.
///
/// Invariant: `below` kept items are nearer than `threshold`, fewer than `k` of them,
/// and at least `k` are no farther, unless the threshold is still above every distance.
/// Items come in index order, so one at the threshold loses its tie.
struct Selection {
    k: u32,
    threshold: u32,
    below: u32,
    counts: Vec<u32>,
    kept: Vec<u64>,
}

impl Selection {
    fn new(bits: usize, k: usize) -> Self {
        Self {
            k: k as u32,
            threshold: bits as u32 + 1,
            below: 0,
            counts: vec![0; bits + 1],
            kept: Vec::with_capacity(2 * k),
        }
    }

    #[inline]
    fn offer(&mut self, index: u32, distance: u32) {
        if distance >= self.threshold {
            return;
        }
        if self.kept.len() >= KEEP.max(4 * self.k as usize) {
            self.drop_losers();
        }
        self.kept.push(u64::from(distance) << 32 | u64::from(index));
        self.counts[distance as usize] += 1;
        self.below += 1;
        while self.below >= self.k {
            self.threshold -= 1;
            self.below -= self.counts[self.threshold as usize];
        }
    }

    fn drop_losers(&mut self) {
        let threshold = self.threshold;
        self.kept.retain(|&item| (item >> 32) as u32 <= threshold);
    }

    fn finish(mut self) -> Vec<(u32, u32)> {
        self.drop_losers();
        self.kept.sort_unstable();
        self.kept.truncate(self.k as usize);
        self.kept.iter().map(|&item| (item as u32, (item >> 32) as u32)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::Family;
    use dp_core::PublicSeed;
    use dp_core::noise::NoiseLaw;
    use rand_core::Rng;

    fn signs(n: usize, bits: usize, words: Vec<u64>) -> SignCodes {
        let spec = ProjectionSpec::new(Family::Oporp, bits, bits, PublicSeed::new(1));
        let bits = PackedBits::new(n, bits, words).expect("valid");
        SignCodes::new(vec![spec.expect("valid")], NoiseLaw::None, bits)
    }

    fn random(n: usize, bits: usize, stream: u64) -> SignCodes {
        let mut rng = PublicSeed::new(11).generator(stream);
        let width = bits.div_ceil(64);
        let mut words: Vec<u64> = (0..n * width).map(|_| rng.next_u64()).collect();
        if !bits.is_multiple_of(64) {
            words.chunks_exact_mut(width).for_each(|r| r[width - 1] &= (1 << (bits % 64)) - 1);
        }
        signs(n, bits, words)
    }

    fn naive(codes: &SignCodes, queries: &SignCodes, k: usize) -> Vec<Vec<(u32, u32)>> {
        (0..queries.bits().n())
            .map(|q| {
                let distance = |i| queries.hamming(q, codes, i).expect("same projections");
                let mut all: Vec<_> =
                    (0..codes.bits().n()).map(|i| (distance(i), i as u32)).collect();
                all.sort_unstable();
                all.iter().take(k).map(|&(d, i)| (i, d)).collect()
            })
            .collect()
    }

    fn check(codes: &SignCodes, queries: &SignCodes, k: usize) {
        let expected = naive(codes, queries, k);
        for kernel in Kernel::available() {
            let index = HammingIndex::with_kernel(codes, kernel).expect("fits");
            let found = index.top_k(&Queries::all(queries), k).expect("valid");
            assert_eq!(found.k(), k.min(codes.bits().n()));
            for (q, expected) in expected.iter().enumerate() {
                let pairs = found.indices(q).iter().zip(found.scores(q));
                let pairs: Vec<_> = pairs.map(|(&i, &d)| (i, d)).collect();
                assert_eq!(&pairs, expected, "{kernel:?} query {q} k {k}");
            }
        }
    }

    #[test]
    fn every_kernel_agrees_with_sorting() {
        for bits in [1, 7, 64, 100, 128, 256, 300, 512, 700, 1024] {
            let codes = random(1300, bits, bits as u64);
            let queries = random(7, bits, 5000 + bits as u64);
            for k in [1, 50, 2000] {
                check(&codes, &queries, k);
            }
        }
    }

    #[test]
    fn ties_and_falling_distances() {
        // Few distinct codes: almost every comparison is a tie.
        let few = random(3, 64, 1);
        let words: Vec<u64> = (0..1500).map(|i| few.bits().words()[i * i % 3]).collect();
        check(&signs(1500, 64, words), &random(5, 64, 2), 40);
        // Distances that only fall: the worst order for a threshold.
        let words: Vec<u64> = (0..9000).map(|i| u64::MAX >> (i / 150).min(63)).collect();
        let falling = signs(9000, 64, words);
        check(&falling, &signs(1, 64, vec![0]), 30);
    }

    #[test]
    fn empty_and_mismatched_inputs() {
        let none = signs(0, 64, vec![]);
        let index = HammingIndex::new(&none).expect("fits");
        assert_eq!(index.top_k(&Queries::all(&random(3, 64, 1)), 5).expect("valid").k(), 0);
        assert!(index.top_k(&Queries::all(&random(3, 65, 1)), 5).is_err());
        assert!(index.top_k(&Queries::all(&random(3, 64, 1)), 0).is_err());
        let index = HammingIndex::new(&random(10, 64, 3)).expect("fits");
        assert_eq!(index.top_k(&Queries::all(&none), 5).expect("valid").n(), 0);
    }

    #[test]
    fn signs_of_other_projections_are_refused() {
        let index = HammingIndex::new(&random(10, 64, 3)).expect("fits");
        let spec = ProjectionSpec::new(Family::Oporp, 64, 64, PublicSeed::new(2)).expect("valid");
        let bits = random(1, 64, 4).bits().clone();
        let other = SignCodes::new(vec![spec], NoiseLaw::None, bits);
        let error = index.top_k(&Queries::all(&other), 1).expect_err("other seed").to_string();
        assert!(error.contains("projections"), "{error}");
        assert!(random(1, 64, 3).hamming(0, &other, 0).is_err());
    }

    #[test]
    fn answers_do_not_depend_on_threads() {
        let (codes, queries) = (random(3000, 256, 1), random(200, 256, 2));
        let index = HammingIndex::new(&codes).expect("fits");
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("pool").install(|| index.top_k(&Queries::all(&queries), 20).expect("valid"))
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(8));
    }
}
