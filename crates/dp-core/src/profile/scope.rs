//! Which adjacencies a profile can speak of, and what it is called.

use super::kinds::{Profile, RowChange};
use crate::adjacency::Adjacency;
use crate::error::{Result, rejected};
use crate::quantity::NormBound;

impl Profile {
    /// Whether the profile can speak of this adjacency: one about a row's change must be about the
    /// same change, within a bound no smaller.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] naming what does not agree.
    pub(crate) fn check_adjacency(&self, adjacency: Adjacency) -> Result<()> {
        match *self {
            Self::JlMechanism { bound, change, .. } | Self::Wishart { bound, change, .. } => {
                same_row(adjacency, bound, change, 1.0)
            }
            // Rows of a user move the matrix by as many times what one does: as a row longer by their root.
            Self::SymmetricGaussian { bound, change, .. } => {
                same_row(adjacency.each(), bound, change, (adjacency.rows() as f64).sqrt())
            }
            Self::Repeated { ref profile, .. } => profile.check_adjacency(adjacency),
            Self::Group { ref profile, .. } => profile.check_adjacency(adjacency.each()),
            _ => Ok(()),
        }
    }

    /// The kind of profile, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "Gaussian",
            Self::GaussianComposition { .. } => "Gaussian composition",
            Self::Laplace { .. } => "Laplace",
            Self::Staircase { .. } => "staircase",
            Self::DiscreteLaplace { .. } => "discrete Laplace",
            Self::DiscreteGaussian { .. } => "discrete Gaussian",
            Self::PureDp { .. } => "pure",
            Self::GaussianAndPure { .. } => "Gaussian and pure",
            Self::RandomizedResponse { .. } => "randomised response",
            Self::KaryResponse { .. } => "k-ary response",
            Self::ChiMixtureGaussian { .. } => "chi mixture",
            Self::JlMechanism { .. } => "Johnson-Lindenstrauss",
            Self::Wishart { .. } => "Wishart",
            Self::SymmetricGaussian { .. } => "symmetric Gaussian",
            Self::BinomialMixture { .. } => "binomial mixture",
            Self::ApproximateDp { .. } => "approximate",
            Self::Zcdp { .. } => "concentrated",
            Self::LossDistribution { .. } => "loss distribution",
            Self::Repeated { .. } => "repeated",
            Self::Group { .. } => "group",
        }
    }
}

/// The profile must cover the adjacency's row, so many times as long: same change, a bound no smaller (rounding
/// to the grid may make it a little larger).
fn same_row(adjacency: Adjacency, bound: NormBound, change: RowChange, longer: f64) -> Result<()> {
    let (stated, changes) = row(adjacency)?;
    if changes != change {
        let found = format!("the profile is for {change:?}, the adjacency is {adjacency}");
        return Err(rejected("guarantee.profile.change", found));
    }
    let least = stated.get() * longer;
    if bound.get() >= least * (1.0 - 1e-12) {
        Ok(())
    } else {
        let text = format!("states {bound}, must be at least {least}");
        Err(rejected("guarantee.profile.bound", text))
    }
}

/// The bound and the change of an adjacency about one row.
fn row(adjacency: Adjacency) -> Result<(NormBound, RowChange)> {
    match adjacency {
        Adjacency::AddRemoveRow { bound } | Adjacency::ZeroRow { bound } => {
            Ok((bound, RowChange::AddRemove))
        }
        Adjacency::ReplaceRow { bound } => Ok((bound, RowChange::Replace)),
        other => Err(rejected(
            "guarantee.adjacency",
            format!("{other}: this profile speaks of a row added, removed, zeroed or replaced"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Epsilon, L1Sensitivity, L2Sensitivity, LaplaceScale, NoiseScale};

    /// The words that refusals have for a profile.
    #[test]
    fn kinds_are_told_apart_in_words() {
        let (sigma, scale) = (NoiseScale::new(1.0).unwrap(), LaplaceScale::new(1.0).unwrap());
        let all = [
            Profile::Gaussian { sensitivity: L2Sensitivity::new(1.0).unwrap(), sigma },
            Profile::Laplace { sensitivity: L1Sensitivity::new(1.0).unwrap(), scale },
            Profile::DiscreteGaussian { moves: 1, sigma },
            Profile::DiscreteLaplace { moves: 1, scale },
            Profile::PureDp { epsilon: Epsilon::new(1.0).unwrap() },
        ];
        let words = all.map(|profile| profile.kind());
        assert_eq!(words, ["Gaussian", "Laplace", "discrete Gaussian", "discrete Laplace", "pure"]);
    }
}
