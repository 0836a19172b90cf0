//! Which noise laws can give which profiles, and with what parameters.

use crate::adjacency::Adjacency;
use crate::error::Result;
use crate::guarantee::rejected;
use crate::noise::NoiseLaw;
use crate::profile::Profile;

/// Relative room for two ways of computing one number.
const SLACK: f64 = 1e-12;

/// The rule book: the profile's parameters against the noise law and the adjacency.
///
/// A pair that is not in the book is rejected: a new mechanism must add its rule.
pub(super) fn check(adjacency: Adjacency, profile: &Profile, noise: &NoiseLaw) -> Result<()> {
    use NoiseLaw as N;
    use Profile as P;
    let _ = adjacency;
    match (profile, noise) {
        (P::Gaussian { sigma, .. }, N::RoundedGaussian { sigma: stated, .. })
        | (P::ChiMixtureGaussian { sigma, .. }, N::RoundedGaussian { sigma: stated, .. }) => {
            same("noise.sigma", stated.get(), sigma.get())
        }
        (P::Laplace { scale, .. }, N::RoundedLaplace { scale: stated, .. }) => {
            same("noise.scale", stated.get(), scale.get())
        }
        _ => Ok(()),
    }
}

fn same(field: &'static str, stated: f64, expected: f64) -> Result<()> {
    if (stated - expected).abs() <= SLACK * expected.abs() {
        Ok(())
    } else {
        Err(rejected(field, format!("the noise law states {stated}, the profile {expected}")))
    }
}
