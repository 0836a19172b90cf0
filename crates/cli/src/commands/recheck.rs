//! What the libraries compute again of releases and certificates; the command line only prints it.

use crate::error::Result;
use dp_core::Certificate;
use dp_core::release_file::Summary;
use sketch::verify::{Finding, verify_certificate};

/// The sensitivity of a release file from what it says of itself.
///
/// # Errors
/// A certificate that counts less, or lacks what every release of its kind states.
pub(super) fn summary(summary: &Summary) -> Result<Finding> {
    if let Some(found) = sketch::verify::verify_sensitivity(summary)? {
        return Ok(found);
    }
    let found = linalg_dp::verify::verify_sensitivity(summary)?;
    Ok(found.unwrap_or(Finding::NotChecked("it gives no differential privacy")))
}

/// As [`summary`] for a certificate alone.
pub(super) fn certificate(certificate: &Certificate) -> Result<Finding> {
    let alone = "the certificate alone does not state all it follows from";
    Ok(verify_certificate(certificate)?.unwrap_or(Finding::NotChecked(alone)))
}
