//! The ledger of one data set.

mod answers;

use super::entry::{Basis, Entry, Group, Groups};
use super::filter::{Expense, Filter, FilterRule};
use super::part::Named;
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::certificate::{Certificate, canonical, hex, other_version};
use crate::error::rejected;
use crate::error::{Error, Result};
use crate::guarantee::{Guarantee, Provenance};
use crate::profile::event::MOST_RUNS;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// How a ledger stands after a release that has happened was entered.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "the limit may be passed"]
pub enum Standing {
    /// The limit, if there is one, is kept.
    Kept,
    /// The limit is passed: the release is entered all the same, and [`Ledger::spend`] refuses
    /// from now on. Holds the error that says by how much.
    Passed(Error),
}

/// Everything that was done to one data set, under one adjacency.
///
/// A guarantee under another adjacency enters when its changes make up the ledger's: as it is where
/// it [implies](Adjacency::implies) it, else at the price of as many changes as one unit of the
/// ledger can make ([`Guarantee::profile_under`]).
///
/// Entries come from verified certificates or guarantees; nothing is ever removed, and there is
/// no copy that could be spent a second time (it is not `Clone`). Reading a ledger back checks
/// each entry, and a running digest over adjacency, limit and entries: one that was taken out,
/// altered or put elsewhere is noticed, unless whoever did it computed the digest again.
/// A whole older state put back is not noticed.
///
/// ```compile_fail,E0599
/// fn twice(ledger: dp_core::accounting::Ledger) -> [dp_core::accounting::Ledger; 2] {
///     [ledger.clone(), ledger]
/// }
/// ```
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "RawLedger")]
pub struct Ledger {
    adjacency: Adjacency,
    filter: Option<Filter>,
    entries: Vec<Entry>,
    groups: Groups,
}

impl Serialize for Ledger {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            format: u32,
            adjacency: Adjacency,
            filter: Option<Filter>,
            entries: &'a [Entry],
            /// Of adjacency and limit, then of the last digest and the next entry.
            digest: String,
        }
        let digest = chained(self.adjacency, self.filter, &self.entries);
        let Self { adjacency, filter, entries, .. } = self;
        let (adjacency, filter) = (*adjacency, *filter);
        Written { format: LEDGER_FORMAT, adjacency, filter, entries, digest }.serialize(to)
    }
}

/// Version of a ledger's layout.
pub(super) const LEDGER_FORMAT: u32 = 2;

/// What to do with a ledger that cannot be read.
const REMEDY: &str = "see what it spent with the version that wrote it, and begin a new ledger whose \
    limit is the rest";

/// A ledger as it is written: what another version wrote may be of another form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLedger {
    format: Option<u64>,
    adjacency: Value,
    filter: Value,
    entries: Value,
    digest: String,
}

impl TryFrom<RawLedger> for Ledger {
    type Error = Error;
    fn try_from(raw: RawLedger) -> Result<Self> {
        if let Some(reason) = other_version(raw.format, LEDGER_FORMAT, REMEDY) {
            return Err(rejected("ledger format", reason));
        }
        let (adjacency, filter) = (part(raw.adjacency)?, part(raw.filter)?);
        let entries: Vec<Entry> = part(raw.entries)?;
        if raw.digest != chained(adjacency, filter, &entries) {
            return Err(rejected("ledger digest", "an entry or the limit was altered"));
        }
        let mut this = Self::empty(adjacency, filter);
        for entry in entries {
            // What was recorded past the limit stays: the limit is for what comes.
            this.check(&entry)?;
            this.push(entry);
        }
        Ok(this)
    }
}

fn part<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|e| rejected("ledger", crate::text::json_fault(&e)))
}

/// SHA-256 of adjacency and limit, then of the digest so far and the canonical text of the next entry.
fn chained(adjacency: Adjacency, filter: Option<Filter>, entries: &[Entry]) -> String {
    let hash = |before: &str, text: String| {
        hex(&Sha256::new().chain_update(before).chain_update(text).finalize())
    };
    let start = hash("", canonical(&(LEDGER_FORMAT, adjacency, filter)));
    entries.iter().fold(start, |digest, entry| hash(&digest, canonical(entry)))
}

impl Ledger {
    /// An empty ledger.
    #[must_use]
    pub fn new(adjacency: Adjacency) -> Self {
        Self::empty(adjacency, None)
    }

