//! From a profile as data to what its kind knows: the one match over all kinds.

use super::chi_mixture::ChiMixture;
use super::curve::{Curve, Near};
use super::declared::{Approximate, Concentrated, Losses};
use super::gaussian::{Gaussian, Steps};
use super::gaussian_and_pure::GaussianAndPure;
use super::group::Group;
use super::integer::{IntegerGaussian, IntegerLaplace};
use super::jl::Jl;
use super::kind::Kind;
use super::kinds::{PrivacyProfile, Profile};
use super::laplace::Laplace;
use super::mixture::Mixture;
use super::pld::Merged;
use super::pure::Pure;
use super::repeated::Repeated;
use super::response::{Bits, Letters};
use super::staircase::Staircase;
use super::symmetric::Symmetric;
use super::wishart::Wishart;
use crate::adjacency::Adjacency;
use crate::budget::{Epsilon, LogDelta};
use crate::error::Result;
use crate::noise::NoiseLaw;

impl Profile {
    /// Asks the kind.
    fn ask<R>(&self, of: impl FnOnce(&dyn Kind) -> R) -> R {
        match *self {
            Self::Gaussian { sensitivity, sigma } => of(&Gaussian { sensitivity, sigma }),
            Self::GaussianComposition { ref steps } => of(&Steps(steps)),
            Self::Laplace { sensitivity, scale } => of(&Laplace { sensitivity, scale }),
            Self::Staircase { sensitivity, epsilon, inner, grid } => {
                of(&Staircase { sensitivity, epsilon, inner, grid })
            }
            Self::DiscreteLaplace { moves, scale } => of(&IntegerLaplace { moves, scale }),
            Self::DiscreteGaussian { moves, sigma } => of(&IntegerGaussian { moves, sigma }),
            Self::PureDp { epsilon } => of(&Pure { epsilon }),
            Self::GaussianAndPure { sensitivity, sigma, epsilon } => {
                of(&GaussianAndPure { sensitivity, sigma, epsilon })
            }
            Self::RandomizedResponse { bits, keep } => of(&Bits { bits, keep }),
            Self::KaryResponse { responses, alphabet, keep } => {
                of(&Letters { responses, alphabet, keep })
            }
            Self::ChiMixtureGaussian { k, entry_shift, sigma, later_mu } => {
                of(&ChiMixture { k, entry_shift, sigma, later_mu })
            }
            Self::JlMechanism { rows, bound, lift, change } => {
                of(&Jl { rows, bound, lift, change })
            }
            Self::Wishart { dim, dof, bound, scale, change } => {
                of(&Wishart { dim, dof, bound, scale, change })
            }
            Self::SymmetricGaussian { bound, sigma, change } => {
                of(&Symmetric { bound, sigma, change })
            }
            Self::BinomialMixture { trials, probability, coordinate } => {
                of(&Mixture { trials, probability, coordinate })
            }
            Self::ApproximateDp { epsilon, delta } => of(&Approximate { epsilon, delta }),
            Self::Zcdp { rho } => of(&Concentrated { rho }),
            Self::LossDistribution { step, ref ways } => of(&Losses { step, ways }),
            Self::Repeated { ref profile, times } => of(&Repeated { profile, times }),
            Self::Group { ref profile, size } => of(&Group { profile, size }),
        }
    }

    /// ln delta, unchecked: NaN and values above zero are left to the caller.
    pub(super) fn ln_delta(&self, epsilon: f64) -> f64 {
        self.ask(|kind| kind.ln_delta(epsilon))
    }

    /// Whether ln delta at `epsilon` is at most `most`.
    pub(crate) fn holds(&self, epsilon: Epsilon, most: f64) -> bool {
        self.ask(|kind| kind.holds(epsilon.get(), most))
    }

    /// An upper bound at every epsilon, where the profile takes a composition.
    pub(super) fn curve(&self, near: Near) -> Option<Curve> {
        self.ask(|kind| kind.curve(near))
    }

    /// Checks every parameter before anything is evaluated: what passes evaluates in a fraction
    /// of a second and in little memory.
    ///
    /// Counts: at least 1; Gaussian steps at most 2^12; bits at most 2^24, responses and trials at
    /// most 2^16, cells of a loss distribution at most 2^14; letters in `[2, 2^32]`; runs of a step, columns of a projection, rows of a sketch and degrees
    /// of freedom at most 2^40; `times` of a repeated profile at most 2^10, and no repeated profile in
    /// it. Epsilon of a staircase is in `[1/32, 20]`, its width in `[1, 2^45]` steps. Whole numbers move by at most 2^51, and sigma of integer Gaussian noise is in `[2^-10, 2^14]`. A probability of a mixture is positive, `later_mu` is in `[0, 1e6]`. What moves is
    /// between 1e-100 and 1e6 noise scales.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] naming the first parameter outside its range.
    pub fn check_limits(&self) -> Result<()> {
        self.ask(|kind| kind.check_limits())
    }

    /// Adds this many runs to a composition.
    pub(super) fn compose(&self, runs: u64, all: &mut Merged) {
        self.ask(|kind| kind.compose(runs, all));
    }

    /// Whether this noise gives the profile under the adjacency: refused where a parameter
    /// disagrees, `false` where no rule speaks of the pair.
    pub(crate) fn given_by(&self, noise: &NoiseLaw, adjacency: Adjacency) -> Result<bool> {
        self.ask(|kind| kind.given_by(noise, adjacency))
    }
}

impl PrivacyProfile for Profile {
    fn log_delta(&self, epsilon: Epsilon) -> LogDelta {
        LogDelta::saturating(self.ln_delta(epsilon.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::binomial::terms;
    use crate::profile::CoordinateProfile;
    use crate::quantity::Probability;

    /// A millisecond on one core, at ten nanoseconds a term.
    const MOST_TERMS: u64 = 1 << 17;

    fn probability(p: f64) -> Probability {
        Probability::new(p).unwrap()
    }

    /// At the limits of the counts: mixtures of 2^16 trials, and over 2^24 bits.
    #[test]
    fn profiles_at_their_limits_take_a_bounded_number_of_terms() {
        let mut profiles = Vec::new();
        for keep in [0.500_1, 0.9] {
            profiles.push(Profile::RandomizedResponse { bits: 1 << 24, keep: probability(keep) });
            for (alphabet, share) in [(2, 0.5), (3, 1e-4), (3, 0.5), (1 << 32, 1.0)] {
                let keep = probability(keep);
                profiles.push(Profile::KaryResponse { responses: 1 << 16, alphabet, keep });
                let coordinate = CoordinateProfile::KaryResponse { alphabet, keep };
                let probability = probability(share);
                profiles.push(Profile::BinomialMixture {
                    trials: 1 << 16,
                    probability,
                    coordinate,
                });
            }
        }
        let mut largest = 0;
        for profile in &profiles {
            profile.check_limits().unwrap();
            for epsilon in [0.1, 1e4] {
                let at = Epsilon::new(epsilon).unwrap();
                let (count, ln_delta) = terms::of(|| profile.log_delta(at));
                assert!(ln_delta.get() <= 0.0);
                assert!(count <= MOST_TERMS, "{profile:?} at {epsilon}: {count} terms");
                largest = largest.max(count);
            }
        }
        // The count counts: a hundred times the bits would not pass.
        assert!(largest > MOST_TERMS / 8, "{largest}");
    }
}
