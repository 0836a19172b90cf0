//! Checks releases against what they state: what can be computed again is not believed.
//!
//! A certificate alone cannot say what the row norms of a projection are; whoever holds the published
//! seed can. [`verify`] is the strict check: what could not be computed again, and what is no proven
//! differential privacy with secret noise, is refused unless the caller names it
//! ([`verify_use`] and [`Trust::check`]). A few bytes can name a matrix that takes hours to draw: that counts as
//! not computed unless [`Trust::however_long`] allows it.
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
pub use noise::{FALSE_ALARM, NoisyValues, on_grid};

use crate::bounded::BoundedValues;
use crate::error::{Error, Result};
use crate::sets::{NoisyBits, NoisyCounts, PrivateSymbols, SignatureMatrix};
use crate::signs::SignCodes;
use crate::units::UnitVectors;
use crate::vectors::PrivateSketch;
pub use dp_core::certificate::{Exception, Trust};
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{AnyCertificate, ClassOfCertificate, Kind, Payload, Summary};
use dp_core::{Certificate, Release};
use sensitivity::Work;

/// A payload of this crate.
pub trait Verifiable: Payload<Error = Error> + sealed::Checks {}

mod sealed {
    use super::finding::Finding;
    use super::sensitivity::Work;
    use crate::error::Result;
    use dp_core::Certificate;
    use dp_core::noise::NoiseLaw;

    /// What follows from the public facts of a payload.
    pub trait Checks {
        /// Compares the sensitivity that a certificate counts with that of these parameters.
        fn sensitivity(&self, certificate: &Certificate, work: Work) -> Result<Finding>;

        /// Compares the numbers with the noise that they are said to carry; an honest release is refused with this probability.
        fn noise(&self, _: &NoiseLaw, _alarm: f64) -> Result<Finding> {
            Ok(Finding::NotChecked("whether its values carry the stated noise"))
        }
    }
}

impl Verifiable for PrivateSketch {}
impl Verifiable for SignCodes {}
impl Verifiable for UnitVectors {}
impl Verifiable for BoundedValues {}
impl Verifiable for PrivateSymbols {}
impl Verifiable for NoisyBits {}
impl Verifiable for NoisyCounts {}
impl Verifiable for SignatureMatrix {}

const ANY_ROWS: Finding =
    Finding::NothingStated("its guarantee holds for any two directions, however they were made");
const NO_PRIVACY: Finding = Finding::NothingStated("it gives no differential privacy");

/// What whoever trusts a release asks: all of [`verify_use`] without any trust, and that the guarantee is proven
/// differential privacy under randomness that nobody could know.
///
/// # Errors
/// What does not agree: an error of [`dp_core::Error`] that names the part. [`dp_core::Error::NotAccepted`]
/// for what could not be computed again, or is no proven differential privacy with secret randomness.
pub fn verify<T: Verifiable>(release: &Release<T>) -> Result<Report> {
    let trust = Trust::none();
    let report = verify_use(release, &trust)?;
    trust.check(&release.certificate().clone().into())?;
    Ok(report)
}

/// What whoever computes with a release asks, whatever its guarantee is worth: that everything which follows
/// from something else in it agrees, and that a sensitivity which it states could be computed again
/// ([`Report::require`]).
///
/// # Errors
/// As [`verify`].
pub fn verify_use<T: Verifiable, C: ClassOfCertificate>(
    release: &Release<T, C>,
    trust: &Trust,
) -> Result<Report> {
    let certificate: AnyCertificate = release.certificate().clone().into();
    let report = examined(release.payload(), &certificate, trust)?;
    report.require(&certificate, trust)?;
    Ok(report)
}

/// Computes again everything that follows from something else in a release: the certificate from its own
/// fields, its statement from the payload, the sensitivity from the seed and the public
/// parameters; and compares the numbers with their noise. What cannot be computed again, or not soon, is
/// said and not refused.
///
/// # Errors
/// As [`verify`].
pub fn verify_consistency<T: Verifiable, C: ClassOfCertificate>(
    release: &Release<T, C>,
) -> Result<Report> {
    examined(release.payload(), &release.certificate().clone().into(), &Trust::none())
}

fn examined<T: Verifiable>(
    payload: &T,
    certificate: &AnyCertificate,
    trust: &Trust,
) -> Result<Report> {
    payload.check_statement(certificate.statement())?;
    consistent(certificate)?;
    let sensitivity = match certificate {
        AnyCertificate::Private(certificate) => {
            payload.sensitivity(certificate, Work::allowed(trust))?
        }
        _ => NO_PRIVACY,
    };
    Ok(Report::new(sensitivity, payload.noise(&certificate.statement().noise, FALSE_ALARM)?))
}

