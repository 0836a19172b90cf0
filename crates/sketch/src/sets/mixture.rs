//! Hashed minima under fresh hash functions, with a response on every position.

use super::items::ItemSet;
use super::neighbours::SetNeighbours;
use super::response::{MIXTURE, Response, SetFacts, SymbolSource, calibrated, predict_hashed};
use super::response_family::ResponseFamily;
use super::secure::{SecureMinHash, SymbolShape};
use super::signature::SetSketch;
use super::symbols::Coding;
use super::symbols::PrivateSymbols;
use super::writer::{SetMechanism, SetSource};
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use core::ops::ControlFlow;
use dp_core::mechanism::{Calibrated, Mechanism, Prediction, Progress, author};
use dp_core::noise::{KaryResponse, NoiseRng};
use dp_core::release_file::Kind;
use dp_core::{Budget, FreshSeed, Guarantee, Release, Theorem};

/// Secure or b-bit MinHash with randomised response, calibrated by the exact law of the
/// number of differing positions.
///
/// Over fresh hash functions that number is `Bin(L, p)`, `p = (1 - J^K)(1 - 1/B)`, at the least
/// similarity J of neighbours; delta(epsilon) is the mixture of the exact profiles of that many k-ary
/// responses.
///
/// # Privacy
/// `SetItems { alpha, min_size }`, one set of the release, averaged calibration: every release draws its own
/// hash functions ([`FreshSeed`]). Random function model for the hashes ("ideal: independent uniform random functions"; the certificate
/// names it). All sets below the
/// minimum size are refused.
///
/// # References
/// Proof: `docs/proofs/minhash-mixture.md`; the sketch: Broder 1997, Li and Konig 2010 (b-bit MinHash).
///
/// ```
/// use dp_core::{Budget, FreshSeed, NoiseRng};
/// use sketch::sets::{ItemSet, MixtureResponse, SetNeighbours, SetPairs, SymbolShape};
///
/// let sets = [ItemSet::new((0..40).collect())?, ItemSet::new((10..50).collect())?];
/// // Sets of at least 40 items, of which one may be added or removed.
/// let (shape, neighbours) = (SymbolShape::new(100, 1, 4)?, SetNeighbours::new(1, 40)?);
/// let mechanism = MixtureResponse::calibrate(shape, neighbours, Budget::new(2.0, 1e-6)?)?;
/// let release = mechanism.release(&sets, FreshSeed::draw()?, &mut NoiseRng::from_os()?)?;
/// assert!(SetPairs::within(&release).jaccard(0, 1)?.standard_error > 0.0);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MixtureResponse {
    shape: SymbolShape,
    neighbours: SetNeighbours,
    calibrated: Calibrated<Response>,
}

impl MixtureResponse {
    /// The least noise for the budget.
    ///
    /// # Errors
    /// [`Error::Core`] when no response meets it.
    pub fn calibrate(
        shape: SymbolShape,
        neighbours: SetNeighbours,
        budget: Budget,
    ) -> Result<Self> {
        let family = ResponseFamily::mixture(shape, neighbours)?;
        let theorem = Theorem::MinHashMixture;
        let calibrated = calibrated(family, neighbours.adjacency(), budget, theorem)?;
        Ok(Self { shape, neighbours, calibrated })
    }

    /// The guarantee.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// The response on every position.
    #[must_use]
    pub fn response(&self) -> KaryResponse {
        self.calibrated.noise().0
    }

    /// Sketches and releases; the fresh seed is published with the release.
    ///
    /// # Errors
    /// [`Error::SetTooSmall`] when a set is below the minimum size.
    pub fn release(
        &self,
        sets: &[ItemSet],
        fresh: FreshSeed,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateSymbols>> {
        Mechanism::release(self, (sets, fresh), rng)
    }

    fn source(&self, fresh: FreshSeed) -> SymbolSource<'_> {
        let origin = Some(fresh.origin());
        let sketch = SecureMinHash::new(self.shape, fresh.publish());
        SymbolSource {
            mechanism: MIXTURE,
            calibrated: &self.calibrated,
            scheme: sketch.scheme(),
            coding: Coding::Hashed { concatenation: self.shape.concatenation() },
            origin,
            sign: Box::new(move |sets| {
                self.neighbours.check(sets)?;
                Ok(sketch.sketch(sets))
            }),
        }
    }
}

impl author::Sealed for MixtureResponse {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl SetMechanism for MixtureResponse {
    type Seed = FreshSeed;
    const KIND: Kind = Kind::Symbols;

    fn drawn(&self, fresh: FreshSeed) -> Result<Box<dyn SetSource + '_>> {
        Ok(Box::new(self.source(fresh)))
    }
}

impl Mechanism for MixtureResponse {
    /// Shape of a signature, and what may change in a set.
    type Config = (SymbolShape, SetNeighbours);
    type Input<'a> = (&'a [ItemSet], FreshSeed);
    type Output = Release<PrivateSymbols>;
    type Facts = SetFacts;
    type Error = Error;

    fn calibrate((shape, neighbours): Self::Config, budget: Budget) -> Result<Self> {
        Self::calibrate(shape, neighbours, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    fn predict(&self, facts: SetFacts) -> Result<Prediction> {
        predict_hashed(self.shape, self.response().keep(), facts)
    }

    fn release_watched(
        &self,
        (sets, seed): (&[ItemSet], FreshSeed),
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<PrivateSymbols>> {
        self.source(seed).release(sets, rng, hook)
    }
}
