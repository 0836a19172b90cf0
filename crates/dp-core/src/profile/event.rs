//! What happened to a data set, as data.

use super::kinds::Profile;
use crate::budget::{Delta, Epsilon};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// A mechanism's exact profile, and how many times it ran on the same data.
///
/// The runs may be chosen adaptively; each must have this profile whatever came before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawEvent")]
pub struct Event {
    profile: Profile,
    count: u64,
    /// Every copy of the event knows what one of them was asked.
    #[serde(skip)]
    known: Known,
}

/// The epsilons that one run was asked for, at a pair of deltas: several methods ask the same.
#[derive(Debug, Clone, Default)]
struct Known(Arc<Mutex<Vec<Answer>>>);

type Answer = (([Delta; 2], bool), [Result<Epsilon>; 2]);

/// What was computed says nothing that the event does not.
impl PartialEq for Known {
    fn eq(&self, _: &Self) -> bool {
        true
    }
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

/// Most answers that an event remembers.
const ANSWERS: usize = 4;

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
            Ok(Self { profile, count, known: Known::default() })
        } else {
            Err(Error::invalid("count", count, "[1, 2^40]"))
        }
    }

    /// One run.
    #[must_use]
    pub fn once(profile: Profile) -> Self {
        Self { profile, count: 1, known: Known::default() }
    }

    /// More runs of the same; a ledger sees to their number.
    pub(crate) fn add_runs(&mut self, more: u64) {
        self.count = self.count.saturating_add(more).min(MOST_RUNS);
    }

    /// The epsilon of one run at each of two deltas, from above; a composition is made for the second. Of
    /// `many` events each is asked quickly.
    pub(crate) fn epsilons(&self, deltas: [Delta; 2], many: bool) -> [Result<Epsilon>; 2] {
        let known = || self.known.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, answer)) = known().iter().find(|(at, _)| *at == (deltas, many)) {
            return answer.clone();
        }
        // Not under the lock: whoever asks at the same time finds the same.
        let answer = self.profile.epsilons(deltas, many);
        let mut known = known();
        known.truncate(ANSWERS - 1);
        known.insert(0, ((deltas, many), answer.clone()));
        answer
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