    /// An empty ledger that refuses what would pass `limit`, however the runs are chosen.
    #[must_use]
    pub fn with_limit(adjacency: Adjacency, limit: Budget, rule: FilterRule) -> Self {
        Self::empty(adjacency, Some(Filter { limit, rule }))
    }

    pub(crate) fn empty(adjacency: Adjacency, filter: Option<Filter>) -> Self {
        Self { adjacency, filter, entries: Vec::new(), groups: Groups::default() }
    }

    /// Pays for a release that nobody has seen yet, by its certificate: refused where the limit
    /// would be passed, and then it must not be published. One that was published is
    /// [recorded](Ledger::record).
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] when it is not consistent, or when somebody could know its
    /// randomness ([`Certificate::require_secret_randomness`]); otherwise as [`Ledger::spend`].
    pub fn add<'a>(
        &mut self,
        certificate: &Certificate,
        label: impl Into<Named<'a>>,
    ) -> Result<()> {
        let entry = self.planned(certificate, label.into())?;
        self.push(entry);
        Ok(())
    }

    /// The entry of [`Ledger::add`].
    pub(crate) fn planned(&self, certificate: &Certificate, named: Named<'_>) -> Result<Entry> {
        certificate.verify_consistency()?;
        certificate.require_secret_randomness()?;
        let entry = self.agreed(Entry::of_release(certificate, named, self.adjacency)?)?;
        Self::require_profile(certificate.guarantee(), &entry)?;
        Ok(entry)
    }

    /// Enters a release that has happened, even past the limit: it cannot be taken back, and a
    /// ledger that forgot it would allow more. It is taken as [`Ledger::spend_accepting_claim`]
    /// takes it, at its word where it is not proven.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] when the certificate is not consistent or somebody could know
    /// its randomness (no ledger speaks of such a release); [`Error::Mismatch`] for another
    /// adjacency.
    pub fn record(&mut self, certificate: &Certificate, label: &str) -> Result<Standing> {
        let (entry, standing) = self.happened(certificate, label.into())?;
        self.push(entry);
        Ok(standing)
    }

    /// The entry of [`Ledger::record`], and how the ledger will stand.
    pub(crate) fn happened(
        &self,
        certificate: &Certificate,
        named: Named<'_>,
    ) -> Result<(Entry, Standing)> {
        certificate.verify_consistency()?;
        certificate.require_secret_randomness()?;
        let entry = Entry::of_release(certificate, named, self.adjacency)?;
        self.check(&entry)?;
        let kept = self.check_limit(&entry);
        Ok((entry, kept.map_or_else(Standing::Passed, |()| Standing::Kept)))
    }

    /// Enters `count` runs of a guarantee: call it **before** the release, so that a
    /// limit can still refuse. Nothing is entered when it is refused. The caller must draw
    /// the noise, and a seed that is averaged over, from the operating system: a
    /// guarantee does not say where they come from, a certificate does ([`Ledger::add`]).
    ///
    /// A release of a [`Part`](super::Part) of the rows is [named by it](super::Part::labelled): of every partition count, for
    /// each cost, the parts with the most entries of that cost, as many as the change of one unit [can touch](crate::adjacency::Partition::parts_touched).
    /// So parts that are released alike cost what one of them costs, where a unit is in one; what one part has and another has not is added.
    ///
    /// ```
    /// use dp_core::accounting::{Ledger, Method, Part};
    /// use dp_core::adjacency::Partition;
    /// use dp_core::{Adjacency, Budget, Delta, Probability, Profile, Shift, Theorem};
    ///
    /// let change = Adjacency::Attribute { beta: Shift::new(1.0)? };
    /// let profile = Profile::RandomizedResponse { bits: 1, keep: Probability::new(0.73)? };
    /// # let author = dp_core::authority!();
    /// let release = author.proven(change, Budget::new(1.0, 0.0)?, profile, Theorem::BitResponse)?;
    /// let mut ledger = Ledger::new(change);
    /// for region in ["north", "south"] {
    ///     // Which region a row is in does not depend on what it says.
    ///     let part = Part::new("regions", region, Partition::ByRow)?;
    ///     ledger.spend(&release, 1, part.labelled("a file"))?;
    /// }
    /// assert!(ledger.epsilon(Delta::ZERO, Method::Basic)?.upper.get() <= 1.0);
    /// # Ok::<(), dp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Mismatch`] for an adjacency whose changes never make up the ledger's;
    /// [`Error::InvalidParameter`] for a guarantee that is declared, or a published claim without a profile
    /// (see [`Ledger::spend_accepting_claim`]), and for a count outside `[1, 2^40]`;
    /// [`Error::BudgetExceeded`] when the limit would be passed.
    pub fn spend<'a>(
        &mut self,
        guarantee: &Guarantee,
        count: u64,
        label: impl Into<Named<'a>>,
    ) -> Result<()> {
        let entry = self.planned_runs(guarantee, count, label.into())?;
        self.push(entry);
        Ok(())
    }

    /// The entry of [`Ledger::spend`].
    pub(crate) fn planned_runs(
        &self,
        guarantee: &Guarantee,
        count: u64,
        named: Named<'_>,
    ) -> Result<Entry> {
        let entry = self.planned_at_its_word(guarantee, count, named)?;
        Self::require_profile(guarantee, &entry)?;
        Ok(entry)
    }

    /// Refuses what would have to be accepted by name.
    fn require_profile(guarantee: &Guarantee, entry: &Entry) -> Result<()> {
        if entry.cost().basis != Basis::Profile {
            let value = match guarantee.provenance() {
                Provenance::Declared { by, .. } => format!("declared by {by}"),
                _ => format!("published {} without a profile", guarantee.budget()),
            };
            let allowed = "proven guarantees and published ones with a profile; accept others by \
                           name (spend_accepting_claim)";
            return Err(Error::invalid("guarantee", value, allowed));
        }
        Ok(())
    }

    /// As [`Ledger::spend`], and takes at its word what is not proven: a published claim without
    /// a known profile, a declared guarantee.
    /// The ledger's answers are then no better than that word.
    ///
    /// # Errors
    /// As [`Ledger::spend`].
    pub fn spend_accepting_claim<'a>(
        &mut self,
        guarantee: &Guarantee,
        count: u64,
        label: impl Into<Named<'a>>,
    ) -> Result<()> {
        let entry = self.planned_at_its_word(guarantee, count, label.into())?;
        self.push(entry);
        Ok(())
    }

    /// The entry of [`Ledger::spend_accepting_claim`].
    pub(crate) fn planned_at_its_word(
        &self,
        guarantee: &Guarantee,
        count: u64,
        named: Named<'_>,
    ) -> Result<Entry> {
        self.agreed(Entry::of(guarantee, count, named, self.adjacency)?)
    }

    /// An entry that may be added.
    fn agreed(&self, entry: Entry) -> Result<Entry> {
        self.check(&entry)?;
        self.check_limit(&entry)?;
        Ok(entry)
    }

    /// All checks but that of the limit.
    pub(crate) fn check(&self, entry: &Entry) -> Result<()> {
        entry.cost().check()?;
        entry.part().map_or(Ok(()), |part| part.check(self.adjacency))?;
        Self::check_count(self.groups.runs().saturating_add(entry.event().count()))
    }

    /// Whether the runs of all entries can be counted.
    pub(crate) fn check_runs(&self) -> Result<()> {
        Self::check_count(self.groups.runs())
    }

    fn check_count(runs: u64) -> Result<()> {
        if runs > MOST_RUNS {
            return Err(Error::invalid("runs in a ledger", "too many", "[0, 2^40]"));
        }
        Ok(())
    }

    fn check_limit(&self, entry: &Entry) -> Result<()> {
        match &self.filter {
            Some(filter) => filter.check(self.expenses(entry, 1)),
            None => Ok(()),
        }
    }

    /// All that counts once so many more entries like this one are there.
    fn expenses<'a>(
        &'a self,
        entry: &'a Entry,
        more: u64,
    ) -> impl Iterator<Item = Expense<'a>> + Clone {
        let next = Some(self.groups.raised_by(entry, more)).filter(|times| *times > 0);
        let past = self.groups.list().iter().map(Group::expense);
        past.chain(next.map(|times| entry.cost().expense(times)))
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.push_to(entry, None);
    }

    /// Adds an entry that was checked; `group` is what this returned for an entry of equal cost.
    pub(crate) fn push_to(&mut self, entry: Entry, group: Option<usize>) -> usize {
        let group = self.groups.add(&entry, group, self.adjacency);
        self.entries.push(entry);
        group
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
}

impl core::fmt::Display for Ledger {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(f, "ledger: {}", self.adjacency)?;
        if let Some(Filter { limit, rule }) = &self.filter {
            writeln!(f, "limit: {limit} by {rule:?}")?;
        }
        for entry in &self.entries {
            write!(f, "{} x {} {}", entry.event().count(), entry.label(), entry.budget())?;
            entry.part().map_or(Ok(()), |part| write!(f, ", of {part}"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}
