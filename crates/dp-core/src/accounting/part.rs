//! Which part of the rows a release is of.

use crate::adjacency::{Adjacency, Partition};
use crate::certificate::preprocessing::Preprocessing;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A part of a public partition of the rows, by its name: releases of different parts cost what those cost that the change of one
/// unit can touch, and those of one part add up (`docs/proofs/adjacency.md`, section 3). That the parts are disjoint, and the same
/// in every release that names the partition, is declared; nobody can check it.
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
    /// The part of this name, and how it is decided which part a row goes to. Of one part every release writes the same name.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for names that are not 1 to 256 of `a` to `z`, `0` to `9`, `-`, `_` and `.`: two spellings of
    /// one part would pass for two.
    pub fn new(partition: &str, name: &str, by: Partition) -> Result<Self> {
        let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_.".contains(&c);
        let fine = |s: &&str| (1..=LONGEST_NAME).contains(&s.len()) && s.bytes().all(plain);
        if let Some(name) = [partition, name].iter().find(|s| !fine(s)) {
            let value = match name.len() {
                0..=LONGEST_NAME => format!("{name:?}"),
                long => format!("of {long} bytes"),
            };
            let allowed = "1 to 256 of a-z, 0-9, -, _ and . (one spelling a part: two would pass for two parts)";
            return Err(Error::invalid("name of a partition or part", value, allowed));
        }
        Ok(Self { by, name: name.to_owned(), partition: partition.to_owned() })
    }

    /// Whether a ledger of this unit counts it.
    pub(crate) fn check(&self, unit: Adjacency) -> Result<()> {
        self.by.check(unit)
    }

    /// What a release of this part is called.
    #[must_use]
    pub fn labelled<'a>(&'a self, label: &'a str) -> Named<'a> {
        Named { label, part: Some(self), map: None }
    }
}

/// Bytes of a name.
const LONGEST_NAME: usize = 256;

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

/// What a ledger calls a release, and what else it has to know besides the guarantee: the part of the rows that it is of, where one
/// is declared, and what became of their values before everything else.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    pub(crate) label: &'a str,
    pub(crate) part: Option<&'a Part>,
    pub(crate) map: Option<&'a Preprocessing>,
}

impl<'a> Named<'a> {
    /// The same of a release whose values were mapped first: its guarantee is about mapped ones, the ledger's unit is not
    /// ([`Preprocessing::of_unit`]). A certificate says so itself.
    #[must_use]
    pub fn mapped(self, map: Option<&'a Preprocessing>) -> Self {
        Self { map, ..self }
    }
}

impl<'a> From<&'a str> for Named<'a> {
    fn from(label: &'a str) -> Self {
        Self { label, part: None, map: None }
    }
}

impl<'a> From<&'a String> for Named<'a> {
    fn from(label: &'a String) -> Self {
        Self { label, part: None, map: None }
    }
}

/// Entries of one cost: how many count.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Of all rows.
    whole: u64,
    /// By partition: its name, and how it is made.
    parts: HashMap<(String, Partition), Parts>,
}

/// Entries of the parts of one partition.
#[derive(Debug, Default, PartialEq)]
struct Parts {
    counts: HashMap<String, u64>,
    /// How many parts the change of one unit can touch.
    touched: u64,
}

impl Parts {
    /// The entries of the parts that have most of them, as many as one unit can touch; `with` is one of them, and its new number.
    fn worst(&self, with: Option<(&str, u64)>) -> u64 {
        let others =
            self.counts.iter().filter(|(name, _)| with.is_none_or(|(own, _)| own != *name));
        let mut counts: Vec<u64> = others.map(|(_, count)| *count).collect();
        counts.extend(with.map(|(_, count)| count));
        let touched = usize::try_from(self.touched).unwrap_or(usize::MAX);
        if touched < counts.len() {
            counts.select_nth_unstable_by(touched, |a, b| b.cmp(a));
            counts.truncate(touched);
        }
        counts.into_iter().fold(0, u64::saturating_add)
    }
}

impl Tally {
    /// What is of all rows, and the worst parts of every partition.
    pub(super) fn times(&self) -> u64 {
        self.parts.values().map(|parts| parts.worst(None)).fold(self.whole, u64::saturating_add)
    }

    pub(super) fn add(&mut self, part: Option<&Part>, unit: Adjacency) {
        let Some(Part { by, name, partition }) = part else {
            self.whole += 1;
            return;
        };
        let parts = self.parts.entry((partition.clone(), *by)).or_default();
        parts.touched = by.parts_touched(unit);
        *parts.counts.entry(name.clone()).or_default() += 1;
    }

    /// By how much so many more entries of a part raise what counts.
    pub(super) fn raised_by(&self, part: Option<&Part>, more: u64) -> u64 {
        let Some(Part { by, name, partition }) = part else { return more };
        let Some(parts) = self.parts.get(&(partition.clone(), *by)) else { return more };
        let own = parts.counts.get(name).copied().unwrap_or(0);
        parts.worst(Some((name, own.saturating_add(more)))).saturating_sub(parts.worst(None))
    }

    pub(super) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }
}
