//! Certificates of whatever class: what they share in their JSON form.

use super::canonical::PayloadHash;
use super::header::{CertificateClass, Statement, bind, class_of, indented, whole};
use super::{Certificate, IndividualCertificate, NoGuarantee};
use crate::error::{Error, Result};
use serde::Serialize;

/// A certificate of any class.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AnyCertificate {
    /// Differential privacy.
    Private(Certificate),
    /// Individual differential privacy only.
    Individual(IndividualCertificate),
    /// No guarantee at all.
    None(NoGuarantee),
}

impl From<Certificate> for AnyCertificate {
    fn from(certificate: Certificate) -> Self {
        Self::Private(certificate)
    }
}
impl From<IndividualCertificate> for AnyCertificate {
    fn from(certificate: IndividualCertificate) -> Self {
        Self::Individual(certificate)
    }
}
impl From<NoGuarantee> for AnyCertificate {
    fn from(certificate: NoGuarantee) -> Self {
        Self::None(certificate)
    }
}

impl core::str::FromStr for AnyCertificate {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::from_json(text)
    }
}

impl core::fmt::Display for AnyCertificate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Private(c) => c.fmt(f),
            Self::Individual(c) => c.fmt(f),
            Self::None(c) => c.fmt(f),
        }
    }
}

impl AsRef<Statement> for AnyCertificate {
    fn as_ref(&self) -> &Statement {
        self.statement()
    }
}
impl AsRef<Statement> for Certificate {
    fn as_ref(&self) -> &Statement {
        self.statement()
    }
}
impl AsRef<Statement> for IndividualCertificate {
    fn as_ref(&self) -> &Statement {
        &self.statement
    }
}
impl AsRef<Statement> for NoGuarantee {
    fn as_ref(&self) -> &Statement {
        &self.statement
    }
}

impl AnyCertificate {
    /// Its class.
    #[must_use]
    pub fn class(&self) -> CertificateClass {
        match self {
            Self::Private(_) => CertificateClass::Private,
            Self::Individual(_) => CertificateClass::Individual,
            Self::None(_) => CertificateClass::None,
        }
    }

    /// Mechanism, noise law, generator and public parameters.
    #[must_use]
    pub fn statement(&self) -> &Statement {
        match self {
            Self::Private(c) => c.statement(),
            Self::Individual(c) => &c.statement,
            Self::None(c) => &c.statement,
        }
    }

    /// JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        indented(self)
    }

    /// Reads and verifies a certificate of the class that it states.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`].
    pub fn from_json(text: &str) -> Result<Self> {
        Ok(match class_of(text)? {
            CertificateClass::Private => Self::Private(whole(text)?),
            CertificateClass::Individual => Self::Individual(whole(text)?),
            CertificateClass::None => Self::None(whole(text)?),
        })
    }

    /// The hash of the payload it stands beside in a release file; none outside of one.
    #[must_use]
    pub fn payload_hash(&self) -> Option<PayloadHash> {
        match self {
            Self::Private(c) => c.payload_hash(),
            Self::Individual(c) => c.payload,
            Self::None(c) => c.payload,
        }
    }

    /// The certificate of a release file with this payload, and of no other.
    pub(crate) fn bound_to(self, payload: PayloadHash) -> Result<Self> {
        Ok(match self {
            Self::Private(c) => Self::Private(c.bound_to(payload)?),
            Self::Individual(mut c) => {
                bind(&mut c.payload, payload)?;
                Self::Individual(c)
            }
            Self::None(mut c) => {
                bind(&mut c.payload, payload)?;
                Self::None(c)
            }
        })
    }

    /// The certificate of differential privacy.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another class.
    pub fn private(self) -> Result<Certificate> {
        match self {
            Self::Private(c) => Ok(c),
            other => Err(other.not(CertificateClass::Private)),
        }
    }

    fn not(&self, wanted: CertificateClass) -> Error {
        Error::Mismatch {
            what: "classes of certificate",
            left: wanted.to_string(),
            right: self.class().to_string(),
        }
    }
}

/// A certificate of a known class.
pub trait ClassOfCertificate: Clone + Into<AnyCertificate> {
    /// The class.
    const CLASS: CertificateClass;

    /// The same certificate for something computed from the release (a rounded payload, part of it):
    /// post-processing keeps the guarantee. It is of no payload until it stands in a file.
    #[must_use]
    fn of_post_processing(self) -> Self;

    /// Back from any certificate.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another class.
    fn from_any(certificate: AnyCertificate) -> Result<Self>;
}

impl ClassOfCertificate for Certificate {
    const CLASS: CertificateClass = CertificateClass::Private;
    fn of_post_processing(self) -> Self {
        self.of_post_processing()
    }
    fn from_any(certificate: AnyCertificate) -> Result<Self> {
        certificate.private()
    }
}
impl ClassOfCertificate for IndividualCertificate {
    const CLASS: CertificateClass = CertificateClass::Individual;
    fn of_post_processing(self) -> Self {
        Self { payload: None, ..self }
    }
    fn from_any(certificate: AnyCertificate) -> Result<Self> {
        match certificate {
            AnyCertificate::Individual(c) => Ok(c),
            other => Err(other.not(Self::CLASS)),
        }
    }
}
impl ClassOfCertificate for NoGuarantee {
    const CLASS: CertificateClass = CertificateClass::None;
    fn of_post_processing(self) -> Self {
        Self { payload: None, ..self }
    }
    fn from_any(certificate: AnyCertificate) -> Result<Self> {
        match certificate {
            AnyCertificate::None(c) => Ok(c),
            other => Err(other.not(Self::CLASS)),
        }
    }
}
