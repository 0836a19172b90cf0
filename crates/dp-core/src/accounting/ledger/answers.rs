//! What a ledger tells of what it holds.

use super::super::entry::{Basis, Entry, Group};
use super::super::filter::{Filter, FilterRule};
use super::super::{Method, epsilon};
use super::{Ledger, Standing};
use crate::budget::{Budget, Delta, Epsilon};
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::profile::event::{Event, MOST_RUNS};
use crate::profile::pld::Bracket;
use crate::seed::FreshSeed;

/// Declared entries that are named where all are spoken of.
const NAMED: usize = 8;

impl Ledger {
    /// How many more entries would keep the limit by a rule, this ledger's or another, if each were as this release (of all rows),
    /// or as the last entry where none is named (of its part, if it is of one); at most 2^40.
    ///
    /// ```
    /// use dp_core::accounting::{FilterRule, Ledger};
    /// use dp_core::{Adjacency, Budget, Probability, Profile, Shift, Theorem};
    ///
    /// let change = Adjacency::Attribute { beta: Shift::new(1.0)? };
    /// let profile = Profile::RandomizedResponse { bits: 1, keep: Probability::new(0.73)? };
    /// # let author = dp_core::authority!();
    /// let day = author.proven(change, Budget::new(1.0, 0.0)?, profile, Theorem::BitResponse)?;
    /// let mut ledger = Ledger::with_limit(change, Budget::new(5.5, 1e-6)?, FilterRule::Basic);
    /// ledger.spend(&day, 1, "the first day")?;
    /// assert_eq!(ledger.more(None, FilterRule::Basic)?, 4);
    /// assert!(ledger.spend(&day, 5, "more").is_err() && ledger.spend(&day, 4, "more").is_ok());
    /// # Ok::<(), dp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Ledger::spend`] but for the limit; [`Error::InvalidParameter`] without a limit, and where there is no last entry.
    pub fn more(&self, like: Option<&Certificate>, rule: FilterRule) -> Result<u64> {
        let limited = self.filter.ok_or_else(|| Error::invalid("limit", "none", "a limit"))?;
        let filter = Filter { rule, ..limited };
        let entry = match like {
            Some(certificate) => {
                let named = "more of them".into();
                let entry = Entry::of_release(certificate, named, self.adjacency)?;
                Self::require_profile(certificate.guarantee(), &entry)?;
                Some(entry)
            }
            None => self.entries.last().cloned(),
        };
        let entry = entry.ok_or_else(|| Error::invalid("entries", 0, "[1, inf)"))?;
        let fits = |times: u64| match filter.check(self.expenses(&entry, times)) {
            Err(Error::BudgetExceeded { .. }) => Ok(false),
            checked => checked.map(|()| true),
        };
        let most = (MOST_RUNS - self.groups.runs()) / entry.event().count();
        // Doubled first: no rule is asked about far more than fit.
        let (mut low, mut high) = (0, 1);
        while high <= most && fits(high)? {
            (low, high) = (high, 2 * high);
        }
        high = high.min(most + 1);
        while high - low > 1 {
            let middle = u64::midpoint(low, high);
            *(if fits(middle)? { &mut low } else { &mut high }) = middle;
        }
        Ok(low)
    }

    /// Whether all that is entered keeps the limit: what has happened is entered past it too, and where the limit's rule
    /// knows no finite cost of it. Without a limit it does.
    pub fn standing(&self) -> Standing {
        let past = || self.groups.list().iter().map(Group::expense);
        let kept = self.filter.as_ref().map_or(Ok(()), |filter| filter.check(past()));
        kept.map_or_else(Standing::Passed, |()| Standing::Kept)
    }

    /// Which entries are taken at somebody's word, where there are any.
    #[must_use]
    pub fn at_their_word(&self) -> Option<String> {
        let declared = self.entries.iter().filter(|e| e.cost().basis != Basis::Profile);
        let mut labels: Vec<&str> = declared.map(Entry::label).collect();
        let count = labels.len();
        labels.sort_unstable();
        labels.dedup();
        let shown = labels.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if labels.len() > NAMED { ", and others" } else { "" };
        (count > 0).then(|| {
            format!("{count} of the entries are declared and were taken at their word, not proven: {shown}{more}")
        })
    }

    /// The sums of the stated epsilons and deltas, as a limit by [`FilterRule::Basic`] counts them.
    #[must_use]
    pub fn stated(&self) -> (f64, f64) {
        self.groups.list().iter().map(Group::expense).fold((0.0, 0.0), |sums, expense| {
            let runs = expense.runs();
            let Budget { epsilon, delta } = expense.budget;
            (sums.0 + runs * epsilon.get(), sums.1 + runs * delta.get())
        })
    }

    /// What is taken on somebody's word where an entry is of a [`Part`](crate::accounting::Part).
    #[must_use]
    pub fn declared_parts(&self) -> Option<&'static str> {
        let parts = self.groups.list().iter().any(|group| group.tally.has_parts());
        parts.then_some(
            "of every partition the worst parts count that one unit can touch; that its parts are disjoint, and always the \
             same, is declared, and nobody checked it",
        )
    }

    /// All runs that count, those of equal cost as one event, and the delta of claims accepted by name beside them.
    pub(in super::super) fn composed(&self) -> (Vec<Event>, f64) {
        let groups = self.groups.list().iter();
        groups.fold((Vec::new(), 0.0), |(mut events, claimed), group| {
            let event = group.event();
            let claimed = claimed + event.count() as f64 * group.cost.beyond().get();
            events.push(event);
            (events, claimed)
        })
    }

    /// The epsilon spent so far, at `delta`.
    ///
    /// Sound when the mechanisms' parameters were fixed in advance (the mechanisms
    /// themselves may use earlier answers). Where parameters were chosen from earlier
    /// answers, use a limit ([`Ledger::with_limit`]) instead.
    ///
    /// # Errors
    /// [`Error::Calibration`] when the method cannot answer; [`Error::InvalidParameter`] for a delta below
    /// [`FreshSeed::LEAST_DELTA`] when an entry averages over a seed.
    pub fn epsilon(&self, delta: Delta, method: Method) -> Result<Bracket<Epsilon>> {
        let (events, claimed) = self.composed();
        let averaged = events.iter().any(|event| event.profile().needs_fresh_seed());
        if averaged && delta.get() > 0.0 && delta.get() < FreshSeed::LEAST_DELTA {
            let allowed = "0 or [2^-64, 1): an entry averages over a seed";
            return Err(Error::invalid("delta", format!("{:e}", delta.get()), allowed));
        }
        // Parts that were not released alike cost less than what is counted: no lower end is known.
        let known = |found: Bracket<Epsilon>| match self.declared_parts() {
            Some(_) => Bracket { lower: None, ..found },
            None => found,
        };
        if claimed == 0.0 {
            return epsilon(&events, delta, method).map(known);
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
