//! Sets of items drawn at random with the shape of data that may not be shipped.

use super::ItemSets;
use dp_core::PublicSeed;
use rand_core::Rng;
use sketch::sets::ItemSet;

/// Data that a stand-in has the shape of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StandIn {
    /// The films that a user rated highest: MovieLens of HetRec 2011, 2,113 users and 10,197 films.
    Ratings,
    /// The artists that a user played most, 20 of them: Last.FM of HetRec 2011, 1,892 users and 17,632 artists.
    Listening,
}

/// Groups of items that are liked together.
const TASTES: usize = 40;
/// Share of a set that comes from the user's own two tastes; the rest is what everybody likes.
const OWN: f64 = 0.7;

impl StandIn {
    fn users_and_items(self) -> (usize, usize) {
        match self {
            Self::Ratings => (2_113, 10_197),
            Self::Listening => (1_892, 17_632),
        }
    }

    /// Sets of users: the popularity of items falls like one over their rank, in all and in every taste.
    ///
    /// # Panics
    /// Never: sets are not empty.
    #[must_use]
    pub(crate) fn draw(self, seed: PublicSeed) -> ItemSets {
        let (users, items) = self.users_and_items();
        let mut rng = seed.generator(0);
        let mut uniform = || (rng.next_u64() >> 11) as f64 * 2f64.powi(-53);
        let all = cumulative(items);
        let taste = cumulative(items / TASTES);
        let sets = (0..users).map(|_| {
            let size = match self {
                // Log-normal about 45: from 20 on, as the experiments keep them.
                Self::Ratings => {
                    let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                    ((45.0 * (0.7 * normal).exp()) as usize).clamp(20, 400)
                }
                Self::Listening => 20,
            };
            let own = [0, 1].map(|_| (uniform() * TASTES as f64) as usize);
            let mut chosen = std::collections::BTreeSet::new();
            while chosen.len() < size {
                let item = if uniform() < OWN {
                    let of = own[usize::from(uniform() < 0.3)];
                    // A taste holds every fortieth item: popular ones and rare ones.
                    rank(&taste, uniform()) * TASTES + of
                } else {
                    rank(&all, uniform())
                };
                chosen.insert(item as u64);
            }
            ItemSet::new(chosen.into_iter().collect()).expect("not empty")
        });
        let sets = sets.collect();
        let (name, what) = match self {
            Self::Ratings => ("Ratings like MovieLens", "films"),
            Self::Listening => ("Listening like Last.FM", "artists"),
        };
        let rule = format!("drawn at random: {users} users, {items} {what}, two tastes a user");
        ItemSets { name: name.into(), rule, sets }
    }
}

/// Cumulated weights 1/1, 1/2, ..., scaled to end at 1.
fn cumulative(n: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let mut all: Vec<f64> = (1..=n).map(|i| (sum += 1.0 / i as f64, sum).1).collect();
    all.iter_mut().for_each(|c| *c /= sum);
    all
}

/// The place of a uniform number among cumulated weights.
fn rank(cumulated: &[f64], uniform: f64) -> usize {
    cumulated.partition_point(|&c| c <= uniform).min(cumulated.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_have_the_shape_that_they_name_and_follow_the_seed() {
        for (kind, users, items) in
            [(StandIn::Ratings, 2_113, 10_197), (StandIn::Listening, 1_892, 17_632)]
        {
            let sets = kind.draw(PublicSeed::new(1));
            assert_eq!(sets.sets.len(), users);
            assert!(sets.sets.iter().all(|s| s.items().iter().all(|&i| i < items)));
            let least = sets.sets.iter().map(ItemSet::len).min();
            assert_eq!(least, Some(20));
            assert!(sets.sets == kind.draw(PublicSeed::new(1)).sets);
            assert!(sets.sets != kind.draw(PublicSeed::new(2)).sets);
        }
        let mean = StandIn::Ratings.draw(PublicSeed::new(1)).mean_size();
        // 45 e^(0.49 / 2) = 57.5, a little less after the cut.
        assert!((50.0..65.0).contains(&mean), "{mean}");
    }

    #[test]
    fn the_first_item_is_the_most_likely() {
        let all = cumulative(3);
        // 1, 1/2, 1/3 of 11/6.
        assert_eq!([0.0, 0.54, 0.55, 0.81, 0.82, 0.999].map(|u| rank(&all, u)), [0, 0, 1, 1, 2, 2]);
    }
}
