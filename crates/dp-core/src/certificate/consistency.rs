//! Which noise laws can give which profiles, and with what parameters.

use crate::adjacency::Adjacency;
use crate::error::rejected;
use crate::error::{Error, Result};
use crate::guarantee::Guarantee;
use crate::noise::{NoiseLaw, Shape, StaircaseNoise, cap_epsilon};
use crate::profile::Profile;
use crate::public::{PublicParameters, PublicValue};
use crate::quantity::NoiseScale;
use crate::theorem::Theorem;

/// Most laws one after the other, and how deep they may be nested.
const MOST_LAWS: usize = 1 << 12;

/// A law on its own: its grid is fine enough, and a list is of something.
pub(super) fn check_law(noise: &NoiseLaw) -> Result<()> {
    let coarse = |e: Error| rejected("noise.grid", e.to_string());
    match noise {
        NoiseLaw::RoundedGaussian { sigma, grid } | NoiseLaw::SymmetricGaussian { sigma, grid } => {
            grid.check_scale(*sigma).map_err(coarse)
        }
        NoiseLaw::UnitCap { threshold, inside, grid } => {
            cap_epsilon(*threshold, *inside).map_err(|e| rejected("noise", e.to_string()))?;
            grid.check_scale(NoiseScale::new(1.0)?).map_err(coarse)
        }
        NoiseLaw::RoundedLaplace { scale, grid } => grid.check_scale(*scale).map_err(coarse),
        NoiseLaw::Staircase { epsilon, width, inner, grid } => {
            let shape = Shape::new(*epsilon, *width, *inner);
            shape.and_then(|s| StaircaseNoise::new(s, *grid)).map_err(coarse).map(drop)
        }
        NoiseLaw::Several { laws } => {
            if !(1..=MOST_LAWS).contains(&laws.len()) {
                return Err(rejected(
                    "noise.laws",
                    format!("{}, not 1 to {MOST_LAWS}", laws.len()),
                ));
            }
            laws.iter().try_for_each(|law| match law {
                NoiseLaw::Several { .. } => Err(rejected("noise.laws", "several laws in a list")),
                _ => check_law(law),
            })
        }
        _ => Ok(()),
    }
}

/// Where a stream's rows are counted, one row fewer moves every later one.
pub(super) fn check_pace(adjacency: Adjacency, public: &PublicParameters) -> Result<()> {
    let counted = public.get("pace") == Some(&PublicValue::from("rows"));
    if counted && matches!(adjacency.each(), Adjacency::AddRemoveRow { .. }) {
        let text = "blocks that end after a number of rows do not hide that a row came";
        return Err(rejected("guarantee.adjacency", text));
    }
    Ok(())
}

/// A pure profile says nothing of how often a response was taken: theorems that speak of one are about one noise. Caps are
/// one a row; counts of groups move by as many items as may change.
pub(super) fn check_pure(guarantee: &Guarantee, noise: &NoiseLaw) -> Result<()> {
    match (guarantee.provenance().theorem(), noise) {
        (Some(Theorem::UnitVectors), NoiseLaw::UnitCap { .. }) => Ok(()),
        // The whole steps that beta holds, at least; what rounding adds follows from the groups, which a certificate does not have.
        (Some(Theorem::PrivateGroups), NoiseLaw::Several { laws }) => {
            let (Adjacency::Attribute { beta }, [_, NoiseLaw::Staircase { width, grid, .. }]) =
                (guarantee.adjacency(), &laws[..])
            else {
                return Err(rejected("noise", "private-groups speaks of staircase noise on sums"));
            };
            let moved = (beta.get() * (1.0 - 1e-12) / grid.spacing()).floor();
            if *width as f64 >= moved {
                return Ok(());
            }
            let text = format!("states {width} steps, but {beta} moves sums by {moved}");
            Err(rejected("noise.laws.width", text))
        }
        (Some(Theorem::PrivateGroups), _) => {
            Err(rejected("noise", "private-groups speaks of two laws"))
        }
        (Some(Theorem::UnitVectors), _) => {
            Err(rejected("noise", "unit-vectors speaks of unit-cap noise alone"))
        }
        (Some(Theorem::GroupCounts), NoiseLaw::DiscreteLaplace { scale }) => {
            let (Adjacency::SetItems { alpha, .. }, Some(Profile::PureDp { epsilon })) =
                (guarantee.adjacency(), guarantee.profile())
            else {
                return Err(rejected("guarantee", "group-counts speaks of a pure one of items"));
            };
            let least = alpha as f64 / scale.get();
            if epsilon.get() >= least * (1.0 - 1e-12) {
                return Ok(());
            }
            let text = format!("states {epsilon}, must be at least {least} for {alpha} items");
            Err(rejected("guarantee.profile.epsilon", text))
        }
        (Some(Theorem::GroupCounts), _) => {
            Err(rejected("noise", "group-counts speaks of discrete-laplace noise alone"))
        }
        // Profiles that do not state the scale of every law: theorems whose steps have sensitivities of their own, alone, leave it so.
        (Some(theorem), NoiseLaw::Several { .. })
            if match guarantee.profile() {
                Some(Profile::Gaussian { .. }) => {
                    !matches!(theorem, Theorem::ProjectionMultiScale | Theorem::PublicBasis)
                }
                Some(Profile::ChiMixtureGaussian { .. }) => theorem != Theorem::FindAndProject,
                _ => false,
            } =>
        {
            let text = format!("{theorem} speaks of one law where this is its profile");
            Err(rejected("noise", text))
        }
        _ => Ok(()),
    }
}

/// The rule book: the profile's parameters against the noise law and the adjacency.
///
/// Each kind of profile states its rules beside its formula; a pair that is in none of them is rejected. Limits
/// and adjacency are checked with the guarantee.
pub(super) fn check(adjacency: Adjacency, profile: &Profile, noise: &NoiseLaw) -> Result<()> {
    if profile.given_by(noise, adjacency)? {
        return Ok(());
    }
    let text = match noise {
        NoiseLaw::DiscreteGaussian { .. } => {
            "integer Gaussian noise has the profile of its own of one number, and a concentrated one of several: for \
             others use the rounded Gaussian"
                .into()
        }
        NoiseLaw::DiscreteLaplace { .. } => {
            "integer Laplace noise of scale b has the profile of its own and the pure one of sensitivity / b, and no \
             other"
                .into()
        }
        _ => format!("{noise:?} is not known to give the profile {profile:?}"),
    };
    Err(rejected("noise", text))
}
