//! Attacks on released set signatures.

use super::measured::{Attack, between_two};
use crate::error::{Error, Result};
use dp_core::{Adjacency, Release};
use sketch::sets::{ItemSet, PrivateSymbols, SecureMinHash, SetSketch, SymbolShape};
use std::collections::HashSet;

/// Of secure MinHash and of occupancy bits: whether some items are in a set, all its other items known, by the likelihood ratio. Set i of `truth` is the one that
/// row i of the release was made of. In every other set items that are there are sought, in the rest items of
/// public sets that are not.
///
/// # Errors
/// [`Error::InvalidParameter`] where truth and release do not go together, for other
/// signatures, and where no set has items to seek.
pub fn on_sets(
    release: &Release<PrivateSymbols>,
    truth: &[ItemSet],
    public: &[ItemSet],
) -> Result<Vec<Attack>> {
    let (symbols, guarantee) = (release.payload(), release.certificate().guarantee());
    if truth.len() != symbols.rows() {
        let allowed = format!("{}, as in the release", symbols.rows());
        return Err(Error::invalid("sets of the truth", truth.len(), allowed));
    }
    let (changes, least) = match guarantee.adjacency().each() {
        Adjacency::SetItems { alpha, min_size } => (alpha.max(1), min_size),
        Adjacency::AnyInput => (1, 1),
        other => {
            return Err(Error::invalid("adjacency of sets", other, "items of a set, or any input"));
        }
    };
    let (keep, alphabet) = (symbols.keep().get(), symbols.alphabet() as f64);
    let gain = (keep * (alphabet - 1.0) / (1.0 - keep)).ln();
    let mut pairs = Vec::new();
    let mut spare = public.iter().flat_map(ItemSet::items).copied().cycle();
    let known: usize = public.iter().map(ItemSet::len).sum();
    for (i, set) in truth.iter().enumerate() {
        let own: HashSet<u64> = set.items().iter().copied().collect();
        let other = if i.is_multiple_of(2) {
            // Fewer items, as many as the adjacency lets go.
            let left = (set.len() as u64).saturating_sub(changes).max(least).max(1);
            set.items().iter().copied().take(usize::try_from(left).unwrap_or(usize::MAX)).collect()
        } else {
            let mut more = set.items().to_vec();
            let strangers =
                spare.by_ref().take(known.min(10_000)).filter(|item| !own.contains(item));
            let mut added: Vec<u64> =
                strangers.take(usize::try_from(changes).unwrap_or(1)).collect();
            more.append(&mut added);
            more
        };
        let other = ItemSet::new(other)?;
        if other != *set {
            pairs.push((i, other));
        }
    }
    if pairs.is_empty() {
        return Err(Error::invalid(
            "sets",
            "none with items to seek",
            "sets above the least size, and public items",
        ));
    }
    let right = |(i, other): &(usize, ItemSet)| -> Result<f64> {
        let both = clean(symbols, &[truth[*i].clone(), other.clone()])?;
        let (own, other) = both.split_at(both.len() / 2);
        let mut ratio = 0.0;
        for ((&noisy, &own), &other) in symbols.row(*i)?.iter().zip(own).zip(other) {
            if own != other {
                ratio += if u32::from(noisy) == own { gain } else { 0.0 };
                ratio -= if u32::from(noisy) == other { gain } else { 0.0 };
            }
        }
        Ok(if ratio == 0.0 { 0.5 } else { f64::from(u8::from(ratio > 0.0)) })
    };
    let guesses = pairs.iter().map(right).collect::<Result<Vec<f64>>>()?;
    let name = "items of a set: likelihood ratio";
    Ok(vec![between_two(name, "all other items of the set", guarantee, &guesses)])
}

/// The signatures of sets, without noise, one after the other.
fn clean(symbols: &PrivateSymbols, sets: &[ItemSet]) -> Result<Vec<u32>> {
    if symbols.is_occupancy() {
        let exact = PrivateSymbols::exact(symbols, sets)?;
        return Ok(exact.symbols().iter().map(|&bit| u32::from(bit)).collect());
    }
    let signatures = functions(symbols)?.sketch(sets);
    Ok((0..sets.len()).flat_map(|i| signatures.row(i).to_vec()).collect())
}

/// The public functions that signatures are made of.
fn functions(symbols: &PrivateSymbols) -> Result<SecureMinHash> {
    let scheme = symbols.scheme();
    let unknown = || {
        Error::invalid(
            "signatures",
            &scheme.sketch,
            "secure MinHash or occupancy bits: others are not attacked here",
        )
    };
    let shape = scheme.sketch.strip_prefix("secure-minhash/K=");
    let (k, b) = shape.and_then(|shape| shape.split_once("/B=")).ok_or_else(unknown)?;
    let (k, b) = (k.parse().map_err(|_| unknown())?, b.parse().map_err(|_| unknown())?);
    let built = SecureMinHash::new(SymbolShape::new(scheme.slots, k, b)?, scheme.seed);
    if built.scheme() == *scheme { Ok(built) } else { Err(unknown()) }
}
