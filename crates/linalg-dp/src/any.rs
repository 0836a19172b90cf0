//! Releases of whatever kind: what reads files, and checks them, without knowing what is in them.

use crate::covariance::PrivateCovariance;
use crate::error::{Error, Result};
use crate::groups::GroupSums;
use crate::low_rank::{PrivateLowRank, Range};
use crate::newton::NewtonRegression;
use crate::verify::{self, Report, Trust};
use crate::window::WindowCovariance;
use dp_core::certificate::preprocessing::Preprocessing;
use dp_core::release_file::{
    self, AnyCertificate, ClassOfCertificate, Kind, Opened, Payload, RowIds, Summary,
};
use dp_core::{Adjacency, Certificate, IndividualCertificate, NoGuarantee, PublicValue, Release};
use faer::MatRef;
use sketch::bounded::BoundedValues;
use sketch::sets::{NoisyBits, NoisyCounts, PrivateSymbols, SignatureMatrix};
use sketch::signs::{PackedBits, SignCodes};
use sketch::units::UnitVectors;
use sketch::vectors::PrivateSketch;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// A release of any kind that files hold.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound, release_file::encode};
/// use linalg_dp::any::AnyRelease;
/// use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance};
/// use linalg_dp::verify::Trust;
///
/// let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
/// let mechanism = GaussianCovariance::calibrate(2, adjacency, Budget::new(1.0, 1e-6)?)?;
/// let bytes = encode(&mechanism.release(&[0.6, 0.8], &mut NoiseRng::from_os()?)?)?;
///
/// let (summary, release) = AnyRelease::decode(&bytes)?;
/// release.verify(&Trust::none())?;
/// assert_eq!((summary.kind.name(), summary.rows), ("covariance", 2));
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyRelease {
    /// Real-valued sketches.
    Sketch(Release<PrivateSketch>),
    /// Unit vectors.
    Units(Release<UnitVectors>),
    /// Values of a declared range.
    Bounded(Release<BoundedValues>),
    /// Private signs.
    Signs(Release<SignCodes>),
    /// Signs under individual differential privacy.
    IndividualSigns(Release<SignCodes, IndividualCertificate>),
    /// Signs without any guarantee.
    PlainSigns(Release<SignCodes, NoGuarantee>),
    /// Noisy symbols of set signatures.
    Symbols(Release<PrivateSymbols>),
    /// Noisy MinHash bits.
    NoisyBits(Release<NoisyBits>),
    /// Noisy counts of groups of items.
    Counts(Release<NoisyCounts>),
    /// Set signatures without any guarantee.
    PlainSignatures(Release<SignatureMatrix, NoGuarantee>),
    /// A covariance.
    Covariance(Release<PrivateCovariance>),
    /// A low-rank approximation.
    LowRank(Release<PrivateLowRank>),
    /// A range sketch.
    Range(Release<Range>),
    /// The covariance of a window.
    Window(Release<WindowCovariance>),
    /// Coefficients of a regression.
    Regression(Release<NewtonRegression>),
    /// Sums of private groups, and the moments that these follow from.
    Groups(Release<GroupSums>),
}

