//! What a release file can hold.

use crate::certificate::{Certificate, IndividualCertificate, NoGuarantee, Statement};
use crate::error::{Error, Result};
use serde::Serialize;

/// The kind of a release, and how its payload is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Real-valued sketch, `f64`.
    Sketch64,
    /// Real-valued sketch rounded to `f32`.
    Sketch32,
    /// Private signs, packed bits.
    Signs,
    /// Signs under **individual** differential privacy, packed bits.
    IndividualSigns,
    /// Signs without any guarantee, packed bits.
    PlainSigns,
    /// Noisy symbols of set signatures, packed.
    Symbols,
    /// Noisy Secure MinHash, `f64`.
    NoisyMinHash,
    /// Set signatures without any guarantee (PrivMin among them), `u32`.
    PlainSignatures,
    /// Covariance matrix, with its sketch for the JL mechanism, `f64`.
    Covariance,
    /// Low-rank approximation in factors, `f64`.
    LowRank,
    /// Sketch of the range finder, `f64`.
    Range,
    /// Covariance of a sliding window, `f64`.
    Window,
}

/// What kind of certificate a release has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateClass {
    /// Differential privacy.
    Private,
    /// Individual differential privacy only.
    Individual,
    /// No guarantee at all.
    None,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::Sketch64,
        Self::Sketch32,
        Self::Signs,
        Self::IndividualSigns,
        Self::PlainSigns,
        Self::Symbols,
        Self::NoisyMinHash,
        Self::PlainSignatures,
        Self::Covariance,
        Self::LowRank,
        Self::Range,
        Self::Window,
    ];

    /// The number in the file: the place in [`Kind::ALL`], for ever.
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32
    }

    /// The kind of a number.
    ///
    /// # Errors
    /// [`Error::File`] for a number that is not known.
    pub fn from_code(code: u32) -> Result<Self> {
        let known = usize::try_from(code).ok().and_then(|code| Self::ALL.get(code));
        known.copied().ok_or_else(|| Error::file("kind", format!("{code} is not known")))
    }

    /// Name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sketch64 => "sketch (f64)",
            Self::Sketch32 => "sketch (f32)",
            Self::Signs => "signs",
            Self::IndividualSigns => "signs (individual differential privacy)",
            Self::PlainSigns => "signs (no guarantee)",
            Self::Symbols => "set signatures",
            Self::NoisyMinHash => "noisy MinHash bits",
            Self::PlainSignatures => "set signatures (no guarantee)",
            Self::Covariance => "covariance",
            Self::LowRank => "low-rank approximation",
            Self::Range => "range sketch",
            Self::Window => "sliding-window covariance",
        }
    }

    /// The class of its certificate.
    #[must_use]
    pub fn certificate_class(self) -> CertificateClass {
        match self {
            Self::IndividualSigns => CertificateClass::Individual,
            Self::PlainSigns | Self::PlainSignatures => CertificateClass::None,
            _ => CertificateClass::Private,
        }
    }
}

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
        match self {
            Self::Private(c) => c.to_json(),
            Self::Individual(c) => c.to_json(),
            Self::None(c) => c.to_json(),
        }
    }

    /// Reads and verifies a certificate of a class.
    ///
    /// # Errors
    /// [`Error::CertificateRejected`].
    pub fn from_json(class: CertificateClass, text: &str) -> Result<Self> {
        Ok(match class {
            CertificateClass::Private => Self::Private(Certificate::from_json(text)?),
            CertificateClass::Individual => {
                Self::Individual(IndividualCertificate::from_json(text)?)
            }
            CertificateClass::None => Self::None(NoGuarantee::from_json(text)?),
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

    /// The certificate of individual differential privacy.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another class.
    pub fn individual(self) -> Result<IndividualCertificate> {
        match self {
            Self::Individual(c) => Ok(c),
            other => Err(other.not(CertificateClass::Individual)),
        }
    }

    /// The certificate of having no guarantee.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another class.
    pub fn none(self) -> Result<NoGuarantee> {
        match self {
            Self::None(c) => Ok(c),
            other => Err(other.not(CertificateClass::None)),
        }
    }

    fn not(&self, wanted: CertificateClass) -> Error {
        Error::Mismatch {
            what: "classes of certificate",
            left: format!("{wanted:?}"),
            right: format!("{:?}", self.class()),
        }
    }
}
