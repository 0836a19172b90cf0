//! What a profile's parameters may be, and which adjacencies it can speak of.

use super::{CoordinateProfile, Profile, RowChange};
use crate::adjacency::Adjacency;
use crate::error::rejected;
use crate::error::{Error, Result};
use crate::quantity::Bound;

/// Most Gaussian steps.
const STEPS: u64 = 1 << 12;
/// Most runs of a step, rows of a sketch, degrees of freedom.
const MANY: u64 = 1 << 40;
/// Most bits.
const BITS: u64 = 1 << 24;
/// Most letters and trials: their sums take a time that grows with their number.
const TRIALS: u64 = 1 << 20;
/// Most letters of an alphabet.
const LETTERS: u64 = 1 << 32;
/// Most runs that [`Profile::Repeated`] composes numerically.
const RUNS: u64 = 1 << 10;
/// Most steps of a group.
const STEPS_OF_A_GROUP: u64 = 1 << 20;
/// Smallest and largest ratio of what moves to the noise scale.
const RATIOS: (f64, f64) = (1e-100, 1e6);

impl Profile {
    /// Checks every parameter before anything is evaluated: what passes evaluates in a fraction
    /// of a second and in little memory.
    ///
    /// Counts: at least 1; Gaussian steps at most 2^12; bits at most 2^24, responses and trials at
    /// most 2^20; letters in `[2, 2^32]`; runs of a step, columns of a projection, rows of a sketch and degrees
    /// of freedom at most 2^40; `times` of a repeated profile at most 2^10, and no repeated profile in
    /// it. A probability of a mixture is positive, `later_mu` is in `[0, 1e6]`. What moves is
    /// between 1e-100 and 1e6 noise scales.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] naming the first parameter outside its range.
    pub fn check_limits(&self) -> Result<()> {
        let count = |name: &'static str, value: u64, most: u64| match value {
            v if (1..=most).contains(&v) => Ok(()),
            v => Err(Error::invalid(name, v, format!("[1, {most}]"))),
        };
        let ratio = |name: &'static str, value: f64| match value {
            v if (RATIOS.0..=RATIOS.1).contains(&v) => Ok(()),
            v => Err(Error::invalid(name, format!("{v:e}"), "[1e-100, 1e6]")),
        };
        let letters = |value: u64| match value {
            v if (2..=LETTERS).contains(&v) => Ok(()),
            v => Err(Error::invalid("alphabet", v, "[2, 2^32]")),
        };
        const SHIFT: &str = "sensitivity over the noise scale";
        const ROW: &str = "row bound over the noise scale";
        match *self {
            Self::Gaussian { sensitivity, sigma } => ratio(SHIFT, sensitivity.get() / sigma.get()),
            Self::GaussianComposition { ref steps } => {
                count("steps", steps.len() as u64, STEPS)?;
                steps.iter().try_for_each(|s| {
                    count("times", s.times, MANY)?;
                    ratio(SHIFT, s.sensitivity.get() / s.sigma.get())
                })
            }
            Self::Laplace { sensitivity, scale } => ratio(SHIFT, sensitivity.get() / scale.get()),
            Self::PureDp { epsilon } => ratio("pure epsilon", epsilon.get()),
            Self::RandomizedResponse { bits, .. } => count("bits", bits, BITS),
            Self::KaryResponse { responses, alphabet, .. } => {
                count("responses", responses, TRIALS)?;
                letters(alphabet)
            }
            Self::ChiMixtureGaussian { k, entry_shift, sigma, later_mu } => {
                count("k", k, MANY)?;
                if !(0.0..=RATIOS.1).contains(&later_mu) {
                    return Err(Error::invalid("later_mu", later_mu, "[0, 1e6]"));
                }
                ratio(SHIFT, entry_shift.get() / sigma.get())
            }
            Self::JlMechanism { rows, bound, lift, .. } => {
                count("rows", rows, MANY)?;
                ratio(ROW, bound.get() / lift.get())
            }
            Self::Wishart { dim, dof, bound, scale, .. } => {
                count("dim", dim, MANY)?;
                count("dof", dof, MANY)?;
                ratio(ROW, bound.get() / scale.get().sqrt())
            }
            Self::SymmetricGaussian { bound, sigma, .. } => {
                ratio(ROW, bound.get() * (bound.get() / sigma.get()))
            }
            Self::BinomialMixture { trials, probability, coordinate } => {
                count("trials", trials, TRIALS)?;
                if probability.get() == 0.0 {
                    return Err(Error::invalid("probability", probability, "(0, 1]"));
                }
                match coordinate {
                    CoordinateProfile::RandomizedResponse { .. } => Ok(()),
                    CoordinateProfile::KaryResponse { alphabet, .. } => letters(alphabet),
                    CoordinateProfile::Gaussian { shift, sigma } => {
                        ratio(SHIFT, shift.get() / sigma.get())
                    }
                    CoordinateProfile::Laplace { shift, scale } => {
                        ratio(SHIFT, shift.get() / scale.get())
                    }
                }
            }
            Self::Repeated { ref profile, times } => {
                count("times", times, RUNS)?;
                if matches!(**profile, Self::Repeated { .. } | Self::Group { .. }) {
                    let allowed = "a profile that is neither repeated nor a group's";
                    return Err(Error::invalid("profile", profile.kind(), allowed));
                }
                profile.check_limits()
            }
            Self::Group { ref profile, size } => {
                if !(2..=STEPS_OF_A_GROUP).contains(&size) {
                    return Err(Error::invalid("size of a group", size, "[2, 2^20]"));
                }
                if matches!(**profile, Self::Group { .. }) {
                    let allowed = "a profile that is not itself a group's";
                    return Err(Error::invalid("profile", "group", allowed));
                }
                profile.check_limits()
            }
        }
    }

    /// Whether the profile can speak of this adjacency: one about a row's change must be about the
    /// same change, within a bound no smaller.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] naming what does not agree.
    pub(crate) fn check_adjacency(&self, adjacency: Adjacency) -> Result<()> {
        match *self {
            Self::JlMechanism { bound, change, .. }
            | Self::Wishart { bound, change, .. }
            | Self::SymmetricGaussian { bound, change, .. } => same_row(adjacency, bound, change),
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
            Self::PureDp { .. } => "pure",
            Self::RandomizedResponse { .. } => "randomised response",
            Self::KaryResponse { .. } => "k-ary response",
            Self::ChiMixtureGaussian { .. } => "chi mixture",
            Self::JlMechanism { .. } => "Johnson-Lindenstrauss",
            Self::Wishart { .. } => "Wishart",
            Self::SymmetricGaussian { .. } => "symmetric Gaussian",
            Self::BinomialMixture { .. } => "binomial mixture",
            Self::Repeated { .. } => "repeated",
            Self::Group { .. } => "group",
        }
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
    if bound.get() >= stated.get() * (1.0 - 1e-12) {
        Ok(())
    } else {
        let text = format!("states {bound}, must be at least {stated}");
        Err(rejected("guarantee.profile.bound", text))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Epsilon;
    use crate::numeric::binomial::terms;
    use crate::profile::PrivacyProfile;
    use crate::quantity::Probability;

    /// A second on one core, at the least ten nanoseconds a term.
    const MOST_TERMS: u64 = 1 << 27;

    fn probability(p: f64) -> Probability {
        Probability::new(p).unwrap()
    }

    /// At the limits of the counts: sums over 2^20 trials whose terms are sums themselves, and over 2^24 bits.
    #[test]
    fn profiles_at_their_limits_take_a_bounded_number_of_terms() {
        let mut profiles = Vec::new();
        for keep in [0.500_1, 0.9] {
            profiles.push(Profile::RandomizedResponse { bits: BITS, keep: probability(keep) });
            for (alphabet, share) in [(2, 0.5), (3, 1e-4), (3, 0.5), (1 << 32, 1.0)] {
                let keep = probability(keep);
                profiles.push(Profile::KaryResponse { responses: TRIALS, alphabet, keep });
                let coordinate = CoordinateProfile::KaryResponse { alphabet, keep };
                let probability = probability(share);
                profiles.push(Profile::BinomialMixture { trials: TRIALS, probability, coordinate });
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
        // The count counts: ten times the trials would not pass.
        assert!(largest > MOST_TERMS / 64, "{largest}");
    }
}
