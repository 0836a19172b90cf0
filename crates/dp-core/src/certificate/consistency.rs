//! Which noise laws can give which profiles, and with what parameters.

use crate::adjacency::Adjacency;
use crate::error::rejected;
use crate::error::{Error, Result};
use crate::noise::{Grid, NoiseLaw};
use crate::profile::{CoordinateProfile, Profile, RowChange, covariance_sensitivity};
use crate::public::{PublicParameters, PublicValue};
use crate::quantity::{Probability, Scale};

/// Relative room for two ways of computing one number.
const SLACK: f64 = 1e-12;

/// Most laws one after the other, and how deep they may be nested.
const MOST_LAWS: usize = 1 << 12;

/// A law on its own: its grid is fine enough, and a list is of something.
pub(super) fn check_law(noise: &NoiseLaw) -> Result<()> {
    let coarse = |e: Error| rejected("noise.grid", e.to_string());
    match noise {
        NoiseLaw::RoundedGaussian { sigma, grid } | NoiseLaw::SymmetricGaussian { sigma, grid } => {
            grid.check_scale(*sigma).map_err(coarse)
        }
        NoiseLaw::RoundedLaplace { scale, grid } => grid.check_scale(*scale).map_err(coarse),
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
    if counted && matches!(adjacency, Adjacency::AddRemoveRow { .. }) {
        let text = "blocks that end after a number of rows do not hide that a row came";
        return Err(rejected("guarantee.adjacency", text));
    }
    Ok(())
}

/// The rule book: the profile's parameters against the noise law and the adjacency.
///
/// A pair that is not in the book is rejected: a new mechanism must add its rule here
/// and in `docs/proofs/certificate.md`. Limits and adjacency are checked with the guarantee.
pub(super) fn check(adjacency: Adjacency, profile: &Profile, noise: &NoiseLaw) -> Result<()> {
    use CoordinateProfile as C;
    use NoiseLaw as N;
    use Profile as P;
    match (profile, noise) {
        (P::Gaussian { sensitivity, sigma }, N::RoundedGaussian { sigma: stated, grid }) => {
            scale("noise.sigma", *stated, *sigma)?;
            on_grid(sensitivity.get(), *grid)
        }
        (
            P::ChiMixtureGaussian { entry_shift, sigma, later_mu, .. },
            N::RoundedGaussian { sigma: stated, grid },
        ) => {
            scale("noise.sigma", *stated, *sigma)?;
            on_grid(entry_shift.get() + later_mu * sigma.get(), *grid)
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
        (P::GaussianComposition { steps }, N::RoundedGaussian { sigma: stated, grid }) => {
            steps.iter().try_for_each(|s| {
                scale("noise.sigma", *stated, s.sigma)?;
                on_grid(s.sensitivity.get(), *grid)
            })
        }
        (P::GaussianComposition { steps }, N::Several { laws }) => {
            if steps.len() != laws.len() {
                return Err(rejected("noise.laws", "not one law for each step of the profile"));
            }
            steps.iter().zip(laws).try_for_each(|(step, law)| match law {
                N::RoundedGaussian { sigma, grid } | N::SymmetricGaussian { sigma, grid } => {
                    scale("noise.laws.sigma", *sigma, step.sigma)?;
                    on_grid(step.sensitivity.get(), *grid)
                }
                _ => unknown(profile, noise),
            })
        }
        (P::Gaussian { sensitivity, sigma }, N::SymmetricGaussian { sigma: stated, grid }) => {
            scale("noise.sigma", *stated, *sigma)?;
            on_grid(sensitivity.get(), *grid)?;
            let (bound, change) = match adjacency {
                Adjacency::AddRemoveRow { bound } | Adjacency::ZeroRow { bound } => {
                    (bound, RowChange::AddRemove)
                }
                Adjacency::ReplaceRow { bound } => (bound, RowChange::Replace),
                _ => return unknown(profile, noise),
            };
            at_least("sensitivity", sensitivity.get(), covariance_sensitivity(bound, change))
        }
        (
            P::SymmetricGaussian { bound, sigma, change },
            N::SymmetricGaussian { sigma: stated, grid },
        ) => {
            scale("noise.sigma", *stated, *sigma)?;
            on_grid(covariance_sensitivity(*bound, *change), *grid)
        }
        (P::Laplace { sensitivity, scale: b }, N::RoundedLaplace { scale: stated, grid }) => {
            scale("noise.scale", *stated, *b)?;
            on_grid(sensitivity.get(), *grid)
        }
        (
            P::BinomialMixture { coordinate: C::Laplace { shift, scale: b }, .. },
            N::RoundedLaplace { scale: stated, grid },
        ) => {
            scale("noise.scale", *stated, *b)?;
            on_grid(shift.get(), *grid)
        }
        (
            P::BinomialMixture { coordinate: C::Gaussian { shift, sigma }, .. },
            N::RoundedGaussian { sigma: stated, grid },
        ) => {
            scale("noise.sigma", *stated, *sigma)?;
            on_grid(shift.get(), *grid)
        }
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
        // A whole number moves by one at least. Its Laplace profile would not do: one step of
        // integer noise is one randomised response, the worst that is pure.
        (P::PureDp { epsilon }, N::DiscreteLaplace { scale }) => {
            at_least("guarantee.profile.epsilon", epsilon.get(), 1.0 / scale.get())
        }
        (_, N::DiscreteGaussian { .. }) => Err(rejected(
            "noise",
            "no exact profile of integer Gaussian noise is known here: use the rounded Gaussian",
        )),
        (_, N::DiscreteLaplace { .. }) => Err(rejected(
            "noise",
            "integer Laplace noise of scale b has the pure profile of sensitivity / b, and no other",
        )),
        (P::JlMechanism { rows, lift, .. }, N::JlSketch { rows: drawn, lift: stated }) => {
            whole("noise.rows", *drawn, *rows)?;
            scale("noise.lift", *stated, *lift)
        }
        // Independent sketches of one lift: their rows add up, exactly.
        (P::JlMechanism { rows, lift, .. }, N::Several { laws }) => {
            let mut drawn = 0u64;
            for law in laws {
                let N::JlSketch { rows, lift: stated } = law else {
                    return unknown(profile, noise);
                };
                drawn = drawn.saturating_add(*rows);
                scale("noise.laws.lift", *stated, *lift)?;
            }
            whole("noise.laws.rows", drawn, *rows)
        }
        (P::Repeated { profile: once, times }, N::Several { laws }) => {
            whole("noise.laws", laws.len() as u64, *times)?;
            laws.iter().try_for_each(|law| check(adjacency, once, law))
        }
        (P::Wishart { dof, scale: s, .. }, N::Wishart { dof: drawn, scale: stated }) => {
            whole("noise.dof", *drawn, *dof)?;
            scale("noise.scale", *stated, *s)
        }
        _ => unknown(profile, noise),
    }
}

/// Outputs that differ at all differ by a step of the grid, so no sensitivity is below it.
fn on_grid(sensitivity: f64, grid: Grid) -> Result<()> {
    at_least("sensitivity on the noise's grid", sensitivity, grid.spacing())
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

fn scale<S: Scale>(field: &'static str, stated: S, expected: S) -> Result<()> {
    close(field, stated.into(), expected.into(), SLACK)
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
