//! The sensitivity of a real-valued sketch, computed again from its public seed.
//!
//! A certificate alone cannot say what the projection's row norms are; whoever holds the seed can.

use crate::error::{Error, Result};
use dp_core::certificate::PublicParameters;
use dp_core::{
    Bound, Certificate, Guarantee, Profile, Provenance, PublicSeed, PublicValue, SeedOrigin,
};
use sketch::private::{AveragedProjection, PrivateProjection};
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::sign::{FreshConfig, FreshSigns, NormFloor, SignRelease, SignSketch};

/// Relative room for other versions of elementary functions.
const ROOM: f64 = 1e-9;

/// Whether the projection was drawn again: only then does the sensitivity follow from the seed.
pub(super) enum Recheck {
    Agrees,
    /// Another mechanism: nothing to draw.
    NotApplicable,
}

/// Draws the projection a certificate names and compares the sensitivity its guarantee rests on.
///
/// # Errors
/// [`Error::Refused`] when the certificate's is smaller than the projection's.
pub(super) fn sensitivity(certificate: &Certificate) -> Result<Recheck> {
    let statement = certificate.statement();
    let guarantee = certificate.guarantee();
    if shift(guarantee).is_some() && matches!(guarantee.provenance(), Provenance::Proven { .. }) {
        return averaged(certificate);
    }
    let stated = match guarantee.profile() {
        Some(Profile::Gaussian { sensitivity, .. }) => sensitivity.get(),
        Some(Profile::Laplace { sensitivity, .. }) => sensitivity.get(),
        _ => return Ok(Recheck::NotApplicable),
    };
    let realised = matches!(guarantee.provenance(), Provenance::Proven { .. });
    let (Some(spec), Some(PublicValue::Real(bound)), true) =
        (spec(&statement.public)?, statement.public.get("largest entry"), realised)
    else {
        return Ok(Recheck::NotApplicable);
    };
    let (adjacency, budget, bound) =
        (guarantee.adjacency(), guarantee.budget(), Bound::new(*bound)?);
    let again = match guarantee.profile() {
        Some(Profile::Laplace { .. }) => {
            PrivateProjection::laplace(spec.build(), adjacency, bound, budget)
        }
        _ => PrivateProjection::gaussian(spec.build(), adjacency, bound, budget),
    }?;
    let needed = match again.guarantee().profile() {
        Some(Profile::Gaussian { sensitivity, .. }) => sensitivity.get(),
        Some(Profile::Laplace { sensitivity, .. }) => sensitivity.get(),
        _ => return Ok(Recheck::NotApplicable),
    };
    if stated >= needed * (1.0 - ROOM) {
        return Ok(Recheck::Agrees);
    }
    Err(Error::Refused(format!(
        "certificate rejected: the profile states sensitivity {stated}, but the projection of this \
         seed has {needed} under this adjacency"
    )))
}

/// As [`sensitivity`] for a projection drawn at release, from the sizes that are public: what a
/// change shifts at most, and what rounding adds.
///
/// # Errors
/// [`Error::Refused`] when the certificate counts less.
fn averaged(certificate: &Certificate) -> Result<Recheck> {
    let (statement, guarantee) = (certificate.statement(), certificate.guarantee());
    let (Some(spec), Some(PublicValue::Real(bound)), Some(stated)) =
        (spec(&statement.public)?, statement.public.get("largest entry"), shift(guarantee))
    else {
        return Ok(Recheck::NotApplicable);
    };
    check_fresh(&spec, &statement.public)?;
    let (d, k) = (spec.d(), spec.k());
    let (adjacency, budget) = (guarantee.adjacency(), guarantee.budget());
    let again = AveragedProjection::gaussian(d, k, adjacency, Bound::new(*bound)?, budget)?;
    let Some(needed) = shift(again.guarantee()) else { return Ok(Recheck::NotApplicable) };
    if stated.0 == k as u64
        && stated.1 >= needed.1 * (1.0 - ROOM)
        && stated.2 >= needed.2 * (1.0 - ROOM)
    {
        return Ok(Recheck::Agrees);
    }
    Err(Error::Refused(format!(
        "certificate rejected: the profile states a shift of {} and {} of rounding in {} columns, \
         but these sizes have {} and {} in {k} under this adjacency",
        stated.1, stated.2, stated.0, needed.1, needed.2
    )))
}

