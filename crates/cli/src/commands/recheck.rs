//! What the libraries compute again of releases and certificates; the command line only prints it.

use super::loaded::Loaded;
use crate::error::Result;
use dp_core::release_file::{AnyCertificate, Kind, Summary};
use dp_core::{Certificate, Profile, Provenance};
use sketch::verify::{
    Finding, NoisyValues, Report, verify_certificate, verify_consistency, verify_sensitivity,
};

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

/// A release, with its payload.
pub(super) fn release(loaded: &Loaded, summary: &Summary) -> Result<Report> {
    Ok(match loaded {
        Loaded::Sketch(release) => verify_consistency(release)?,
        Loaded::Signs(release) => verify_consistency(release)?,
        Loaded::IndividualSigns(release) => verify_consistency(release)?,
        Loaded::Symbols(release) => verify_consistency(release)?,
        Loaded::NoisyBits(release) => verify_consistency(release)?,
        Loaded::Covariance(release) => {
            let (payload, law) = (release.payload(), &release.certificate().statement().noise);
            let (raw, d) = (payload.raw(), payload.dim());
            let values: Vec<f64> = (0..d).flat_map(|i| (0..d).map(move |j| raw[(i, j)])).collect();
            Report::new(matrix(summary), NoisyValues::symmetric(&values, d, law).check()?)
        }
        Loaded::LowRank(_) | Loaded::Other(_) => {
            let noise = "whether its values carry the stated noise";
            Report::new(matrix(summary), Finding::NotChecked(noise))
        }
    })
}

/// The sensitivity of matrices.
fn matrix(summary: &Summary) -> Finding {
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
