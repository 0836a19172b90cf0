//! One-permutation bins with a response on every bin.

use super::bins::BinLaw;
use super::hash::reduce;
use super::items::ItemSet;
use super::neighbours::SetNeighbours;
use super::occupancy::OccupancyLaw;
use super::one_permutation::{EMPTY_BIN, OnePermutation};
use super::response::{BINS, Response, SIMILARITY, SetFacts, SymbolSource, calibrated};
use super::response_family::ResponseFamily;
use super::signature::{Scheme, SetSketch};
use super::symbols::Coding;
use super::symbols::PrivateSymbols;
use super::writer::{SetMechanism, SetSource};
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use core::ops::ControlFlow;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Progress, author};
use dp_core::noise::{KaryResponse, NoiseRng};
use dp_core::release_file::Kind;
use dp_core::{Budget, Guarantee, Probability, PublicSeed, Release, SeedOrigin, Theorem};

/// One-permutation hashing with a response on every bin; "empty" is a symbol like the others.
///
/// An item falls into one bin: sets that differ in `alpha` items differ in at most `alpha` bins, for
/// **every** hash function. Each bin therefore gets a response calibrated to `alpha` of
/// them, however many bins there are.
///
/// # Privacy
/// `SetItems { alpha, 1 }`, one set of the release: holds for sets of every size, and for seeds known in advance. With
/// delta zero it is pure: each bin gets `epsilon / alpha`.
///
/// # References
/// Li, Owen and Zhang 2012, *One permutation hashing*; proof: `docs/proofs/one-permutation.md`.
///
/// ```
/// use dp_core::{Budget, NoiseRng, PublicSeed};
/// use sketch::search::{Ranking, nearest};
/// use sketch::sets::{BinResponse, ItemSet, SetPairs};
///
/// let set = |first: u64| ItemSet::new((first..first + 50).collect());
/// let sets = [set(0)?, set(1000)?, set(2000)?];
/// // One item of one set may be added or removed.
/// let mechanism = BinResponse::calibrate(64, 8, 1, Budget::new(3.0, 0.0)?)?;
/// let release = mechanism.release(&sets, PublicSeed::new(3), &mut NoiseRng::from_os()?)?;
/// let found = nearest(SetPairs::within(&release), &[0], 2, Ranking::Similarity)?;
/// assert_eq!(found[0].len(), 2, "the other two, best first");
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BinResponse {
    bins: usize,
    values: u32,
    calibrated: Calibrated<Response>,
}

impl BinResponse {
    /// As [`BinResponse::of_user`], of one set.
    ///
    /// # Errors
    /// As there.
    pub fn calibrate(bins: usize, values: u32, alpha: u64, budget: Budget) -> Result<Self> {
        Self::of_user(bins, values, alpha, 1, budget)
    }

    /// The least noise for the budget, where the unit is a user with up to `sets` sets, each of which may change by alpha items;
    /// `values` is the number of symbols a non-empty bin can show. With one, a bin shows
    /// only whether it holds any item (occupancy bits): the best choice for search below epsilon 6 or so
    /// ([`SetIndex`](crate::search::SetIndex)).
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless `bins` is in `[1, 2^20]`, `values` in `[1, 65535]` and `alpha` in `[1, 2^32]`;
    /// [`Error::Core`] when no response meets the budget.
    pub fn of_user(
        bins: usize,
        values: u32,
        alpha: u64,
        sets: u64,
        budget: Budget,
    ) -> Result<Self> {
        check_shape(bins, values)?;
        let unit = SetNeighbours::new(alpha, 1)?.adjacency().of_user(sets)?;
        let family = ResponseFamily::bins(bins, values, alpha)?.of_user(sets);
        let calibrated = calibrated(family, unit, budget, Theorem::OnePermutation)?;
        Ok(Self { bins, values, calibrated })
    }

    /// The guarantee.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// The response on every bin.
    #[must_use]
    pub fn response(&self) -> KaryResponse {
        self.calibrated.noise().0
    }

