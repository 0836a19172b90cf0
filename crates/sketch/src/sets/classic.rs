//! MinHash with independent slots.

use super::hash::{HashFamily, fold};
use super::items::ItemSet;
use super::signature::{Fill, Scheme, Scratch, SetSketch};
use crate::error::{Error, Result};
use dp_core::PublicSeed;

/// MinHash: slot `j` holds the hash of the item with the least `h_j` (Broder 1997).
///
/// `Pr[slot of A = slot of B] = |A and B| / |A or B|`, independently over the slots (random
/// function model; different minima collide in their low 32 bits with probability `2^-32`).
///
/// # Cost
/// One hash an item and slot. [`super::FastSimilarity`] needs far fewer; this one is for
/// the private mechanisms, whose analysis needs independent slots.
#[derive(Debug, Clone)]
pub struct MinHash {
    family: HashFamily,
}

impl MinHash {
    /// MinHash with `slots` slots.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless `slots` is in `[1, 2^20]`.
    pub fn new(slots: usize, seed: PublicSeed) -> Result<Self> {
        if !(1..=1 << 20).contains(&slots) {
            return Err(Error::invalid("slots", slots, "[1, 1048576]"));
        }
        Ok(Self { family: HashFamily::new(seed, slots) })
    }

    /// The hashes of all items under one function.
    pub(super) fn hashes(&self, function: usize, set: &ItemSet) -> Vec<u64> {
        let hash = |&item| self.family.hash(function, self.family.premix(item));
        set.items().iter().map(hash).collect()
    }

    /// The 64-bit minima of all slots.
    pub(super) fn minima(&self, set: &ItemSet, out: &mut [u64]) {
        // All items under one function, then under the next: the least stays in a register, where a product of 64 bits is
        // cheaper than in lanes that have none.
        let items: Vec<u64> = set.items().iter().map(|&item| self.family.premix(item)).collect();
        // Four minima at a time: a product need not wait for the comparison before.
        let (fours, rest) = items.as_chunks::<4>();
        for (j, least) in out.iter_mut().enumerate() {
            let (a, b) = self.family.keys(j);
            let mut all = [u64::MAX; 4];
            for four in fours {
                all.iter_mut()
                    .zip(four)
                    .for_each(|(least, &x)| *least = (*least).min(fold(x, a, b)));
            }
            let all = all.into_iter().chain(rest.iter().map(|&x| fold(x, a, b)));
            *least = all.fold(u64::MAX, u64::min);
        }
    }
}

impl SetSketch for MinHash {
    fn scheme(&self) -> Scheme {
        Scheme::new("minhash", self.slots(), self.family.seed())
    }

    fn slots(&self) -> usize {
        self.family.functions()
    }
}

impl Fill for MinHash {
    fn sketch_into(&self, set: &ItemSet, row: &mut [u32], scratch: &mut Scratch) {
        assert_eq!(row.len(), self.slots());
        scratch.words.resize(self.slots(), 0);
        self.minima(set, &mut scratch.words);
        for (slot, least) in row.iter_mut().zip(&scratch.words) {
            // The low half is nearly free of the high half that decides the minimum.
            *slot = *least as u32;
        }
    }
}
