//! What happened to a data set, as data.

use super::kinds::Profile;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A mechanism's exact profile, and how many times it ran on the same data.
///
/// The runs may be chosen adaptively; each must have this profile whatever came before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawEvent")]
pub struct Event {
    profile: Profile,
    count: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEvent {
    profile: Profile,
    count: u64,
}

impl TryFrom<RawEvent> for Event {
    type Error = Error;
    fn try_from(raw: RawEvent) -> Result<Self> {
        Self::new(raw.profile, raw.count)
    }
}

/// Most runs one ledger may hold: sums of counts stay exact in `f64`.
pub(crate) const MOST_RUNS: u64 = 1 << 40;

impl Event {
    /// `count` runs of a mechanism.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless the count is in `[1, 2^40]` and the profile within its
    /// limits ([`Profile::check_limits`]).
    pub fn new(profile: Profile, count: u64) -> Result<Self> {
        profile.check_limits()?;
        if (1..=MOST_RUNS).contains(&count) {
            Ok(Self { profile, count })
        } else {
            Err(Error::invalid("count", count, "[1, 2^40]"))
        }
    }

    /// One run.
    #[must_use]
    pub fn once(profile: Profile) -> Self {
        Self { profile, count: 1 }
    }

    /// More runs of the same; a ledger sees to their number.
    pub(crate) fn add_runs(&mut self, more: u64) {
        self.count = self.count.saturating_add(more).min(MOST_RUNS);
    }

    /// The profile of one run.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Number of runs.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}
