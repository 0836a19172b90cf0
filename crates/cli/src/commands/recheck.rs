//! The sensitivity of a release, computed again from its public parameters.
//!
//! A certificate alone cannot say what the projection's row norms are; whoever holds the seed can. Whatever
//! is needed and missing, or not of its type, is a refusal.

use crate::error::{Error, Result};
use dp_core::certificate::PublicParameters;
use dp_core::release_file::{AnyCertificate, Kind, Summary};
use dp_core::{
    Adjacency, Bound, Certificate, Guarantee, Profile, Provenance, PublicSeed, PublicValue,
    SeedOrigin,
};
use serde::de::DeserializeOwned;
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::sets::{Coding, MixtureResponse, SetNeighbours, SymbolFacts, SymbolShape};
use sketch::signs::{FreshConfig, FreshSigns, NormFloor, SignSketch};
use sketch::vectors::{AveragedProjection, PrivateProjection};

/// Relative room for other versions of elementary functions.
const ROOM: f64 = 1e-9;

/// What came of computing a sensitivity again.
pub(super) enum Recheck {
    Agrees,
    /// It could not be, and why.
    NotChecked(&'static str),
}

/// Refuses what a certificate states of itself.
fn rejected<T>(reason: impl core::fmt::Display) -> Result<T> {
    Err(Error::Refused(format!("certificate rejected: {reason}")))
}

const PUBLISHED: &str = "it is a published claim, which is not computed again";

/// Computes again what the guarantee of a release file rests on.
///
/// # Errors
/// [`Error::Refused`] when the certificate counts less, or lacks what every release of its kind states.
pub(super) fn release(summary: &Summary) -> Result<Recheck> {
    let AnyCertificate::Private(certificate) = &summary.certificate else {
        return Ok(Recheck::NotChecked("it gives no differential privacy"));
    };
    if claim_alone(certificate.guarantee()) {
        return Ok(Recheck::NotChecked(PUBLISHED));
    }
    match summary.kind {
        Kind::Sketch64 | Kind::Sketch32 => projected(certificate),
        Kind::Signs => signs(certificate, &parameters::<Vec<ProjectionSpec>>(summary)?),
        Kind::Symbols => symbols(certificate, &parameters(summary)?),
        // The bound of a row and its change, which the certificate's own check compares.
        Kind::Covariance => Ok(Recheck::Agrees),
        _ => Ok(Recheck::NotChecked("releases of this kind do not state all it follows from")),
    }
}

fn parameters<T: DeserializeOwned>(summary: &Summary) -> Result<T> {
    serde_json::from_str(&summary.parameters)
        .map_err(|e| Error::Refused(format!("certificate rejected: its parameters: {e}")))
}

/// Whether it is a published claim of which nothing can be computed again. One about the noise of a
/// given projection states that projection's sensitivity, as a proven one does.
fn claim_alone(guarantee: &Guarantee) -> bool {
    matches!(guarantee.provenance(), Provenance::Published { .. })
        && !matches!(guarantee.profile(), Some(Profile::Gaussian { .. } | Profile::Laplace { .. }))
}

/// As [`release`] for a certificate alone: what names a projection must agree with it.
///
/// # Errors
/// As [`release`].
pub(super) fn certificate(certificate: &Certificate) -> Result<Recheck> {
    let guarantee = certificate.guarantee();
    if claim_alone(guarantee) {
        return Ok(Recheck::NotChecked(PUBLISHED));
    }
    match guarantee.profile() {
        Some(
            Profile::Gaussian { .. } | Profile::Laplace { .. } | Profile::ChiMixtureGaussian { .. },
        ) if PROJECTION.iter().any(|name| certificate.statement().public.contains_key(*name)) => {
            projected(certificate)
        }
        _ => Ok(Recheck::NotChecked("the certificate alone does not state all it follows from")),
    }
}

/// What the certificate of a projection states.
const PROJECTION: [&str; 3] = ["projection", "projection seed", "largest entry"];

/// Draws the projection a certificate names and compares the sensitivity its guarantee rests on.
fn projected(certificate: &Certificate) -> Result<Recheck> {
    let (statement, guarantee) = (certificate.statement(), certificate.guarantee());
    let spec = spec(&statement.public)?;
    let Some(PublicValue::Real(bound)) = statement.public.get("largest entry") else {
        return rejected("it states no largest entry, from which its sensitivity follows");
    };
    let bound = Bound::new(*bound)?;
    let (adjacency, budget) = (guarantee.adjacency(), guarantee.budget());
    if shift(guarantee).is_some() {
        return averaged(certificate, spec, bound);
    }
    let of = |guarantee: &Guarantee| match guarantee.profile() {
        Some(Profile::Gaussian { sensitivity, .. }) => Some(sensitivity.get()),
        Some(Profile::Laplace { sensitivity, .. }) => Some(sensitivity.get()),
        _ => None,
    };
    let again = match guarantee.profile() {
        Some(Profile::Laplace { .. }) => {
            PrivateProjection::laplace(spec.build(), adjacency, bound, budget)
        }
        _ => PrivateProjection::gaussian(spec.build(), adjacency, bound, budget),
    }?;
    let (Some(stated), Some(needed)) = (of(guarantee), of(again.guarantee())) else {
        return rejected("its profile is not one of a projection");
    };
    if stated >= needed * (1.0 - ROOM) {
        return Ok(Recheck::Agrees);
    }
    rejected(format!(
        "the profile states sensitivity {stated}, but the projection of this seed has {needed} under \
         this adjacency"
    ))
}

/// As [`projected`] for a projection drawn at release, from the sizes that are public: what a
/// change shifts at most, and what rounding adds.
fn averaged(certificate: &Certificate, spec: ProjectionSpec, bound: Bound) -> Result<Recheck> {
    let (statement, guarantee) = (certificate.statement(), certificate.guarantee());
    check_fresh(&spec, &statement.public)?;
    let (d, k) = (spec.d(), spec.k());
    let (adjacency, budget) = (guarantee.adjacency(), guarantee.budget());
    let again = AveragedProjection::gaussian(d, k, adjacency, bound, budget)?;
    let (Some(stated), Some(needed)) = (shift(guarantee), shift(again.guarantee())) else {
        return rejected("its profile is not one of a projection");
    };
    if stated.0 == k as u64
        && stated.1 >= needed.1 * (1.0 - ROOM)
        && stated.2 >= needed.2 * (1.0 - ROOM)
    {
        return Ok(Recheck::Agrees);
    }
    rejected(format!(
        "the profile states a shift of {} and {} of rounding in {} columns, but these sizes have {} \
         and {} in {k} under this adjacency",
        stated.1, stated.2, stated.0, needed.1, needed.2
    ))
}

/// Refuses a guarantee averaged over a projection that is not Gaussian, not drawn at release, or drawn
/// from fewer than 256 bits.
fn check_fresh(spec: &ProjectionSpec, public: &PublicParameters) -> Result<()> {
    let gaussian = spec.family() == Family::Gaussian;
    if gaussian && public.contains_key(SeedOrigin::KEY) && spec.seed().bits() == 256 {
        return Ok(());
    }
    rejected(
        "the guarantee is averaged over the projection, which is not a fresh Gaussian one of a \
         256-bit seed",
    )
}

/// Columns, shift of an entry and rounding that an averaged profile counts.
fn shift(guarantee: &Guarantee) -> Option<(u64, f64, f64)> {
    match guarantee.profile()? {
        Profile::ChiMixtureGaussian { k, entry_shift, sigma, later_mu } => {
            Some((*k, entry_shift.get(), later_mu * sigma.get()))
        }
        _ => None,
    }
}

/// As [`projected`] for signs: how many bits one attribute can touch, or how likely it turns one of
/// a fresh projection.
fn signs(certificate: &Certificate, specs: &[ProjectionSpec]) -> Result<Recheck> {
    match certificate.guarantee().profile() {
        Some(Profile::BinomialMixture { .. }) => turned_bits(certificate, specs),
        Some(Profile::RandomizedResponse { bits, .. }) => {
            let sketch = SignSketch::new(specs.iter().map(|spec| spec.build()).collect())?;
            let touched = sketch.touched_by_one_attribute() as u64;
            let attribute = Adjacency::Attribute { beta: Bound::new(1.0)? };
            if !same_kind(certificate.guarantee().adjacency(), attribute) {
                return rejected(
                    "signs protect single attributes, and it states another adjacency",
                );
            }
            if *bits >= touched {
                return Ok(Recheck::Agrees);
            }
            rejected(format!("the profile counts {bits} bits, but one attribute touches {touched}"))
        }
        _ => rejected("its profile is not one of signs"),
    }
}

fn same_kind(a: Adjacency, b: Adjacency) -> bool {
    core::mem::discriminant(&a) == core::mem::discriminant(&b)
}

fn turned_bits(certificate: &Certificate, specs: &[ProjectionSpec]) -> Result<Recheck> {
    let (statement, guarantee) = (certificate.statement(), certificate.guarantee());
    let ([spec], Some(PublicValue::Real(least)), Some(PublicValue::Integer(lifted))) =
        (specs, statement.public.get("least norm"), statement.public.get("lifted"))
    else {
        return rejected("no least norm of rows is stated");
    };
    check_fresh(spec, &statement.public)?;
    let least = Bound::new(*least)?;
    let (floor, d) = match lifted {
        0 => (NormFloor::Promised(least), spec.d()),
        _ => (NormFloor::Lifted(least), spec.d().saturating_sub(1)),
    };
    let (bits, adjacency) = (spec.k(), guarantee.adjacency());
    // The bound of the values does not enter the profile.
    let config = FreshConfig { d, bits, floor, bound: least, adjacency };
    let again = FreshSigns::exact(config, guarantee.budget())?;
    let (Some(stated), Some(needed)) = (turned(guarantee), turned(again.guarantee())) else {
        return rejected("its profile is not one of signs");
    };
    if stated.0 >= needed.0 && stated.1 >= needed.1 * (1.0 - ROOM) {
        return Ok(Recheck::Agrees);
    }
    rejected(format!(
        "the profile counts {} bits that turn with probability {}, but there are {} with {}",
        stated.0, stated.1, needed.0, needed.1
    ))
}

/// As [`projected`] for set signatures: how many symbols a change can touch, or how likely it turns
/// one under fresh hash functions.
fn symbols(certificate: &Certificate, facts: &SymbolFacts) -> Result<Recheck> {
    let (statement, guarantee) = (certificate.statement(), certificate.guarantee());
    let slots = facts.scheme.slots as u64;
    let touched = match (facts.coding, guarantee.adjacency()) {
        (Coding::Bins, Adjacency::SetItems { alpha, .. }) => alpha.min(slots),
        _ => slots,
    };
    let (stated, needed) = match guarantee.profile() {
        Some(Profile::KaryResponse { responses, .. }) => ((*responses, 1.0), (touched, 1.0)),
        Some(Profile::RandomizedResponse { bits, .. }) => ((*bits, 1.0), (touched, 1.0)),
        Some(Profile::BinomialMixture { .. }) => {
            let (Coding::Hashed { concatenation }, Adjacency::SetItems { alpha, min_size }) =
                (facts.coding, guarantee.adjacency())
            else {
                return rejected("its profile is not one of these signatures");
            };
            if !statement.public.contains_key(SeedOrigin::KEY) {
                return rejected(
                    "the guarantee is averaged over hash functions that are not fresh",
                );
            }
            let symbols = u32::try_from(facts.alphabet).unwrap_or(u32::MAX);
            let shape = SymbolShape::new(facts.scheme.slots, concatenation, symbols)?;
            let neighbours = SetNeighbours::new(alpha, min_size)?;
            let again = MixtureResponse::calibrate(shape, neighbours, guarantee.budget())?;
            let needed = turned(again.guarantee()).unwrap_or((slots, 1.0));
            (turned(guarantee).unwrap_or((0, 0.0)), needed)
        }
        _ => return rejected("its profile is not one of set signatures"),
    };
    if stated.0 >= needed.0 && stated.1 >= needed.1 * (1.0 - ROOM) {
        return Ok(Recheck::Agrees);
    }
    rejected(format!(
        "the profile counts {} symbols that change with probability {}, but there are {} with {}",
        stated.0, stated.1, needed.0, needed.1
    ))
}

/// Bits, and how likely each turns, that a mixture counts.
fn turned(guarantee: &Guarantee) -> Option<(u64, f64)> {
    match guarantee.profile()? {
        Profile::BinomialMixture { trials, probability, .. } => Some((*trials, probability.get())),
        _ => None,
    }
}

/// The projection that public parameters name: all of it, or none.
fn spec(public: &PublicParameters) -> Result<ProjectionSpec> {
    let missing = |name: &str| {
        Error::Refused(format!(
            "certificate rejected: its projection's {name} is missing or of another type"
        ))
    };
    let whole = |name: &str| match public.get(name) {
        Some(PublicValue::Integer(value)) => Ok(*value),
        _ => Err(missing(name)),
    };
    let text = |name: &str| match public.get(name) {
        Some(PublicValue::Text(value)) => Ok(value.as_str()),
        _ => Err(missing(name)),
    };
    let nonzeros = || u32::try_from(whole("nonzeros")?).map_err(|_| missing("nonzeros"));
    let family = match text("projection")? {
        "gaussian" => Family::Gaussian,
        "rademacher" => Family::Rademacher,
        "achlioptas" => Family::Achlioptas,
        "very-sparse" => Family::VerySparse,
        "sparse-jl" => Family::SparseJl { nonzeros: nonzeros()? },
        "hashed-copies" => Family::HashedCopies { copies: nonzeros()? },
        "srht" => Family::Srht {
            sampling: match text("sampling")? {
                "with-replacement" => Sampling::WithReplacement,
                "without-replacement" => Sampling::WithoutReplacement,
                _ => return Err(missing("sampling")),
            },
        },
        "oporp" => Family::Oporp,
        "count-sketch" => Family::CountSketch,
        "identity" => Family::Identity,
        _ => return Err(missing("name")),
    };
    let seed = public.get("projection seed").ok_or_else(|| missing("seed"))?;
    let seed = PublicSeed::try_from(seed.clone())?;
    let size =
        |x| usize::try_from(x).map_err(|_| Error::Refused("the projection is too large".into()));
    let (d, k) = (size(whole("d")?)?, size(whole("k")?)?);
    Ok(ProjectionSpec::new(family, d, k, seed)?)
}
