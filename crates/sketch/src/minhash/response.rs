//! Private signatures of symbols: k-ary randomised response on every position.

use super::items::ItemSet;
use super::neighbours::SetNeighbours;
use super::one_permutation::{EMPTY_BIN, OnePermutation};
use super::response_family::ResponseFamily;
use super::secure::{SecureMinHash, SymbolShape};
use super::signature::{SetSketch, SignatureMatrix};
use super::symbols::{Coding, PrivateSymbols};
use crate::error::{Error, Result};
use dp_core::certificate::Statement;
use dp_core::noise::{KaryResponse, NoiseRng};
use dp_core::{
    Adjacency, Budget, Certificate, Epsilon, FreshSeed, Guarantee, Probability, PublicSeed,
    Release, SeedOrigin,
};

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
/// `SetItems { alpha, min_size }`, averaged calibration: every release draws its own
/// hash functions ([`FreshSeed`]). Random function model for the hashes. All sets below the
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
        let alphabet = u64::from(shape.alphabet());
        let differ = neighbours.differ_probability(shape.concatenation(), alphabet)?;
        let family = ResponseFamily { coordinates: shape.positions() as u64, differ, alphabet };
        let theorem = "mixture over fresh hash functions: docs/proofs/minhash-mixture.md";
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
        self.neighbours.check(sets)?;
        let origin = Some(fresh.origin());
        let sketch = SecureMinHash::new(self.shape, fresh.publish());
        let signatures = sketch.sketch(sets);
        let coding = Coding::Hashed { concatenation: self.shape.concatenation() };
        self.calibrated.respond("minhash-mixture-response", &signatures, coding, origin, rng)
    }
}

/// Bucket PrivMin (Bourgeat & Schmurr 2019, algorithms 1 and 2): every minimum is hashed to
/// one of B buckets, and each of the L buckets gets a B-ary response with `epsilon / L`.
///
/// # Privacy
/// Pure, any two sets (`AnyInput`): all positions may differ, and the budget is shared by all. It holds for
/// every hash function, so a seed known in advance is allowed.
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
        let alphabet = u64::from(shape.alphabet());
        let family = ResponseFamily {
            coordinates: shape.positions() as u64,
            differ: Probability::new(1.0)?,
            alphabet,
        };
        let theorem = "k-ary response on every bucket: docs/proofs/bucket-response.md";
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
        let signatures = SecureMinHash::new(self.shape, seed).sketch(sets);
        let coding = Coding::Hashed { concatenation: self.shape.concatenation() };
        self.calibrated.respond("bucket-privmin", &signatures, coding, None, rng)
    }
}

/// One-permutation hashing with a response on every bin; "empty" is a symbol like the others.
///
/// An item falls into one bin: sets that differ in `alpha` items differ in at most `alpha` bins, for
/// **every** hash function. Each bin therefore gets a response calibrated to `alpha` of
/// them, however many bins there are.
///
/// # Privacy
/// `SetItems { alpha, 1 }`: holds for sets of every size, and for seeds known in advance. With
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
    /// [`dp_core::Error::InvalidParameter`] unless `bins` is in `[1, 2^20]`, `values` in `[1, 65535]` and `alpha` in `[1, 2^32]`;
    /// [`Error::Core`] when no response meets the budget.
    pub fn calibrate(bins: usize, values: u32, alpha: u64, budget: Budget) -> Result<Self> {
        if !(1..=65_535).contains(&values) {
            return Err(Error::invalid("values of a bin", values, "[1, 65535]"));
        }
        OnePermutation::new(bins, PublicSeed::new(0))?;
        let neighbours = SetNeighbours::new(alpha, 1)?;
        let alphabet = u64::from(values) + 1;
        let touched = alpha.min(bins as u64);
        let family =
            ResponseFamily { coordinates: touched, differ: Probability::new(1.0)?, alphabet };
        let theorem = "alpha items touch at most alpha bins: docs/proofs/one-permutation.md";
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
        let bins = OnePermutation::new(self.bins, seed)?.sketch(sets);
        let values = self.values;
        let symbols = bins.map(format!("one-permutation/B={values}"), |least| {
            if least == EMPTY_BIN { 0 } else { 1 + bin_symbol(least, values) }
        });
        self.calibrated.respond("one-permutation-response", &symbols, Coding::Bins, None, rng)
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
        theorem: &str,
    ) -> Result<Self> {
        let keep = family.calibrate(budget)?;
        let guarantee = Guarantee::proven(adjacency, budget, family.profile(keep), theorem)?;
        Ok(Self { response: KaryResponse::new(family.alphabet, keep)?, guarantee })
    }

    /// Answers for every symbol and writes the certificate.
    fn respond(
        &self,
        mechanism: &str,
        signatures: &SignatureMatrix,
        coding: Coding,
        origin: Option<SeedOrigin>,
        rng: &mut NoiseRng,
    ) -> Result<SymbolRelease> {
        let generator = rng.kind();
        let symbols = PrivateSymbols::respond(signatures, coding, &self.response, rng)?;
        let mut public = signatures.scheme().public_parameters(signatures.rows());
        if let Some(origin) = origin {
            public.insert(SeedOrigin::KEY.to_owned(), origin.name().into());
        }
        let noise = self.response.law();
        let statement = Statement { mechanism: mechanism.to_owned(), noise, generator, public };
        Ok(Release::certified(symbols, Certificate::new(statement, self.guarantee.clone())))
    }
}
