//! What a release promises, as data.

use crate::adjacency::{Adjacency, Steps};
use crate::budget::{Budget, Delta, LogDelta};
use crate::calibrate::{self, PublishedCalibration};
use crate::error::{Error, Result, log_slack, rejected};
use crate::profile::{Meeting, PrivacyProfile, Profile};
use crate::quantity::Probability;
use crate::seed::FreshSeed;
use crate::theorem::Theorem;
use serde::{Deserialize, Serialize};

/// Where a guarantee comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Provenance {
    /// A theorem of this library, about the very numbers that leave.
    Proven {
        /// The theorem.
        theorem: Theorem,
    },
    /// A paper's claim that is not proven, or known to be wrong as stated.
    Published {
        /// Paper and place.
        source: String,
        /// What is wrong or unproven.
        caveat: String,
    },
    /// Somebody else's mechanism, at their word.
    Declared {
        /// Who declares it.
        by: String,
        /// Why it holds.
        reason: String,
    },
}

/// How the budget stands against the exact profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// The profile gives at most the stated delta at the stated epsilon.
    Met,
    /// It gives more; the caller accepted that by name.
    MissedAcceptedByName,
    /// No profile is known: nothing was recomputed.
    Unchecked,
}

/// A differential-privacy guarantee: adjacency, budget, exact profile, provenance.
///
/// Cannot be made with a budget its profile does not meet, but for a published rule that is accepted
/// by name, nor with a profile that does not speak of the
/// adjacency, nor as proven but by this library's mechanisms; reading one back recomputes the profile and refuses what does not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawGuarantee")]
pub struct Guarantee {
    adjacency: Adjacency,
    budget: Budget,
    profile: Option<Profile>,
    claim: Claim,
    provenance: Provenance,
    /// The profile at the budget's epsilon: computed once, where the guarantee is made.
    #[serde(skip)]
    true_delta: Option<LogDelta>,
}

/// A guarantee as it is written: nothing of it is evaluated yet.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawGuarantee {
    adjacency: Adjacency,
    budget: Budget,
    profile: Option<Profile>,
    claim: Claim,
    provenance: Provenance,
}

impl TryFrom<RawGuarantee> for Guarantee {
    type Error = Error;
    fn try_from(raw: RawGuarantee) -> Result<Self> {
        let RawGuarantee { adjacency, budget, profile, claim, provenance } = raw;
        let guarantee = Self::evaluate(adjacency, budget, profile, claim, provenance)?;
        guarantee.check_claim()?;
        Ok(guarantee)
    }
}

