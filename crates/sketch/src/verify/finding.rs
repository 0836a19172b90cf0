//! What came of the checks.

use crate::error::Result;
use dp_core::certificate::{AnyCertificate, Trust};

/// What came of one check that did not refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// It was computed again, and agrees.
    Agrees,
    /// There is nothing that it should agree with, and why.
    NothingStated(&'static str),
    /// It could not be, and why.
    NotChecked(&'static str),
}

/// What was checked of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The sensitivity that the guarantee rests on, from the public parameters.
    pub sensitivity: Finding,
    /// Whether the payload can carry the stated noise.
    pub payload: Finding,
}

impl Report {
    /// Both findings.
    #[must_use]
    pub const fn new(sensitivity: Finding, payload: Finding) -> Self {
        Self { sensitivity, payload }
    }

    /// Refuses a sensitivity that was stated and not computed again, unless `trust` takes it: for a
    /// published or declared guarantee under that name, else as
    /// [`Exception::Sensitivity`](dp_core::certificate::Exception::Sensitivity).
    ///
    /// # Errors
    /// [`dp_core::Error::NotAccepted`].
    pub fn require(&self, certificate: &AnyCertificate, trust: &Trust) -> Result<()> {
        match self.sensitivity {
            Finding::Agrees | Finding::NothingStated(_) => Ok(()),
            Finding::NotChecked(why) => {
                Ok(trust.require(certificate.unchecked_sensitivity(), Some(why))?)
            }
        }
    }
}
