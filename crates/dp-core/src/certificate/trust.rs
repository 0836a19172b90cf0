//! What a reader takes although nobody can compute it again, or although it is not proven.

use super::AnyCertificate;
use crate::error::{Error, Result};
use crate::guarantee::Provenance;
use crate::noise::GeneratorKind;

/// Something that is refused unless a reader takes it by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Exception {
    /// Noise or a projection from a generator that anyone can run again.
    TestNoise,
    /// Individual differential privacy, which is not differential privacy.
    Individual,
    /// A claim of a paper that is not proven here.
    Published,
    /// The word of whoever wrote the certificate.
    Declared,
    /// No guarantee of any kind.
    NoGuarantee,
    /// A sensitivity that follows from something which is not at hand.
    Sensitivity,
}

impl Exception {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::TestNoise,
        Self::Individual,
        Self::Published,
        Self::Declared,
        Self::NoGuarantee,
        Self::Sensitivity,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TestNoise => "test-noise",
            Self::Individual => "individual",
            Self::Published => "published",
            Self::Declared => "declared",
            Self::NoGuarantee => "no-guarantee",
            Self::Sensitivity => "sensitivity",
        }
    }

    /// What is wrong without it.
    #[must_use]
    pub const fn fault(self) -> &'static str {
        match self {
            Self::TestNoise => "its randomness is from a generator that anyone can run again",
            Self::Individual => {
                "it is not differential privacy, but individual differential privacy"
            }
            Self::Published => "its guarantee is a published claim, not proven here",
            Self::Declared => "its guarantee is declared by whoever wrote it, not proven",
            Self::NoGuarantee => "it has no guarantee of any kind",
            Self::Sensitivity => "the sensitivity that it states could not be computed again",
        }
    }
}

/// What a reader takes at the writer's word, and whether he has time.
///
/// ```
/// use dp_core::certificate::{Exception, Trust};
///
/// let careful = Trust::none();
/// assert!(!careful.takes(Exception::Published));
/// let trusting = Trust::none().and(Exception::Published);
/// assert!(trusting.takes(Exception::Published) && !trusting.takes(Exception::TestNoise));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    taken: Vec<Exception>,
    patient: bool,
}

impl Trust {
    /// Nothing is taken at anybody's word, and what would take long to compute counts as not computed.
    #[must_use]
    pub const fn none() -> Self {
        Self { taken: Vec::new(), patient: false }
    }

    /// This is taken too.
    #[must_use]
    pub fn and(mut self, exception: Exception) -> Self {
        if !self.takes(exception) {
            self.taken.push(exception);
        }
        self
    }

    /// What would take long is computed all the same. A few bytes can then ask for hours and for all memory.
    #[must_use]
    pub fn however_long(mut self) -> Self {
        self.patient = true;
        self
    }

    /// Whether this is taken.
    #[must_use]
    pub fn takes(&self, exception: Exception) -> bool {
        self.taken.contains(&exception)
    }

    /// Whether what takes long is computed.
    #[must_use]
    pub const fn is_patient(&self) -> bool {
        self.patient
    }

    /// Refuses what is not taken; `why` says more than [`Exception::fault`].
    ///
    /// # Errors
    /// [`Error::NotAccepted`].
    pub fn require(&self, exception: Exception, why: Option<&str>) -> Result<()> {
        if self.takes(exception) {
            return Ok(());
        }
        let fault = exception.fault();
        let fault = why.map_or_else(|| fault.to_owned(), |why| format!("{fault} ({why})"));
        Err(Error::NotAccepted { name: exception.name(), fault })
    }

    /// Refuses a certificate that is not proven differential privacy with secret randomness, unless that is
    /// taken; gives back what had to be.
    ///
    /// # Errors
    /// [`Error::NotAccepted`] for the first that is not.
    pub fn check(&self, certificate: &AnyCertificate) -> Result<Vec<Exception>> {
        let needed = certificate.exceptions();
        needed.iter().try_for_each(|&exception| self.require(exception, None))?;
        Ok(needed)
    }
}

impl AnyCertificate {
    /// What a reader must take by name to call this differential privacy: nothing, where it is proven and
    /// its randomness secret.
    #[must_use]
    pub fn exceptions(&self) -> Vec<Exception> {
        let mut found = Vec::new();
        let known = match self {
            Self::None(_) => return vec![Exception::NoGuarantee],
            Self::Individual(certificate) => {
                found.push(Exception::Individual);
                !matches!(
                    certificate.statement.generator,
                    GeneratorKind::OsChacha12 | GeneratorKind::ReleaseKeyChacha12
                )
            }
            Self::Private(certificate) => {
                found.extend(word_of(certificate.guarantee().provenance()));
                certificate.require_secret_randomness().is_err()
            }
        };
        if known {
            found.push(Exception::TestNoise);
        }
        found
    }

    /// What a reader takes who goes on although its sensitivity was not computed again.
    #[must_use]
    pub fn unchecked_sensitivity(&self) -> Exception {
        let word = match self {
            Self::Private(certificate) => word_of(certificate.guarantee().provenance()),
            _ => None,
        };
        word.unwrap_or(Exception::Sensitivity)
    }
}

/// Whose word a guarantee is, where it is not proven.
fn word_of(provenance: &Provenance) -> Option<Exception> {
    match provenance {
        Provenance::Proven { .. } => None,
        Provenance::Published { .. } => Some(Exception::Published),
        Provenance::Declared { .. } => Some(Exception::Declared),
    }
}