impl Guarantee {
    /// A guarantee of a mechanism that is not this library's, at the word of whoever declares
    /// it: that the noise has this profile under this adjacency, and why. It is
    /// checked as far as the profile goes, and never taken for a proven one.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] for a profile about another change of a row;
    /// [`Error::InvalidParameter`] for a parameter that no mechanism has, or when it is not said
    /// who declares it and why; [`Error::RuleMissesBudget`] when the budget is missed.
    pub fn declared(
        adjacency: Adjacency,
        budget: Budget,
        profile: Profile,
        by: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<Self> {
        let provenance = Provenance::Declared { by: by.into(), reason: reason.into() };
        Self::meeting(adjacency, budget, Some(profile), "declared guarantee", provenance)
    }

    /// With the delta that the profile really gives, be it above the claimed one.
    pub(crate) fn accepting_true_delta(
        adjacency: Adjacency,
        claimed: Budget,
        profile: Profile,
        provenance: Provenance,
    ) -> Result<Self> {
        let mut made = Self::evaluate(adjacency, claimed, Some(profile), Claim::Met, provenance)?;
        if made.true_delta.is_none_or(|d| d > claimed.delta.ln()) {
            made.claim = Claim::MissedAcceptedByName;
        }
        Ok(made)
    }

    /// Everything that can be refused before the profile is evaluated, and then its value.
    fn evaluate(
        adjacency: Adjacency,
        budget: Budget,
        profile: Option<Profile>,
        claim: Claim,
        provenance: Provenance,
    ) -> Result<Self> {
        if let Some(profile) = &profile {
            profile.check_limits()?;
            profile.check_adjacency(adjacency)?;
            if let Some(theorem) = provenance.theorem() {
                theorem.check(adjacency, profile)?;
            }
        }
        provenance.check_words()?;
        let true_delta = profile.as_ref().map(|p| p.log_delta(budget.epsilon));
        if let (Some(profile), Some(true_delta), Claim::Met) = (&profile, true_delta, claim) {
            check_seed(profile, budget, true_delta)?;
        }
        Ok(Self { adjacency, budget, profile, claim, provenance, true_delta })
    }

    /// One whose profile, where it is known, meets the budget.
    pub(crate) fn meeting(
        adjacency: Adjacency,
        budget: Budget,
        profile: Option<Profile>,
        rule: &'static str,
        provenance: Provenance,
    ) -> Result<Self> {
        let claim = if profile.is_some() { Claim::Met } else { Claim::Unchecked };
        let made = Self::evaluate(adjacency, budget, profile, claim, provenance)?;
        match (made.true_delta, &made.profile) {
            (Some(true_delta), Some(profile)) if true_delta > budget.delta.ln() => {
                let missed = Error::RuleMissesBudget { rule, claimed: budget, true_delta };
                match made.provenance {
                    Provenance::Published { .. } => Err(missed),
                    _ => Err(nearest(profile, budget).unwrap_or(missed)),
                }
            }
            _ => Ok(made),
        }
    }

    /// Which inputs are protected against each other.
    #[must_use]
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// The budget that was asked for (or claimed).
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// The exact profile; `None` only for published claims without one.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// How the budget stands against the profile.
    #[must_use]
    pub fn claim(&self) -> Claim {
        self.claim
    }

    /// Where the guarantee comes from.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The delta really given at the budget's epsilon, where the profile is known.
    #[must_use]
    pub fn true_delta(&self) -> Option<LogDelta> {
        self.true_delta
    }

    /// The profile under another adjacency: as it is when this one [implies](Adjacency::implies) it,
    /// else with the mechanism's exact factor or by group privacy, for as many changes as make one of
    /// the other's. `None` for a published claim without a profile.
    ///
    /// ```
    /// use dp_core::mechanism::{Basis, Calibrated, Statistic};
    /// use dp_core::{
    ///     Adjacency, Budget, L2Sensitivity, Profile, noise::GaussianNoise, EntryBound, NormBound,
    /// };
    ///
    /// let visit = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
    /// let sums = Statistic::new(visit, L2Sensitivity::new(1.0)?, 3, EntryBound::new(1e6)?);
    /// let basis = Basis::declared("the clinic", "rows are clipped to norm 1");
    /// let noise = Calibrated::<GaussianNoise>::calibrate(sums, Budget::new(1.0, 1e-6)?, basis)?;
    /// // A patient with up to four visits: four times the sensitivity.
    /// let patient = noise.guarantee().profile_under(visit.of_user(4)?)?;
    /// let Some(Profile::Gaussian { sensitivity, .. }) = patient else { panic!() };
    /// assert!((sensitivity.get() - 4.0).abs() < 1e-7);
    /// # Ok::<(), dp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Mismatch`] when no number of this adjacency's changes makes one of the other's;
    /// [`Error::InvalidParameter`] when the profile then leaves its limits.
    pub fn profile_under(&self, adjacency: Adjacency) -> Result<Option<Profile>> {
        let (steps, replaced) = self.steps_to(adjacency)?;
        let Some(profile) = &self.profile else { return Ok(None) };
        let replaced = if replaced { profile.of_replacement() } else { None };
        replaced.as_ref().unwrap_or(profile).for_steps(steps, self.together(false)).map(Some)
    }

    /// The profile when so many changes come together, whatever they change; of a published claim without one, of what it states.
    pub(crate) fn profile_of_steps(&self, steps: Steps) -> Result<Profile> {
        match &self.profile {
            Some(profile) => profile.for_steps(steps, self.together(true)),
            None => {
                let Budget { epsilon, delta } = steps.of_claim(self.budget)?;
                Ok(match delta {
                    Delta::ZERO => Profile::PureDp { epsilon },
                    delta => Profile::ApproximateDp { epsilon, delta },
                })
            }
        }
    }

    /// What the theorem knows of several changes at once, of one attribute or of several.
    fn together(&self, several: bool) -> Meeting {
        let theorem = self.provenance.theorem();
        Meeting {
            rows_apart: theorem.is_some_and(Theorem::rows_have_own_noise),
            adds_up: theorem.is_some(),
            again: theorem.is_some_and(Theorem::responses_have_levels),
            gaps: theorem.is_some_and(Theorem::leaves_rows_out),
            several,
        }
    }

    /// How many changes of this guarantee make one of the other adjacency's; whether a profile of
    /// a replaced row takes the place of two of them.
    pub(crate) fn steps_to(&self, adjacency: Adjacency) -> Result<(Steps, bool)> {
        let found = self.adjacency.steps_to(&adjacency).ok_or_else(|| Error::Mismatch {
            what: "adjacency that is asked for and that of the guarantee",
            left: adjacency.to_string(),
            right: self.adjacency.to_string(),
        })?;
        let (from, to) = (self.adjacency.each(), adjacency.each());
        let once = Steps { each: 1, ..found };
        let removed = matches!(from, Adjacency::AddRemoveRow { .. });
        let covered = self.provenance.theorem().is_some_and(Theorem::covers_zeroed_rows);
        if removed && matches!(to, Adjacency::ZeroRow { .. }) && covered {
            return Ok((once, false));
        }
        let row = removed || matches!(from, Adjacency::ZeroRow { .. });
        // That two rows at right angles are the worst is the theorem's.
        let proven = self.provenance.theorem().is_some();
        let known = proven && self.profile.as_ref().is_some_and(|p| p.of_replacement().is_some());
        if row && matches!(to, Adjacency::ReplaceRow { .. }) && known && from.rows() == 1 {
            return Ok((once, true));
        }
        Ok((found, false))
    }

    /// Recomputes the profile at the budget's epsilon and compares it with the claim, and asks
    /// again whether theorem and profile speak of the adjacency.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] when a guarantee that needs a profile has none or misses
    /// its budget, or when the stated claim is not what the profile says; otherwise as
    /// [`Guarantee::declared`].
    pub fn verify(&self) -> Result<()> {
        let Self { adjacency, budget, profile, claim, provenance, .. } = self.clone();
        Self::evaluate(adjacency, budget, profile, claim, provenance)?.check_claim()
    }

    /// What `true_delta` says against the stated claim.
    fn check_claim(&self) -> Result<()> {
        let target = self.budget.delta.ln().get();
        let found = match self.true_delta {
            None => Claim::Unchecked,
            Some(d) if d.get() <= target + log_slack(target) => Claim::Met,
            Some(_) => Claim::MissedAcceptedByName,
        };
        if found != self.claim {
            return Err(rejected(
                "guarantee.claim",
                format!("states {:?}, but the profile says {found:?}", self.claim),
            ));
        }
        match &self.provenance {
            Provenance::Published { .. } => Ok(()),
            _ if self.claim == Claim::Met => Ok(()),
            _ => Err(rejected(
                "guarantee.provenance",
                "a guarantee that is not a published claim must have a profile that meets its budget",
            )),
        }
    }
}

impl PublishedCalibration {
    /// The guarantee, with provenance `Published` and the true profile.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] for an adjacency that the rule's profile does not speak of.
    pub fn guarantee(&self, adjacency: Adjacency) -> Result<Guarantee> {
        let (source, caveat) = (self.rule().source().to_owned(), self.rule().caveat().to_owned());
        let provenance = Provenance::Published { source, caveat };
        Guarantee::accepting_true_delta(
            adjacency,
            self.claimed(),
            self.profile().clone(),
            provenance,
        )
    }
}

impl Provenance {
    /// The theorem, where there is one.
    #[must_use]
    pub fn theorem(&self) -> Option<Theorem> {
        match self {
            Self::Proven { theorem } => Some(*theorem),
            Self::Published { .. } | Self::Declared { .. } => None,
        }
    }

