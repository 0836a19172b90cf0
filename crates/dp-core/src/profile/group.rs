//! Several changes of one unit. Proof: `docs/proofs/adjacency.md`, section 2.

use super::curve::{Curve, Near};
use super::kind::Kind;
use super::kinds::{CoordinateProfile, Profile, covariance_sensitivity};
use super::pld::Merged;
use super::response::Bit;
use crate::adjacency::{Adjacency, Steps};
use crate::budget::{Delta, Epsilon, LogDelta};
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::quantity::{L1Sensitivity, L2Sensitivity, Probability};

/// What a mechanism's theorem knows of several changes at once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meeting {
    /// Rows move outputs of their own, under noise of their own: their shifts are at right angles.
    pub(crate) rows_apart: bool,
    /// A theorem says what one change moves, so that several move at most the sum: responses, or the
    /// shift of one row.
    pub(crate) adds_up: bool,
    /// Changes of one row may fall on the same response, which loses as much again each time.
    pub(crate) again: bool,
    /// Between two inputs there may be none that lies within one change of both: the mechanism refuses what is there.
    pub(crate) gaps: bool,
    /// They may be of several attributes or rows, and not one change that is so many times as large.
    pub(crate) several: bool,
}

/// Responses that each lose so many times as much: what as many changes of one response lose at most, and what they lose of as many
/// responses.
fn stronger(bits: u64, keep: Probability, times: u64) -> Result<Profile> {
    let loss = Bit::keeping(keep).loss * times as f64 * (1.0 + 16.0 * f64::EPSILON);
    let least = (-loss).exp() / (1.0 + (-loss).exp()) * (1.0 - 8.0 * f64::EPSILON);
    let keep = (1.0 - least).next_up();
    if keep < 1.0 {
        return Ok(Profile::RandomizedResponse { bits, keep: Probability::new(keep)? });
    }
    // No `f64` below one is so near to it.
    let all = loss * bits as f64 * (1.0 + 4.0 * f64::EPSILON);
    Ok(Profile::PureDp { epsilon: Epsilon::new(all)? })
}

/// `delta(epsilon/size) (e^epsilon - 1) / (e^(epsilon/size) - 1)`: group privacy, epsilon split
/// evenly among the steps, each of which has this ln delta.
fn ln_delta(step: impl Fn(f64) -> f64, size: u64, epsilon: f64) -> f64 {
    let n = size as f64;
    // The safe side: a smaller epsilon.
    let each = epsilon / n * (1.0 - 4.0 * f64::EPSILON);
    if each.is_nan() {
        return 0.0;
    }
    let ln = step(each);
    // The sum of e^(i epsilon/n), i below n: n terms, none below one.
    let ratio = if epsilon < 1e-8 {
        n.ln() + epsilon
    } else {
        let ln_expm1 = |x: f64| if x > 1.0 { x + (-(-x).exp()).ln_1p() } else { x.exp_m1().ln() };
        ln_expm1(epsilon) - ln_expm1(each)
    };
    ln + ratio + 1e-13 * (1.0 + ratio.abs())
}

