//! Sets of items, and how words become items.

use crate::error::{Error, Result};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A set of 64-bit items: sorted, without repetitions, never empty.
///
/// # Privacy
/// `Debug` prints the size class only; items are private data.
#[derive(Clone, PartialEq, Eq)]
pub struct ItemSet(Vec<u64>);

impl ItemSet {
    /// Sorts the items and drops repetitions.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] for no item at all: the minimum hash of an empty set does not exist.
    pub fn new(mut items: Vec<u64>) -> Result<Self> {
        if items.is_empty() {
            return Err(Error::invalid("items in a set", 0, "[1, inf)"));
        }
        items.sort_unstable();
        items.dedup();
        Ok(Self(items))
    }

    /// Hashes words and makes the set of the results: XXH3 with 64 bits and seed zero over the UTF-8
    /// bytes, on every machine. Two different words collide with probability about `2^-64`.
    ///
    /// # Errors
    /// As [`ItemSet::new`].
    pub fn from_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        Self::new(words.into_iter().map(Self::item).collect())
    }

    /// The item that a word becomes, as in [`ItemSet::from_words`].
    #[must_use]
    pub fn item(word: &str) -> u64 {
        xxh3_64_with_seed(word.as_bytes(), 0)
    }

    /// The items, in increasing order.
    #[must_use]
    pub fn items(&self) -> &[u64] {
        &self.0
    }

    /// Number of items.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Number of items in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> usize {
        let (a, b) = (&self.0, &other.0);
        let (mut i, mut j, mut common) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            let (x, y) = (a[i], b[j]);
            common += usize::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        common
    }

    /// Jaccard similarity `|A and B| / |A or B|`.
    #[must_use]
    pub fn jaccard(&self, other: &Self) -> f64 {
        let common = self.intersection(other);
        common as f64 / (self.len() + other.len() - common) as f64
    }
}

impl core::fmt::Debug for ItemSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ItemSet(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_sorted_unique_and_not_empty() {
        let set = ItemSet::new(vec![5, 1, 5, 3]).expect("not empty");
        assert_eq!(set.items(), [1, 3, 5]);
        let error = ItemSet::new(vec![]).expect_err("empty").to_string();
        assert!(error.contains("items in a set = 0"), "{error}");
        assert!(!format!("{set:?}").contains('5'), "items are private");
    }

    #[test]
    fn jaccard_counts_by_hand() {
        let a = ItemSet::new(vec![1, 2, 3, 4]).expect("set");
        let b = ItemSet::new(vec![3, 4, 5]).expect("set");
        assert_eq!(a.intersection(&b), 2);
        assert_eq!(a.jaccard(&b), 0.4);
        assert_eq!(a.jaccard(&a), 1.0);
    }

    #[test]
    fn word_hash_is_the_published_one() {
        // XXH3 64 of the empty string, seed 0, from the xxHash specification's test values.
        assert_eq!(ItemSet::item(""), 0x2D06_8005_38D3_94C2);
    }
}
