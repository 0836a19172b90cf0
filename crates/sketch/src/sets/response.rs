//! Private signatures of symbols: k-ary randomised response on every position.

use super::hash::HashFamily;
use super::items::ItemSet;
use super::neighbours::SetNeighbours;
use super::one_permutation::{EMPTY_BIN, OnePermutation};
use super::response_family::ResponseFamily;
use super::secure::{SecureMinHash, SymbolShape};
use super::signature::{Scheme, SetSketch, SignatureMatrix};
use super::symbols::{Coding, PrivateSymbols, ROWS_PER_STREAM, SymbolFacts};
use super::writer::{SetSource, SetWriter};
use crate::error::{Error, Result};
use dp_core::certificate::Statement;
use dp_core::noise::{GeneratorKind, KaryResponse, NoiseRng};
use dp_core::release_file::{FileWriter, Kind, Payload, Trailer};
use dp_core::{
    Adjacency, Budget, Certificate, Epsilon, FreshSeed, Guarantee, Profile, PublicSeed, Release,
    SeedOrigin,
};
use std::path::Path;

/// Names of the mechanisms in certificates.
const MIXTURE: &str = "minhash-mixture-response";
const BUCKETS: &str = "bucket-privmin";
const BINS: &str = "one-permutation-response";

/// A private release of symbol signatures.
pub type SymbolRelease = Release<PrivateSymbols, Certificate>;

/// Secure or b-bit MinHash with randomised response, calibrated by the exact law of the
/// number of differing positions.
///
/// Over fresh hash functions that number is `Bin(L, p)`, `p = (1 - J^K)(1 - 1/B)`, at the least
/// similarity J of neighbours; delta(epsilon) is the mixture of the exact profiles of that many k-ary
/// responses.
///
/// # Privacy
/// `SetItems { alpha, min_size }`, one set of the release, averaged calibration: every release draws its own
/// hash functions ([`FreshSeed`]). Random function model for the hashes ([`HashFamily::MODEL`]; the certificate
/// names it). All sets below the
/// minimum size are refused.
#[derive(Debug, Clone)]
pub struct MixtureResponse {
    shape: SymbolShape,
    neighbours: SetNeighbours,
    calibrated: Calibrated,
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
        let theorem = dp_core::Theorem::MinHashMixture;
        let calibrated = Calibrated::new(family, neighbours.adjacency(), budget, theorem)?;
        Ok(Self { shape, neighbours, calibrated })
    }

    /// The guarantee.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.calibrated.guarantee
    }

    /// The response on every position.
    #[must_use]
    pub fn response(&self) -> KaryResponse {
        self.calibrated.response
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
    ) -> Result<SymbolRelease> {
        self.source(fresh).release(sets, rng)
    }

    /// Releases sets to a file as they come: the symbols of [`MixtureResponse::release`] on all of them.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    pub fn writer<'a>(
        &'a self,
        path: &Path,
        fresh: FreshSeed,
        rng: &'a mut NoiseRng,
    ) -> Result<SetWriter<'a>> {
        SetWriter::create(path, Kind::Symbols, Box::new(self.source(fresh)), rng)
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

/// Bucket PrivMin (Bourgeat & Schmurr 2019, algorithms 1 and 2): every minimum is hashed to
/// one of B buckets, and each of the L buckets gets a B-ary response with `epsilon / L`.
///
/// # Privacy
/// Pure, one set of the release becomes any other (`AnyInput`): all its positions may differ, and the budget is
/// shared by all of them. It holds for every hash function, so a seed known in advance is allowed.
/// Two sets that change together lose twice as much.
#[derive(Debug, Clone)]
pub struct BucketPrivMin {
    shape: SymbolShape,
    calibrated: Calibrated,
}

impl BucketPrivMin {
    /// Shares `epsilon` among the positions.
    ///
    /// # Errors
    /// [`Error::Core`] when epsilon is too small for any response.
    pub fn new(shape: SymbolShape, epsilon: Epsilon) -> Result<Self> {
        let family = ResponseFamily::buckets(shape)?;
        let theorem = dp_core::Theorem::BucketResponse;
        let calibrated =
            Calibrated::new(family, Adjacency::AnyInput, Budget::pure(epsilon), theorem)?;
        Ok(Self { shape, calibrated })
    }

