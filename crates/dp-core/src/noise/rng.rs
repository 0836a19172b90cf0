//! The secret generator and its numbered streams.

use super::simd::keystream::Keystream;
use crate::error::{Error, Result};
use chacha20::ChaCha12Rng;
use rand_core::{Rng, SeedableRng, TryRng};
use rayon::iter::{IntoParallelIterator, MapWith, ParallelIterator};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Which generator made the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum GeneratorKind {
    /// ChaCha with 12 rounds, keyed by the operating system.
    OsChacha12,
    /// ChaCha with 12 rounds, keyed by the keyed hash of a [release key](crate::parts::ReleaseKey), in the one output of that key.
    ReleaseKeyChacha12,
    /// The same before that output is put together: whoever holds the key can draw it again, for anything. **Not private** by
    /// itself.
    ReleaseKeyPart,
    /// ChaCha with 12 rounds, keyed by a number somebody knows: **not private**.
    DeterministicNotPrivate,
}

impl GeneratorKind {
    /// The weaker of two: what a release must state that drew from both.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        match (self, other) {
            (Self::DeterministicNotPrivate, _) | (_, Self::DeterministicNotPrivate) => {
                Self::DeterministicNotPrivate
            }
            (Self::ReleaseKeyPart, _) | (_, Self::ReleaseKeyPart) => Self::ReleaseKeyPart,
            (Self::OsChacha12, Self::OsChacha12) => Self::OsChacha12,
            _ => Self::ReleaseKeyChacha12,
        }
    }
}

/// The secret noise generator: a ChaCha12 key and a counter of used streams.
///
/// Not `Clone`, not serialisable, wiped on drop. Every operation reserves streams
/// that no later operation can get again, one per block of output, so parallel
/// fills are reproducible and never overlap: stream i is the ChaCha12 key stream of the
/// key under nonce i, `2^64` blocks of 64 bytes.
///
/// ```compile_fail,E0599
/// let rng = dp_core::NoiseRng::from_os().unwrap();
/// let copy = rng.clone();
/// ```
#[derive(ZeroizeOnDrop)]
pub struct NoiseRng {
    key: [u8; 32],
    next: u64,
    #[zeroize(skip)]
    kind: GeneratorKind,
}

impl NoiseRng {
    /// A generator keyed by the operating system.
    ///
    /// # Errors
    /// [`Error::Entropy`] when the system gives no randomness.
    pub fn from_os() -> Result<Self> {
        let mut made = Self { key: [0; 32], next: 0, kind: GeneratorKind::OsChacha12 };
        made.draw_key()?;
        Ok(made)
    }

    /// A generator for tests and reproducible experiments. It is **not private**:
    /// whoever knows the number can subtract the noise. Certificates record it.
    #[must_use]
    pub fn deterministic_not_private(seed: u64) -> Self {
        let mut key = [0u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self { key, next: 0, kind: GeneratorKind::DeterministicNotPrivate }
    }

    /// A generator under a key that was derived from a release key, for one block of one release: whoever derives it
    /// again gets the same streams.
    pub(crate) fn of_release_key(key: [u8; 32]) -> Self {
        Self { key, next: 0, kind: GeneratorKind::ReleaseKeyPart }
    }

    /// Takes a key from the operating system.
    fn draw_key(&mut self) -> Result<()> {
        getrandom::fill(&mut self.key).map_err(|e| Error::Entropy(e.to_string()))?;
        self.next = 0;
        Ok(())
    }

    /// Which generator this is.
    #[must_use]
    pub fn kind(&self) -> GeneratorKind {
        self.kind
    }

    /// Reserves `count` streams for one operation; no later call gets them again, and
    /// each is handed out once.
    ///
    /// A generator keyed by the system takes a new key for each operation: a copy of it, in a child that was forked or in a machine
    /// that was put back from a snapshot, has no key of an operation that is still to come. (A process cannot know that it is a copy:
    /// numbers of processes come again, and name spaces have the same ones.)
    ///
    /// # Panics
    /// After `2^64` streams, which no program lives to see; when the system gives no randomness for a
    /// new key.
    pub fn reserve(&mut self, count: u64) -> NoiseStreams<'_> {
        if self.kind == GeneratorKind::OsChacha12 {
            self.draw_key().expect("the system has randomness for a new key");
        }
        let first = self.next;
        self.next = first.checked_add(count).expect("fewer than 2^64 streams");
        NoiseStreams { key: &self.key, next: first, end: self.next }
    }

