//! Certificates of what is not differential privacy.

use super::{Statement, check_public, digest, parse};
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::guarantee::rejected;
use serde::{Deserialize, Serialize};

/// The certificate of an individual-DP release. It never composes with
/// differential privacy: no ledger accepts it.
///
/// In its serialised form it carries a digest over all fields, which is checked on
/// the way in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "RawIndividual", try_from = "RawIndividual")]
pub struct IndividualCertificate {
    /// What was done.
    pub statement: Statement,
    /// Adjacency, relative to the one data set that was released.
    pub adjacency: Adjacency,
    /// The individual-DP budget.
    pub budget: Budget,
    /// Theorem or source.
    pub source: String,
    /// Always the sentence [`IndividualCertificate::WARNING`].
    pub warning: String,
}

impl IndividualCertificate {
    /// What every individual certificate says.
    pub const WARNING: &'static str = "individual differential privacy: compares this one data \
        set with its neighbours as if what depends on the data (which values are randomised, and \
        how much) were the same for both; is not differential privacy, and does not compose \
        with it";

    /// A certificate with the warning in place.
    #[must_use]
    pub fn new(
        statement: Statement,
        adjacency: Adjacency,
        budget: Budget,
        source: impl Into<String>,
    ) -> Self {
        let warning = Self::WARNING.to_owned();
        Self { statement, adjacency, budget, source: source.into(), warning }
    }

    /// Checks that the warning is intact and the public parameters are finite.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] naming the field.
    pub fn verify(&self) -> Result<()> {
        if self.warning != Self::WARNING {
            return Err(rejected("warning", "the warning sentence was altered"));
        }
        check_public(&self.statement.public)
    }

    /// JSON text, with a digest over all fields.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("certificates have string keys only")
    }

    /// Reads and verifies a certificate.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] when the text is not such a certificate, or was altered.
    pub fn from_json(text: &str) -> Result<Self> {
        parse(text)
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawIndividual {
    statement: Statement,
    adjacency: Adjacency,
    budget: Budget,
    source: String,
    warning: String,
    digest: String,
}

impl From<IndividualCertificate> for RawIndividual {
    fn from(c: IndividualCertificate) -> Self {
        let IndividualCertificate { statement, adjacency, budget, source, warning } = c;
        let mut raw = Self { statement, adjacency, budget, source, warning, digest: String::new() };
        raw.digest = digest(&raw);
        raw
    }
}

impl TryFrom<RawIndividual> for IndividualCertificate {
    type Error = Error;
    fn try_from(mut raw: RawIndividual) -> Result<Self> {
        let stated = core::mem::take(&mut raw.digest);
        check_digest(&stated, &digest(&raw))?;
        let RawIndividual { statement, adjacency, budget, source, warning, .. } = raw;
        let certificate = Self { statement, adjacency, budget, source, warning };
        certificate.verify()?;
        Ok(certificate)
    }
}

/// The certificate of something that has no guarantee at all.
///
/// In its serialised form it says so and carries a digest over all fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "RawNone", try_from = "RawNone")]
pub struct NoGuarantee {
    /// What was done.
    pub statement: Statement,
    /// Why there is no guarantee.
    pub reason: String,
}

impl NoGuarantee {
    /// What every such certificate says in its serialised form.
    pub const WARNING: &'static str = "no privacy guarantee of any kind: for comparison only";

    /// A certificate of having none.
    #[must_use]
    pub fn new(statement: Statement, reason: impl Into<String>) -> Self {
        Self { statement, reason: reason.into() }
    }

    /// Checks that a reason is given and the public parameters are finite.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] naming the field.
    pub fn verify(&self) -> Result<()> {
        if self.reason.trim().is_empty() {
            return Err(rejected("reason", "why there is no guarantee must be said"));
        }
        check_public(&self.statement.public)
    }

    /// JSON text, with a digest over all fields.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("certificates have string keys only")
    }

    /// Reads and verifies a certificate.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] when the text is not such a certificate, or was altered.
    pub fn from_json(text: &str) -> Result<Self> {
        parse(text)
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNone {
    statement: Statement,
    reason: String,
    warning: String,
    digest: String,
}

impl From<NoGuarantee> for RawNone {
    fn from(c: NoGuarantee) -> Self {
        let NoGuarantee { statement, reason } = c;
        let warning = NoGuarantee::WARNING.to_owned();
        let mut raw = Self { statement, reason, warning, digest: String::new() };
        raw.digest = digest(&raw);
        raw
    }
}

impl TryFrom<RawNone> for NoGuarantee {
    type Error = Error;
    fn try_from(mut raw: RawNone) -> Result<Self> {
        let stated = core::mem::take(&mut raw.digest);
        check_digest(&stated, &digest(&raw))?;
        if raw.warning != Self::WARNING {
            return Err(rejected("warning", "the warning sentence was altered"));
        }
        let certificate = Self { statement: raw.statement, reason: raw.reason };
        certificate.verify()?;
        Ok(certificate)
    }
}

pub(super) fn check_digest(stated: &str, computed: &str) -> Result<()> {
    if stated == computed {
        Ok(())
    } else {
        Err(rejected("digest", "a field was altered after the certificate was written"))
    }
}