    /// The guarantee.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.calibrated.guarantee
    }

    /// The response on every bucket.
    #[must_use]
    pub fn response(&self) -> KaryResponse {
        self.calibrated.response
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
    ) -> Result<SymbolRelease> {
        self.source(seed).release(sets, rng)
    }

    /// Releases sets to a file as they come: the symbols of [`BucketPrivMin::release`] on all of them.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    pub fn writer<'a>(
        &'a self,
        path: &Path,
        seed: PublicSeed,
        rng: &'a mut NoiseRng,
    ) -> Result<SetWriter<'a>> {
        SetWriter::create(path, Kind::Symbols, Box::new(self.source(seed)), rng)
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

/// One-permutation hashing with a response on every bin; "empty" is a symbol like the others.
///
/// An item falls into one bin: sets that differ in `alpha` items differ in at most `alpha` bins, for
/// **every** hash function. Each bin therefore gets a response calibrated to `alpha` of
/// them, however many bins there are.
///
/// # Privacy
/// `SetItems { alpha, 1 }`, one set of the release: holds for sets of every size, and for seeds known in advance. With
/// delta zero it is pure: each bin gets `epsilon / alpha`.
#[derive(Debug, Clone)]
pub struct BinResponse {
    bins: usize,
    values: u32,
    calibrated: Calibrated,
}

impl BinResponse {
    /// The least noise for the budget; `values` is the number of symbols a non-empty bin can show.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless `bins` is in `[1, 2^20]`, `values` in `[2, 65535]` and `alpha` in `[1, 2^32]`;
    /// [`Error::Core`] when no response meets the budget.
    pub fn calibrate(bins: usize, values: u32, alpha: u64, budget: Budget) -> Result<Self> {
        // With one value "the same value" says nothing of a shared minimum: no estimate exists.
        if !(2..=65_535).contains(&values) {
            return Err(Error::invalid("values of a bin", values, "[2, 65535]"));
        }
        OnePermutation::new(bins, PublicSeed::new(0))?;
        let neighbours = SetNeighbours::new(alpha, 1)?;
        let family = ResponseFamily::bins(bins, values, alpha)?;
        let theorem = dp_core::Theorem::OnePermutation;
        let calibrated = Calibrated::new(family, neighbours.adjacency(), budget, theorem)?;
        Ok(Self { bins, values, calibrated })
    }

    /// The guarantee.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.calibrated.guarantee
    }

    /// The response on every bin.
    #[must_use]
    pub fn response(&self) -> KaryResponse {
        self.calibrated.response
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
    ) -> Result<SymbolRelease> {
        self.source(seed)?.release(sets, rng)
    }

    /// Releases sets to a file as they come: the symbols of [`BinResponse::release`] on all of them.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`].
    pub fn writer<'a>(
        &'a self,
        path: &Path,
        seed: PublicSeed,
        rng: &'a mut NoiseRng,
    ) -> Result<SetWriter<'a>> {
        SetWriter::create(path, Kind::Symbols, Box::new(self.source(seed)?), rng)
    }

    fn source(&self, seed: PublicSeed) -> Result<SymbolSource<'_>> {
        let sketch = OnePermutation::new(self.bins, seed)?;
        let values = self.values;
        let name = format!("one-permutation/B={values}");
        Ok(SymbolSource {
            mechanism: BINS,
            calibrated: &self.calibrated,
            scheme: Scheme { sketch: name.clone(), ..sketch.scheme() },
            coding: Coding::Bins,
            origin: None,
            sign: Box::new(move |sets| {
                Ok(sketch.sketch(sets).map(name.clone(), |least| {
                    if least == EMPTY_BIN { 0 } else { 1 + bin_symbol(least, values) }
                }))
            }),
        })
    }
}

