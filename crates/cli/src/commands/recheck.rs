//! What the libraries compute again of releases and certificates; the command line only prints it.

use crate::error::Result;
use dp_core::release_file::{AnyCertificate, Kind, Summary};
use dp_core::{Certificate, Profile, Provenance};
use sketch::verify::{Finding, verify_certificate, verify_sensitivity};

/// The sensitivity of a release file from what it says of itself.
///
/// # Errors
/// A certificate that counts less, or lacks what every release of its kind states.
pub(super) fn summary(summary: &Summary) -> Result<Finding> {
    match verify_sensitivity(summary)? {
        Some(found) => Ok(found),
        None => Ok(matrix(summary)),
    }
}

/// As [`summary`] for a certificate alone.
pub(super) fn certificate(certificate: &Certificate) -> Result<Finding> {
    let alone = "the certificate alone does not state all it follows from";
    Ok(verify_certificate(certificate)?.unwrap_or(Finding::NotChecked(alone)))
}

/// The sensitivity of matrices.
pub(super) fn matrix(summary: &Summary) -> Finding {
    let AnyCertificate::Private(certificate) = &summary.certificate else {
        return Finding::NotChecked("it gives no differential privacy");
    };
    let guarantee = certificate.guarantee();
    let additive =
        matches!(guarantee.profile(), Some(Profile::Gaussian { .. } | Profile::Laplace { .. }));
    match summary.kind {
        _ if matches!(guarantee.provenance(), Provenance::Published { .. }) && !additive => {
            Finding::NotChecked("it is a published claim, which is not computed again")
        }
        // The bound of a row and its change, which the certificate's own check compares.
        Kind::Covariance => Finding::Agrees,
        _ => Finding::NotChecked("releases of this kind do not state all it follows from"),
    }
}
