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

use crate::covariance::{GaussianCovariance, PrivateCovariance, RowClip, row_change};
use crate::error::{Error, Result};
use crate::low_rank::{PrivateLowRank, Range, Setting};
use crate::window::{BlockNoise, Factorisation, Schedule, StreamConfig, WindowCovariance};
use dp_core::certificate::PublicParameters;
use dp_core::noise::NoiseLaw;
use dp_core::profile::covariance_sensitivity;
use dp_core::release_file::{AnyCertificate, Kind, Payload, Summary};
use dp_core::{Adjacency, Certificate, NormBound, Profile, Provenance, PublicValue, Release};
use sealed::NOISE;
pub use sketch::verify::{Finding, Report};

/// Relative room for other versions of elementary functions.
const ROOM: f64 = 1e-9;
/// Relative room for a basis and its noise root read back from numbers.
const BASIS_ROOM: f64 = 1e-6;
/// Most coefficient products spent on the norm of a factorised stream.
const MOST_WORK: u64 = 1 << 27;

const PUBLISHED: Finding =
    Finding::NotChecked("it is a published claim, which is not computed again");

/// A payload of this crate.
pub trait Verifiable: Payload<Error = Error> + sealed::Checks {}

mod sealed {
    use crate::error::Result;
    use dp_core::Certificate;
    use sketch::verify::Finding;

    /// No check of this kind of noise is known.
    pub(super) const NOISE: Finding =
        Finding::NotChecked("whether its values carry the stated noise");

    /// What follows from the public facts of a payload.
    pub trait Checks {
        /// Compares the sensitivity that a certificate counts with that of the public parameters.
        fn sensitivity(&self, certificate: &Certificate) -> Result<Finding>;

        /// Compares the numbers with the noise that they are said to carry.
        fn noise(&self, _: &Certificate) -> Result<Finding> {
            Ok(NOISE)
        }
    }
}

impl Verifiable for PrivateCovariance {}
impl Verifiable for PrivateLowRank {}
impl Verifiable for Range {}
impl Verifiable for WindowCovariance {}

/// What whoever trusts a release asks: all of [`verify_consistency`], and that the guarantee is proven
/// under randomness that nobody could know ([`Certificate::verify`]).
///
/// # Errors
/// What does not agree: an error of [`dp_core::Error`] that names the part.
pub fn verify<T: Verifiable>(release: &Release<T>) -> Result<Report> {
    release.certificate().verify()?;
    verify_consistency(release)
}

/// Computes again everything that follows from something else in a release: the certificate from its own
/// fields, the sensitivity from the public parameters; and compares the numbers with their noise. Whatever the
/// guarantee is worth.
///
/// # Errors
/// As [`verify`].
pub fn verify_consistency<T: Verifiable>(release: &Release<T>) -> Result<Report> {
    let (payload, certificate) = (release.payload(), release.certificate());
    payload.check_statement(certificate.statement())?;
    certificate.verify_consistency()?;
    let sensitivity =
        if is_published(certificate) { PUBLISHED } else { payload.sensitivity(certificate)? };
    Ok(Report::new(sensitivity, payload.noise(certificate)?))
}

