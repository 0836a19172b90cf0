//! What a profile of one covariance must be.

use super::checks::{ROOM, at_least, rejected, size};
use crate::covariance::{
    CHOSEN, CONSTANT, CovarianceNoise, GaussianCovariance, ROWS, RowClip, leaves_rows_public,
    moved_counts, unit_change,
};
use crate::error::Result;
use dp_core::noise::NoiseLaw;
use dp_core::profile::covariance_sensitivity;
use dp_core::{Certificate, NormBound, Profile, PublicValue};
use sketch::verify::Finding;

/// What no row of the certificate's dimension is longer than, once clipped and rounded.
pub(super) fn clip(certificate: &Certificate) -> Result<RowClip> {
    let (bound, ..) = unit_change(certificate.guarantee().adjacency(), "covariance")?;
    RowClip::new(size(&certificate.statement().public, "d")?, bound)
}

/// One covariance: the bound of a clipped and rounded row, with the constant of moments, and what a coarser grid
/// adds.
pub(super) fn covariance(certificate: &Certificate) -> Result<Finding> {
    let mut clip = clip(certificate)?;
    let chosen = match certificate.statement().public.get(CHOSEN) {
        None => false,
        Some(PublicValue::Real(bound)) if *bound <= clip.bound() => {
            clip = RowClip::new(clip.dim(), NormBound::new(*bound)?)?;
            true
        }
        Some(_) => {
            return rejected("its chosen bound is above that of its adjacency, or no number");
        }
    };
    match certificate.statement().public.get(CONSTANT) {
        None => {}
        Some(PublicValue::Real(constant)) => clip = clip.followed_by(*constant)?,
        Some(_) => return rejected("its constant is of another type"),
    }
    if certificate.statement().public.contains_key(ROWS)
        && !leaves_rows_public(certificate.guarantee().adjacency())
    {
        return rejected("it states the number of rows, which its adjacency protects");
    }
    let longest = clip.certified_bound().get();
    let adjacency = certificate.guarantee().adjacency();
    let (_, change, rows) = unit_change(adjacency, "covariance")?;
    let law = CovarianceNoise::of_matrix(&certificate.statement().noise);
    match (certificate.guarantee().profile(), law) {
        (
            Some(Profile::GaussianComposition { steps }),
            NoiseLaw::SymmetricGaussian { grid, .. },
        ) if chosen => {
            let paid = GaussianCovariance::paid_bound(&clip, rows, *grid)?;
            let [own, counts] = &steps[..] else {
                return rejected("its profile is not one of a matrix and counts of norms");
            };
            at_least("sensitivity", counts.sensitivity.get(), moved_counts(adjacency), ROOM)?;
            at_least(
                "sensitivity",
                own.sensitivity.get(),
                covariance_sensitivity(paid, change),
                ROOM,
            )
        }
        _ if chosen => rejected("its profile does not pay for a chosen bound"),
        (
            Some(Profile::SymmetricGaussian { bound, .. }),
            NoiseLaw::SymmetricGaussian { grid, .. },
        ) => {
            let needed = GaussianCovariance::paid_bound(&clip, rows, *grid)?;
            at_least("a bound of rows of", bound.get(), needed.get(), ROOM)
        }
        (Some(Profile::Wishart { dim, bound, .. }), _) => {
            same_dim(*dim, clip.dim())?;
            at_least("a bound of rows of", bound.get(), longest, ROOM)
        }
        (Some(Profile::JlMechanism { bound, .. }), _) => {
            at_least("a bound of rows of", bound.get(), longest, ROOM)
        }
        _ => rejected("its profile is not one of a covariance"),
    }
}

/// The profile of Wishart noise is that of matrices of the stated size.
pub(super) fn same_dim(profile: u64, d: usize) -> Result<()> {
    if profile == d as u64 {
        return Ok(());
    }
    rejected(format!("the profile is one of {profile} x {profile} matrices, but d is {d}"))
}