/// The numbers of a release, row after row.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Values<'a> {
    /// Real numbers, so many a row.
    Reals(usize, Cow<'a, [f64]>),
    /// Signs, packed.
    Signs(&'a PackedBits),
    /// Symbols of sets, so many a row.
    Symbols(usize, &'a [u16]),
}

fn of_one_kind() -> Error {
    let allowed = "all sketches, all unit vectors, all bounded values, all signs, all set signatures or all counts of groups, with differential privacy";
    dp_core::Error::invalid("releases that are asked together", "others", allowed).into()
}

/// What a certificate says of rows, and intervals rest on.
fn of_rows(certificate: &Certificate) -> (Adjacency, Option<&PublicValue>) {
    let largest = certificate.statement().public.get("largest entry");
    (certificate.guarantee().adjacency(), largest)
}

/// Names of all rows, one release after the other, where every one has names.
fn joined_ids(parts: &[AnyRelease]) -> Result<Option<Arc<RowIds>>> {
    let mut all = RowIds::default();
    for part in parts {
        let Some(ids) = part.ids() else { return Ok(None) };
        (0..ids.rows()).filter_map(|row| ids.get(row)).try_for_each(|id| all.push(id))?;
    }
    if all.repeated().is_some() {
        let allowed = "of different rows: ask each release for itself, or name rows so that no two releases share a name";
        return Err(
            dp_core::Error::invalid("names of rows", "the same in two releases", allowed).into()
        );
    }
    Ok(Some(Arc::new(all)))
}

/// The payload of an opened file beside its certificate.
fn read<T: Payload, C: ClassOfCertificate>(opened: &Opened<'_>) -> Result<Release<T, C>>
where
    Error: From<T::Error>,
{
    let certificate = C::from_any(opened.summary.certificate.clone())?;
    Ok(Release::certified(T::read(opened)?, certificate).named(opened.ids.clone()))
}

impl AnyRelease {
    /// Reads a release from the bytes of a file, and what the file says of itself. Every part is checked
    /// against the others; what the guarantee rests on is not computed again yet.
    ///
    /// # Errors
    /// An error of [`dp_core::Error`] naming the part that does not hold.
    pub fn decode(bytes: &[u8]) -> Result<(Summary, Self)> {
        let opened = release_file::open(bytes)?;
        let release = match opened.summary.kind {
            Kind::Sketch64 | Kind::Sketch32 | Kind::SketchCompact => Self::Sketch(read(&opened)?),
            Kind::UnitVectors => Self::Units(read(&opened)?),
            Kind::BoundedValues => Self::Bounded(read(&opened)?),
            Kind::Signs => Self::Signs(read(&opened)?),
            Kind::IndividualSigns => Self::IndividualSigns(read(&opened)?),
            Kind::PlainSigns => Self::PlainSigns(read(&opened)?),
            Kind::Symbols => Self::Symbols(read(&opened)?),
            Kind::NoisyMinHash => Self::NoisyBits(read(&opened)?),
            Kind::GroupCounts => Self::Counts(read(&opened)?),
            Kind::PlainSignatures => Self::PlainSignatures(read(&opened)?),
            Kind::Covariance => Self::Covariance(read(&opened)?),
            Kind::LowRank => Self::LowRank(read(&opened)?),
            Kind::Range => Self::Range(read(&opened)?),
            Kind::Window => Self::Window(read(&opened)?),
            Kind::Regression => Self::Regression(read(&opened)?),
            Kind::PrivateGroups => Self::Groups(read(&opened)?),
            other => return Err(dp_core::Error::file("kind", other.name()).into()),
        };
        Ok((opened.summary, release))
    }

    /// As [`AnyRelease::decode`] for a file.
    ///
    /// # Errors
    /// [`dp_core::Error::Io`], and as [`AnyRelease::decode`].
    pub fn load(path: &Path) -> Result<(Summary, Self)> {
        Self::decode(&release_file::read(path)?)
    }

    /// What a release holds as a table: a row for each row that went in, of matrices a row for each of theirs
    /// (the unbiased covariance; the factors of a low-rank approximation multiplied out). Unit vectors come
    /// over their [mean](UnitVectors::mean): unbiased. Of a regression one row: coefficients, and last an intercept. None of kinds that are no table.
    #[must_use]
    pub fn values(&self) -> Option<Values<'_>> {
        let matrix = |m: MatRef<'_, f64>| {
            let entries = (0..m.nrows()).flat_map(|i| (0..m.ncols()).map(move |j| m[(i, j)]));
            Values::Reals(m.ncols(), entries.collect())
        };
        Some(match self {
            Self::Sketch(r) => Values::Reals(r.payload().k(), r.payload().values().into()),
            Self::Groups(r) => {
                let sums = r.payload().sums();
                Values::Reals(sums.k(), sums.values().into())
            }
            Self::Units(r) => {
                let (units, mean) = (r.payload(), r.payload().mean());
                Values::Reals(units.width(), units.values().iter().map(|v| v / mean).collect())
            }
            Self::Bounded(r) => Values::Reals(r.payload().d(), r.payload().values().into()),
            Self::Signs(r) => Values::Signs(r.payload().bits()),
            Self::IndividualSigns(r) => Values::Signs(r.payload().bits()),
            Self::PlainSigns(r) => Values::Signs(r.payload().bits()),
            Self::Symbols(r) => {
                let symbols = r.payload().symbols();
                Values::Symbols(symbols.len().checked_div(r.payload().rows())?, symbols)
            }
            Self::Counts(r) => Values::Reals(r.payload().k(), r.payload().values().into()),
            Self::Covariance(r) => matrix(r.payload().unbiased().as_ref()),
            Self::Window(r) => matrix(r.payload().covariance().unbiased().as_ref()),
            Self::LowRank(r) => matrix(r.payload().factors().expand().as_ref()),
            Self::Range(r) => matrix(r.payload().sketch()),
            Self::Regression(r) => {
                let row = r.payload().with_intercept();
                Values::Reals(row.len(), row.into())
            }
            Self::NoisyBits(_) | Self::PlainSignatures(_) => return None,
        })
    }

    /// Several releases of rows that were made alike as one, their rows one after the other: for questions. Its certificate is
    /// that of the first, and of no file. Rows keep their names where all have some. It is not to be compared with one of its
    /// parts, which is not noticed here: the noise that both have would be subtracted as if it were two
    /// ([`AnyRelease::is_copy_of`] tells; `dps search` and `dps distance` refuse it).
    ///
    /// # Errors
    /// As [`PrivateSketch::joined`], also where certificates state other inputs or another largest entry, on which intervals
    /// rest, or another preprocessing; [`dp_core::Error::InvalidParameter`] for other kinds than those with a guarantee and rows, and where two rows have
    /// one name.
    pub fn joined(mut parts: Vec<Self>) -> Result<Self> {
        if parts.len() == 1
            && let Some(only) = parts.pop()
        {
            return Ok(only);
        }
        let ids = joined_ids(&parts)?;
        if let Some((first, rest)) = parts.split_first() {
            rest.iter().try_for_each(|part| first.mapped_alike(part))?;
        }
        macro_rules! join {
            ($($kind:ident: $payload:ty),*) => {
                match parts.first() {
                    $(Some(Self::$kind(first)) => {
                        let rows = of_rows(first.certificate());
                        let same = parts.iter().map(|part| match part {
                            Self::$kind(release) if of_rows(release.certificate()) == rows => {
                                Ok(release.payload())
                            }
                            Self::$kind(release) => Err(sketch::Error::Incompatible {
                                what: "rows, as their certificates describe them",
                                left: format!("{rows:?}"),
                                right: format!("{:?}", of_rows(release.certificate())),
                            }
                            .into()),
                            _ => Err(of_one_kind()),
                        });
                        let payload = <$payload>::joined(&same.collect::<Result<Vec<_>>>()?)?;
                        Self::$kind(Release::certified(payload, first.certificate().clone()).named(ids))
                    })*
                    _ => return Err(of_one_kind()),
                }
            };
        }
        Ok(join!(
            Sketch: PrivateSketch,
            Units: UnitVectors,
            Bounded: BoundedValues,
            Signs: SignCodes,
            Symbols: PrivateSymbols,
            Counts: NoisyCounts
        ))
    }

    /// Refuses another release whose values were mapped in another way before everything else: their rows do not compare.
    ///
    /// # Errors
    /// [`dp_core::Error::Mismatch`].
    pub fn mapped_alike(&self, other: &Self) -> Result<()> {
        let stated = |release: &Self| release.certificate().statement().public.clone();
        Ok(Preprocessing::alike(&stated(self), &stated(other))?)
    }

    /// Whether both hold the same noisy rows: one noise then stands on both sides of a comparison.
    #[must_use]
    pub fn is_copy_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sketch(a), Self::Sketch(b)) => a.payload().is_copy_of(b.payload()),
            (Self::Units(a), Self::Units(b)) => a.payload() == b.payload(),
            (Self::Bounded(a), Self::Bounded(b)) => a.payload() == b.payload(),
            (Self::Signs(a), Self::Signs(b)) => a.payload() == b.payload(),
            (Self::Symbols(a), Self::Symbols(b)) => a.payload() == b.payload(),
            (Self::Counts(a), Self::Counts(b)) => a.payload() == b.payload(),
            (Self::Groups(a), Self::Groups(b)) => a.payload() == b.payload(),
            _ => false,
        }
    }

    /// What the rows that went in are called, where the file says so: public, and not protected.
    #[must_use]
    pub fn ids(&self) -> Option<&RowIds> {
        match self {
            Self::Sketch(release) => release.ids(),
            Self::Units(release) => release.ids(),
            Self::Bounded(release) => release.ids(),
            Self::Signs(release) => release.ids(),
            Self::IndividualSigns(release) => release.ids(),
            Self::PlainSigns(release) => release.ids(),
            Self::Symbols(release) => release.ids(),
            Self::NoisyBits(release) => release.ids(),
            Self::Counts(release) => release.ids(),
            Self::PlainSignatures(release) => release.ids(),
            Self::Groups(release) => release.ids(),
            _ => None,
        }
    }

    /// The certificate, of whatever class.
    #[must_use]
    pub fn certificate(&self) -> AnyCertificate {
        match self {
            Self::Sketch(release) => release.certificate().clone().into(),
            Self::Units(release) => release.certificate().clone().into(),
            Self::Bounded(release) => release.certificate().clone().into(),
            Self::Signs(release) => release.certificate().clone().into(),
            Self::IndividualSigns(release) => release.certificate().clone().into(),
            Self::PlainSigns(release) => release.certificate().clone().into(),
            Self::Symbols(release) => release.certificate().clone().into(),
            Self::NoisyBits(release) => release.certificate().clone().into(),
            Self::Counts(release) => release.certificate().clone().into(),
            Self::PlainSignatures(release) => release.certificate().clone().into(),
            Self::Covariance(release) => release.certificate().clone().into(),
            Self::LowRank(release) => release.certificate().clone().into(),
            Self::Range(release) => release.certificate().clone().into(),
            Self::Window(release) => release.certificate().clone().into(),
            Self::Regression(release) => release.certificate().clone().into(),
            Self::Groups(release) => release.certificate().clone().into(),
        }
    }

    /// What whoever computes with a release asks ([`verify::verify_use`]).
    ///
    /// # Errors
    /// As [`verify::verify`].
    pub fn verify_use(&self, trust: &Trust) -> Result<Report> {
        use sketch::verify::verify_use;
        Ok(match self {
            Self::Sketch(release) => verify_use(release, trust)?,
            Self::Units(release) => verify_use(release, trust)?,
            Self::Bounded(release) => verify_use(release, trust)?,
            Self::Signs(release) => verify_use(release, trust)?,
            Self::IndividualSigns(release) => verify_use(release, trust)?,
            Self::PlainSigns(release) => verify_use(release, trust)?,
            Self::Symbols(release) => verify_use(release, trust)?,
            Self::NoisyBits(release) => verify_use(release, trust)?,
            Self::Counts(release) => verify_use(release, trust)?,
            Self::PlainSignatures(release) => verify_use(release, trust)?,
            Self::Covariance(release) => verify::verify_use(release, trust)?,
            Self::LowRank(release) => verify::verify_use(release, trust)?,
            Self::Range(release) => verify::verify_use(release, trust)?,
            Self::Window(release) => verify::verify_use(release, trust)?,
            Self::Regression(release) => verify::verify_use(release, trust)?,
            Self::Groups(release) => verify::verify_use(release, trust)?,
        })
    }

    /// What whoever trusts a release asks: [`AnyRelease::verify_use`], and what the certificate is worth ([`Trust::check`]).
    ///
    /// # Errors
    /// As [`verify::verify`].
    pub fn verify(&self, trust: &Trust) -> Result<Report> {
        let report = self.verify_use(trust)?;
        trust.check(&self.certificate())?;
        Ok(report)
    }
}