/// The sensitivity of a release file alone, from what the file says of itself: reads no payload. None for
/// kinds of other crates.
///
/// # Errors
/// As [`verify`].
pub fn verify_sensitivity(summary: &Summary) -> Result<Option<Finding>> {
    let AnyCertificate::Private(certificate) = &summary.certificate else { return Ok(None) };
    let found = match summary.kind {
        Kind::Covariance | Kind::Window | Kind::Range | Kind::LowRank
            if is_published(certificate) =>
        {
            PUBLISHED
        }
        Kind::Covariance => covariance(certificate)?,
        Kind::Window => window(certificate)?,
        Kind::Range => range(certificate)?,
        Kind::LowRank => {
            Finding::NotChecked("its second step's follows from the basis in the payload")
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}

impl sealed::Checks for PrivateCovariance {
    fn sensitivity(&self, certificate: &Certificate) -> Result<Finding> {
        covariance(certificate)
    }

    fn noise(&self, certificate: &Certificate) -> Result<Finding> {
        let law = &certificate.statement().noise;
        if !matches!(law, NoiseLaw::SymmetricGaussian { .. }) {
            return Ok(NOISE);
        }
        Ok(sketch::verify::NoisyValues::symmetric(self.values(), self.dim(), law).check()?)
    }
}

impl sealed::Checks for WindowCovariance {
    fn sensitivity(&self, certificate: &Certificate) -> Result<Finding> {
        window(certificate)
    }
}

impl sealed::Checks for Range {
    fn sensitivity(&self, certificate: &Certificate) -> Result<Finding> {
        range(certificate)
    }

    fn noise(&self, certificate: &Certificate) -> Result<Finding> {
        let (values, k) = (self.values(), self.sketch().ncols());
        Ok(sketch::verify::NoisyValues::rows(values, k, &certificate.statement().noise).check()?)
    }
}

impl sealed::Checks for PrivateLowRank {
    fn sensitivity(&self, certificate: &Certificate) -> Result<Finding> {
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

fn rejected<T>(reason: impl Into<String>) -> Result<T> {
    Err(dp_core::Error::CertificateRejected { field: "sensitivity", reason: reason.into() }.into())
}

fn at_least(what: &str, stated: f64, needed: f64, room: f64) -> Result<Finding> {
    if stated >= needed * (1.0 - room) {
        return Ok(Finding::Agrees);
    }
    rejected(format!("the profile states {what} {stated}, but the public parameters give {needed}"))
}

fn whole(public: &PublicParameters, name: &str) -> Result<u64> {
    match public.get(name) {
        Some(PublicValue::Integer(value)) => Ok(*value),
        _ => rejected(format!("its parameter {name} is missing or of another type")),
    }
}

fn size(public: &PublicParameters, name: &str) -> Result<usize> {
    usize::try_from(whole(public, name)?).or_else(|_| rejected(format!("{name} is too large")))
}

/// What no row of the certificate's dimension is longer than, once clipped and rounded.
fn clip(certificate: &Certificate) -> Result<RowClip> {
    let (bound, _) = row_change(certificate.guarantee().adjacency(), "covariance")?;
    RowClip::new(size(&certificate.statement().public, "d")?, bound)
}

/// One covariance: the bound of a clipped and rounded row, and what a coarser grid adds.
fn covariance(certificate: &Certificate) -> Result<Finding> {
    let clip = clip(certificate)?;
    let longest = clip.certified_bound().get();
    match (certificate.guarantee().profile(), &certificate.statement().noise) {
        (
            Some(Profile::SymmetricGaussian { bound, .. }),
            NoiseLaw::SymmetricGaussian { grid, .. },
        ) => {
            let needed = GaussianCovariance::paid_bound(&clip, *grid)?;
            at_least("a bound of rows of", bound.get(), needed.get(), ROOM)
        }
        (Some(Profile::JlMechanism { bound, .. } | Profile::Wishart { bound, .. }), _) => {
            at_least("a bound of rows of", bound.get(), longest, ROOM)
        }
        _ => rejected("its profile is not one of a covariance"),
    }
}

/// All releases of a stream, from its schedule.
fn window(certificate: &Certificate) -> Result<Finding> {
    let (guarantee, public) = (certificate.guarantee(), &certificate.statement().public);
    let Some(PublicValue::Text(schedule)) = public.get("schedule") else {
        return rejected("its schedule is missing or of another type");
    };
    let schedule: Schedule = serde_json::from_str(schedule)
        .or_else(|_| rejected("its schedule is none that this version knows"))?;
    let clip = clip(certificate)?;
    let (_, change) = row_change(guarantee.adjacency(), "window")?;
    let longest = clip.certified_bound();
    let mut config = StreamConfig::new(
        clip.dim(),
        whole(public, "window")?,
        guarantee.adjacency(),
        guarantee.budget(),
    );
    (config.block, config.schedule) = (whole(public, "block")?, schedule);
    let blocks = config.window_blocks()?;
    let levels = u64::from(blocks.ilog2()) + 1;
    let bound =
        |stated: NormBound| at_least("a bound of rows of", stated.get(), longest.get(), ROOM);
    let joint = |stated: f64, factor: f64| {
        let needed = factor * covariance_sensitivity(longest, change);
        at_least("sensitivity", stated, needed, ROOM)
    };
    match (schedule, guarantee.profile()) {
        (
            Schedule::Block { .. },
            Some(
                Profile::SymmetricGaussian { bound: b, .. }
                | Profile::JlMechanism { bound: b, .. }
                | Profile::Wishart { bound: b, .. },
            ),
        ) => bound(*b),
        (Schedule::Tree { .. }, Some(Profile::Gaussian { sensitivity, .. })) => {
            joint(sensitivity.get(), (levels as f64).sqrt())
        }
        (
            Schedule::Tree { noise: BlockNoise::JohnsonLindenstrauss { rows: each } },
            Some(Profile::JlMechanism { rows, bound: b, .. }),
        ) => {
            at_least("sketch rows of", *rows as f64, each as f64 * levels as f64, 0.0)?;
            bound(*b)
        }
        (Schedule::Tree { .. }, Some(Profile::Repeated { profile, times })) => {
            at_least("levels", *times as f64, levels as f64, 0.0)?;
            match **profile {
                Profile::Wishart { bound: b, .. } => bound(b),
                _ => rejected("its profile is not one of a tree"),
            }
        }
        (_, Some(Profile::Gaussian { sensitivity, .. })) => {
            let Some((workload, horizon)) = config.workload()? else {
                return rejected("its profile is not one of its schedule");
            };
            if horizon.saturating_mul(blocks) > MOST_WORK {
                return Ok(Finding::NotChecked("its horizon is so long that it would take long"));
            }
            let norm = Factorisation::new(workload, horizon, blocks)?.column_norm();
            joint(sensitivity.get(), norm)
        }
        _ => rejected("its profile is not one of its schedule"),
    }
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