/// The symbol of a bin's least hash: a fixed mixing of its 31 bits, so that the symbol says
/// nothing about how small the hash was.
pub(super) fn bin_symbol(least: u32, values: u32) -> u32 {
    let z = u64::from(least).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    super::hash::reduce(((z ^ (z >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32) as u32, values)
}

/// A response and the guarantee it was calibrated for.
#[derive(Debug, Clone)]
struct Calibrated {
    response: KaryResponse,
    guarantee: Guarantee,
}

impl Calibrated {
    fn new(
        family: ResponseFamily,
        adjacency: Adjacency,
        budget: Budget,
        theorem: dp_core::Theorem,
    ) -> Result<Self> {
        let keep = family.calibrate(budget)?;
        let guarantee = Guarantee::proven(adjacency, budget, family.profile(keep), theorem)?;
        Ok(Self { response: KaryResponse::new(family.alphabet, keep)?, guarantee })
    }
}

/// The public parameter under which certificates state the model of the hash functions.
pub(super) const HASH_MODEL: &str = "hash model";

/// What a guarantee assumes of the hash functions.
pub(super) fn hash_model(guarantee: &Guarantee) -> &'static str {
    if guarantee.profile().is_some_and(Profile::needs_fresh_seed) {
        HashFamily::MODEL
    } else {
        "none: the guarantee holds for every hash function"
    }
}

/// The profile that a mechanism of symbols has by its public parameters; none when it is not known, or
/// never has this coding or adjacency.
pub(super) fn symbol_profile(
    mechanism: &str,
    facts: &SymbolFacts,
    adjacency: Adjacency,
) -> Result<Option<Profile>> {
    let (slots, alphabet) = (facts.scheme.slots, facts.alphabet as u32);
    let family = match (mechanism, facts.coding, adjacency) {
        (MIXTURE, Coding::Hashed { concatenation }, Adjacency::SetItems { alpha, min_size }) => {
            let shape = SymbolShape::new(slots, concatenation, alphabet)?;
            ResponseFamily::mixture(shape, SetNeighbours::new(alpha, min_size)?)?
        }
        (BUCKETS, Coding::Hashed { concatenation }, Adjacency::AnyInput) => {
            ResponseFamily::buckets(SymbolShape::new(slots, concatenation, alphabet)?)?
        }
        (BINS, Coding::Bins, Adjacency::SetItems { alpha, min_size: 1 }) => {
            SetNeighbours::new(alpha, 1)?;
            ResponseFamily::bins(slots, alphabet - 1, alpha)?
        }
        _ => return Ok(None),
    };
    Ok(Some(family.profile(facts.keep)))
}

/// Checks sets and makes their signatures.
type Sign<'a> = dyn Fn(&[ItemSet]) -> Result<SignatureMatrix> + Sync + 'a;

/// A mechanism of symbols with its hash functions drawn.
struct SymbolSource<'a> {
    mechanism: &'static str,
    calibrated: &'a Calibrated,
    scheme: Scheme,
    coding: Coding,
    origin: Option<SeedOrigin>,
    sign: Box<Sign<'a>>,
}

impl SymbolSource<'_> {
    fn release(&self, sets: &[ItemSet], rng: &mut NoiseRng) -> Result<SymbolRelease> {
        let signatures = self.signatures(sets)?;
        let generator = rng.kind();
        let symbols =
            PrivateSymbols::respond(&signatures, self.coding, &self.calibrated.response, rng)?;
        Ok(Release::certified(symbols, self.certificate(sets.len(), generator)))
    }

    fn certificate(&self, sets: usize, generator: GeneratorKind) -> Certificate {
        let mut public = self.scheme.public_parameters(sets);
        if let Some(origin) = self.origin {
            public.insert(SeedOrigin::KEY.to_owned(), origin.name().into());
        }
        public.insert(HASH_MODEL.to_owned(), hash_model(&self.calibrated.guarantee).into());
        let (mechanism, noise) = (self.mechanism.to_owned(), self.calibrated.response.law());
        let statement = Statement { mechanism, noise, generator, public };
        Certificate::new(statement, self.calibrated.guarantee.clone())
    }
}

impl SetSource for SymbolSource<'_> {
    fn signatures(&self, sets: &[ItemSet]) -> Result<SignatureMatrix> {
        (self.sign)(sets)
    }

    fn whole(&self, held: usize) -> usize {
        let row = self.scheme.slots;
        held / row / ROWS_PER_STREAM * ROWS_PER_STREAM * row
    }

    fn put(&self, held: Vec<u32>, rng: &mut NoiseRng, out: &mut FileWriter) -> Result<()> {
        let signatures = SignatureMatrix::new(self.scheme.clone(), held);
        let response = &self.calibrated.response;
        let symbols = PrivateSymbols::respond(&signatures, self.coding, response, rng)?;
        symbols.write(out)
    }

    fn trailer(&self, sets: usize, generator: GeneratorKind) -> Result<Trailer> {
        let certificate = self.certificate(sets, generator);
        let empty = SignatureMatrix::new(self.scheme.clone(), Vec::new());
        // An empty release says what all have in common; it draws nothing.
        let mut unused = NoiseRng::deterministic_not_private(0);
        let response = &self.calibrated.response;
        let none = PrivateSymbols::respond(&empty, self.coding, response, &mut unused)?;
        let shape = (sets, self.scheme.slots);
        Ok(Trailer::new(shape, none.fingerprint(), &none.parameters()?, certificate)?)
    }
}
