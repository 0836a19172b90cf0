//! Which part of the rows a release is of.

use crate::adjacency::{Adjacency, Partition};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A part of a public partition of the rows, by its name: releases of different parts cost what the dearest of them cost, and
/// those of one part add up (`docs/proofs/adjacency.md`, section 3). That the parts are disjoint is declared; nobody can check it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw")]
pub struct Part {
    by: Partition,
    name: String,
    partition: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    by: Partition,
    name: String,
    partition: String,
}

impl TryFrom<Raw> for Part {
    type Error = Error;
    fn try_from(Raw { by, name, partition }: Raw) -> Result<Self> {
        Self::new(&partition, &name, by)
    }
}

impl Part {
    /// The part of this name, and how it is decided which part a row goes to.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for names that are not 1 to 256 bytes without control characters.
    pub fn new(partition: &str, name: &str, by: Partition) -> Result<Self> {
        let bad = |s: &&str| s.is_empty() || s.len() > 256 || s.chars().any(char::is_control);
        if let Some(bad) = [partition, name].iter().find(|s| bad(s)) {
            let allowed = "1 to 256 bytes without control characters";
            return Err(Error::invalid("name of a partition or part", bad.len(), allowed));
        }
        Ok(Self { by, name: name.to_owned(), partition: partition.to_owned() })
    }

    /// What a release of this part is called.
    #[must_use]
    pub fn labelled<'a>(&'a self, label: &'a str) -> Named<'a> {
        Named { label, part: Some(self) }
    }

    /// Refuses a partition of which a change of one unit may touch two parts.
    pub(crate) fn check(&self, adjacency: Adjacency) -> Result<()> {
        if self.by.parts_touched(adjacency) == 1 {
            return Ok(());
        }
        let allowed = match self.by {
            Partition::ByContent => {
                "a partition whose parts no change of one unit mixes: one by something of the row that no change alters \
                 (by-row), or by the unit (by-unit); a row that changes may leave one part and enter another"
            }
            _ => {
                "a partition by the unit (by-unit): the ledger's unit has several rows, which may be in several parts"
            }
        };
        Err(Error::invalid("partition of a ledger's part", self, allowed))
    }
}

impl core::fmt::Display for Part {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let by = match self.by {
            Partition::ByUnit => "the unit",
            Partition::ByRow => "a key of the row",
            Partition::ByContent => "what the row says",
        };
        write!(f, "{:?} of {:?}, disjoint by {by} as declared", self.name, self.partition)
    }
}

/// What a ledger calls a release, and the part of the rows that it is of, where one is declared.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    pub(crate) label: &'a str,
    pub(crate) part: Option<&'a Part>,
}

impl<'a> From<&'a str> for Named<'a> {
    fn from(label: &'a str) -> Self {
        Self { label, part: None }
    }
}

impl<'a> From<&'a String> for Named<'a> {
    fn from(label: &'a String) -> Self {
        Self { label, part: None }
    }
}

/// Entries of one cost: how many count.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Of all rows.
    whole: u64,
    /// By partition (its name, and how it is made), then by part.
    parts: HashMap<(String, Partition), HashMap<String, u64>>,
}

impl Tally {
    /// The worst part of every partition, and what is of all rows.
    pub(super) fn times(&self) -> u64 {
        let worst = self.parts.values().map(|parts| parts.values().copied().max().unwrap_or(0));
        self.whole.saturating_add(worst.fold(0, u64::saturating_add))
    }

    pub(super) fn add(&mut self, part: Option<&Part>) {
        match part {
            None => self.whole += 1,
            Some(Part { by, name, partition }) => {
                let parts = self.parts.entry((partition.clone(), *by)).or_default();
                *parts.entry(name.clone()).or_default() += 1;
            }
        }
    }

    /// By how much so many more entries of a part raise what counts.
    pub(super) fn raised_by(&self, part: Option<&Part>, more: u64) -> u64 {
        let Some(Part { by, name, partition }) = part else { return more };
        let Some(parts) = self.parts.get(&(partition.clone(), *by)) else { return more };
        let own = parts.get(name).copied().unwrap_or(0).saturating_add(more);
        own.saturating_sub(parts.values().copied().max().unwrap_or(0))
    }

    pub(super) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }
}
