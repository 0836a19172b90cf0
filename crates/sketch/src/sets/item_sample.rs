//! Groups of items from public sets: what is often in one set is counted together.

use super::counts::noise_scale;
use super::item_groups::ItemGroups;
use super::items::ItemSet;
use crate::error::{Error, Result};
use crate::projection::{Groups, PublicMoments, cut, sizes};
use crate::rows::RowsView;
use crate::vectors::Posterior;
use dp_core::noise::NoiseLaw;
use dp_core::{Budget, LaplaceScale, PublicGenerator, PublicSeed};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par, Side};
use kodama::{Method, linkage};
use rand_core::Rng;
use rayon::prelude::*;
use std::collections::HashMap;

/// Fewest and most public sets: likenesses of all pairs are held.
const SAMPLE: core::ops::RangeInclusive<usize> = 16..=1 << 10;
/// Most items that are grouped, the most frequent ones: distances of all pairs are held.
const ITEMS: usize = 1 << 12;
/// Most groups.
const GROUPS: usize = 1 << 9;
/// Directions in which items are told apart.
const DIRECTIONS: usize = 60;

impl ItemGroups {
    /// Groups of the items that are often in one set, from public sets: those that the noise for this many items and budget
    /// lets find most of the likest sets, tried among these sets themselves.
    ///
    /// Items lie in the leading directions of the public sets, each at length one, and are merged by Ward's linkage.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless there are 16 to 1024 sets, two items at least are in two of them, and as
    /// [`GroupCounts::calibrate`](super::GroupCounts::calibrate).
    pub fn of_sample(sets: &[ItemSet], alpha: u64, budget: Budget) -> Result<Self> {
        let scale = noise_scale(alpha, budget)?;
        if !SAMPLE.contains(&sets.len()) {
            return Err(Error::invalid("sets of a public sample", sets.len(), "[16, 1024]"));
        }
        let items = frequent(sets);
        if items.len() < 2 {
            let allowed = "at least 2: others say nothing of what goes together";
            return Err(Error::invalid("items in two public sets", items.len(), allowed));
        }
        let merges = merged(&items, sets.len())?;
        let likest = Likest::of(sets);
        let (mut best, mut most) = (None, -1.0);
        for k in sizes(items.len()).filter(|k| (2..=GROUPS).contains(k)) {
            let mut groups = vec![Vec::new(); k];
            let of = cut(&merges, items.len(), k);
            items.iter().zip(of).for_each(|((item, _), g)| groups[g].push(*item));
            let groups: Vec<ItemSet> =
                groups.into_iter().map(ItemSet::new).collect::<Result<_>>()?;
            let groups = Self::new(&groups)?;
            let found = likest.found(&groups, sets, scale)?;
            if found > most {
                (best, most) = (Some(groups), found);
            }
        }
        best.ok_or_else(|| Error::invalid("items in two public sets", items.len(), "at least 2"))
    }
}

/// The items that are in two sets at least, the most frequent first, with the sets that each is in.
fn frequent(sets: &[ItemSet]) -> Vec<(u64, Vec<usize>)> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (i, set) in sets.iter().enumerate() {
        set.items().iter().for_each(|item| places.entry(*item).or_default().push(i));
    }
    let mut items: Vec<(u64, Vec<usize>)> =
        places.into_iter().filter(|(_, sets)| sets.len() > 1).collect();
    items.sort_unstable_by_key(|(item, sets)| (usize::MAX - sets.len(), *item));
    items.truncate(ITEMS);
    items
}

/// The merges of Ward's linkage.
fn merged(items: &[(u64, Vec<usize>)], n: usize) -> Result<Vec<[usize; 2]>> {
    // Leading directions of sets, each item weighing as much as any other.
    let mut gram = Mat::<f64>::zeros(n, n);
    for (_, sets) in items {
        for &i in sets {
            sets.iter().for_each(|&j| gram[(i, j)] += 1.0 / sets.len() as f64);
        }
    }
    let eigen = gram.self_adjoint_eigen(Side::Lower).map_err(|_| Error::Undefined {
        what: "directions of a public sample",
        reason: "the eigenvalue iteration did not converge",
    })?;
    let (vectors, r) = (eigen.U(), DIRECTIONS.min(n));
    let place = |(_, sets): &(u64, Vec<usize>)| {
        let along = |c: usize| sets.iter().map(|&i| vectors[(i, n - 1 - c)]).sum::<f64>();
        unit((0..r).map(along).collect())
    };
    let places: Vec<Vec<f64>> = items.iter().map(place).collect();
    let apart = |(a, b): (&Vec<f64>, &Vec<f64>)| {
        a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
    };
    let rows = (0..places.len()).into_par_iter().flat_map_iter(|i| {
        let place = &places[i];
        places[i + 1..].iter().map(move |other| apart((place, other)))
    });
    let mut distances: Vec<f64> = rows.collect();
    let steps = linkage(&mut distances, places.len(), Method::Ward);
    Ok(steps.steps().iter().map(|s| [s.cluster1, s.cluster2]).collect())
}

fn unit(mut place: Vec<f64>) -> Vec<f64> {
    let norm = place.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    place.iter_mut().for_each(|x| *x /= norm);
    place
}

/// The likest other sets of each.
struct Likest {
    of: Vec<Vec<usize>>,
    returned: usize,
}

