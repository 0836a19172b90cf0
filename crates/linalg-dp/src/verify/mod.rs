//! Checks releases of matrices against what they state: what can be computed again is not believed.
//!
//! [`verify`] is the strict check. The others say in their names what they leave out, as in [`mod@sketch::verify`].
//!
//! ```
//! use dp_core::{Adjacency, Budget, NoiseRng, NormBound};
//! use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance};
//! use linalg_dp::verify::{Finding, verify};
//!
//! let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
//! let mechanism = GaussianCovariance::calibrate(2, adjacency, Budget::new(1.0, 1e-6)?)?;
//! let release = mechanism.release(&[0.6, 0.8], &mut NoiseRng::from_os()?)?;
//! let report = verify(&release)?;
//! assert_eq!((report.sensitivity, report.payload), (Finding::Agrees, Finding::Agrees));
//! # Ok::<(), linalg_dp::Error>(())
//! ```

mod checks;
mod covariance;
mod groups;
mod regression;
mod window;

use crate::covariance::{CovarianceNoise, PrivateCovariance};
use crate::error::{Error, Result};
use crate::groups::GroupSums;
use crate::low_rank::{PrivateLowRank, Range, Setting};
use crate::newton::NewtonRegression;
use crate::window::{Schedule, WindowCovariance};
use checks::{Checks, GRID_ONLY, NOISE, ROOM, at_least, rejected, size};
use covariance::covariance;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{AnyCertificate, Kind, Payload, Summary};
use dp_core::{
    Adjacency, Certificate, NormBound, Profile, Provenance, PublicValue, Release, Theorem,
};
pub use sketch::verify::{Exception, Finding, Report, Trust};
use window::{schedule, window};

/// Relative room for a basis and its noise root read back from numbers.
const BASIS_ROOM: f64 = 1e-6;
const PUBLISHED: Finding =
    Finding::NotChecked("it is a published claim, which is not computed again");

/// A payload of this crate.
pub trait Verifiable: Payload<Error = Error> + Checks {}

impl Verifiable for PrivateCovariance {}
impl Verifiable for PrivateLowRank {}
impl Verifiable for Range {}
impl Verifiable for WindowCovariance {}
impl Verifiable for NewtonRegression {}
impl Verifiable for GroupSums {}

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
/// from something else in it agrees, and that its sensitivity could be computed again ([`Report::require`]).
///
/// # Errors
/// As [`verify`].
pub fn verify_use<T: Verifiable>(release: &Release<T>, trust: &Trust) -> Result<Report> {
    let report = examined(release, trust)?;
    report.require(&release.certificate().clone().into(), trust)?;
    Ok(report)
}

/// Computes again everything that follows from something else in a release: the certificate from its own
/// fields, the sensitivity from the public parameters; and compares the numbers with their noise. What cannot
/// be computed again, or not soon, is said and not refused.
///
/// # Errors
/// As [`verify`].
pub fn verify_consistency<T: Verifiable>(release: &Release<T>) -> Result<Report> {
    examined(release, &Trust::none())
}

fn examined<T: Verifiable>(release: &Release<T>, trust: &Trust) -> Result<Report> {
    let (payload, certificate) = (release.payload(), release.certificate());
    payload.check_statement(certificate.statement())?;
    certificate.verify_consistency()?;
    let sensitivity = if is_published(certificate) {
        PUBLISHED
    } else {
        payload.sensitivity(certificate, trust)?
    };
    Ok(Report::new(sensitivity, payload.noise(certificate, trust)?))
}