impl Profile {
    /// An upper bound on the profile for units whose change takes these steps: the exact factor where
    /// the theorem, or the law itself, gives one, else group privacy.
    pub(crate) fn for_steps(&self, steps: Steps, meeting: Meeting) -> Result<Self> {
        let Steps { each, groups } = steps;
        if (each, groups) == (1, 1) {
            return Ok(self.clone());
        }
        let size = each * groups;
        let up = 1.0 + 8.0 * f64::EPSILON;
        // Rows with noise of their own move the release in directions at right angles.
        let rows = if meeting.rows_apart { (groups as f64).sqrt() } else { groups as f64 };
        let (l2, l1) = (each as f64 * rows * up, size as f64 * up);
        // A subnormal product is far off.
        let times = |x: f64, by: f64| (x * by).max(f64::MIN_POSITIVE);
        let group = |profile: &Self, size| Self::Group { profile: Box::new(profile.clone()), size };
        let scaled = match *self {
            Self::Gaussian { sensitivity, sigma } => Self::Gaussian {
                sensitivity: L2Sensitivity::new(times(sensitivity.get(), l2))?,
                sigma,
            },
            Self::GaussianComposition { ref steps } => {
                let mut steps = steps.clone();
                for step in &mut steps {
                    step.sensitivity = L2Sensitivity::new(times(step.sensitivity.get(), l1))?;
                }
                Self::GaussianComposition { steps }
            }
            Self::SymmetricGaussian { bound, sigma, change } => {
                let one = covariance_sensitivity(bound, change);
                Self::Gaussian { sensitivity: L2Sensitivity::new(times(one, l1))?, sigma }
            }
            Self::Laplace { sensitivity, scale } => Self::Laplace {
                sensitivity: L1Sensitivity::new(times(sensitivity.get(), l1))?,
                scale,
            },
            // By the sum in l1 at most, in one number or several.
            Self::DiscreteLaplace { moves, scale } => {
                Self::DiscreteLaplace { moves: moves.saturating_mul(size), scale }
            }
            Self::DiscreteGaussian { moves, sigma } => {
                Self::DiscreteGaussian { moves: moves.saturating_mul(size), sigma }
            }
            Self::PureDp { epsilon } => Self::PureDp { epsilon: Epsilon::new(epsilon.get() * l1)? },
            // Of a theorem: both parts move as far, each. The curve alone may be of another mechanism.
            Self::GaussianAndPure { sensitivity, sigma, epsilon } if meeting.adds_up => {
                Self::GaussianAndPure {
                    sensitivity: L2Sensitivity::new(times(sensitivity.get(), l1))?,
                    sigma,
                    epsilon: Epsilon::new(epsilon.get() * l1)?,
                }
            }
            // No path leads there: all responses of a row may differ, and no more. Several changes may be of as many rows.
            Self::BinomialMixture {
                trials,
                coordinate: CoordinateProfile::RandomizedResponse { keep },
                ..
            } if meeting.gaps && each > 1 => {
                let rows = if meeting.several { size } else { groups };
                Self::RandomizedResponse { bits: trials.saturating_mul(rows), keep }
            }
            Self::RandomizedResponse { bits, keep } if meeting.again && each > 1 => {
                // What three changes or more of several attributes lose of some responses fits into those of twice as many.
                let twice = || bits.saturating_mul(2).saturating_sub(1);
                let met = if meeting.several && each > 2 { twice() } else { bits };
                stronger(met.saturating_mul(groups), keep, each)?
            }
            // That so many responses differ, and no more, is the theorem's.
            Self::RandomizedResponse { bits, keep } if meeting.adds_up => {
                Self::RandomizedResponse { bits: bits.saturating_mul(size), keep }
            }
            Self::KaryResponse { responses, alphabet, keep } if meeting.adds_up => {
                let responses = responses.saturating_mul(size);
                Self::KaryResponse { responses, alphabet, keep }
            }
            // One row under a fresh matrix: only the norm of its whole shift counts. Several rows share the matrix.
            Self::ChiMixtureGaussian { k, entry_shift, sigma, later_mu }
                if meeting.adds_up && groups == 1 && !meeting.several =>
            {
                let entry_shift = L2Sensitivity::new(times(entry_shift.get(), l2))?;
                Self::ChiMixtureGaussian { k, entry_shift, sigma, later_mu: later_mu * l2 }
            }
            Self::Group { ref profile, size: inner } => group(profile, inner.saturating_mul(size)),
            _ => group(self, size),
        };
        scaled.check_limits()?;
        Ok(scaled)
    }

    /// The profile of the same mechanism when a row is replaced, where it knows both changes.
    pub(crate) fn of_replacement(&self) -> Option<Self> {
        use super::kinds::RowChange::{AddRemove, Replace};
        let mut replaced = self.clone();
        match &mut replaced {
            Self::JlMechanism { change, .. }
            | Self::Wishart { change, .. }
            | Self::SymmetricGaussian { change, .. }
                if *change == AddRemove =>
            {
                *change = Replace;
            }
            Self::Repeated { profile, .. } => **profile = profile.of_replacement()?,
            _ => return None,
        }
        Some(replaced)
    }
}

/// [`Profile::Group`].
pub(super) struct Group<'a> {
    pub(super) profile: &'a Profile,
    pub(super) size: u64,
}

/// Most steps of a group.
const STEPS: u64 = 1 << 20;

