//! The ledger of one data set.

use super::event::{Event, MOST_RUNS};
use super::filter::{Expense, Filter, FilterRule};
use super::{Bracket, Method, epsilon};
use crate::adjacency::Adjacency;
use crate::budget::{Budget, Delta, Epsilon};
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::guarantee::{Claim, Guarantee};
use crate::profile::{PrivacyProfile, Profile};
use serde::{Deserialize, Serialize};

/// One line of a ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    label: String,
    event: Event,
    /// The (epsilon, delta) that each run really gives.
    budget: Budget,
    basis: Basis,
}

/// What an entry rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Basis {
    /// The exact profile.
    Profile,
    /// A published (epsilon, delta) without a profile, accepted by name. The event
    /// is the pure part; its delta is added on top.
    AcceptedClaim,
}

impl Entry {
    /// What was done.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The event that is composed.
    #[must_use]
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// The (epsilon, delta) of one run.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget
    }

    fn expense(&self) -> Expense<'_> {
        let claimed = self.basis == Basis::AcceptedClaim;
        let beyond = if claimed { self.budget.delta } else { Delta::ZERO };
        Expense { event: &self.event, budget: self.budget, beyond }
    }

    fn check(&self) -> Result<()> {
        let disagree = |left: String, right: String| Error::Mismatch {
            what: "a ledger entry's budget and its profile",
            left,
            right,
        };
        match self.basis {
            Basis::Profile => {
                let found = self.event.profile().log_delta(self.budget.epsilon);
                let stated = self.budget.delta.ln();
                let slack = crate::guarantee::log_slack(stated.get());
                if found.get() <= stated.get() + slack {
                    Ok(())
                } else {
                    Err(disagree(self.budget.to_string(), format!("delta {found}")))
                }
            }
            Basis::AcceptedClaim => match self.event.profile() {
                Profile::PureDp { epsilon } if *epsilon == self.budget.epsilon => Ok(()),
                other => Err(disagree(self.budget.to_string(), format!("{other:?}"))),
            },
        }
    }
}

/// Everything that was done to one data set, under one adjacency.
///
/// Entries come from verified certificates or guarantees; nothing is ever removed.
/// Reading a ledger back checks each entry and the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawLedger")]
pub struct Ledger {
    adjacency: Adjacency,
    filter: Option<Filter>,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLedger {
    adjacency: Adjacency,
    filter: Option<Filter>,
    entries: Vec<Entry>,
}

impl TryFrom<RawLedger> for Ledger {
    type Error = Error;
    fn try_from(raw: RawLedger) -> Result<Self> {
        let mut ledger = Self { adjacency: raw.adjacency, filter: raw.filter, entries: Vec::new() };
        for entry in raw.entries {
            ledger.push(entry)?;
        }
        Ok(ledger)
    }
}

impl Ledger {
    /// An empty ledger.
    #[must_use]
    pub fn new(adjacency: Adjacency) -> Self {
        Self { adjacency, filter: None, entries: Vec::new() }
    }

    /// An empty ledger that refuses what would pass `limit`, however the runs are chosen.
    #[must_use]
    pub fn with_limit(adjacency: Adjacency, limit: Budget, rule: FilterRule) -> Self {
        let filter = Some(Filter { limit, rule });
        Self { adjacency, filter, entries: Vec::new() }
    }

    /// Enters a release by its certificate, under the mechanism's name.
    ///
    /// # Errors
    /// As [`Ledger::add_labelled`].
    pub fn add(&mut self, certificate: &Certificate) -> Result<()> {
        self.add_labelled(certificate, &certificate.statement().mechanism)
    }

    /// Enters a release by its certificate.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] when it does not verify, or when somebody could know its
    /// randomness ([`Certificate::require_secret_randomness`]); otherwise as [`Ledger::spend`].
    pub fn add_labelled(&mut self, certificate: &Certificate, label: &str) -> Result<()> {
        certificate.verify()?;
        certificate.require_secret_randomness()?;
        self.spend(certificate.guarantee(), 1, label)
    }

