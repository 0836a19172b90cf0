//! A published value with its certificate.

use crate::certificate::preprocessing::Preprocessing;
use crate::certificate::{Certificate, ClassOfCertificate, Statement};
use crate::error::Result;
use crate::row_ids::RowIds;
use serde::Serialize;
use std::sync::Arc;

/// What a mechanism publishes: a payload and the certificate of how it was made.
///
/// Estimators take a `Release`, never data. [`Release::certified`] is for authors
/// of mechanisms. It is written as JSON but not read back from it, where payload and certificate could
/// be of different releases: a release file compares them ([`crate::release_file`]).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Release<T, C = Certificate> {
    payload: T,
    certificate: C,
    #[serde(skip)]
    ids: Option<Arc<RowIds>>,
}

impl<T, C> Release<T, C> {
    /// Binds a payload to its certificate.
    pub fn certified(payload: T, certificate: C) -> Self {
        Self { payload, certificate, ids: None }
    }

    /// The same with what its rows are called, as its file says.
    #[must_use]
    pub fn named(self, ids: Option<Arc<RowIds>>) -> Self {
        Self { ids, ..self }
    }

    /// What its rows are called, where that is kept: public, and not protected.
    pub fn ids(&self) -> Option<&RowIds> {
        self.ids.as_deref()
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
    /// Post-processing: maps the payload, keeps the guarantee, forgets what its rows are called. The certificate is of no
    /// release file's payload any more.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Release<U, C> {
        let certificate = self.certificate.of_post_processing();
        Release::certified(f(self.payload), certificate)
    }
}

impl<T, C: AsRef<Statement>> Release<T, C> {
    /// Refuses another release whose values were mapped in another way before everything else: their rows do not compare.
    ///
    /// # Errors
    /// [`crate::Error::Mismatch`].
    pub fn mapped_alike<U, D: AsRef<Statement>>(&self, other: &Release<U, D>) -> Result<()> {
        let [left, right] = [self.certificate.as_ref(), other.certificate.as_ref()];
        Preprocessing::alike(&left.public, &right.public)
    }
}

impl<T> Release<T> {
    /// The release of values that were mapped first: its certificate states how.
    ///
    /// # Errors
    /// [`crate::Error::CertificateRejected`] for a map of other columns than those of the release.
    pub fn of_mapped(self, preprocessing: &Preprocessing) -> Result<Self> {
        Ok(Self { certificate: self.certificate.of_mapped(preprocessing)?, ..self })
    }
}