impl Kind for Group<'_> {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        let step = |e: f64| LogDelta::saturating(self.profile.ln_delta(e)).get();
        ln_delta(step, self.size, epsilon)
    }

    /// That of one step, at a delta that is smaller by the number of steps at least. It may rise again: far out the
    /// factor outgrows what a step cannot go below.
    fn curve(&self, near: Near) -> Option<Curve> {
        let (size, profile) = (self.size, self.profile.clone());
        let delta = Delta::new(near.delta.get() / size as f64).ok()?;
        // A row replaced under Wishart noise takes milliseconds at every epsilon, also where there is one group.
        let many = near.many || matches!(self.profile, Profile::Wishart { .. });
        let composed = self.profile.curve(Near { delta, many });
        let step = composed.unwrap_or_else(|| Curve {
            near: 1.0,
            bound: Box::new(move |epsilon| profile.ln_delta(epsilon)),
        });
        let near = size as f64 * step.near;
        let bound = move |epsilon| ln_delta(|e| step.ln_delta(e), size, epsilon);
        Some(Curve { near, bound: Box::new(bound) })
    }

    fn check_limits(&self) -> Result<()> {
        if !(2..=STEPS).contains(&self.size) {
            return Err(Error::invalid("size of a group", self.size, "[2, 2^20]"));
        }
        if matches!(self.profile, Profile::Group { .. }) {
            let allowed = "a profile that is not itself a group's";
            return Err(Error::invalid("profile", "group", allowed));
        }
        self.profile.check_limits()
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        let profile = Box::new(self.profile.clone());
        all.envelope(Profile::Group { profile, size: self.size }, runs);
    }

    /// No mechanism is calibrated to a group's bound: ledgers alone have them.
    fn given_by(&self, _: &NoiseLaw, _: Adjacency) -> Result<bool> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::PrivacyProfile;
    use crate::quantity::{LaplaceScale, NoiseScale};

    fn at(profile: &Profile, epsilon: f64) -> f64 {
        profile.log_delta(Epsilon::new(epsilon).unwrap()).get()
    }

    /// Whole numbers that move by two in each of six steps move by twelve.
    #[test]
    fn steps_of_whole_numbers_add_up() {
        let (scale, sigma) = (LaplaceScale::new(5.0).unwrap(), NoiseScale::new(5.0).unwrap());
        let steps = Steps { each: 3, groups: 2 };
        for one in [
            |moves, scale, _| Profile::DiscreteLaplace { moves, scale },
            |moves, _, sigma| Profile::DiscreteGaussian { moves, sigma },
        ] {
            let found = one(2, scale, sigma).for_steps(steps, Meeting::default()).unwrap();
            assert_eq!(found, one(12, scale, sigma));
        }
    }

    /// One row that moves three times as far moves what comes later three times as far, too.
    #[test]
    fn the_later_step_moves_as_often_as_the_row() {
        let one = Profile::ChiMixtureGaussian {
            k: 4,
            entry_shift: L2Sensitivity::new(0.5).unwrap(),
            sigma: NoiseScale::new(2.0).unwrap(),
            later_mu: 0.25,
        };
        let meeting = Meeting { adds_up: true, ..Meeting::default() };
        let found = one.for_steps(Steps { each: 3, groups: 1 }, meeting).unwrap();
        let Profile::ChiMixtureGaussian { k: 4, entry_shift, later_mu, .. } = found else {
            panic!("{found:?}")
        };
        let up = 1.0..1.0 + 1e-14;
        assert!(up.contains(&(entry_shift.get() / 1.5)) && up.contains(&(later_mu / 0.75)));
    }

    /// Twice the loss, also where the probability that stands for it is next to one: more than that tells nothing, and at less
    /// something is lost.
    #[test]
    fn responses_near_certainty_do_not_lose_all() {
        for i in 0..400 {
            let loss = 17.9 + f64::from(i) * 0.0025;
            let keep = Probability::new(1.0 / (1.0 + (-loss).exp())).unwrap();
            let twice = 2.0 * Bit::keeping(keep).loss;
            let found = stronger(1, keep, 2).unwrap();
            assert_eq!(at(&found, twice + 1.5), f64::NEG_INFINITY, "{loss}: {found:?}");
            assert!(at(&found, twice * (1.0 - 1e-12)).is_finite(), "{loss}: {found:?}");
        }
    }
}
