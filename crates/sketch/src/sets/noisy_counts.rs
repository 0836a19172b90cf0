//! Noisy counts of groups: what is published, what it says, and its file.

use super::item_groups::ItemGroups;
use super::items::ItemSet;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval};
use crate::joined::{alike, joinable};
use crate::written::check_stated;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{
    CertificateClass, Kind, Opened, Payload, Writer, numbers_f64, to_json,
};
use dp_core::{LaplaceScale, Probability};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Name of the mechanism in certificates.
pub(super) const COUNTS: &str = "group-counts";
/// Whole numbers up to here, and none beyond, are in releases.
pub(super) const WHOLE: i64 = 1 << 53;

/// Noisy counts of many sets, row by row, a count of each group. Or, of exact queries, the counts without noise.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyCounts {
    groups: ItemGroups,
    /// None of exact queries.
    scale: Option<LaplaceScale>,
    values: Vec<f64>,
}

/// What is public about noisy counts, as release files store it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CountFacts {
    groups: ItemGroups,
    pub(crate) scale: LaplaceScale,
}

impl NoisyCounts {
    pub(super) fn new(groups: ItemGroups, scale: Option<LaplaceScale>, values: Vec<f64>) -> Self {
        Self { groups, scale, values }
    }

    /// Counts of sets that were never released, without noise, by the groups of a release: queries held by whoever asks, for
    /// [`CountIndex`](crate::search::CountIndex). Nothing of them is published.
    #[must_use]
    pub fn exact(release: &Self, sets: &[ItemSet]) -> Self {
        let groups = release.groups.clone();
        let values = groups.counts(sets).into_iter().map(f64::from).collect();
        Self::new(groups, None, values)
    }

    /// The rows of several releases that were made alike, one after the other: what is asked of them all is asked of these.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for other groups or another scale of the noise, and for one release given twice; [`dp_core::Error::InvalidParameter`] for none.
    pub fn joined(parts: &[&Self]) -> Result<Self> {
        let first = joinable(parts, Self::eq)?;
        for part in parts {
            alike("groups (fingerprint)", &first.groups.digest(), &part.groups.digest())?;
            alike("scales of the noise", &first.scale, &part.scale)?;
        }
        let values = parts.iter().flat_map(|part| &part.values).copied().collect();
        Ok(Self::new(first.groups.clone(), first.scale, values))
    }

    /// Numbers of a row, one a group.
    #[must_use]
    pub fn k(&self) -> usize {
        self.groups.k()
    }

    /// Number of sets.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.values.len() / self.k()
    }

    /// All noisy counts, row after row: unbiased whole numbers, below zero too.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The groups.
    #[must_use]
    pub fn groups(&self) -> &ItemGroups {
        &self.groups
    }

    /// How many items of a group a set has; unbiased. The standard error is exact.
    ///
    /// # Errors
    /// [`Error::Index`] when there is no such row or group.
    pub fn count(&self, row: usize, group: usize) -> Result<Estimate> {
        for (what, index, len) in [("row", row, self.rows()), ("group", group, self.k())] {
            if index >= len {
                return Err(Error::Index { what, index, len });
            }
        }
        let value = self.values[row * self.k() + group];
        Ok(Estimate { value, standard_error: self.error() })
    }

    /// Confidence interval of [`NoisyCounts::count`]: the whole numbers from zero on that integer Laplace noise does not refute. It
    /// covers at least as often as asked, whatever the set.
    ///
    /// # Errors
    /// As [`NoisyCounts::count`]; a confidence outside `(0, 1)`.
    pub fn count_interval(
        &self,
        row: usize,
        group: usize,
        confidence: Probability,
    ) -> Result<Interval> {
        let Estimate { value, .. } = self.count(row, group)?;
        let miss = 1.0 - confidence.get();
        if !(miss > 0.0 && miss < 1.0) {
            return Err(Error::invalid("confidence", confidence, "(0, 1)"));
        }
        let reach = self.scale.map_or(0.0, |scale| reach(scale, miss));
        Ok(Interval { low: value - reach, high: value + reach }.within(0.0, f64::INFINITY))
    }

    /// Standard deviation of the noise of a count.
    pub(super) fn error(&self) -> f64 {
        self.variance().sqrt()
    }

    /// Variance of the noise of a count.
    pub(crate) fn variance(&self) -> f64 {
        self.law().moments().map_or(0.0, |[variance, _]| variance)
    }

    /// What is public about released ones.
    pub(crate) fn facts(&self) -> Option<CountFacts> {
        self.scale.map(|scale| CountFacts { groups: self.groups.clone(), scale })
    }

    fn law(&self) -> NoiseLaw {
        self.scale.map_or(NoiseLaw::None, |scale| NoiseLaw::DiscreteLaplace { scale })
    }

    /// What every certificate of counts of these groups states.
    pub(super) fn public(groups: &ItemGroups, sets: usize) -> PublicParameters {
        PublicParameters::from([
            ("sets".to_owned(), sets.into()),
            ("k".to_owned(), groups.k().into()),
            ("groups".to_owned(), groups.digest().into()),
        ])
    }
}