    /// One stream, for an operation that needs no more; no later call gets it again.
    ///
    /// # Panics
    /// As [`NoiseRng::reserve`].
    #[must_use]
    pub fn stream(&mut self) -> NoiseStream {
        self.reserve(1).next().expect("one was reserved")
    }
}

impl core::fmt::Debug for NoiseRng {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("NoiseRng").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Streams reserved for one operation, in order: an iterator, sequential or parallel, that
/// gives each stream once. Zip it with the blocks of the output.
///
/// A stream twice is the same noise twice, so there is no other way to get at one:
///
/// ```compile_fail,E0382
/// let mut rng = dp_core::NoiseRng::deterministic_not_private(1);
/// let streams = rng.reserve(2);
/// let (all, again) = (streams.collect::<Vec<_>>(), streams.collect::<Vec<_>>());
/// ```
///
/// ```
/// use dp_core::mechanism::{Basis, Calibrated, Statistic};
/// use dp_core::noise::{AdditiveNoise, GaussianNoise};
/// use dp_core::{Adjacency, Budget, EntryBound, L2Sensitivity, NormBound};
/// use rayon::prelude::*;
///
/// let row = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
/// let sums = Statistic::new(row, L2Sensitivity::new(1.0)?, 1000, EntryBound::new(1e6)?);
/// let basis = Basis::declared("this page", "a row has norm 1");
/// let noise = Calibrated::<GaussianNoise>::calibrate(sums, Budget::new(1.0, 1e-6)?, basis)?;
/// let mut rng = dp_core::NoiseRng::from_os()?;
/// let mut values = vec![0.0; 1000];
/// for (mut stream, block) in rng.reserve(10).zip(values.chunks_mut(100)) {
///     noise.add_block(&mut stream, block)?;
/// }
/// values.par_chunks_mut(100).zip(rng.reserve(10)).try_for_each(|(block, mut stream)| {
///     noise.add_block(&mut stream, block)
/// })?;
/// # Ok::<(), dp_core::Error>(())
/// ```
pub struct NoiseStreams<'a> {
    key: &'a [u8; 32],
    next: u64,
    end: u64,
}

impl Iterator for NoiseStreams<'_> {
    type Item = NoiseStream;

    fn next(&mut self) -> Option<NoiseStream> {
        (self.next < self.end).then(|| {
            self.next += 1;
            NoiseStream::new(self.key, self.next - 1)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.end - self.next);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

/// More than `usize::MAX` streams fit no memory.
impl ExactSizeIterator for NoiseStreams<'_> {}
impl core::iter::FusedIterator for NoiseStreams<'_> {}

impl NoiseStreams<'_> {
    /// Takes the next `count` streams out, or what is left: for output in blocks of blocks.
    #[must_use]
    pub fn split_front(&mut self, count: u64) -> Self {
        let first = self.next;
        self.next = self.end.min(first.saturating_add(count));
        Self { key: self.key, next: first, end: self.next }
    }
}

/// Key and number of the first stream.
type Origin<'a> = (&'a [u8; 32], u64);

impl<'a> IntoParallelIterator for NoiseStreams<'a> {
    type Item = NoiseStream;
    type Iter =
        MapWith<rayon::range::Iter<usize>, Origin<'a>, fn(&mut Origin<'a>, usize) -> NoiseStream>;

    fn into_par_iter(self) -> Self::Iter {
        fn stream<'a>(&mut (key, first): &mut Origin<'a>, index: usize) -> NoiseStream {
            NoiseStream::new(key, first + index as u64)
        }
        (0..self.len()).into_par_iter().map_with((self.key, self.next), stream as _)
    }
}

/// Words from which on generating many blocks at once pays.
const LONG_RUN: usize = 64;

/// The secret bits of one block of output; wiped when dropped.
///
/// Never `Clone` and never serialisable, like its generator:
///
/// ```compile_fail,E0599
/// let mut rng = dp_core::NoiseRng::deterministic_not_private(1);
/// let copy = rng.stream().clone();
/// ```
pub struct NoiseStream {
    rng: ChaCha12Rng,
}

impl NoiseStream {
    fn new(key: &[u8; 32], nonce: u64) -> Self {
        let mut rng = ChaCha12Rng::from_seed(*key);
        rng.set_stream(nonce);
        Self { rng }
    }

