//! One line of a ledger, and equal lines together.

use super::filter::Expense;
use super::part::{Named, Part, Tally};
use crate::adjacency::Adjacency;
use crate::budget::{Budget, Delta};
use crate::certificate::preprocessing::Preprocessing;
use crate::certificate::{Certificate, canonical};
use crate::error::{Error, Result};
use crate::guarantee::{Claim, Guarantee, Provenance};
use crate::profile::event::Event;
use crate::profile::{PrivacyProfile, Profile};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// One line of a ledger.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Written<'static>")]
pub struct Entry {
    label: String,
    /// Equal ones are held once in a ledger that was read.
    cost: Arc<Cost>,
    /// Most have none.
    part: Option<Box<Part>>,
}

/// An entry as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    label: Cow<'a, str>,
    event: Cow<'a, Event>,
    budget: Budget,
    basis: Basis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Cow<'a, Part>>,
}

impl From<Written<'_>> for Entry {
    fn from(Written { label, event, budget, basis, part }: Written<'_>) -> Self {
        let cost = Cost { basis, budget, event: event.into_owned() };
        let part = part.map(|part| Box::new(part.into_owned()));
        Self { label: label.into_owned(), cost: Arc::new(cost), part }
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Cost { basis, budget, ref event } = *self.cost;
        let (label, event) = (Cow::Borrowed(&*self.label), Cow::Borrowed(event));
        let part = self.part().map(Cow::Borrowed);
        Written { label, event, budget, basis, part }.serialize(to)
    }
}

/// What an entry rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Basis {
    /// The exact profile.
    Profile,
    /// A published (epsilon, delta) without a profile, accepted by name. The event
    /// is the pure part; its delta is added on top.
    AcceptedClaim,
    /// The profile of a declared mechanism, accepted by name.
    AcceptedProfile,
}

impl Entry {
    /// A release as a ledger under `adjacency` counts it, at its word where it is not proven.
    pub(super) fn of_release(
        certificate: &Certificate,
        named: Named<'_>,
        adjacency: Adjacency,
    ) -> Result<Self> {
        let map = Preprocessing::stated(&certificate.statement().public)?;
        Self::of(certificate.guarantee(), 1, named.mapped(map.as_ref()), adjacency)
    }

    /// Runs of a guarantee as a ledger under `adjacency` counts them, at its word where it is not
    /// proven.
    pub(super) fn of(
        guarantee: &Guarantee,
        count: u64,
        named: Named<'_>,
        adjacency: Adjacency,
    ) -> Result<Self> {
        let Named { label, part, map } = named;
        let adjacency = match map {
            Some(map) => map.of_unit(adjacency.seen_by(guarantee.adjacency())?)?,
            None => adjacency,
        };
        let part = part.cloned().map(Box::new);
        guarantee.verify()?;
        let budget = guarantee.budget();
        let by_name = || format!("{label} (claim accepted by name)");
        let counted = guarantee.profile_under(adjacency)?;
        let (Some(profile), Some(true_delta)) = (counted, guarantee.true_delta()) else {
            let budget = guarantee.steps_to(adjacency)?.0.of_claim(budget)?;
            let event = Event::new(Profile::PureDp { epsilon: budget.epsilon }, count)?;
            let cost = Cost { basis: Basis::AcceptedClaim, budget, event };
            return Ok(Self { label: by_name(), cost: Arc::new(cost), part });
        };
        // A missed claim counts with the delta it really gives.
        let delta = match guarantee.claim() {
            Claim::MissedAcceptedByName => Delta::new(true_delta.delta().min(1.0 - 1e-15))?,
            _ => budget.delta,
        };
        let (label, basis) = match guarantee.provenance() {
            Provenance::Proven { .. } | Provenance::Published { .. } => {
                (label.to_owned(), Basis::Profile)
            }
            Provenance::Declared { .. } => (by_name(), Basis::AcceptedProfile),
        };
        // What a unit loses beyond one change is paid in epsilon, at the same delta.
        let epsilon = match guarantee.profile() == Some(&profile) {
            true => budget.epsilon,
            false => profile.epsilon(delta)?,
        };
        let event = Event::new(profile, count)?;
        let cost = Cost { basis, budget: Budget { epsilon, delta }, event };
        Ok(Self { label, cost: Arc::new(cost), part })
    }

    pub(crate) fn new(label: String, cost: Arc<Cost>, part: Option<Box<Part>>) -> Self {
        Self { label, cost, part }
    }

    /// The part of the rows that it is of, where one is declared.
    #[must_use]
    pub fn part(&self) -> Option<&Part> {
        self.part.as_deref()
    }

    /// What was done.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The event that is composed.
    #[must_use]
    pub fn event(&self) -> &Event {
        &self.cost.event
    }