    /// Enters `count` runs of a guarantee: call it **before** the release, so that a
    /// limit can still refuse. Nothing is entered when it is refused. The caller must draw
    /// the noise, and a seed that is averaged over, from the operating system: a
    /// guarantee does not say where they come from, a certificate does ([`Ledger::add`]).
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another adjacency; [`Error::RuleMissesBudget`] for a
    /// published claim without a profile (see [`Ledger::spend_accepting_claim`]);
    /// [`Error::BudgetExceeded`] when the limit would be passed;
    /// [`Error::InvalidParameter`] for a count outside `[1, 2^40]`.
    pub fn spend(&mut self, guarantee: &Guarantee, count: u64, label: &str) -> Result<()> {
        guarantee.verify()?;
        let (Some(profile), Some(true_delta)) = (guarantee.profile(), guarantee.true_delta())
        else {
            return Err(Error::InvalidParameter {
                name: "guarantee",
                value: format!("published {} without a profile", guarantee.budget()),
                allowed: "guarantees with a known profile, or accept the claim by name".into(),
            });
        };
        let epsilon = guarantee.budget().epsilon;
        // A missed claim counts with the delta it really gives.
        let delta = match guarantee.claim() {
            Claim::MissedAcceptedByName => Delta::new(true_delta.delta().min(1.0 - 1e-15))?,
            _ => guarantee.budget().delta,
        };
        self.enter(
            guarantee.adjacency(),
            Entry {
                label: label.to_owned(),
                event: Event::new(profile.clone(), count)?,
                budget: Budget { epsilon, delta },
                basis: Basis::Profile,
            },
        )
    }

    /// As [`Ledger::spend`], and takes a published claim without a known profile at its word.
    /// The ledger's answers are then no better than that claim.
    ///
    /// # Errors
    /// As [`Ledger::spend`].
    pub fn spend_accepting_claim(
        &mut self,
        guarantee: &Guarantee,
        count: u64,
        label: &str,
    ) -> Result<()> {
        if guarantee.profile().is_some() {
            return self.spend(guarantee, count, label);
        }
        guarantee.verify()?;
        let budget = guarantee.budget();
        self.enter(
            guarantee.adjacency(),
            Entry {
                label: format!("{label} (claim accepted by name)"),
                event: Event::new(Profile::PureDp { epsilon: budget.epsilon }, count)?,
                budget,
                basis: Basis::AcceptedClaim,
            },
        )
    }

    fn enter(&mut self, adjacency: Adjacency, entry: Entry) -> Result<()> {
        if adjacency != self.adjacency {
            return Err(Error::Mismatch {
                what: "adjacency of the ledger and of the guarantee",
                left: self.adjacency.to_string(),
                right: adjacency.to_string(),
            });
        }
        self.push(entry)
    }

    /// All checks, then the change.
    fn push(&mut self, entry: Entry) -> Result<()> {
        entry.check()?;
        let runs = self.entries.iter().chain([&entry]).map(|e| e.event.count());
        if runs.fold(0, u64::saturating_add) > MOST_RUNS {
            return Err(Error::invalid("runs in a ledger", "too many", "[0, 2^40]"));
        }
        if let Some(filter) = &self.filter {
            filter.check(self.entries.iter().chain([&entry]).map(Entry::expense))?;
        }
        self.entries.push(entry);
        Ok(())
    }

    /// The adjacency every entry speaks of.
    #[must_use]
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// The limit, where there is one.
    #[must_use]
    pub fn filter(&self) -> Option<&Filter> {
        self.filter.as_ref()
    }

    /// The entries, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The epsilon spent so far, at `delta`.
    ///
    /// Sound when the mechanisms' parameters were fixed in advance (the mechanisms
    /// themselves may use earlier answers). Where parameters were chosen from earlier
    /// answers, use a limit ([`Ledger::with_limit`]) instead.
    ///
    /// # Errors
    /// [`Error::Calibration`] when the method cannot answer.
    pub fn epsilon(&self, delta: Delta, method: Method) -> Result<Bracket<Epsilon>> {
        let claimed: f64 = self
            .entries
            .iter()
            .filter(|e| e.basis == Basis::AcceptedClaim)
            .map(|e| e.event.count() as f64 * e.budget.delta.get())
            .sum();
        let events: Vec<Event> = self.entries.iter().map(|e| e.event.clone()).collect();
        if claimed == 0.0 {
            return epsilon(&events, delta, method);
        }
        let left = delta.get() - claimed * (1.0 + 1e-12);
        if left <= 0.0 {
            return Err(Error::Calibration {
                family: "composition with accepted claims",
                budget: Budget { epsilon: Epsilon::ZERO, delta },
                reason: format!("the claims alone have delta {claimed:e}"),
            });
        }
        let Bracket { upper, .. } = epsilon(&events, Delta::new(left)?, method)?;
        Ok(Bracket { lower: None, upper })
    }
}

impl core::fmt::Display for Ledger {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(f, "ledger: {}", self.adjacency)?;
        if let Some(Filter { limit, rule }) = &self.filter {
            writeln!(f, "limit: {limit} by {rule:?}")?;
        }
        for entry in &self.entries {
            writeln!(f, "{} x {} {}", entry.event.count(), entry.label, entry.budget)?;
        }
        Ok(())
    }
}
