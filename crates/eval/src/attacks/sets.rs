//! Attacks on released set signatures.

use super::measured::{Attack, Measured, Secret};
use crate::error::{Error, Result};
use dp_core::{Adjacency, Release};
use sketch::sets::{ItemSet, PrivateSymbols, SecureMinHash, SetSketch, SymbolShape};
use std::collections::HashSet;

/// Whether some items are in a set, all its other items known: by the likelihood ratio. Set i of `truth` is the one that
/// row i of the release was made of. In every other set items that are there are sought, in the rest items of
/// public sets that are not.
///
/// # Errors
/// [`Error::InvalidParameter`] where truth and release do not go together, for signatures other than
/// secure MinHash, and where no set has items to seek.
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
    let (changes, least, secret) = match guarantee.adjacency().each() {
        Adjacency::SetItems { alpha, min_size } => (alpha.max(1), min_size, Secret::Inside),
        Adjacency::AnyInput => (1, 1, Secret::Inside),
        _ => (1, 1, Secret::Beyond(1)),
    };
    let functions = functions(symbols)?;
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
        let both = functions.sketch(&[truth[*i].clone(), other.clone()]);
        let (own, other) = (both.row(0), both.row(1));
        let mut ratio = 0.0;
        for ((&noisy, &own), &other) in symbols.row(*i)?.iter().zip(own).zip(other) {
            if own != other {
                ratio += if u32::from(noisy) == own { gain } else { 0.0 };
                ratio -= if u32::from(noisy) == other { gain } else { 0.0 };
            }
        }
        Ok(if ratio == 0.0 { 0.5 } else { f64::from(u8::from(ratio > 0.0)) })
    };
    let hits = pairs.iter().map(right).sum::<Result<f64>>()?;
    let (bound, says) = secret.bound(guarantee);
    Ok(vec![Attack {
        name: "items of a set: likelihood ratio",
        knows: "all other items of the set",
        measure: "right guesses",
        release: Measured::share(hits, pairs.len() as f64),
        without: 0.5,
        clean: 1.0,
        bound,
        says,
    }])
}

/// The public functions that signatures are made of.
fn functions(symbols: &PrivateSymbols) -> Result<SecureMinHash> {
    let scheme = symbols.scheme();
    let unknown = || {
        Error::invalid("signatures", &scheme.sketch, "secure MinHash: others are not attacked here")
    };
    let shape = scheme.sketch.strip_prefix("secure-minhash/K=");
    let (k, b) = shape.and_then(|shape| shape.split_once("/B=")).ok_or_else(unknown)?;
    let (k, b) = (k.parse().map_err(|_| unknown())?, b.parse().map_err(|_| unknown())?);
    let built = SecureMinHash::new(SymbolShape::new(scheme.slots, k, b)?, scheme.seed);
    if built.scheme() == *scheme { Ok(built) } else { Err(unknown()) }
}
