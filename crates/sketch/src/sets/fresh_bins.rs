//! One-permutation bins under fresh hash functions, with a response on every bin.

use super::bin_response::{check_shape, predict, source};
use super::items::ItemSet;
use super::neighbours::SetNeighbours;
use super::response::{FRESH_BINS, Response, SetFacts, SymbolSource, calibrated};
use super::response_family::ResponseFamily;
use super::symbols::PrivateSymbols;
use super::writer::{SetMechanism, SetSource};
use crate::author::AUTHOR;
use crate::error::Result;
use core::ops::ControlFlow;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Progress, author};
use dp_core::noise::{KaryResponse, NoiseRng};
use dp_core::release_file::Kind;
use dp_core::{Budget, FreshSeed, Guarantee, Release, Theorem};

/// As [`BinResponse`](super::BinResponse), for hash functions that nobody knew before: noise for the bins that changed items
/// are seen in, not for as many bins as items may change.
///
/// A bin shows its least item alone, so that a changed item among many others in its bin is not seen. Under fresh hash functions
/// the number of bins that `alpha` changed items are seen in is at most binomial: `min(alpha, bins)` trials of probability
/// `max(alpha, bins) / (tau + ceil(alpha/2) - min(alpha, bins) + 1)` for sets of at least `tau` items.
///
/// It pays where many items of large sets may change: `tau` well above `bins`, and `alpha` of several items. For 64
/// changed items, 64 bins of four values and sets of 10,000 items at epsilon 2 and delta 1e-6 one symbol may lose .534, without the
/// fresh seed .088. It spends delta; with delta zero, or one item, nothing is won.
///
/// # Privacy
/// `SetItems { alpha, min_size }`, one set of the release, averaged calibration: every release draws its own hash
/// functions ([`FreshSeed`]). Random function model for the hashes, which the certificate names. Sets below the minimum size are
/// refused.
///
/// # References
/// Li, Owen and Zhang 2012, *One permutation hashing*; proof: `docs/proofs/one-permutation.md`, theorem 2.
///
/// ```
/// use dp_core::{Budget, FreshSeed, NoiseRng};
/// use sketch::sets::{FreshBinResponse, ItemSet, SetNeighbours, SetPairs};
///
/// let sets = [ItemSet::new((0..900).collect())?, ItemSet::new((300..1200).collect())?];
/// // Sets of at least 900 items, of which up to sixteen may change.
/// let neighbours = SetNeighbours::new(16, 900)?;
/// let mechanism = FreshBinResponse::calibrate(64, 4, neighbours, Budget::new(3.0, 1e-6)?)?;
/// let release = mechanism.release(&sets, FreshSeed::draw()?, &mut NoiseRng::from_os()?)?;
/// assert!(SetPairs::within(&release).jaccard(0, 1)?.standard_error > 0.0);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FreshBinResponse {
    bins: usize,
    values: u32,
    neighbours: SetNeighbours,
    calibrated: Calibrated<Response>,
}

impl FreshBinResponse {
    /// The least noise for the budget; `values` as of [`BinResponse::calibrate`](super::BinResponse::calibrate).
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless `bins` is in `[1, 2^20]`, `values` in `[1, 65535]` and the minimum size at least
    /// `bins + floor(alpha/2)`, below which a fresh seed hides nothing; [`crate::Error::Core`] when no response meets the
    /// budget.
    pub fn calibrate(
        bins: usize,
        values: u32,
        neighbours: SetNeighbours,
        budget: Budget,
    ) -> Result<Self> {
        check_shape(bins, values)?;
        let family = ResponseFamily::fresh_bins(bins, values, neighbours)?;
        let theorem = Theorem::OnePermutation;
        let calibrated = calibrated(family, neighbours.adjacency(), budget, theorem)?;
        Ok(Self { bins, values, neighbours, calibrated })
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

    /// Sketches and releases; the fresh seed is published with the release.
    ///
    /// # Errors
    /// [`crate::Error::SetTooSmall`] when a set is below the minimum size.
    pub fn release(
        &self,
        sets: &[ItemSet],
        fresh: FreshSeed,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateSymbols>> {
        Mechanism::release(self, (sets, fresh), rng)
    }

    fn source(&self, fresh: FreshSeed) -> Result<SymbolSource<'_>> {
        let origin = (fresh.origin(), self.neighbours);
        let shape = (self.bins, self.values);
        source(FRESH_BINS, &self.calibrated, shape, (fresh.publish(), Some(origin)))
    }
}

impl author::Sealed for FreshBinResponse {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl SetMechanism for FreshBinResponse {
    type Seed = FreshSeed;
    const KIND: Kind = Kind::Symbols;

    fn drawn(&self, fresh: FreshSeed) -> Result<Box<dyn SetSource + '_>> {
        Ok(Box::new(self.source(fresh)?))
    }
}

impl Mechanism for FreshBinResponse {
    /// Bins, symbols that a bin with items can show, and what may change in a set.
    type Config = (usize, u32, SetNeighbours);
    type Input<'a> = (&'a [ItemSet], FreshSeed);
    type Output = Release<PrivateSymbols>;
    type Facts = SetFacts;
    type Error = crate::Error;

    fn calibrate((bins, values, neighbours): Self::Config, budget: Budget) -> Result<Self> {
        Self::calibrate(bins, values, neighbours, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    fn predict(&self, facts: SetFacts) -> Result<Prediction> {
        predict((self.bins, self.values), self.response().keep(), facts)
    }

    fn release_watched(
        &self,
        (sets, fresh): (&[ItemSet], FreshSeed),
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<PrivateSymbols>> {
        self.source(fresh)?.release(sets, rng, hook)
    }
}
