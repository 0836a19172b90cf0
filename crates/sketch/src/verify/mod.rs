//! Checks releases against what they state: what can be computed again is not believed.
//!
//! A certificate alone cannot say what the row norms of a projection are; whoever holds the published
//! seed can. [`verify`] is the strict check. The others say in their names what they leave out: what is
//! only published, declared or made with known noise passes [`verify_consistency`], because it says
//! so of itself.
//!
//! ```
//! use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Shift};
//! use sketch::RowsView;
//! use sketch::projection::{Family, ProjectionSpec};
//! use sketch::vectors::PrivateProjection;
//! use sketch::verify::Finding;
//!
//! let rows = RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, 0.2, 0.1, 0.0, 0.7])?;
//! let (one, any_value) = (EntryBound::new(1.0)?, Adjacency::Attribute { beta: Shift::new(2.0)? });
//! let projection = ProjectionSpec::new(Family::Gaussian, 4, 2, PublicSeed::new(7))?.build();
//! let mechanism = PrivateProjection::gaussian(projection, any_value, one, Budget::new(1.0, 1e-6)?)?;
//! let release = mechanism.release(rows, &mut NoiseRng::from_os()?)?;
//!
//! // The projection was drawn again from its seed, and has no more sensitivity than was paid for.
//! let report = sketch::verify(&release)?;
//! assert_eq!((report.sensitivity, report.payload), (Finding::Agrees, Finding::Agrees));
//! # Ok::<(), sketch::Error>(())
//! ```

mod finding;
mod noise;
mod sensitivity;

pub use finding::{Finding, Report};
pub use noise::{FALSE_ALARM, NoisyValues};

use crate::error::{Error, Result};
use crate::sets::{NoisyBits, PrivateSymbols, SignatureMatrix};
use crate::signs::SignCodes;
use crate::vectors::PrivateSketch;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{AnyCertificate, ClassOfCertificate, Kind, Payload, Summary};
use dp_core::{Certificate, Release};

/// A payload of this crate.
pub trait Verifiable: Payload<Error = Error> + sealed::Checks {}

mod sealed {
    use super::finding::Finding;
    use crate::error::Result;
    use dp_core::Certificate;
    use dp_core::noise::NoiseLaw;

    /// What follows from the public facts of a payload.
    pub trait Checks {
        /// Compares the sensitivity that a certificate counts with that of these parameters.
        fn sensitivity(&self, certificate: &Certificate) -> Result<Finding>;

        /// Compares the numbers with the noise that they are said to carry.
        fn noise(&self, _: &NoiseLaw) -> Result<Finding> {
            Ok(Finding::NotChecked("whether its values carry the stated noise"))
        }
    }
}

impl Verifiable for PrivateSketch {}
impl Verifiable for SignCodes {}
impl Verifiable for PrivateSymbols {}
impl Verifiable for NoisyBits {}
impl Verifiable for SignatureMatrix {}

const NO_PRIVACY: &str = "it gives no differential privacy";

/// What whoever trusts a release asks: all of [`verify_consistency`], and that the guarantee is proven, or
/// a published claim that its exact profile meets, under randomness that nobody could know
/// ([`Certificate::verify`]).
///
/// # Errors
/// What does not agree: an error of [`dp_core::Error`] that names the part.
pub fn verify<T: Verifiable>(release: &Release<T>) -> Result<Report> {
    release.certificate().verify()?;
    verify_consistency(release)
}

/// Computes again everything that follows from something else in a release: the certificate from its own
/// fields, its statement from the payload, the sensitivity from the seed and the public
/// parameters; and compares the numbers with their noise. Whatever the guarantee is worth.
///
/// # Errors
/// As [`verify`].
pub fn verify_consistency<T: Verifiable, C: ClassOfCertificate>(
    release: &Release<T, C>,
) -> Result<Report> {
    let payload = release.payload();
    let certificate: AnyCertificate = release.certificate().clone().into();
    payload.check_statement(certificate.statement())?;
    let sensitivity = match &certificate {
        AnyCertificate::Private(certificate) => {
            certificate.verify_consistency()?;
            payload.sensitivity(certificate)?
        }
        AnyCertificate::Individual(certificate) => {
            certificate.verify()?;
            Finding::NotChecked(NO_PRIVACY)
        }
        AnyCertificate::None(certificate) => {
            certificate.verify()?;
            Finding::NotChecked(NO_PRIVACY)
        }
    };
    Ok(Report::new(sensitivity, payload.noise(&certificate.statement().noise)?))
}

/// The sensitivity of a release file alone, from what the file says of itself: reads no payload. None
/// for kinds of other crates.
///
/// # Errors
/// As [`verify`].
pub fn verify_sensitivity(summary: &Summary) -> Result<Option<Finding>> {
    use sensitivity::{noisy_bits, parameters, projected, signs, symbols};
    let certificate = match (&summary.certificate, summary.kind) {
        (AnyCertificate::Private(certificate), _) => certificate,
        (_, Kind::IndividualSigns | Kind::PlainSigns | Kind::PlainSignatures) => {
            return Ok(Some(Finding::NotChecked(NO_PRIVACY)));
        }
        _ => return Ok(None),
    };
    match summary.kind {
        Kind::Sketch64 | Kind::Sketch32 => projected(certificate).map(Some),
        Kind::Signs => signs(certificate, &parameters::<Vec<_>>(&summary.parameters)?).map(Some),
        Kind::Symbols => symbols(certificate, &parameters(&summary.parameters)?).map(Some),
        Kind::NoisyMinHash => noisy_bits(certificate, &parameters(&summary.parameters)?).map(Some),
        _ => Ok(None),
    }
}

/// The sensitivity of a certificate without its release, which states all that it follows from when it
/// names a projection. None when it names none.
///
/// # Errors
/// As [`verify`].
pub fn verify_certificate(certificate: &Certificate) -> Result<Option<Finding>> {
    sensitivity::alone(certificate)
}

impl sealed::Checks for PrivateSketch {
    fn sensitivity(&self, certificate: &Certificate) -> Result<Finding> {
        sensitivity::projected(certificate)
    }

    fn noise(&self, law: &NoiseLaw) -> Result<Finding> {
        NoisyValues::rows(self.values(), self.k(), law).check()
    }
}

impl sealed::Checks for SignCodes {
    fn sensitivity(&self, certificate: &Certificate) -> Result<Finding> {
        sensitivity::signs(certificate, self.projections())
    }
}

impl sealed::Checks for PrivateSymbols {
    fn sensitivity(&self, certificate: &Certificate) -> Result<Finding> {
        sensitivity::symbols(certificate, self.facts())
    }
}

impl sealed::Checks for NoisyBits {
    fn sensitivity(&self, certificate: &Certificate) -> Result<Finding> {
        sensitivity::noisy_bits(certificate, &self.facts())
    }

    fn noise(&self, law: &NoiseLaw) -> Result<Finding> {
        NoisyValues::rows(self.values(), self.scheme().slots, law).check()
    }
}

impl sealed::Checks for SignatureMatrix {
    fn sensitivity(&self, _: &Certificate) -> Result<Finding> {
        Ok(Finding::NotChecked(NO_PRIVACY))
    }
}