/// Computes a certificate again from its own fields.
pub(crate) fn consistent(certificate: &AnyCertificate) -> Result<()> {
    match certificate {
        AnyCertificate::Private(certificate) => certificate.verify_consistency()?,
        AnyCertificate::Individual(certificate) => certificate.verify()?,
        AnyCertificate::None(certificate) => certificate.verify()?,
    }
    Ok(())
}

/// The sensitivity of a release file alone, from what the file says of itself: reads no payload. None
/// for kinds of other crates.
///
/// # Errors
/// As [`verify`].
pub fn verify_sensitivity(summary: &Summary, trust: &Trust) -> Result<Option<Finding>> {
    use sensitivity::{bounded, counts, noisy_bits, projected, signs, symbols};
    let work = Work::allowed(trust);
    let certificate = match (&summary.certificate, summary.kind) {
        (AnyCertificate::Private(certificate), _) => certificate,
        (_, Kind::IndividualSigns | Kind::PlainSigns | Kind::PlainSignatures) => {
            return Ok(Some(NO_PRIVACY));
        }
        _ => return Ok(None),
    };
    match summary.kind {
        Kind::Sketch64 | Kind::Sketch32 | Kind::SketchCompact => {
            let spec = PrivateSketch::stated_projection(summary)?;
            projected(certificate, Some(spec), work).map(Some)
        }
        Kind::UnitVectors => Ok(Some(ANY_ROWS)),
        Kind::BoundedValues => bounded(certificate, &summary.parameters()?).map(Some),
        Kind::Signs => signs(certificate, &summary.parameters::<Vec<_>>()?, work).map(Some),
        Kind::Symbols => symbols(certificate, &summary.parameters()?).map(Some),
        Kind::GroupCounts => counts(certificate, &summary.parameters()?).map(Some),
        Kind::NoisyMinHash => noisy_bits(certificate, &summary.parameters()?).map(Some),
        _ => Ok(None),
    }
}

/// The sensitivity of a certificate without its release, which states all that it follows from when it
/// names a projection. None when it names none.
///
/// # Errors
/// As [`verify`].
pub fn verify_certificate(certificate: &Certificate, trust: &Trust) -> Result<Option<Finding>> {
    sensitivity::alone(certificate, Work::allowed(trust))
}

impl sealed::Checks for PrivateSketch {
    fn sensitivity(&self, certificate: &Certificate, work: Work) -> Result<Finding> {
        sensitivity::projected(certificate, Some(self.projection()), work)
    }

    fn noise(&self, law: &NoiseLaw, alarm: f64) -> Result<Finding> {
        NoisyValues::rows(self.values(), self.k(), law).rounded_to(self.rounding()).check_at(alarm)
    }
}

impl sealed::Checks for UnitVectors {
    fn sensitivity(&self, _: &Certificate, _: Work) -> Result<Finding> {
        Ok(ANY_ROWS)
    }

    fn noise(&self, law: &NoiseLaw, alarm: f64) -> Result<Finding> {
        // Across its direction a row is a normal vector of one dimension less.
        let degrees = self.n() as f64 * (self.width() - 1) as f64;
        NoisyValues::about_zero(self.values(), degrees, law).check_at(alarm)
    }
}

impl sealed::Checks for BoundedValues {
    fn sensitivity(&self, certificate: &Certificate, _: Work) -> Result<Finding> {
        sensitivity::bounded(certificate, &self.facts())
    }
}

impl sealed::Checks for SignCodes {
    fn sensitivity(&self, certificate: &Certificate, work: Work) -> Result<Finding> {
        sensitivity::signs(certificate, self.projections(), work)
    }
}

impl sealed::Checks for PrivateSymbols {
    fn sensitivity(&self, certificate: &Certificate, _: Work) -> Result<Finding> {
        sensitivity::symbols(certificate, self.facts())
    }
}

impl sealed::Checks for NoisyBits {
    fn sensitivity(&self, certificate: &Certificate, _: Work) -> Result<Finding> {
        sensitivity::noisy_bits(certificate, &self.facts())
    }

    fn noise(&self, law: &NoiseLaw, alarm: f64) -> Result<Finding> {
        NoisyValues::rows(self.values(), self.scheme().slots, law).check_at(alarm)
    }
}

impl sealed::Checks for NoisyCounts {
    fn sensitivity(&self, certificate: &Certificate, _: Work) -> Result<Finding> {
        self.facts().map_or(Ok(NO_PRIVACY), |facts| sensitivity::counts(certificate, &facts))
    }

    fn noise(&self, law: &NoiseLaw, alarm: f64) -> Result<Finding> {
        NoisyValues::rows(self.values(), self.k(), law).check_at(alarm)
    }
}

impl sealed::Checks for SignatureMatrix {
    fn sensitivity(&self, _: &Certificate, _: Work) -> Result<Finding> {
        Ok(sensitivity::PUBLISHED)
    }
}
