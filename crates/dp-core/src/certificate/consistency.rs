//! Which noise laws can give which profiles, and with what parameters.

use crate::adjacency::Adjacency;
use crate::error::Result;
use crate::guarantee::rejected;
use crate::noise::NoiseLaw;
use crate::profile::{CoordinateProfile, Profile, RowChange, covariance_sensitivity};
use crate::quantity::{Bound, NoiseScale, Probability};

/// Relative room for two ways of computing one number.
const SLACK: f64 = 1e-12;

/// The rule book: the profile's parameters against the noise law and the adjacency.
///
/// A pair that is not in the book is rejected: a new mechanism must add its rule here
/// and in `docs/proofs/certificate.md`.
pub(super) fn check(adjacency: Adjacency, profile: &Profile, noise: &NoiseLaw) -> Result<()> {
    something_happens(profile, noise)?;
    use CoordinateProfile as C;
    use NoiseLaw as N;
    use Profile as P;
    match (profile, noise) {
        (P::Gaussian { sigma, .. }, N::RoundedGaussian { sigma: stated, .. })
        | (P::ChiMixtureGaussian { sigma, .. }, N::RoundedGaussian { sigma: stated, .. }) => {
            scale("noise.sigma", *stated, *sigma)
        }
        (P::ChiMixtureGaussian { sigma, .. }, N::Several { laws }) => match laws.as_slice() {
            // The later steps' sensitivities are public matrices: only their kind is known.
            [N::RoundedGaussian { sigma: stated, .. }, later @ ..] if all_gaussian(later) => {
                scale("noise.laws.sigma", *stated, *sigma)
            }
            _ => unknown(profile, noise),
        },
        // Normalised to sensitivity one: each step's own sensitivity is its public matrix's.
        (P::Gaussian { sensitivity, .. }, N::Several { laws })
            if sensitivity.get() == 1.0 && all_gaussian(laws) =>
        {
            Ok(())
        }
        (P::GaussianComposition { steps }, N::RoundedGaussian { sigma: stated, .. }) => {
            steps.iter().try_for_each(|s| scale("noise.sigma", *stated, s.sigma))
        }
        (P::GaussianComposition { steps }, N::Several { laws }) => {
            if steps.len() != laws.len() {
                return Err(rejected("noise.laws", "not one law for each step of the profile"));
            }
            steps.iter().zip(laws).try_for_each(|(step, law)| match law {
                N::RoundedGaussian { sigma, .. } | N::SymmetricGaussian { sigma, .. } => {
                    scale("noise.laws.sigma", *sigma, step.sigma)
                }
                _ => unknown(profile, noise),
            })
        }
        (P::Gaussian { sensitivity, sigma }, N::SymmetricGaussian { sigma: stated, .. }) => {
            scale("noise.sigma", *stated, *sigma)?;
            let (bound, change) = row(adjacency)?;
            at_least("sensitivity", sensitivity.get(), covariance_sensitivity(bound, change))
        }
        (
            P::SymmetricGaussian { bound, sigma, change },
            N::SymmetricGaussian { sigma: stated, .. },
        ) => {
            scale("noise.sigma", *stated, *sigma)?;
            same_row(adjacency, *bound, *change)
        }
        (P::Laplace { scale: b, .. }, N::RoundedLaplace { scale: stated, .. }) => {
            scale("noise.scale", *stated, *b)
        }
        (
            P::BinomialMixture { coordinate: C::Laplace { scale: b, .. }, .. },
            N::RoundedLaplace { scale: stated, .. },
        ) => scale("noise.scale", *stated, *b),
        (
            P::BinomialMixture { coordinate: C::Gaussian { sigma, .. }, .. },
            N::RoundedGaussian { sigma: stated, .. },
        ) => scale("noise.sigma", *stated, *sigma),
        (P::RandomizedResponse { keep, .. }, N::BitFlip { keep: stated })
        | (P::RandomizedResponse { keep, .. }, N::KaryResponse { alphabet: 2, keep: stated })
        | (P::KaryResponse { alphabet: 2, keep, .. }, N::BitFlip { keep: stated })
        | (
            P::BinomialMixture { coordinate: C::RandomizedResponse { keep }, .. },
            N::BitFlip { keep: stated } | N::KaryResponse { alphabet: 2, keep: stated },
        ) => probability(*stated, *keep),
        (
            P::KaryResponse { alphabet, keep, .. },
            N::KaryResponse { alphabet: letters, keep: stated },
        )
        | (
            P::BinomialMixture { coordinate: C::KaryResponse { alphabet, keep }, .. },
            N::KaryResponse { alphabet: letters, keep: stated },
        ) => {
            whole("noise.alphabet", *letters, *alphabet)?;
            probability(*stated, *keep)
        }
        // A smooth rule gives away its epsilon for each bit, like a response of that epsilon.
        (
            P::RandomizedResponse { keep, .. }
            | P::BinomialMixture { coordinate: C::RandomizedResponse { keep }, .. },
            N::SmoothBitFlip { epsilon, .. },
        ) => {
            let loss = (keep.get() / (1.0 - keep.get())).ln();
            close("noise.epsilon", epsilon.get(), loss, 1e-6)
        }
        (P::PureDp { epsilon }, N::SmoothBitFlip { epsilon: bit, .. }) => {
            at_least("guarantee.profile.epsilon", epsilon.get(), bit.get())
        }
        (P::PureDp { epsilon }, N::BitFlip { keep }) => {
            let loss = (keep.get() / (1.0 - keep.get())).ln().abs();
            at_least("guarantee.profile.epsilon", epsilon.get(), loss)
        }
        (P::PureDp { epsilon }, N::KaryResponse { alphabet, keep }) => {
            let other = (1.0 - keep.get()) / alphabet.saturating_sub(1).max(1) as f64;
            at_least("guarantee.profile.epsilon", epsilon.get(), (keep.get() / other).ln().abs())
        }
        (
            P::JlMechanism { rows, bound, lift, change },
            N::JlSketch { rows: drawn, lift: stated },
        ) => {
            whole("noise.rows", *drawn, *rows)?;
            scale("noise.lift", *stated, *lift)?;
            same_row(adjacency, *bound, *change)
        }
        // Independent sketches of one lift: their rows add up, exactly.
        (P::JlMechanism { rows, bound, lift, change }, N::Several { laws }) => {
            let mut drawn = 0u64;
            for law in laws {
                let N::JlSketch { rows, lift: stated } = law else {
                    return unknown(profile, noise);
                };
                drawn = drawn.saturating_add(*rows);
                scale("noise.laws.lift", *stated, *lift)?;
            }
            whole("noise.laws.rows", drawn, *rows)?;
            same_row(adjacency, *bound, *change)
        }
        (P::Repeated { profile: once, times }, N::Several { laws }) => {
            whole("noise.laws", laws.len() as u64, *times)?;
            laws.iter().try_for_each(|law| check(adjacency, once, law))
        }
        (
            P::Wishart { dof, bound, scale: s, change, .. },
            N::Wishart { dof: drawn, scale: stated },
        ) => {
            whole("noise.dof", *drawn, *dof)?;
            scale("noise.scale", *stated, *s)?;
            same_row(adjacency, *bound, *change)
        }
        _ => unknown(profile, noise),
    }
}

