//! Sums of private groups.

use super::checks::{Checks, ROOM, at_least, rejected, size};
use crate::covariance::CONSTANT;
use crate::error::Result;
use crate::groups::{Facts, GroupSums, moved_under, planned_variance};
use dp_core::noise::NoiseLaw;
use dp_core::release_file::Summary;
use dp_core::{Budget, Certificate, Delta, EntryBound, NormBound, Profile, PublicValue};
use sketch::projection::ProjectionSpec;
use sketch::vectors::PrivateProjection;
use sketch::verify::{Finding, NoisyValues, Trust, on_grid};

/// Columns up to which groups are made again without being asked to: under a second.
const SOON: usize = 512;

const LONG: Finding = Finding::NotChecked(
    "whether its groups follow from its moments, unless long checks were allowed",
);

const ALONE: Finding =
    Finding::NotChecked("a certificate holds a digest of its groups; they are in the release");

/// Whether groups of so many columns are made again from the moments.
fn made_again(d: usize, trust: &Trust) -> bool {
    d <= SOON || trust.is_patient()
}

impl Checks for GroupSums {
    /// What the guarantee needs; and that the groups are those of the moments, where that is soon known.
    fn sensitivity(&self, certificate: &Certificate, trust: &Trust) -> Result<Finding> {
        let spec = self.sums().projection();
        let found = sums(certificate, spec)?;
        if made_again(spec.d(), trust) {
            let (entry, rest) = of_sums(certificate)?;
            let adjacency = certificate.guarantee().adjacency();
            self.check_groups(planned_variance(spec.d(), adjacency, entry, rest)?)?;
        }
        Ok(found)
    }

    fn noise(&self, certificate: &Certificate, trust: &Trust) -> Result<Finding> {
        let NoiseLaw::Several { laws } = &certificate.statement().noise else {
            return rejected("its noise is not that of moments and sums");
        };
        let [of_moments @ NoiseLaw::SymmetricGaussian { grid, .. }, of_sums] = &laws[..] else {
            return rejected("its noise is not that of moments and sums");
        };
        let moments = self.noisy_moments();
        let columns = self.sums().projection().d() + 1;
        on_grid(&moments, *grid)?;
        NoisyValues::symmetric(&moments, columns, of_moments).check()?;
        let found = NoisyValues::rows(self.sums().values(), self.sums().k(), of_sums).check()?;
        Ok(if made_again(columns - 1, trust) { found } else { LONG })
    }
}

/// The moments: what one value moves, from the bounds that are stated.
pub(super) fn alone(certificate: &Certificate) -> Result<Finding> {
    let (guarantee, statement) = (certificate.guarantee(), certificate.statement());
    let public = &statement.public;
    let real = |name: &str| match public.get(name) {
        Some(PublicValue::Real(value)) => Ok(*value),
        _ => rejected(format!("its parameter {name} is missing or of another type")),
    };
    let (entry, norm) =
        (EntryBound::new(real("largest entry")?)?, NormBound::new(real("row_bound")?)?);
    let (Some(Profile::GaussianAndPure { sensitivity, .. }), NoiseLaw::Several { laws }) =
        (guarantee.profile(), &statement.noise)
    else {
        return rejected("its profile is not one of moments and sums");
    };
    let Some(NoiseLaw::SymmetricGaussian { grid, .. }) = laws.first() else {
        return rejected("its noise is not that of moments and sums");
    };
    let needed = moved_under(
        guarantee.adjacency(),
        (size(public, "d")?, entry, norm),
        real(CONSTANT)?,
        *grid,
    )?;
    at_least("sensitivity", sensitivity.get(), needed.get(), ROOM)?;
    Ok(ALONE)
}

/// As [`alone`], and the width of the sums' noise, for these groups.
fn sums(certificate: &Certificate, spec: ProjectionSpec) -> Result<Finding> {
    alone(certificate)?;
    let (guarantee, public) = (certificate.guarantee(), &certificate.statement().public);
    let stated = |(name, value)| public.get(name) == Some(value);
    if !spec.public_parameters().iter().all(stated) {
        return rejected("the release holds other groups");
    }
    let (entry, rest) = of_sums(certificate)?;
    let again = PrivateProjection::staircase(spec.build(), guarantee.adjacency(), entry, rest)?;
    let NoiseLaw::Several { laws } = &certificate.statement().noise else {
        return rejected("its noise is not that of moments and sums");
    };
    let (
        Some(NoiseLaw::Staircase { width, grid, .. }),
        Some(Profile::Staircase { sensitivity, grid: own, .. }),
    ) = (laws.last(), again.guarantee().profile())
    else {
        return rejected("its noise is not that of moments and sums");
    };
    // Rounding adds a step of the grid that is stated.
    let moved = sensitivity.get() + (grid.spacing() - own.spacing());
    at_least("a width of", *width as f64, (moved / grid.spacing()).floor(), ROOM)
}

/// The bound of an entry, and what the sums spend.
fn of_sums(certificate: &Certificate) -> Result<(EntryBound, Budget)> {
    let Some(PublicValue::Real(entry)) = certificate.statement().public.get("largest entry") else {
        return rejected("its largest entry is missing or of another type");
    };
    let Some(Profile::GaussianAndPure { epsilon, .. }) = certificate.guarantee().profile() else {
        return rejected("its profile is not one of moments and sums");
    };
    Ok((EntryBound::new(*entry)?, Budget { epsilon: *epsilon, delta: Delta::ZERO }))
}

/// A file of which no payload is read.
pub(super) fn of_file(certificate: &Certificate, summary: &Summary) -> Result<Finding> {
    sums(certificate, summary.parameters::<Facts>()?.projection)
}
