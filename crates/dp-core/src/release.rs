//! A published value with its certificate.

use crate::certificate::{Certificate, ClassOfCertificate};
use serde::Serialize;

/// What a mechanism publishes: a payload and the certificate of how it was made.
///
/// Estimators take a `Release`, never data. [`Release::certified`] is for authors
/// of mechanisms. It is written as JSON but not read back from it, where payload and certificate could
/// be of different releases: a release file compares them ([`crate::release_file`]).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Release<T, C = Certificate> {
    payload: T,
    certificate: C,
}

impl<T, C> Release<T, C> {
    /// Binds a payload to its certificate.
    pub fn certified(payload: T, certificate: C) -> Self {
        Self { payload, certificate }
    }

    /// The published value.
    pub fn payload(&self) -> &T {
        &self.payload
    }

    /// Its certificate.
    pub fn certificate(&self) -> &C {
        &self.certificate
    }

    /// Takes the release apart.
    pub fn into_parts(self) -> (T, C) {
        (self.payload, self.certificate)
    }
}

impl<T, C: ClassOfCertificate> Release<T, C> {
    /// Post-processing: maps the payload, keeps the guarantee. The certificate is of no release file's
    /// payload any more.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Release<U, C> {
        let certificate = self.certificate.of_post_processing();
        Release { payload: f(self.payload), certificate }
    }
}
