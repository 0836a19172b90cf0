//! The sensitivity of a real-valued sketch, computed again from its public seed.
//!
//! A certificate alone cannot say what the projection's row norms are; whoever holds the seed can.

use crate::error::{Error, Result};
use dp_core::certificate::PublicParameters;
use dp_core::{Bound, Certificate, Profile, Provenance, PublicSeed, PublicValue};
use sketch::private::PrivateProjection;
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::sign::{SignRelease, SignSketch};

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

/// As [`sensitivity`] for signs of public projections: how many bits one attribute can touch.
///
/// # Errors
/// [`Error::Refused`] when the profile counts fewer.
pub(super) fn touched_bits(release: &SignRelease) -> Result<Recheck> {
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
    let (Some(d), Some(k), Some(seed)) = (whole("d"), whole("k"), whole("projection seed")) else {
        return Ok(None);
    };
    let size =
        |x| usize::try_from(x).map_err(|_| Error::Refused("the projection is too large".into()));
    Ok(Some(ProjectionSpec::new(family, size(d)?, size(k)?, PublicSeed::new(seed))?))
}