    /// Whether nothing was drawn from it yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.rng.get_word_pos() == 0
    }

    /// The words of the stream from word `at` on, without moving it.
    pub(crate) fn words_at(&self, at: u64, out: &mut [u64]) {
        let mut rng = ChaCha12Rng::from_seed(self.rng.get_seed());
        rng.set_stream(self.rng.get_stream());
        rng.set_word_pos(2 * u128::from(at));
        Self { rng }.fill_words(out);
    }

    /// The next words of the stream, the same that repeated `next_u64` would give.
    pub(crate) fn fill_words(&mut self, out: &mut [u64]) {
        // In words of 32 bits.
        let at = self.rng.get_word_pos();
        let mut out = out;
        if out.len() >= LONG_RUN && at.is_multiple_of(2) {
            let fast = Keystream::new(self.rng.get_seed(), self.rng.get_stream());
            if let Some(fast) = fast {
                // To the end of a block: the cipher goes on there, and has the next words ready.
                let past = (at / 2 + out.len() as u128) % 8;
                let (whole, rest) = out.split_at_mut(out.len() - past as usize);
                fast.fill(at / 2, whole);
                self.rng.set_word_pos(at + 2 * whole.len() as u128);
                out = rest;
            }
        }
        let mut bytes = [0u8; 512];
        for chunk in out.chunks_mut(64) {
            let bytes = &mut bytes[..8 * chunk.len()];
            self.rng.fill_bytes(bytes);
            for (word, bytes) in chunk.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        }
        bytes.zeroize();
    }
}

/// The cipher wipes its state and its buffer.
impl ZeroizeOnDrop for NoiseStream {}

impl TryRng for NoiseStream {
    type Error = core::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(self.rng.next_u32())
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.rng.next_u64())
    }
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Self::Error> {
        self.rng.fill_bytes(dst);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weaker_of_two_generators_is_stated() {
        use GeneratorKind::{
            DeterministicNotPrivate, OsChacha12, ReleaseKeyChacha12, ReleaseKeyPart,
        };
        let strongest_first =
            [OsChacha12, ReleaseKeyChacha12, ReleaseKeyPart, DeterministicNotPrivate];
        for (i, a) in strongest_first.into_iter().enumerate() {
            for (j, b) in strongest_first.into_iter().enumerate() {
                assert_eq!(a.weaker(b), strongest_first[i.max(j)], "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn long_runs_are_the_words_one_by_one() {
        let key = NoiseRng::deterministic_not_private(0x0123_4567_89ab_cdef).key;
        for nonce in [0, 4] {
            let (mut runs, mut single) =
                (NoiseStream::new(&key, nonce), NoiseStream::new(&key, nonce));
            // Far enough to carry into the upper half of the block counter.
            for start in [0u128, 8, (1 << 36) - 64, (1 << 68) - (1 << 20)] {
                runs.rng.set_word_pos(start);
                single.rng.set_word_pos(start);
                for (i, length) in
                    [512, 1, 512, 64, 65, 63, 7, 300, 128, 129, 0, 2000].iter().enumerate()
                {
                    let mut run = vec![0; *length];
                    runs.fill_words(&mut run);
                    let expected: Vec<u64> = (0..*length).map(|_| single.rng.next_u64()).collect();
                    assert!(run == expected, "run {i} of {length} words from {start}");
                    // Off the boundaries of blocks, and once off those of words.
                    if i % 3 == 2 {
                        assert_eq!(runs.next_u64(), single.next_u64());
                    }
                    if i == 8 {
                        assert_eq!(runs.next_u32(), single.next_u32());
                    }
                }
            }
        }
    }

    #[test]
    fn a_copy_has_no_key_of_what_is_to_come() {
        let first = |rng: &mut NoiseRng| rng.stream().next_u64();
        let mut rng = NoiseRng::from_os().unwrap();
        // As a fork or a snapshot leaves it, whatever the number of its process.
        let mut copy = NoiseRng { key: rng.key, next: rng.next, kind: rng.kind };
        let (key, one, other) = (rng.key, first(&mut rng), first(&mut copy));
        assert!(one != other && rng.key != copy.key && rng.key != key && copy.key != key);
        let keys: std::collections::BTreeSet<_> =
            (0..8).map(|_| (rng.reserve(3).len(), rng.key).1).collect();
        assert_eq!((keys.len(), rng.next), (8, 3));
        // What tests repeat is theirs to repeat, and so are the parts of a release key.
        for known in
            [NoiseRng::deterministic_not_private, |n| NoiseRng::of_release_key([n as u8; 32])]
        {
            let (mut one, mut other) = (known(1), known(1));
            assert_eq!(first(&mut one), first(&mut other));
            assert!(first(&mut one) != first(&mut known(1)), "no stream twice");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_fast_stream_is_in_use_where_it_can_be() {
        let fast = Keystream::new([7; 32], 1);
        assert_eq!(fast.is_some(), is_x86_feature_detected!("avx512f"));
    }
}
