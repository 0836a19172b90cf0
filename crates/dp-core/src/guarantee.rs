//! What a release promises, as data.

use crate::adjacency::Adjacency;
use crate::budget::{Budget, LogDelta};
use crate::calibrate;
use crate::error::{Error, Result};
use crate::profile::{PrivacyProfile, Profile};
use crate::quantity::Probability;
use crate::seed::FreshSeed;
use serde::{Deserialize, Serialize};

/// Where a guarantee comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Provenance {
    /// A theorem, and where its proof stands.
    Proven {
        /// Theorem and location.
        theorem: String,
    },
    /// A paper's claim that is not proven, or known to be wrong as stated.
    Published {
        /// Paper and place.
        source: String,
        /// What is wrong or unproven.
        caveat: String,
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
/// Cannot be made with a budget its profile does not meet, except through
/// [`Guarantee::published_accepting_true_delta`]; reading one back recomputes the
/// profile and refuses what does not hold.
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGuarantee {
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
        let true_delta = at_budget(profile.as_ref(), budget);
        let guarantee = Self { adjacency, budget, profile, claim, provenance, true_delta };
        guarantee.check_claim(true_delta)?;
        Ok(guarantee)
    }
}

impl Guarantee {
    /// A proven guarantee: `profile` at the budget's epsilon is at most its delta. The theorem of
    /// a profile that averages over a fresh seed is stated with [`FreshSeed::MODEL`].
    ///
    /// # Errors
    /// [`Error::RuleMissesBudget`] when it is not, or [`Error::InvalidParameter`] with the least
    /// noise that meets it, where one parameter is to blame (the textbook's `1/epsilon` and
    /// `e^epsilon/(1 + e^epsilon)` are an ulp short); [`Error::InvalidParameter`] for a profile
    /// that averages over a fresh seed and a delta below [`FreshSeed::LEAST_DELTA`].
    pub fn proven(
        adjacency: Adjacency,
        budget: Budget,
        profile: Profile,
        theorem: impl Into<String>,
    ) -> Result<Self> {
        let mut theorem = theorem.into();
        if profile.needs_fresh_seed() {
            theorem = format!("{theorem}; model: {}", FreshSeed::MODEL);
        }
        let provenance = Provenance::Proven { theorem };
        let true_delta = meets(&profile, budget, "proven guarantee");
        let true_delta = Some(true_delta.map_err(|e| nearest(&profile, budget).unwrap_or(e))?);
        let (profile, claim) = (Some(profile), Claim::Met);
        Ok(Self { adjacency, budget, profile, claim, provenance, true_delta })
    }

    /// A published rule whose true profile is known and meets the claim.
    ///
    /// # Errors
    /// [`Error::RuleMissesBudget`], with the true delta, when it does not.
    pub fn published(
        adjacency: Adjacency,
        claimed: Budget,
        profile: Option<Profile>,
        rule: &'static str,
        source: impl Into<String>,
        caveat: impl Into<String>,
    ) -> Result<Self> {
        let true_delta = profile.as_ref().map(|p| meets(p, claimed, rule)).transpose()?;
        let provenance = Provenance::Published { source: source.into(), caveat: caveat.into() };
        let claim = if profile.is_some() { Claim::Met } else { Claim::Unchecked };
        Ok(Self { adjacency, budget: claimed, profile, claim, provenance, true_delta })
    }

    /// A published rule accepted by name although it may miss its claim; the
    /// certificate states the delta that is really given.
    #[must_use]
    pub fn published_accepting_true_delta(
        adjacency: Adjacency,
        claimed: Budget,
        profile: Profile,
        source: impl Into<String>,
        caveat: impl Into<String>,
    ) -> Self {
        let provenance = Provenance::Published { source: source.into(), caveat: caveat.into() };
        let true_delta = profile.log_delta(claimed.epsilon);
        let met = true_delta <= claimed.delta.ln();
        let claim = if met { Claim::Met } else { Claim::MissedAcceptedByName };
        let (profile, true_delta) = (Some(profile), Some(true_delta));
        Self { adjacency, budget: claimed, profile, claim, provenance, true_delta }
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

    /// Recomputes the profile at the budget's epsilon and compares it with the claim.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] when a proven guarantee has no profile or
    /// misses its budget, or when the stated claim is not what the profile says.
    pub fn verify(&self) -> Result<()> {
        self.check_claim(at_budget(self.profile.as_ref(), self.budget))
    }

    fn check_claim(&self, true_delta: Option<LogDelta>) -> Result<()> {
        let target = self.budget.delta.ln().get();
        let found = match true_delta {
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
        match (&self.provenance, &self.profile, true_delta) {
            (Provenance::Proven { .. }, Some(profile), Some(true_delta))
                if self.claim == Claim::Met =>
            {
                check_seed(profile, self.budget, true_delta)
                    .map_err(|e| rejected("guarantee.budget", e.to_string()))
            }
            (Provenance::Proven { .. }, ..) => Err(rejected(
                "guarantee.provenance",
                "a proven guarantee must have a profile that meets its budget",
            )),
            _ => Ok(()),
        }
    }
}

/// Shorthand for [`Error::CertificateRejected`].
pub(crate) fn rejected(field: &'static str, reason: impl Into<String>) -> Error {
    Error::CertificateRejected { field, reason: reason.into() }
}

/// How far ln delta may move between two machines' elementary functions.
pub(crate) fn log_slack(ln_delta: f64) -> f64 {
    if ln_delta.is_finite() { 1e-11 * ln_delta.abs().max(1.0) } else { 0.0 }
}

fn at_budget(profile: Option<&Profile>, budget: Budget) -> Option<LogDelta> {
    profile.map(|p| p.log_delta(budget.epsilon))
}

fn meets(profile: &Profile, budget: Budget, rule: &'static str) -> Result<LogDelta> {
    let true_delta = profile.log_delta(budget.epsilon);
    if true_delta <= budget.delta.ln() {
        check_seed(profile, budget, true_delta)?;
        Ok(true_delta)
    } else {
        Err(Error::RuleMissesBudget { rule, claimed: budget, true_delta })
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
