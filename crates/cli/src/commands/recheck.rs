//! What the libraries compute again of what is not read whole; the command line only prints it.

use crate::error::Result;
use dp_core::certificate::{AnyCertificate, Trust};
use dp_core::release_file::Summary;
use linalg_dp::verify::Finding;

/// The sensitivity of a release file from what it says of itself.
///
/// # Errors
/// A certificate that counts less, or lacks what every release of its kind states.
pub(super) fn summary(summary: &Summary, trust: &Trust) -> Result<Finding> {
    if let Some(found) = sketch::verify::verify_sensitivity(summary, trust)? {
        return Ok(found);
    }
    let found = linalg_dp::verify::verify_sensitivity(summary, trust)?;
    Ok(found.unwrap_or(Finding::NotChecked("it follows from what is not in the certificate")))
}

/// As [`summary`] for a certificate alone.
pub(super) fn certificate(certificate: &AnyCertificate, trust: &Trust) -> Result<Finding> {
    let AnyCertificate::Private(certificate) = certificate else {
        return Ok(Finding::NothingStated("it gives no differential privacy"));
    };
    if let Some(found) = sketch::verify::verify_certificate(certificate, trust)? {
        return Ok(found);
    }
    let found = linalg_dp::verify::verify_certificate(certificate, trust)?;
    let alone = "the certificate alone does not state all it follows from";
    Ok(found.unwrap_or(Finding::NotChecked(alone)))
}
