//! Public groups of items.

use super::hash::{HashFamily, reduce};
use super::items::ItemSet;
use crate::error::{Error, Result};
use dp_core::PublicSeed;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A public assignment of items to groups; an item that is in no list is in the group that a public hash function names.
///
/// An item is in one group, **whatever the groups are**: they may follow from what is known of items, from a file, or from
/// a public sample of sets, and never from the sets that are released. They are published with the release.
///
/// # References
/// `docs/proofs/group-counts.md`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<u64>>", into = "Vec<Vec<u64>>")]
pub struct ItemGroups(Arc<Assigned>);

#[derive(PartialEq, Eq)]
struct Assigned {
    /// Every item with its group, by item.
    items: Vec<(u64, u32)>,
    groups: usize,
}

/// Most items in groups: their list stands in the release's parameters, which hold a million bytes.
const MOST: usize = 1 << 15;
/// Sets that one task counts.
const SETS: usize = 64;

impl ItemGroups {
    /// The items of each group.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless there are 1 to 2^15 items in groups, each in one.
    pub fn new(groups: &[ItemSet]) -> Result<Self> {
        let total: usize = groups.iter().map(ItemSet::len).sum();
        if !(1..=MOST).contains(&total) {
            let allowed = "1 to 2^15; the rarest can be left out";
            return Err(Error::invalid("items in groups", total, allowed));
        }
        let of = |(g, set): (usize, &ItemSet)| {
            set.items().iter().map(|&item| (item, g as u32)).collect::<Vec<_>>()
        };
        let mut items: Vec<(u64, u32)> = groups.iter().enumerate().flat_map(of).collect();
        items.sort_unstable();
        if let Some(pair) = items.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let both = format!("one item in groups {} and {}", pair[0].1 + 1, pair[1].1 + 1);
            return Err(Error::invalid("groups of items", both, "each item in one group"));
        }
        Ok(Self(Arc::new(Assigned { items, groups: groups.len() })))
    }

    /// Groups.
    #[must_use]
    pub fn k(&self) -> usize {
        self.0.groups
    }

    /// How many items of each group every set has, row after row.
    pub(super) fn counts(&self, sets: &[ItemSet]) -> Vec<u32> {
        let (k, hash) = (self.k(), HashFamily::new(PublicSeed::new(0), 0));
        let mut out = vec![0u32; sets.len() * k];
        out.par_chunks_mut(k * SETS).zip(sets.par_chunks(SETS)).for_each(|(rows, sets)| {
            for (row, set) in rows.chunks_mut(k).zip(sets) {
                set.items().iter().for_each(|item| row[self.group(*item, &hash)] += 1);
            }
        });
        out
    }

    fn group(&self, item: u64, hash: &HashFamily) -> usize {
        let Assigned { items, groups } = &*self.0;
        match items.binary_search_by_key(&item, |(item, _)| *item) {
            Ok(at) => items[at].1 as usize,
            Err(_) => reduce((hash.premix(item) >> 32) as u32, *groups as u32) as usize,
        }
    }

    /// What certificates state of it.
    pub(super) fn digest(&self) -> String {
        dp_core::release_file::fingerprint(self)
    }
}

impl core::fmt::Debug for ItemGroups {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Assigned { items, groups } = &*self.0;
        write!(f, "ItemGroups({groups} of {} items, {})", items.len(), self.digest())
    }
}

impl TryFrom<Vec<Vec<u64>>> for ItemGroups {
    type Error = Error;

    fn try_from(lists: Vec<Vec<u64>>) -> Result<Self> {
        // One content has one text.
        if lists.iter().any(|list| !list.is_sorted_by(|a, b| a < b)) {
            let allowed = "increasing, without repetitions";
            return Err(Error::invalid("items of a group", "in another order", allowed));
        }
        Self::new(&lists.into_iter().map(ItemSet::new).collect::<Result<Vec<_>>>()?)
    }
}

impl From<ItemGroups> for Vec<Vec<u64>> {
    fn from(groups: ItemGroups) -> Self {
        let mut lists = vec![Vec::new(); groups.0.groups];
        groups.0.items.iter().for_each(|&(item, g)| lists[g as usize].push(item));
        lists
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(items: &[u64]) -> ItemSet {
        ItemSet::new(items.to_vec()).expect("a set")
    }

    #[test]
    fn items_are_counted_in_their_group_or_where_their_hash_says() {
        let groups = ItemGroups::new(&[set(&[3, 1]), set(&[u64::MAX])]).expect("groups");
        assert_eq!(groups.k(), 2);
        let counts = groups.counts(&[set(&[1, 3]), set(&[1, u64::MAX]), set(&[3])]);
        assert_eq!(counts, [2, 0, 1, 1, 1, 0]);
        // Others are about as often in each group: 500 of 1000 within 5 deviations.
        let others = groups.counts(&[set(&(100..1100).collect::<Vec<_>>())]);
        assert!(others[0].abs_diff(500) < 80 && others[0] + others[1] == 1000, "{others:?}");
        let text = serde_json::to_string(&groups).expect("text");
        assert_eq!(text, "[[1,3],[18446744073709551615]]");
        assert_eq!(serde_json::from_str::<ItemGroups>(&text).expect("read"), groups);
        assert_ne!(groups.digest(), ItemGroups::new(&[set(&[3, 1])]).expect("groups").digest());
    }

    #[test]
    fn assignments_that_are_none_are_refused() {
        assert!(ItemGroups::new(&[]).is_err());
        assert!(ItemGroups::new(&[set(&[1, 2]), set(&[3]), set(&[4, 2])]).is_err());
        let all: Vec<u64> = (0..=MOST as u64).collect();
        assert!(ItemGroups::new(&[set(&all)]).is_err());
        assert!(ItemGroups::new(&[set(&all[1..])]).is_ok());
        for text in
            ["[]", "[[]]", "[[2,1]]", "[[1,1]]", "[[1],[1]]", "[[1],[]]", "[[-1]]", "[[1.5]]"]
        {
            assert!(serde_json::from_str::<ItemGroups>(text).is_err(), "{text}");
        }
    }
}