/// The sensitivity of a release file alone, from what the file says of itself: reads no payload. None for
/// kinds of other crates.
///
/// # Errors
/// As [`verify`].
pub fn verify_sensitivity(summary: &Summary, trust: &Trust) -> Result<Option<Finding>> {
    let AnyCertificate::Private(certificate) = &summary.certificate else { return Ok(None) };
    let found = match summary.kind {
        Kind::Covariance
        | Kind::Window
        | Kind::Range
        | Kind::LowRank
        | Kind::Regression
        | Kind::PrivateGroups
            if is_published(certificate) =>
        {
            PUBLISHED
        }
        Kind::Covariance => covariance(certificate)?,
        Kind::Window => window(certificate, trust)?,
        Kind::Range => range(certificate)?,
        Kind::Regression => regression::sensitivities(certificate)?,
        Kind::PrivateGroups => groups::of_file(certificate, summary)?,
        Kind::LowRank => {
            Finding::NotChecked("its second step's follows from the basis in the payload")
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// The sensitivity of a certificate without its release, where the certificate states all that it follows
/// from. None for those of other crates, and for low-rank releases, whose basis is in the payload.
///
/// # Errors
/// As [`verify`].
pub fn verify_certificate(certificate: &Certificate, trust: &Trust) -> Result<Option<Finding>> {
    if certificate.statement().public.contains_key("schedule") {
        return Ok(Some(window(certificate, trust)?));
    }
    Ok(match certificate.guarantee().provenance().theorem() {
        Some(
            Theorem::CovarianceGaussian
            | Theorem::CovarianceOfChosenBound
            | Theorem::CovarianceWishart
            | Theorem::CovarianceJl,
        ) => Some(covariance(certificate)?),
        Some(Theorem::SlidingWindow) => Some(window(certificate, trust)?),
        Some(Theorem::RangeFinder) => Some(range(certificate)?),
        Some(Theorem::PrivateNewton) => Some(regression::sensitivities(certificate)?),
        Some(Theorem::PrivateGroups) => Some(groups::alone(certificate)?),
        _ => None,
    })
}

impl Checks for PrivateCovariance {
    fn sensitivity(&self, certificate: &Certificate, _: &Trust) -> Result<Finding> {
        covariance(certificate)
    }

    fn noise(&self, certificate: &Certificate, _: &Trust) -> Result<Finding> {
        let law = CovarianceNoise::of_matrix(&certificate.statement().noise);
        match (law, self.sketch()) {
            (NoiseLaw::SymmetricGaussian { .. }, _) => {
                if let (NoiseLaw::SymmetricGaussian { grid, .. }, Some(sums)) = (law, self.sums()) {
                    sketch::verify::on_grid(sums.values(), *grid)?;
                }
                let values = sketch::verify::NoisyValues::symmetric(self.values(), self.dim(), law);
                return Ok(values.check()?);
            }
            (NoiseLaw::Wishart { grid, .. }, _) => sketch::verify::on_grid(self.values(), *grid)?,
            (NoiseLaw::JlSketch { grid, .. }, Some(y)) => {
                sketch::verify::on_grid(y.values(), *grid)?;
            }
            _ => return Ok(NOISE),
        }
        Ok(GRID_ONLY)
    }
}

impl Checks for WindowCovariance {
    fn sensitivity(&self, certificate: &Certificate, trust: &Trust) -> Result<Finding> {
        window(certificate, trust)
    }

    /// Sums of matrices on one grid lie on it, whatever the window: under Wishart noise but for the diagonal,
    /// where the mean is taken out and put back in floating point.
    fn noise(&self, certificate: &Certificate, _: &Trust) -> Result<Finding> {
        let statement = certificate.statement();
        let (values, d) = (self.covariance().values(), self.covariance().dim());
        let law = match &statement.noise {
            NoiseLaw::Several { laws } if laws.iter().any(|law| *law != laws[0]) => {
                return rejected("the nodes of a tree have one law, but it states several");
            }
            NoiseLaw::Several { laws } => laws.first(),
            one => Some(one),
        };
        match (law, schedule(&statement.public)?) {
            (
                Some(NoiseLaw::SymmetricGaussian { grid, .. }),
                Schedule::Block { .. } | Schedule::Tree { .. },
            ) => sketch::verify::on_grid(values, *grid)?,
            (Some(NoiseLaw::Wishart { grid, .. }), _) => {
                let off = (0..d * d).filter(|e| e / d != e % d).map(|e| values[e]);
                sketch::verify::on_grid(&off.collect::<Vec<_>>(), *grid)?;
            }
            // Products and weighted sums lie anywhere.
            _ => return Ok(NOISE),
        }
        Ok(GRID_ONLY)
    }
}

impl Checks for Range {
    fn sensitivity(&self, certificate: &Certificate, _: &Trust) -> Result<Finding> {
        range(certificate)
    }

    fn noise(&self, certificate: &Certificate, _: &Trust) -> Result<Finding> {
        let (values, k) = (self.values(), self.sketch().ncols());
        Ok(sketch::verify::NoisyValues::rows(values, k, &certificate.statement().noise).check()?)
    }
}

impl Checks for PrivateLowRank {
    fn sensitivity(&self, certificate: &Certificate, _: &Trust) -> Result<Finding> {
        let setting = setting(certificate)?;
        let laws = match &certificate.statement().noise {
            NoiseLaw::Several { laws } => laws.as_slice(),
            one => core::slice::from_ref(one),
        };
        let Some(NoiseLaw::RoundedGaussian { sigma, grid }) = laws.last() else {
            return rejected("its noise is not that of a projection");
        };
        let step = self.projection_mu(&setting, *sigma, *grid)?;
        let Some(profile) = certificate.guarantee().profile() else {
            return rejected("it states no profile");
        };
        match (profile, laws) {
            (Profile::Gaussian { sensitivity, sigma }, [_]) => {
                at_least("mu", sensitivity.get() / sigma.get(), step, BASIS_ROOM)
            }
            (
                Profile::ChiMixtureGaussian { k, entry_shift, later_mu, .. },
                [NoiseLaw::RoundedGaussian { sigma, grid }, _],
            ) => {
                let needed = setting.range_profile(*sigma, *grid, step)?;
                mixture((*k, entry_shift.get(), *later_mu), &needed, BASIS_ROOM)
            }
            _ => rejected("its profile is not one of a projection"),
        }
    }
}

fn is_published(certificate: &Certificate) -> bool {
    matches!(certificate.guarantee().provenance(), Provenance::Published { .. })
}

/// The public setting of a low-rank release.
fn setting(certificate: &Certificate) -> Result<Setting> {
    let public = &certificate.statement().public;
    let Adjacency::RowShift { l2 } = certificate.guarantee().adjacency() else {
        return rejected("low-rank releases protect against a shift of one row");
    };
    let Some(PublicValue::Real(bound)) = public.get("row_bound") else {
        return rejected("its parameter row_bound is missing or of another type");
    };
    let of = |name| size(public, name);
    Setting::new(
        (of("m")?, of("n")?),
        of("rank")?,
        of("oversampling")?,
        l2,
        NormBound::new(*bound)?,
    )
}

/// A range sketch: what a shift of a row moves at most, with rounding.
fn range(certificate: &Certificate) -> Result<Finding> {
    let setting = setting(certificate)?;
    match (certificate.guarantee().profile(), &certificate.statement().noise) {
        (
            Some(Profile::ChiMixtureGaussian { k, entry_shift, later_mu, .. }),
            NoiseLaw::RoundedGaussian { sigma, grid },
        ) => {
            let needed = setting.range_profile(*sigma, *grid, 0.0)?;
            mixture((*k, entry_shift.get(), *later_mu), &needed, ROOM)
        }
        _ => rejected("its profile is not one of a range sketch"),
    }
}

/// Columns, shift of an entry, and Gaussian steps of a mixture, each with `room`.
fn mixture(stated: (u64, f64, f64), needed: &Profile, room: f64) -> Result<Finding> {
    let Profile::ChiMixtureGaussian { k, entry_shift, later_mu, .. } = needed else {
        return rejected("its profile is not one of a range sketch");
    };
    if stated.0 != *k {
        return rejected(format!("the profile counts {} columns, but there are {k}", stated.0));
    }
    at_least("a shift of an entry of", stated.1, entry_shift.get(), room)?;
    at_least("later steps of mu", stated.2, *later_mu, room)
}
