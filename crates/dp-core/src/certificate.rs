//! The statement that travels with a release and that anyone can check.

use crate::error::{Error, Result};
use crate::guarantee::Guarantee;
use crate::noise::{GeneratorKind, NoiseLaw};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Version of the certificate's layout.
pub const CERTIFICATE_FORMAT: u32 = 1;

/// A public parameter of a mechanism (shapes, seeds, bounds).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PublicValue {
    /// A whole number.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// A word.
    Text(String),
}

impl From<u64> for PublicValue {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}
impl From<usize> for PublicValue {
    fn from(value: usize) -> Self {
        Self::Integer(value as u64)
    }
}
impl From<f64> for PublicValue {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}
impl From<&str> for PublicValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}
impl From<String> for PublicValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// Named public parameters, in a fixed order.
pub type PublicParameters = BTreeMap<String, PublicValue>;

/// What every certificate states besides its guarantee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Name of the mechanism.
    pub mechanism: String,
    /// The noise that was added.
    pub noise: NoiseLaw,
    /// The generator the noise came from.
    pub generator: GeneratorKind,
    /// Public parameters: shapes, seeds, bounds.
    pub public: PublicParameters,
}

/// The certificate of a differentially private release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: u32,
    library: String,
    #[serde(flatten)]
    statement: Statement,
    guarantee: Guarantee,
    /// ln of the delta really given; absent when no profile is known.
    ln_true_delta: Option<f64>,
    digest: String,
}

impl Certificate {
    /// Writes the certificate of a release. For authors of mechanisms.
    #[must_use]
    pub fn new(statement: Statement, guarantee: Guarantee) -> Self {
        let mut certificate = Self {
            format: CERTIFICATE_FORMAT,
            library: concat!("dp-core ", env!("CARGO_PKG_VERSION")).to_owned(),
            statement,
            ln_true_delta: guarantee.true_delta().map(|d| d.get()),
            guarantee,
            digest: String::new(),
        };
        certificate.digest = certificate.compute_digest();
        certificate
    }

    /// Mechanism, noise law, generator and public parameters.
    #[must_use]
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The guarantee.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Recomputes everything the certificate states.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`] naming the first field that does not agree.
    pub fn verify(&self) -> Result<()> {
        if self.digest != self.compute_digest() {
            return Err(Error::CertificateRejected {
                field: "digest",
                reason: "a field was altered after the certificate was written".into(),
            });
        }
        Ok(())
    }

    /// JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("certificates have string keys only")
    }

    fn compute_digest(&self) -> String {
        let mut bare = self.clone();
        bare.digest = String::new();
        let text = serde_json::to_string(&bare).expect("certificates have string keys only");
        Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
    }
}

/// The certificate of an individual-DP release. It never composes with
/// differential privacy: no ledger accepts it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndividualCertificate {
    /// What was done.
    pub statement: Statement,
    /// Adjacency, relative to the one data set that was released.
    pub adjacency: crate::Adjacency,
    /// The individual-DP budget.
    pub budget: crate::Budget,
    /// Theorem or source.
    pub source: String,
    /// Always the sentence [`IndividualCertificate::WARNING`].
    pub warning: String,
}

impl IndividualCertificate {
    /// What every individual certificate says.
    pub const WARNING: &'static str = "individual differential privacy: holds for this one data \
        set only, is not differential privacy, and does not compose with it";
}

/// The certificate of something that has no guarantee at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoGuarantee {
    /// What was done.
    pub statement: Statement,
    /// Why there is no guarantee.
    pub reason: String,
}
