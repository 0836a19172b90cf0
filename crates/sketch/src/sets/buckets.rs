//! Hashed minima of any hash functions, with a response on every position (Bucket PrivMin).

use super::items::ItemSet;
use super::response::{BUCKETS, Response, SetFacts, SymbolSource, calibrated, predict_hashed};
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
use dp_core::{Adjacency, Budget, Epsilon, Guarantee, PublicSeed, Release, Theorem};

/// Bucket PrivMin (Bourgeat & Schmurr 2019, algorithms 1 and 2): every minimum is hashed to
/// one of B buckets, and each of the L buckets gets a B-ary response with `epsilon / L`.
///
/// # Privacy
/// Pure, one set of the release becomes any other (`AnyInput`): all its positions may differ, and the budget is
/// shared by all of them. It holds for every hash function, so a seed known in advance is allowed.
/// Two sets that change together lose twice as much.
///
/// # References
/// Bourgeat and Schmurr 2019, section 5.3; proof: `docs/proofs/bucket-response.md`.
///
/// ```
/// use dp_core::{Epsilon, NoiseRng, PublicSeed};
/// use sketch::sets::{BucketPrivMin, ItemSet, SymbolShape};
///
/// let sets = [ItemSet::from_words(["a", "b"])?, ItemSet::from_words(["b", "c", "d"])?];
/// let mechanism = BucketPrivMin::new(SymbolShape::new(20, 1, 4)?, Epsilon::new(10.0)?)?;
/// let release = mechanism.release(&sets, PublicSeed::new(3), &mut NoiseRng::from_os()?)?;
/// assert_eq!(release.payload().rows(), 2);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BucketPrivMin {
    shape: SymbolShape,
    calibrated: Calibrated<Response>,
}

impl BucketPrivMin {
    /// As [`BucketPrivMin::of_user`], of one set.
    ///
    /// # Errors
    /// As there.
    pub fn new(shape: SymbolShape, epsilon: Epsilon) -> Result<Self> {
        Self::of_user(shape, 1, epsilon)
    }

    /// Shares `epsilon` among the positions, where the unit is a user with up to so many sets among those of all of them.
    ///
    /// # Errors
    /// [`Error::Core`] when epsilon is too small for any response.
    pub fn of_user(shape: SymbolShape, sets: u64, epsilon: Epsilon) -> Result<Self> {
        let (unit, budget) = (Adjacency::AnyInput.of_user(sets)?, Budget::pure(epsilon));
        let family = ResponseFamily::buckets(shape)?.of_user(sets);
        let calibrated = calibrated(family, unit, budget, Theorem::BucketResponse)?;
        Ok(Self { shape, calibrated })
    }

    /// The guarantee.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    /// The response on every bucket.
    #[must_use]
    pub fn response(&self) -> KaryResponse {
        self.calibrated.noise().0
    }

    /// Sketches and releases.
    ///
    /// # Errors
    /// [`Error::Core`] when the noise law refuses its parameters (it does not after `new`).
    pub fn release(
        &self,
        sets: &[ItemSet],
        seed: PublicSeed,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateSymbols>> {
        Mechanism::release(self, (sets, seed), rng)
    }

    fn source(&self, seed: PublicSeed) -> SymbolSource<'_> {
        let sketch = SecureMinHash::new(self.shape, seed);
        SymbolSource {
            mechanism: BUCKETS,
            calibrated: &self.calibrated,
            scheme: sketch.scheme(),
            coding: Coding::Hashed { concatenation: self.shape.concatenation() },
            origin: None,
            sign: Box::new(move |sets| Ok(sketch.sketch(sets))),
        }
    }
}

impl author::Sealed for BucketPrivMin {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl SetMechanism for BucketPrivMin {
    type Seed = PublicSeed;
    const KIND: Kind = Kind::Symbols;

    fn drawn(&self, seed: PublicSeed) -> Result<Box<dyn SetSource + '_>> {
        Ok(Box::new(self.source(seed)))
    }
}

impl Mechanism for BucketPrivMin {
    type Config = SymbolShape;
    type Input<'a> = (&'a [ItemSet], PublicSeed);
    type Output = Release<PrivateSymbols>;
    type Facts = SetFacts;
    type Error = Error;

    /// Pure: only the epsilon of the budget is spent.
    fn calibrate(shape: SymbolShape, budget: Budget) -> Result<Self> {
        Self::new(shape, budget.epsilon)
    }

    fn guarantee(&self) -> &Guarantee {
        self.calibrated.guarantee()
    }

    fn predict(&self, facts: SetFacts) -> Result<Prediction> {
        predict_hashed(self.shape, self.response().keep(), facts)
    }

    fn release_watched(
        &self,
        (sets, seed): (&[ItemSet], PublicSeed),
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<PrivateSymbols>> {
        self.source(seed).release(sets, rng, hook)
    }
}
