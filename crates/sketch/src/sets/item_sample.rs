//! Groups of items from public sets: what is often in one set is counted together.

use super::counts::noise_scale;
use super::item_groups::ItemGroups;
use super::items::ItemSet;
use crate::error::{Error, Result};
use crate::projection::{Groups, PublicMoments, cut, sizes};
use crate::rows::RowsView;
use crate::trial::{Trial, exponential, unit};
use crate::vectors::Posterior;
use dp_core::noise::NoiseLaw;
use dp_core::{Budget, LaplaceScale, PublicGenerator, PublicSeed};
use faer::{Mat, Side};
use kodama::{Method, linkage};
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
        let trial = Trial::new(sets.len(), |i, j| sets[i].jaccard(&sets[j]));
        let (mut best, mut most) = (None, -1.0);
        for k in sizes(items.len()).filter(|k| (2..=GROUPS).contains(k)) {
            let mut groups = vec![Vec::new(); k];
            let of = cut(&merges, items.len(), k);
            items.iter().zip(of).for_each(|((item, _), g)| groups[g].push(*item));
            let groups: Vec<ItemSet> =
                groups.into_iter().map(ItemSet::new).collect::<Result<_>>()?;
            let groups = Self::new(&groups)?;
            let found = found(&trial, &groups, sets, scale)?;
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
        let mut place: Vec<f64> = (0..r).map(along).collect();
        unit(&mut place);
        place
    };
    let places: Vec<Vec<f64>> = items.iter().map(place).collect();
    // Direction after direction, so that the sums of many pairs grow side by side.
    let along: Vec<Vec<f64>> = (0..r).map(|c| places.iter().map(|p| p[c]).collect()).collect();
    let rows = (0..places.len()).into_par_iter().flat_map_iter(|i| {
        let mut apart = vec![0.0f64; places.len() - i - 1];
        for (x, along) in places[i].iter().zip(&along) {
            let others = apart.iter_mut().zip(&along[i + 1..]);
            others.for_each(|(sum, y)| *sum += (x - y).powi(2));
        }
        apart.into_iter().map(f64::sqrt)
    });
    let mut distances: Vec<f64> = rows.collect();
    let steps = linkage(&mut distances, places.len(), Method::Ward);
    Ok(steps.steps().iter().map(|s| [s.cluster1, s.cluster2]).collect())
}

/// What a search of noisy counts finds; the noise is a simulation's.
fn found(trial: &Trial, groups: &ItemGroups, sets: &[ItemSet], scale: LaplaceScale) -> Result<f64> {
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
    Ok(trial.found(seen, k))
}

/// Stream of the public generator that simulated noise comes from.
const STREAM: u64 = 0x6763;

/// Integer Laplace noise that hides nothing: two geometric numbers, one less the other.
fn simulated(draw: &mut PublicGenerator, scale: LaplaceScale) -> f64 {
    let mut geometric = || (exponential(draw) * scale.get()).floor();
    geometric() - geometric()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten themes of eight items; each set has most of one theme, and one item of its own.
    fn themes(n: u64) -> Vec<ItemSet> {
        let set = |i: u64| {
            let theme = i % 10;
            let of =
                (0..8).filter(move |j| !(i / 10 + j).is_multiple_of(4)).map(move |j| theme * 8 + j);
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