impl Likest {
    fn of(sets: &[ItemSet]) -> Self {
        let near = (sets.len() / 100).max(1);
        let of = (0..sets.len()).into_par_iter().map(|i| {
            let score = |j: usize| if i == j { -1.0 } else { sets[i].jaccard(&sets[j]) };
            largest((0..sets.len()).map(score).collect(), near)
        });
        Self { of: of.collect(), returned: (5 * near).min(sets.len() - 1) }
    }

    /// The share of them that a search of noisy counts finds among five times as many; the noise is a simulation's.
    fn found(&self, groups: &ItemGroups, sets: &[ItemSet], scale: LaplaceScale) -> Result<f64> {
        let (n, k) = (sets.len(), groups.k());
        let exact: Vec<f64> = groups.counts(sets).into_iter().map(f64::from).collect();
        if exact.chunks_exact(k).all(|row| *row == exact[..k]) {
            // All sets look alike.
            return Ok(0.0);
        }
        let moments = PublicMoments::of_sample(RowsView::f64(n, k, &exact)?)?;
        let mut draw = PublicSeed::new(k as u64).generator(STREAM);
        let noisy: Vec<f64> = exact.into_iter().map(|c| c + simulated(&mut draw, scale)).collect();
        let each: Vec<i32> = (1..=k as i32).collect();
        let variance = NoiseLaw::DiscreteLaplace { scale }.moments().map_or(0.0, |[v, _]| v);
        let seen = Posterior::new(Groups::new(&each)?, &moments)?.centred(&noisy, variance)?;
        let rows: Vec<f64> = seen.chunks_exact(k).flat_map(|row| unit(row.to_vec())).collect();
        let rows = MatRef::from_row_major_slice(&rows, n, k);
        let mut scores = Mat::<f64>::zeros(n, n);
        let par = Par::rayon(0);
        matmul(scores.as_mut(), Accum::Replace, rows, rows.transpose(), 1.0, par);
        let hits = (0..n).into_par_iter().map(|i| {
            let score = |j: usize| if i == j { f64::NEG_INFINITY } else { scores[(i, j)] };
            let found = largest((0..n).map(score).collect(), self.returned);
            self.of[i].iter().filter(|near| found.contains(near)).count()
        });
        Ok(hits.sum::<usize>() as f64 / (n * self.of[0].len()) as f64)
    }
}

/// Stream of the public generator that simulated noise comes from.
const STREAM: u64 = 0x6763;

/// Integer Laplace noise that hides nothing: two geometric numbers, one less the other.
fn simulated(draw: &mut PublicGenerator, scale: LaplaceScale) -> f64 {
    let mut geometric = || {
        let uniform = ((draw.next_u64() >> 11) as f64 + 0.5) * 2f64.powi(-53);
        (-uniform.ln() * scale.get()).floor()
    };
    geometric() - geometric()
}

/// The places of the largest scores.
fn largest(scores: Vec<f64>, count: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..scores.len()).collect();
    let order = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
    if count < all.len() {
        all.select_nth_unstable_by(count, order);
        all.truncate(count);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten themes of eight items; each set has most of one theme, and one item of its own.
    fn themes(n: u64) -> Vec<ItemSet> {
        let set = |i: u64| {
            let theme = i % 10;
            let of = (0..8).filter(move |j| (i / 10 + j) % 4 != 0).map(move |j| theme * 8 + j);
            ItemSet::new(of.chain([1000 + i]).collect()).expect("a set")
        };
        (0..n).map(set).collect()
    }

    #[test]
    fn items_of_one_theme_are_one_group() {
        let budget = Budget::new(1.0, 0.0).expect("budget");
        let groups = ItemGroups::of_sample(&themes(120), 1, budget).expect("groups");
        let lists: Vec<Vec<u64>> = groups.clone().into();
        assert!((5..=20).contains(&groups.k()), "{groups:?}");
        let mixed = lists.iter().filter(|list| list.iter().any(|i| i / 8 != list[0] / 8)).count();
        // Fewer groups than themes hold whole ones.
        assert!(groups.k() < 10 || mixed == 0, "{lists:?}");
        assert_eq!(lists.iter().map(Vec::len).sum::<usize>(), 80);
    }

    #[test]
    fn samples_that_say_nothing_are_refused() {
        let budget = Budget::new(1.0, 0.0).expect("budget");
        let apart: Vec<ItemSet> = (0..40).map(|i| ItemSet::new(vec![i]).expect("a set")).collect();
        assert!(ItemGroups::of_sample(&apart, 1, budget).is_err());
        assert!(ItemGroups::of_sample(&themes(15), 1, budget).is_err());
        assert!(ItemGroups::of_sample(&themes(1025), 1, budget).is_err());
        assert!(ItemGroups::of_sample(&themes(16), 0, budget).is_err());
        let same = vec![themes(1)[0].clone(); 16];
        // Equal sets: all directions but one are empty, and nothing is divided by zero.
        assert!(ItemGroups::of_sample(&same, 1, budget).is_ok());
    }

    #[test]
    fn simulated_noise_has_the_moments_of_the_law() {
        let scale = LaplaceScale::new(2.0).expect("a scale");
        let mut draw = PublicSeed::new(5).generator(STREAM);
        let n = 100_000;
        let squares: f64 = (0..n).map(|_| simulated(&mut draw, scale).powi(2)).sum();
        let [variance, fourth] = NoiseLaw::DiscreteLaplace { scale }.moments().expect("known");
        let error = ((fourth + 2.0 * variance * variance) / f64::from(n)).sqrt();
        assert!((squares / f64::from(n) - variance).abs() < 6.0 * error);
    }
}
