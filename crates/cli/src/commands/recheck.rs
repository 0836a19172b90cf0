//! What the libraries compute again of releases and certificates; the command line only prints it.

use super::loaded::Loaded;
use crate::error::Result;
use dp_core::Certificate;
use dp_core::release_file::Summary;
use linalg_dp::verify as matrices;
use sketch::verify::{Finding, Report, verify_certificate, verify_consistency, verify_sensitivity};

/// The sensitivity of a release file from what it says of itself.
///
/// # Errors
/// A certificate that counts less, or lacks what every release of its kind states.
pub(super) fn summary(summary: &Summary) -> Result<Finding> {
    if let Some(found) = verify_sensitivity(summary)? {
        return Ok(found);
    }
    let found = matrices::verify_sensitivity(summary)?;
    Ok(found.unwrap_or(Finding::NotChecked("it gives no differential privacy")))
}

/// As [`summary`] for a certificate alone.
pub(super) fn certificate(certificate: &Certificate) -> Result<Finding> {
    let alone = "the certificate alone does not state all it follows from";
    Ok(verify_certificate(certificate)?.unwrap_or(Finding::NotChecked(alone)))
}

/// A release, with its payload.
pub(super) fn release(loaded: &Loaded, summary: &Summary) -> Result<Report> {
    Ok(match loaded {
        Loaded::Sketch(release) => verify_consistency(release)?,
        Loaded::Signs(release) => verify_consistency(release)?,
        Loaded::IndividualSigns(release) => verify_consistency(release)?,
        Loaded::Symbols(release) => verify_consistency(release)?,
        Loaded::NoisyBits(release) => verify_consistency(release)?,
        Loaded::Covariance(release) => matrices::verify_consistency(release)?,
        Loaded::LowRank(release) => matrices::verify_consistency(release)?,
        Loaded::Range(release) => matrices::verify_consistency(release)?,
        Loaded::Window(release) => matrices::verify_consistency(release)?,
        Loaded::Other(_) => {
            let noise = "whether its values carry the stated noise";
            Report::new(self::summary(summary)?, Finding::NotChecked(noise))
        }
    })
}
