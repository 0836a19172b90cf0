//! One-permutation hashing, bare and with optimal densification.

use super::error::{Error, Result};
use super::hash::{HashFamily, reduce};
use super::items::ItemSet;
use super::signature::{Scheme, SetSketch};
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
    /// [`Error::InvalidParameter`] unless `bins` is in `[1, 2^20]`.
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

    fn sketch_into(&self, set: &ItemSet, row: &mut [u32]) {
        assert_eq!(row.len(), self.slots());
        row.fill(EMPTY_BIN);
        for &item in set.items() {
            self.throw(item, row);
        }
    }
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
    /// `PROBES` random bins for every bin; the same for all sets, as the proof asks.
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

    /// The first non-empty bin among the choices of `bin`.
    #[inline]
    fn source(&self, bin: usize, row: &[u32]) -> usize {
        for &probe in &self.probes[bin * PROBES..(bin + 1) * PROBES] {
            if row[probe as usize] != EMPTY_BIN {
                return probe as usize;
            }
        }
        let mut x = self.bare.family.premix(bin as u64);
        loop {
            x = self.bare.family.premix(x);
            let probe = reduce((x >> 32) as u32, self.bare.bins) as usize;
            if row[probe] != EMPTY_BIN {
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

    fn sketch_into(&self, set: &ItemSet, row: &mut [u32]) {
        self.bare.sketch_into(set, row);
        // Written after all were chosen: only original bins are sources.
        let mut copies: Vec<(u32, u32)> = Vec::with_capacity(row.len());
        for bin in 0..row.len() {
            if row[bin] == EMPTY_BIN {
                copies.push((bin as u32, row[self.source(bin, row)]));
            }
        }
        for (bin, value) in copies {
            row[bin as usize] = value;
        }
    }
}
