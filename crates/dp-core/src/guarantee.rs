//! What a release promises, as data.

use crate::adjacency::Adjacency;
use crate::budget::{Budget, LogDelta};
use crate::error::{Error, Result};
use crate::profile::{PrivacyProfile, Profile};
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

/// A differential-privacy guarantee: adjacency, budget, exact profile, provenance.
///
/// Cannot be made with a budget its profile does not meet, except through
/// [`Guarantee::published_accepting_true_delta`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guarantee {
    adjacency: Adjacency,
    budget: Budget,
    profile: Option<Profile>,
    provenance: Provenance,
}

impl Guarantee {
    /// A proven guarantee: `profile` at the budget's epsilon is at most its delta.
    ///
    /// # Errors
    /// [`Error::RuleMissesBudget`] when it is not.
    pub fn proven(
        adjacency: Adjacency,
        budget: Budget,
        profile: Profile,
        theorem: impl Into<String>,
    ) -> Result<Self> {
        let provenance = Provenance::Proven { theorem: theorem.into() };
        meets(&profile, budget, "proven guarantee")?;
        Ok(Self { adjacency, budget, profile: Some(profile), provenance })
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
        if let Some(profile) = &profile {
            meets(profile, claimed, rule)?;
        }
        let provenance = Provenance::Published { source: source.into(), caveat: caveat.into() };
        Ok(Self { adjacency, budget: claimed, profile, provenance })
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
        Self { adjacency, budget: claimed, profile: Some(profile), provenance }
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

    /// Where the guarantee comes from.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The delta really given at the budget's epsilon, where the profile is known.
    #[must_use]
    pub fn true_delta(&self) -> Option<LogDelta> {
        self.profile.as_ref().map(|p| p.log_delta(self.budget.epsilon))
    }
}

fn meets(profile: &Profile, budget: Budget, rule: &'static str) -> Result<()> {
    let true_delta = profile.log_delta(budget.epsilon);
    if true_delta <= budget.delta.ln() {
        Ok(())
    } else {
        Err(Error::RuleMissesBudget { rule, claimed: budget, true_delta })
    }
}