    /// The (epsilon, delta) of one run.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.cost.budget
    }

    /// What it costs, without what it is called.
    pub(crate) fn cost(&self) -> &Arc<Cost> {
        &self.cost
    }
}

/// What runs of one guarantee cost.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cost {
    pub(super) basis: Basis,
    /// The (epsilon, delta) that each run really gives.
    budget: Budget,
    event: Event,
}

impl Cost {
    pub(super) fn expense(&self, times: u64) -> Expense<'_> {
        Expense { event: &self.event, times, budget: self.budget, beyond: self.beyond() }
    }

    /// What each run may lose beyond its profile: the delta of a claim that was accepted by name.
    pub(super) fn beyond(&self) -> Delta {
        if self.basis == Basis::AcceptedClaim { self.budget.delta } else { Delta::ZERO }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let disagree = |left: String, right: String| Error::Mismatch {
            what: "a ledger entry's budget and its profile",
            left,
            right,
        };
        match self.basis {
            Basis::Profile | Basis::AcceptedProfile => {
                let (profile, stated) = (self.event.profile(), self.budget.delta.ln().get());
                if profile.holds(self.budget.epsilon, stated + crate::error::log_slack(stated)) {
                    return Ok(());
                }
                let found = profile.log_delta(self.budget.epsilon);
                Err(disagree(self.budget.to_string(), format!("delta {found}")))
            }
            Basis::AcceptedClaim => match self.event.profile() {
                Profile::PureDp { epsilon } if *epsilon == self.budget.epsilon => Ok(()),
                other => Err(disagree(self.budget.to_string(), format!("{other:?}"))),
            },
        }
    }
}

/// Entries of equal cost.
#[derive(Debug, PartialEq)]
pub(super) struct Group {
    pub(super) cost: Arc<Cost>,
    pub(super) tally: Tally,
}

impl Group {
    pub(super) fn expense(&self) -> Expense<'_> {
        self.cost.expense(self.tally.times())
    }

    /// All runs as one event.
    pub(super) fn event(&self) -> Event {
        let mut event = self.cost.event.clone();
        event.add_runs(event.count().saturating_mul(self.tally.times() - 1));
        event
    }
}

/// Entries of equal cost together: sums and compositions take as long as there are different ones.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Groups {
    list: Vec<Group>,
    places: HashMap<String, usize>,
    runs: u64,
}

impl Groups {
    /// All groups, in the order of their first entries.
    pub(super) fn list(&self) -> &[Group] {
        &self.list
    }

    /// By how much so many more entries like this one raise what counts.
    pub(super) fn raised_by(&self, entry: &Entry, more: u64) -> u64 {
        match self.places.get(&canonical(entry.cost().as_ref())) {
            Some(&place) => self.list[place].tally.raised_by(entry.part(), more),
            None => more,
        }
    }

    /// Runs of all.
    pub(super) fn runs(&self) -> u64 {
        self.runs
    }

    /// Adds an entry of a ledger of this unit; `known` is the group it belongs to, where that is known. Returns the group.
    pub(super) fn add(&mut self, entry: &Entry, known: Option<usize>, unit: Adjacency) -> usize {
        self.runs = self.runs.saturating_add(entry.event().count());
        let group = known.unwrap_or_else(|| {
            let key = canonical(entry.cost().as_ref());
            *self.places.entry(key).or_insert_with(|| {
                self.list.push(Group { cost: entry.cost().clone(), tally: Tally::default() });
                self.list.len() - 1
            })
        });
        self.list[group].tally.add(entry.part(), unit);
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shift;

    /// Who computes a ledger's digest again cannot let a claim count with less than what was claimed.
    #[test]
    fn a_claim_counts_with_the_epsilon_that_was_claimed() {
        let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).unwrap() };
        let budget = Budget::new(0.5, 1e-7).unwrap();
        let author = crate::authority!();
        let claim = author.published(adjacency, budget, None, "a rule", "a paper", "none").unwrap();
        let entry = Entry::of(&claim, 1, "a claim".into(), adjacency).unwrap();
        let read = |value| serde_json::from_value::<Entry>(value).unwrap();
        let written = serde_json::to_value(&entry).unwrap();
        assert!(read(written.clone()).cost().check().is_ok());
        for epsilon in [0.25, 1.0] {
            let mut edited = written.clone();
            edited["event"]["profile"]["epsilon"] = epsilon.into();
            assert_ne!(edited, written);
            assert!(read(edited).cost().check().is_err(), "{epsilon}");
        }
        let mut edited = written;
        edited["budget"]["epsilon"] = 0.25.into();
        assert!(read(edited).cost().check().is_err());
    }
}
