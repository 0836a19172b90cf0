//! Hash functions that structured identifiers see through.

use crate::mechanisms::minhash::{FreshBins, fresh_bins};
use crate::mechanisms::structure::Identifiers;
use crate::search::{below, uniform};
use crate::subject::{Draw, Side, Subject};
use dp_core::FreshSeed;
use eval::Result;
use rand_core::Rng;

/// One multiplication and one xor-shift by half a word: items that differ in their high bits only
/// keep their order under every key.
const fn premix(item: u64, key: u64) -> u64 {
    let z = (item ^ key).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    z ^ (z >> 32)
}

fn fold(x: u64, a: u64, b: u64) -> u64 {
    let product = u128::from(x ^ a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// The mixture response over these functions: more letters differ than the model of random
/// functions allows for.
fn structured_identifiers() -> Result<Subject> {
    let ids = Identifiers::new()?;
    let budget = Identifiers::budget()?;
    let original = ids.subject(budget)?;
    let keep = ids.mechanism(budget)?.response().keep().get();
    let (positions, alphabet) = (ids.shape.positions(), u64::from(ids.shape.alphabet()));
    let sets = ids.sets;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut rng = draw.public();
        let (key, mixer) = (rng.next_u64(), rng.next_u64());
        let mut clean = [Vec::new(), Vec::new()];
        for _ in 0..positions {
            let (a, b) = (rng.next_u64(), rng.next_u64() | 1);
            for (set, letters) in sets.iter().zip(&mut clean) {
                let least = set.iter().map(|&x| fold(premix(x, key), a, b)).min().unwrap_or(0);
                letters.push(((premix(least, mixer) >> 32) * alphabet) >> 32);
            }
        }
        for &letter in side.of(&clean[0], &clean[1]) {
            let other = below(&mut rng, alphabet as usize - 1) as u64;
            let moved = other + u64::from(other >= letter);
            out.push(if uniform(&mut rng) < keep { letter } else { moved } as f64);
        }
        clean.iter().for_each(|letters| out.extend(letters.iter().map(|&x| x as f64)));
        Ok(())
    };
    Ok(original.twin("one multiply and one xor-shift on structured identifiers", sample))
}

/// Bins whose hash functions somebody knew before the rows: among many seeds, one under which the replaced items are the least
/// of both bins.
fn known_seed() -> Result<Subject> {
    let claim = FreshBins::budget()?;
    let bins = FreshBins::new(claim)?;
    let seed = |i: u64| FreshSeed::reproducible_not_private(i);
    let seen = |i: u64| -> Result<usize> {
        let mut all = Vec::new();
        bins.clean(seed(i).publish(), &mut all)?;
        let (left, right) = all.split_at(all.len() / 2);
        Ok(left.iter().zip(right).filter(|(a, b)| a != b).count())
    };
    let mut known = 0;
    while seen(known)? < 2 {
        known += 1;
    }
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        bins.observe(side, (seed(known), draw), out)
    };
    Ok(fresh_bins(claim)?.twin("a seed that was known before the rows", sample))
}

/// Twins of set signatures.
pub(super) fn twins() -> Result<Vec<Subject>> {
    Ok(vec![structured_identifiers()?, known_seed()?])
}