    /// What must be said is said.
    fn check_words(&self) -> Result<()> {
        let words: &[(&'static str, &String)] = match self {
            Self::Proven { .. } => &[],
            Self::Published { source, .. } => &[("source", source)],
            Self::Declared { by, reason } => &[("by", by), ("reason", reason)],
        };
        match words.iter().find(|(_, word)| word.trim().is_empty()) {
            None => Ok(()),
            Some((name, _)) => Err(Error::invalid(name, "nothing", "some words")),
        }
    }
}

/// Refuses a delta so small that an average over seeds cannot vouch for it; a profile of zero
/// holds whatever the seed.
fn check_seed(profile: &Profile, budget: Budget, true_delta: LogDelta) -> Result<()> {
    let delta = budget.delta.get();
    let averaged = profile.needs_fresh_seed() && true_delta.get() > f64::NEG_INFINITY;
    if averaged && delta < FreshSeed::LEAST_DELTA {
        let name = "delta of a guarantee averaged over a fresh seed";
        let allowed = "[2^-64, 1), or use realised calibration for a smaller one";
        return Err(Error::invalid(name, format!("{delta:e}"), allowed));
    }
    Ok(())
}

/// The error for noise that misses a budget, when it has one parameter and calibrating it is quick.
fn nearest(profile: &Profile, budget: Budget) -> Option<Error> {
    let keep = |keep, most: Result<Probability>, by: &str| {
        let allowed = format!("[0, {}] for {budget}: calibrate::{by} gives it", most.ok()?);
        Some(Error::invalid("keep probability", keep, allowed))
    };
    match *profile {
        Profile::Laplace { sensitivity, scale } => {
            let least = calibrate::laplace(budget, sensitivity).ok()?;
            let allowed = format!("[{least}, inf) for {budget}: calibrate::laplace gives it");
            Some(Error::invalid("noise scale", scale, allowed))
        }
        Profile::RandomizedResponse { bits, keep: stated } => {
            keep(stated, calibrate::randomized_response(budget, bits), "randomized_response")
        }
        Profile::KaryResponse { responses, alphabet, keep: stated } => {
            keep(stated, calibrate::kary_response(budget, responses, alphabet), "kary_response")
        }
        _ => None,
    }
}