/// Nothing done at all would have delta zero under every adjacency, and a release shows something.
fn something_happens(profile: &Profile, noise: &NoiseLaw) -> Result<()> {
    use Profile as P;
    let empty = match profile {
        P::GaussianComposition { steps } => steps.is_empty() || steps.iter().any(|s| s.times == 0),
        P::JlMechanism { rows: n, .. }
        | P::Repeated { times: n, .. }
        | P::RandomizedResponse { bits: n, .. }
        | P::KaryResponse { responses: n, .. }
        | P::BinomialMixture { trials: n, .. } => *n == 0,
        _ => false,
    };
    if empty {
        return Err(rejected("guarantee.profile", format!("{profile:?} is of nothing")));
    }
    match noise {
        NoiseLaw::Several { laws } if laws.is_empty() => {
            Err(rejected("noise.laws", "several laws, and none of them"))
        }
        _ => Ok(()),
    }
}

fn unknown(profile: &Profile, noise: &NoiseLaw) -> Result<()> {
    Err(rejected("noise", format!("{noise:?} is not known to give the profile {profile:?}")))
}

fn all_gaussian(laws: &[NoiseLaw]) -> bool {
    !laws.is_empty() && laws.iter().all(|l| matches!(l, NoiseLaw::RoundedGaussian { .. }))
}

fn close(field: &'static str, stated: f64, expected: f64, slack: f64) -> Result<()> {
    if (stated - expected).abs() <= slack * expected.abs() {
        Ok(())
    } else {
        Err(rejected(field, format!("the noise law states {stated}, the profile {expected}")))
    }
}

fn scale(field: &'static str, stated: NoiseScale, expected: NoiseScale) -> Result<()> {
    close(field, stated.get(), expected.get(), SLACK)
}

fn probability(stated: Probability, expected: Probability) -> Result<()> {
    // The very number of the sampler: no room.
    close("noise.keep", stated.get(), expected.get(), 0.0)
}

fn whole(field: &'static str, stated: u64, expected: u64) -> Result<()> {
    if stated == expected {
        Ok(())
    } else {
        Err(rejected(field, format!("the noise law states {stated}, the profile {expected}")))
    }
}

fn at_least(field: &'static str, stated: f64, least: f64) -> Result<()> {
    if stated >= least * (1.0 - SLACK) {
        Ok(())
    } else {
        Err(rejected(field, format!("states {stated}, must be at least {least}")))
    }
}

/// The bound and the change of an adjacency about one row.
fn row(adjacency: Adjacency) -> Result<(Bound, RowChange)> {
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

/// The profile must cover the adjacency's row: same change, a bound no smaller (rounding
/// to the grid may make it a little larger).
fn same_row(adjacency: Adjacency, bound: Bound, change: RowChange) -> Result<()> {
    let (stated, changes) = row(adjacency)?;
    if changes != change {
        let found = format!("the profile is for {change:?}, the adjacency is {adjacency}");
        return Err(rejected("guarantee.profile.change", found));
    }
    at_least("guarantee.profile.bound", bound.get(), stated.get())
}