/// Refuses a guarantee averaged over a projection that is not Gaussian, not drawn at release, or drawn
/// from fewer than 256 bits.
fn check_fresh(spec: &ProjectionSpec, public: &PublicParameters) -> Result<()> {
    let gaussian = spec.family() == Family::Gaussian;
    if gaussian && public.contains_key(SeedOrigin::KEY) && spec.seed().bits() == 256 {
        return Ok(());
    }
    let text = "averaged over the projection, which is not a fresh Gaussian one of a 256-bit seed";
    Err(Error::Refused(format!("certificate rejected: the guarantee is {text}")))
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

/// As [`sensitivity`] for signs: how many bits one attribute can touch, or how likely it turns one of
/// a fresh projection.
///
/// # Errors
/// [`Error::Refused`] when the profile counts fewer.
pub(super) fn signs(release: &SignRelease) -> Result<Recheck> {
    match release.certificate().guarantee().profile() {
        Some(Profile::BinomialMixture { .. }) => turned_bits(release),
        _ => touched_bits(release),
    }
}

fn turned_bits(release: &SignRelease) -> Result<Recheck> {
    let (statement, guarantee) =
        (release.certificate().statement(), release.certificate().guarantee());
    let (Some(stated), Provenance::Proven { .. }) = (turned(guarantee), guarantee.provenance())
    else {
        return Ok(Recheck::NotApplicable);
    };
    let specs = release.payload().projections();
    let ([spec], Some(PublicValue::Real(least)), Some(PublicValue::Integer(lifted))) =
        (specs, statement.public.get("least norm"), statement.public.get("lifted"))
    else {
        return Err(Error::Refused("certificate rejected: no least norm of rows is stated".into()));
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
    let Some(needed) = turned(again.guarantee()) else { return Ok(Recheck::NotApplicable) };
    if stated.0 >= needed.0 && stated.1 >= needed.1 * (1.0 - ROOM) {
        return Ok(Recheck::Agrees);
    }
    Err(Error::Refused(format!(
        "certificate rejected: the profile counts {} bits that turn with probability {}, but there are \
         {} with {}",
        stated.0, stated.1, needed.0, needed.1
    )))
}

/// Bits, and how likely each turns, that a mixture counts.
fn turned(guarantee: &Guarantee) -> Option<(u64, f64)> {
    match guarantee.profile()? {
        Profile::BinomialMixture { trials, probability, .. } => Some((*trials, probability.get())),
        _ => None,
    }
}

fn touched_bits(release: &SignRelease) -> Result<Recheck> {
    let guarantee = release.certificate().guarantee();
    let (Some(Profile::RandomizedResponse { bits, .. }), Provenance::Proven { .. }) =
        (guarantee.profile(), guarantee.provenance())
    else {
        return Ok(Recheck::NotApplicable);
    };
    let specs = release.payload().projections();
    let sketch = SignSketch::new(specs.iter().map(|spec| spec.build()).collect())?;
    let touched = sketch.touched_by_one_attribute() as u64;
    if *bits >= touched {
        return Ok(Recheck::Agrees);
    }
    Err(Error::Refused(format!(
        "certificate rejected: the profile counts {bits} bits, but one attribute touches {touched}"
    )))
}

/// The projection that public parameters name.
fn spec(public: &PublicParameters) -> Result<Option<ProjectionSpec>> {
    let whole = |name: &str| match public.get(name) {
        Some(PublicValue::Integer(value)) => Some(*value),
        _ => None,
    };
    let text = |name: &str| match public.get(name) {
        Some(PublicValue::Text(value)) => Some(value.as_str()),
        _ => None,
    };
    let nonzeros = whole("nonzeros").and_then(|s| u32::try_from(s).ok()).unwrap_or(0);
    let sampling = match text("sampling") {
        Some("WithReplacement") => Sampling::WithReplacement,
        _ => Sampling::WithoutReplacement,
    };
    let family = match text("projection") {
        Some("gaussian") => Family::Gaussian,
        Some("rademacher") => Family::Rademacher,
        Some("achlioptas") => Family::Achlioptas,
        Some("very-sparse") => Family::VerySparse,
        Some("sparse-jl") => Family::SparseJl { nonzeros },
        Some("hashed-copies") => Family::HashedCopies { copies: nonzeros },
        Some("srht") => Family::Srht { sampling },
        Some("oporp") => Family::Oporp,
        Some("count-sketch") => Family::CountSketch,
        Some("identity") => Family::Identity,
        _ => return Ok(None),
    };
    let (Some(d), Some(k), Some(seed)) = (whole("d"), whole("k"), public.get("projection seed"))
    else {
        return Ok(None);
    };
    let seed = PublicSeed::try_from(seed.clone())?;
    let size =
        |x| usize::try_from(x).map_err(|_| Error::Refused("the projection is too large".into()));
    Ok(Some(ProjectionSpec::new(family, size(d)?, size(k)?, seed)?))
}