    /// Sketches and releases.
    ///
    /// # Errors
    /// [`Error::Core`] when the noise law refuses its parameters (it does not after `calibrate`).
    pub fn release(
        &self,
        sets: &[ItemSet],
        seed: PublicSeed,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateSymbols>> {
        Mechanism::release(self, (sets, seed), rng)
    }

    fn source(&self, seed: PublicSeed) -> Result<SymbolSource<'_>> {
        source(BINS, &self.calibrated, (self.bins, self.values), (seed, None))
    }
}

/// A response on bins under one hash function; of a fresh one also whence it came, and which sets it is for.
pub(super) fn source<'a>(
    mechanism: &'static str,
    calibrated: &'a Calibrated<Response>,
    (bins, values): (usize, u32),
    (seed, fresh): (PublicSeed, Option<(SeedOrigin, SetNeighbours)>),
) -> Result<SymbolSource<'a>> {
    let sketch = OnePermutation::new(bins, seed)?;
    let name = format!("one-permutation/B={values}");
    Ok(SymbolSource {
        mechanism,
        calibrated,
        scheme: Scheme { sketch: name.clone(), ..sketch.scheme() },
        coding: Coding::Bins,
        origin: fresh.map(|(origin, _)| origin),
        sign: Box::new(move |sets| {
            if let Some((_, neighbours)) = fresh {
                neighbours.check(sets)?;
            }
            Ok(sketch.sketch(sets).map(name.clone(), |least| {
                if least == EMPTY_BIN { 0 } else { 1 + bin_symbol(least, values) }
            }))
        }),
    })
}

/// The expected error of the similarity from bins.
pub(super) fn predict(
    (bins, values): (usize, u32),
    keep: Probability,
    facts: SetFacts,
) -> Result<Prediction> {
    let SetFacts { size, similarity } = facts.check()?;
    let error = match values {
        1 => OccupancyLaw::new(bins, keep)?.standard_error_at(size, similarity),
        values => BinLaw::new(bins, values.into(), keep)?.standard_error_at(size, similarity),
    };
    Ok(Prediction::new(SIMILARITY, error))
}

/// Refuses numbers of bins and of values that no response on bins has.
pub(super) fn check_shape(bins: usize, values: u32) -> Result<()> {
    if !(1..=65_535).contains(&values) {
        return Err(Error::invalid("values of a bin", values, "[1, 65535]"));
    }
    OnePermutation::new(bins, PublicSeed::new(0)).map(|_| ())
}

impl author::Sealed for BinResponse {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl SetMechanism for BinResponse {
    type Seed = PublicSeed;
    const KIND: Kind = Kind::Symbols;

    fn drawn(&self, seed: PublicSeed) -> Result<Box<dyn SetSource + '_>> {
        Ok(Box::new(self.source(seed)?))
    }
}

impl Mechanism for BinResponse {
    /// Bins of a signature, symbols that a bin with items can show (one for occupancy bits), and items in which neighbouring
    /// sets may differ.
    type Config = (usize, u32, u64);
    type Input<'a> = (&'a [ItemSet], PublicSeed);
    type Output = Release<PrivateSymbols>;
    type Facts = SetFacts;
    type Error = Error;

    fn calibrate((bins, values, alpha): Self::Config, budget: Budget) -> Result<Self> {
        Self::calibrate(bins, values, alpha, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    fn predict(&self, facts: SetFacts) -> Result<Prediction> {
        predict((self.bins, self.values), self.response().keep(), facts)
    }

    fn release_watched(
        &self,
        (sets, seed): (&[ItemSet], PublicSeed),
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<PrivateSymbols>> {
        self.source(seed)?.release(sets, rng, hook)
    }
}

/// The symbol of a bin's least hash: a fixed mixing of its 31 bits, so that the symbol says
/// nothing about how small the hash was.
pub(super) fn bin_symbol(least: u32, values: u32) -> u32 {
    let z = u64::from(least).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    reduce(((z ^ (z >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32) as u32, values)
}