/// The least r with `Pr[|X| > r] = 2 a^(r + 1)/(1 + a) <= miss`, `a = exp(-1/b)`.
fn reach(scale: LaplaceScale, miss: f64) -> f64 {
    let b = scale.get();
    let beyond = |r: f64| 2.0 * (-(r + 1.0) / b).exp() / (1.0 + (-1.0 / b).exp());
    let first = (b * (2.0 / (miss * (1.0 + (-1.0 / b).exp()))).ln() - 1.0).ceil().max(0.0);
    // The logarithm rounds.
    if beyond(first) <= miss { first } else { first + 1.0 }
}

impl Payload for NoisyCounts {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        match class {
            CertificateClass::Private => &[Kind::GroupCounts],
            _ => &[],
        }
    }

    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.k())
    }

    fn fingerprint(&self) -> String {
        self.groups.digest()
    }

    fn parameters(&self) -> Result<String> {
        let allowed = "released counts: exact queries are not published";
        let exact = || Error::invalid("counts", "without noise", allowed);
        Ok(to_json(&self.facts().ok_or_else(exact)?)?)
    }

    fn check_statement(&self, statement: &Statement) -> Result<()> {
        let public = Self::public(&self.groups, self.rows());
        check_stated(statement, &public, |noise| *noise == self.law())
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        Ok(out.payload_f64(&self.values)?)
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let rejected = |part, reason| Error::from(dp_core::Error::file(part, reason));
        let CountFacts { groups, scale } = opened.summary.parameters()?;
        let (rows, columns) = opened.summary.shape()?;
        if columns != groups.k() {
            return Err(rejected("shape", "columns differ from the groups"));
        }
        opened.check_length(rows.checked_mul(columns).and_then(|n| n.checked_mul(8)))?;
        opened.summary.check_fingerprint(&groups.digest())?;
        opened.summary.check_public(&Self::public(&groups, rows))?;
        opened.summary.check_noise(&NoiseLaw::DiscreteLaplace { scale })?;
        if opened.summary.certificate.statement().mechanism != COUNTS {
            return Err(rejected("certificate", "no such mechanism makes this payload"));
        }
        let values = numbers_f64(opened.payload)?;
        if !values.iter().all(|v| v.trunc() == *v && v.abs() <= WHOLE as f64) {
            return Err(rejected("payload", "a count is no whole number up to 2^53"));
        }
        Ok(Self::new(groups, Some(scale), values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against sums of the law itself.
    #[test]
    fn intervals_reach_no_further_than_they_must() {
        for b in [0.05, 0.3, 1.0, 2.0, 7.5, 100.0] {
            let a = (-1.0f64 / b).exp();
            for miss in [0.9, 0.5, 0.1, 0.05, 1e-3, 1e-9] {
                let r = reach(LaplaceScale::new(b).expect("a scale"), miss);
                let within = |r: f64| {
                    let one = |x: i64| (1.0 - a) / (1.0 + a) * a.powi(x.unsigned_abs() as i32);
                    (-(r as i64)..=r as i64).map(one).sum::<f64>()
                };
                assert!(within(r) >= 1.0 - miss - 1e-12, "{b} {miss}: {r}");
                assert!(r == 0.0 || within(r - 1.0) < 1.0 - miss + 1e-12, "{b} {miss}: {r}");
            }
        }
    }
}
