//! What the private signatures of symbols share: k-ary randomised response on every position.

use super::estimate::CollisionLaw;
use super::hash::HashFamily;
use super::items::ItemSet;
use super::neighbours::SetNeighbours;
use super::response_family::ResponseFamily;
use super::secure::SymbolShape;
use super::signature::{Scheme, SignatureMatrix};
use super::symbols::{Coding, PrivateSymbols, ROWS_PER_STREAM, SymbolFacts, respond};
use super::writer::SetSource;
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use core::ops::ControlFlow;
use dp_core::mechanism::{Calibrated, Prediction, Progress, author};
use dp_core::noise::{GeneratorKind, KaryResponse, NoiseLaw, NoiseRng};
use dp_core::release_file::{Payload, Trailer, Writer};
use dp_core::{
    Adjacency, Budget, Certificate, Guarantee, Probability, Profile, Release, SeedOrigin, Theorem,
};

/// Names of the mechanisms in certificates.
pub(super) const MIXTURE: &str = "minhash-mixture-response";
pub(super) const BUCKETS: &str = "bucket-privmin";
pub(super) const BINS: &str = "one-permutation-response";
pub(super) const FRESH_BINS: &str = "one-permutation-fresh-response";

/// A response on every symbol, as noise whose law certificates state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Response(pub(super) KaryResponse);

impl author::Law for Response {
    fn noise_law(&self) -> NoiseLaw {
        self.0.law()
    }
}

/// The most informative response of a family that meets the budget, with its guarantee.
pub(super) fn calibrated(
    family: ResponseFamily,
    adjacency: Adjacency,
    budget: Budget,
    theorem: Theorem,
) -> Result<Calibrated<Response>> {
    let keep = family.calibrate(budget)?;
    let (basis, profile) = (AUTHOR.theorem(theorem), family.profile(keep));
    let response = Response(KaryResponse::new(family.alphabet, keep)?);
    Ok(AUTHOR.calibrated(adjacency, budget, basis, profile, response)?)
}

/// Public facts on which the error of a similarity depends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetFacts {
    /// Typical number of items of a set; hashed minima do not depend on it.
    pub size: f64,
    /// Jaccard similarity of two sets.
    pub similarity: f64,
}

impl SetFacts {
    pub(super) fn check(self) -> Result<Self> {
        let Self { size, similarity } = self;
        if !(size >= 1.0 && size.is_finite()) {
            return Err(Error::invalid("typical set size", size, "[1, inf)"));
        }
        if !(similarity > 0.0 && similarity <= 1.0) {
            return Err(Error::invalid("similarity", similarity, "(0, 1]"));
        }
        Ok(self)
    }
}

/// The expected error of the similarity from hashed minima.
pub(super) fn predict_hashed(
    shape: SymbolShape,
    keep: Probability,
    facts: SetFacts,
) -> Result<Prediction> {
    let facts = facts.check()?;
    let (positions, alphabet) = (shape.positions(), u64::from(shape.alphabet()));
    let law = CollisionLaw::new(positions, shape.concatenation(), alphabet, keep)?;
    Ok(Prediction::new(SIMILARITY, law.standard_error_at(facts.similarity)))
}

pub(super) const SIMILARITY: &str = "a Jaccard similarity";

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
    // Fresh hash functions are shared by all sets of a user: their differences are not independent.
    let apart = matches!(mechanism, BUCKETS | BINS);
    let each = if apart { adjacency.each() } else { adjacency };
    let family = match (mechanism, facts.coding, each) {
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
        (FRESH_BINS, Coding::Bins, Adjacency::SetItems { alpha, min_size }) => {
            let neighbours = SetNeighbours::new(alpha, min_size)?;
            ResponseFamily::fresh_bins(slots, alphabet - 1, neighbours)?
        }
        _ => return Ok(None),
    };
    Ok(Some(family.of_user(adjacency.rows()).profile(facts.keep)))
}

/// Checks sets and makes their signatures.
type Sign<'a> = dyn Fn(&[ItemSet]) -> Result<SignatureMatrix> + Sync + 'a;

/// A mechanism of symbols with its hash functions drawn.
pub(super) struct SymbolSource<'a> {
    pub(super) mechanism: &'static str,
    pub(super) calibrated: &'a Calibrated<Response>,
    pub(super) scheme: Scheme,
    pub(super) coding: Coding,
    pub(super) origin: Option<SeedOrigin>,
    pub(super) sign: Box<Sign<'a>>,
}

impl SymbolSource<'_> {
    pub(super) fn release(
        &self,
        sets: &[ItemSet],
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<PrivateSymbols>> {
        let (generator, total) = (rng.kind(), sets.len().div_ceil(PART) as u64);
        let mut symbols = Vec::with_capacity(sets.len() * self.scheme.slots);
        for (part, sets) in sets.chunks(PART).enumerate() {
            Progress::new(part as u64, total).ask(hook)?;
            let signatures = (self.sign)(sets).map_err(|e| e.offset_row(part * PART))?;
            symbols.extend(self.respond(&signatures, rng)?);
        }
        let symbols = PrivateSymbols::new(self.facts(), symbols);
        Ok(Release::certified(symbols, self.certificate(sets.len(), generator)))
    }

    fn response(&self) -> &KaryResponse {
        &self.calibrated.noise().0
    }

    fn respond(&self, signatures: &SignatureMatrix, rng: &mut NoiseRng) -> Result<Vec<u16>> {
        respond(signatures, self.response(), rng)
    }

    /// What is public about the symbols.
    fn facts(&self) -> SymbolFacts {
        let (alphabet, keep) = (self.response().alphabet(), self.response().keep());
        SymbolFacts { scheme: self.scheme.clone(), coding: self.coding, alphabet, keep }
    }

    fn certificate(&self, sets: usize, generator: GeneratorKind) -> Certificate {
        let mut public = self.scheme.public_parameters(sets);
        if let Some(origin) = self.origin {
            public.insert(SeedOrigin::KEY.to_owned(), origin.name().into());
        }
        let model = hash_model(self.calibrated.guarantee());
        public.insert(HASH_MODEL.to_owned(), model.into());
        self.calibrated.certificate(self.mechanism, public, generator)
    }
}

/// Sets released between two questions to the hook: a whole number of noise streams.
const PART: usize = 64 * ROWS_PER_STREAM;

impl SetSource for SymbolSource<'_> {
    fn slots(&self, sets: &[ItemSet]) -> Result<Vec<u32>> {
        Ok((self.sign)(sets)?.into_slots())
    }

    fn whole(&self, held: usize) -> usize {
        let row = self.scheme.slots;
        held / row / ROWS_PER_STREAM * ROWS_PER_STREAM * row
    }

    fn put(&self, held: Vec<u32>, rng: &mut NoiseRng, out: &mut Writer) -> Result<()> {
        let signatures = SignatureMatrix::new(self.scheme.clone(), held);
        PrivateSymbols::new(self.facts(), self.respond(&signatures, rng)?).write(out)
    }

    fn trailer(&self, sets: usize, generator: GeneratorKind) -> Result<Trailer> {
        let certificate = self.certificate(sets, generator);
        // An empty release says what all have in common.
        let none = PrivateSymbols::new(self.facts(), Vec::new());
        let shape = (sets, self.scheme.slots);
        Ok(Trailer::new(shape, none.fingerprint(), &none.parameters()?, certificate)?)
    }
}
