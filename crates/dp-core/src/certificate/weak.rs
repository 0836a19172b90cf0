//! Certificates of what is not differential privacy.

use super::canonical::{PayloadHash, digest};
use super::header::{
    CERTIFICATE_FORMAT, CertificateClass, Statement, check_digest, check_header, check_statement,
    parse,
};
use crate::adjacency::Adjacency;
use crate::budget::Budget;
use crate::error::{Error, Result, rejected};
use crate::noise::{GeneratorKind, NoiseLaw};
use crate::public::PublicParameters;
use crate::text::printable;
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
    /// Of the payload it stands beside in a release file; none outside of one.
    pub payload: Option<PayloadHash>,
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
        Self { statement, adjacency, budget, source: source.into(), warning, payload: None }
    }

    /// Checks that the warning is intact and the public parameters are finite.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] naming the field.
    pub fn verify(&self) -> Result<()> {
        if self.warning != Self::WARNING {
            return Err(rejected("warning", "the warning sentence was altered"));
        }
        check_statement(&self.statement.noise, &self.statement.public, CertificateClass::Individual)
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawIndividual {
    class: CertificateClass,
    format: u32,
    mechanism: String,
    noise: NoiseLaw,
    generator: GeneratorKind,
    #[serde(deserialize_with = "crate::public::each_once")]
    public: PublicParameters,
    adjacency: Adjacency,
    budget: Budget,
    source: String,
    warning: String,
    #[serde(deserialize_with = "super::header::stated")]
    payload: Option<PayloadHash>,
    digest: String,
}

impl From<IndividualCertificate> for RawIndividual {
    fn from(c: IndividualCertificate) -> Self {
        let IndividualCertificate { statement, adjacency, budget, source, warning, payload } = c;
        let Statement { mechanism, noise, generator, public } = statement;
        let mut raw = Self {
            class: CertificateClass::Individual,
            format: CERTIFICATE_FORMAT,
            mechanism,
            noise,
            generator,
            public,
            adjacency,
            budget,
            source,
            warning,
            payload,
            digest: String::new(),
        };
        raw.digest = digest(&raw);
        raw
    }
}

impl TryFrom<RawIndividual> for IndividualCertificate {
    type Error = Error;
    fn try_from(raw: RawIndividual) -> Result<Self> {
        check_header(raw.format, raw.class, CertificateClass::Individual)?;
        check_digest(&raw.digest, &digest(&raw))?;
        let RawIndividual { mechanism, noise, generator, public, .. } = raw;
        let RawIndividual { adjacency, budget, source, warning, payload, .. } = raw;
        let statement = Statement { mechanism, noise, generator, public };
        let certificate = Self { statement, adjacency, budget, source, warning, payload };
        certificate.verify()?;
        Ok(certificate)
    }
}

/// Reads and verifies a certificate: refused when the text is not such a certificate, or was altered.
impl core::str::FromStr for IndividualCertificate {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        parse(text, CertificateClass::Individual)
    }
}

impl core::fmt::Display for IndividualCertificate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(f, "{}: individual {}", printable(&self.statement.mechanism), self.budget)?;
        writeln!(f, "neighbours: {}", self.adjacency)?;
        writeln!(f, "source: {}", printable(&self.source))?;
        write!(f, "warning: {}", self.warning)
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
    /// Of the payload it stands beside in a release file; none outside of one.
    pub payload: Option<PayloadHash>,
}

impl NoGuarantee {
    /// What every such certificate says in its serialised form.
    pub const WARNING: &'static str = "no privacy guarantee of any kind: for comparison only";

    /// A certificate of having none.
    #[must_use]
    pub fn new(statement: Statement, reason: impl Into<String>) -> Self {
        Self { statement, reason: reason.into(), payload: None }
    }

    /// Checks that a reason is given and the public parameters are finite.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] naming the field.
    pub fn verify(&self) -> Result<()> {
        if self.reason.trim().is_empty() {
            return Err(rejected("reason", "why there is no guarantee must be said"));
        }
        check_statement(&self.statement.noise, &self.statement.public, CertificateClass::None)
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNone {
    class: CertificateClass,
    format: u32,
    mechanism: String,
    noise: NoiseLaw,
    generator: GeneratorKind,
    #[serde(deserialize_with = "crate::public::each_once")]
    public: PublicParameters,
    reason: String,
    warning: String,
    #[serde(deserialize_with = "super::header::stated")]
    payload: Option<PayloadHash>,
    digest: String,
}

impl From<NoGuarantee> for RawNone {
    fn from(c: NoGuarantee) -> Self {
        let NoGuarantee { statement, reason, payload } = c;
        let Statement { mechanism, noise, generator, public } = statement;
        let mut raw = Self {
            class: CertificateClass::None,
            format: CERTIFICATE_FORMAT,
            mechanism,
            noise,
            generator,
            public,
            reason,
            warning: NoGuarantee::WARNING.to_owned(),
            payload,
            digest: String::new(),
        };
        raw.digest = digest(&raw);
        raw
    }
}

impl TryFrom<RawNone> for NoGuarantee {
    type Error = Error;
    fn try_from(raw: RawNone) -> Result<Self> {
        check_header(raw.format, raw.class, CertificateClass::None)?;
        check_digest(&raw.digest, &digest(&raw))?;
        if raw.warning != Self::WARNING {
            return Err(rejected("warning", "the warning sentence was altered"));
        }
        let RawNone { mechanism, noise, generator, public, reason, payload, .. } = raw;
        let statement = Statement { mechanism, noise, generator, public };
        let certificate = Self { statement, reason, payload };
        certificate.verify()?;
        Ok(certificate)
    }
}

/// Reads and verifies a certificate: refused when the text is not such a certificate, or was altered.
impl core::str::FromStr for NoGuarantee {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        parse(text, CertificateClass::None)
    }
}

impl core::fmt::Display for NoGuarantee {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(f, "{}: {}", printable(&self.statement.mechanism), Self::WARNING)?;
        write!(f, "reason: {}", printable(&self.reason))
    }
}
