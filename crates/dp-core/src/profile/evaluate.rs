//! Every profile at one epsilon: a line for each kind.

use super::gaussian::{added, ln_gaussian, square_of};
use super::kinds::{
    CoordinateProfile, GaussianStep, PrivacyProfile, Profile, RowChange, covariance_sensitivity,
};
use super::laplace::ln_laplace;
use super::{chi_mixture, group, jl, mixture, repeated, response, wishart};
use crate::budget::{Epsilon, LogDelta};

impl Profile {
    /// ln delta, unchecked: NaN and values above zero are left to the caller.
    pub(super) fn ln_delta(&self, e: f64) -> f64 {
        match *self {
            Self::Gaussian { sensitivity, sigma } => {
                ln_gaussian(sensitivity.get() / sigma.get(), e)
            }
            Self::GaussianComposition { ref steps } => {
                let square = |s: &GaussianStep| {
                    s.times as f64 * square_of(s.sensitivity.get() / s.sigma.get())
                };
                ln_gaussian(added(steps.iter().map(square).sum(), steps.len()).sqrt(), e)
            }
            Self::Laplace { sensitivity, scale } => ln_laplace(sensitivity.get() / scale.get(), e),
            Self::PureDp { epsilon } => response::ln_pure(epsilon.get(), e),
            Self::RandomizedResponse { bits, keep } => {
                response::Bit::keeping(keep).ln_delta(bits, e)
            }
            Self::KaryResponse { responses, alphabet, keep } => {
                response::Letter::keeping(alphabet, keep).map_or(0.0, |l| l.ln_delta(responses, e))
            }
            Self::ChiMixtureGaussian { k, entry_shift, sigma, later_mu } => {
                if k >= 1 && later_mu.is_finite() && later_mu >= 0.0 {
                    chi_mixture::ln_delta(k, entry_shift.get() / sigma.get(), later_mu, e)
                } else {
                    0.0
                }
            }
            Self::JlMechanism { rows, bound, lift, change } => {
                let lambda = (bound.get() / lift.get()).powi(2);
                match change {
                    _ if rows == 0 => f64::NEG_INFINITY,
                    RowChange::AddRemove => jl::ln_delta_add_remove(rows, lambda, e),
                    RowChange::Replace => jl::ln_delta_replace(rows, lambda, e),
                }
            }
            Self::Wishart { dim, dof, bound, scale, change } => {
                let t = bound.get() * bound.get() / scale.get();
                wishart::Wishart::new(dim, dof, t).map_or(0.0, |w| match change {
                    RowChange::AddRemove => w.ln_delta_add_remove(e),
                    RowChange::Replace => w.ln_delta_replace(e),
                })
            }
            Self::SymmetricGaussian { bound, sigma, change } => {
                ln_gaussian(covariance_sensitivity(bound, change) / sigma.get(), e)
            }
            Self::BinomialMixture { trials, probability, coordinate } => {
                let p = probability.get();
                match coordinate {
                    CoordinateProfile::RandomizedResponse { keep } => {
                        let bit = response::Bit::keeping(keep);
                        mixture::ln_mixture(trials, p, |m| bit.ln_delta(m, e))
                    }
                    CoordinateProfile::KaryResponse { alphabet, keep } => {
                        response::Letter::keeping(alphabet, keep)
                            .map_or(0.0, |l| l.ln_mixture(trials, p, e))
                    }
                    CoordinateProfile::Gaussian { shift, sigma } => {
                        let mu = shift.get() / sigma.get();
                        mixture::ln_mixture(trials, p, |m| ln_gaussian(mu * (m as f64).sqrt(), e))
                    }
                    CoordinateProfile::Laplace { shift, scale } => {
                        let mu = shift.get() / scale.get();
                        mixture::ln_mixture(trials, p, |m| ln_laplace(mu * m as f64, e))
                    }
                }
            }
            Self::Repeated { ref profile, times } => repeated::ln_delta(profile, times, e),
            Self::Group { ref profile, size } => group::ln_delta(profile, size, e),
        }
    }
}

impl PrivacyProfile for Profile {
    fn log_delta(&self, epsilon: Epsilon) -> LogDelta {
        LogDelta::saturating(self.ln_delta(epsilon.get()))
    }
}
