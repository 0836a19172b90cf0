//! One-permutation hashing, bare and with optimal densification.

use super::hash::{HashFamily, reduce};
use super::items::ItemSet;
use super::signature::{Fill, Scheme, Scratch, SetSketch};
use crate::error::{Error, Result};
use dp_core::PublicSeed;
use rand_core::Rng;

/// Marks a bin that no item fell into.
pub const EMPTY_BIN: u32 = u32::MAX;

/// One hash an item: it names a bin, and the least hash of each bin is kept
/// (Li, Owen, Zhang 2012). Bins without items hold [`EMPTY_BIN`].
///
/// # Privacy
/// An item falls into exactly one bin, whatever the hash functions: sets that differ in
/// `alpha` items differ in at most `alpha` bins. This is what [`super::BinResponse`] builds on.
#[derive(Debug, Clone)]
pub struct OnePermutation {
    family: HashFamily,
    bins: u32,
}

impl OnePermutation {
    /// A sketch of `bins` bins.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless `bins` is in `[1, 2^20]`.
    pub fn new(bins: usize, seed: PublicSeed) -> Result<Self> {
        if !(1..=1 << 20).contains(&bins) {
            return Err(Error::invalid("bins", bins, "[1, 1048576]"));
        }
        Ok(Self { family: HashFamily::new(seed, 1), bins: bins as u32 })
    }

    #[inline]
    fn throw(&self, item: u64, row: &mut [u32]) {
        let h = self.family.hash(0, self.family.premix(item));
        let bin = reduce((h >> 32) as u32, self.bins) as usize;
        if let Some(least) = row.get_mut(bin) {
            *least = (*least).min(h as u32 >> 1);
        }
    }
}

impl SetSketch for OnePermutation {
    fn scheme(&self) -> Scheme {
        Scheme::new("one-permutation", self.slots(), self.family.seed())
    }

    fn slots(&self) -> usize {
        self.bins as usize
    }
}

impl Fill for OnePermutation {
    fn sketch_into(&self, set: &ItemSet, row: &mut [u32], _: &mut Scratch) {
        assert_eq!(row.len(), self.slots());
        row.fill(EMPTY_BIN);
        for &item in set.items() {
            self.throw(item, row);
        }
    }
}

/// Share of equal bins among those that are not empty in both rows: an **unbiased** estimate of
/// the Jaccard similarity from bare bins (Li, Owen & Zhang 2012). Given which bins the union fills, the
/// least item of each is common with probability J.
///
/// Two rows without any full bin (which no sets give) count as similarity zero.
#[must_use]
pub fn bin_similarity(a: &[u32], b: &[u32]) -> f64 {
    let (mut equal, mut both_empty) = (0u32, 0u32);
    for (&x, &y) in a.iter().zip(b) {
        equal += u32::from(x == y);
        both_empty += u32::from(x & y == EMPTY_BIN);
    }
    let full = a.len() as u32 - both_empty;
    f64::from(equal - both_empty) / f64::from(full.max(1))
}

/// One-permutation hashing whose empty bins copy a bin chosen by a hash of their own number
/// (optimal densification, Shrivastava 2017): agreement is unbiased for Jaccard similarity.
///
/// # Privacy
/// A bin may be copied into many others, so one item can change many slots: private releases
/// use the bare bins of [`OnePermutation`], where "empty" is one more symbol.
///
/// # References
/// A. Shrivastava, *Optimal densification for fast and accurate minwise hashing*, ICML 2017.
#[derive(Debug, Clone)]
pub struct DenseOnePermutation {
    bare: OnePermutation,
    /// `PROBES` rounds of one random bin for every bin; the same for all sets, as the proof asks.
    probes: Vec<u32>,
}

/// Random choices stored a bin; the (rare) later ones are derived.
const PROBES: usize = 16;

/// Stream of the public generator that densification choices come from.
const PROBE_STREAM: u64 = 0x6f70;

impl DenseOnePermutation {
    /// A sketch of `bins` bins.
    ///
    /// # Errors
    /// As [`OnePermutation::new`].
    pub fn new(bins: usize, seed: PublicSeed) -> Result<Self> {
        let bare = OnePermutation::new(bins, seed)?;
        let mut rng = seed.generator(PROBE_STREAM);
        let probes = (0..bins * PROBES).map(|_| reduce(rng.next_u32(), bare.bins)).collect();
        Ok(Self { bare, probes })
    }

    /// A later choice of `bin`, for the rare case that all stored ones are empty.
    #[cold]
    fn late_source(&self, bin: u32, bare: &[u32]) -> usize {
        let mut x = self.bare.family.premix(u64::from(bin));
        loop {
            x = self.bare.family.premix(x).rotate_left(23);
            let probe = reduce((x >> 32) as u32, self.bare.bins) as usize;
            if bare[probe] != EMPTY_BIN {
                return probe;
            }
        }
    }
}

impl SetSketch for DenseOnePermutation {
    fn scheme(&self) -> Scheme {
        Scheme::new("one-permutation-dense", self.slots(), self.bare.family.seed())
    }

    fn slots(&self) -> usize {
        self.bare.slots()
    }
}

impl Fill for DenseOnePermutation {
    fn sketch_into(&self, set: &ItemSet, row: &mut [u32], scratch: &mut Scratch) {
        self.bare.sketch_into(set, row, scratch);
        // The bare bins, then the bins that still need a source.
        let bins = row.len();
        scratch.slots.clear();
        scratch.slots.extend_from_slice(row);
        scratch.slots.resize(2 * bins, 0);
        let (bare, waiting) = scratch.slots.split_at_mut(bins);
        let mut left = 0;
        for (bin, &value) in bare.iter().enumerate() {
            waiting[left] = bin as u32;
            left += usize::from(value == EMPTY_BIN);
        }
        for probes in self.probes.chunks_exact(bins) {
            if left == 0 {
                return;
            }
            let mut still = 0;
            for i in 0..left {
                let bin = waiting[i];
                let value = bare[probes[bin as usize] as usize];
                row[bin as usize] = value;
                waiting[still] = bin;
                still += usize::from(value == EMPTY_BIN);
            }
            left = still;
        }
        for &bin in &waiting[..left] {
            row[bin as usize] = bare[self.late_source(bin, bare)];
        }
    }
}
