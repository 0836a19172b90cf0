//! What a release file can hold.

use crate::adjacency::Adjacency;
use crate::certificate::{AnyCertificate, CertificateClass};
use crate::error::{Error, Result};
use crate::theorem::Theorem;

/// The kind of a release, and how its payload is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Real-valued sketch, `f64`.
    Sketch64,
    /// Real-valued sketch rounded to `f32`.
    Sketch32,
    /// Private signs, packed bits.
    Signs,
    /// Signs under **individual** differential privacy, packed bits.
    IndividualSigns,
    /// Signs without any guarantee, packed bits.
    PlainSigns,
    /// Noisy symbols of set signatures, packed.
    Symbols,
    /// Noisy Secure MinHash, `f64`.
    NoisyMinHash,
    /// Set signatures without any guarantee (PrivMin among them), `u32`.
    PlainSignatures,
    /// Covariance matrix, with its sketch for the JL mechanism, `f64`.
    Covariance,
    /// Low-rank approximation in factors, `f64`.
    LowRank,
    /// Sketch of the range finder, `f64`.
    Range,
    /// Covariance of a sliding window, `f64`.
    Window,
    /// Unit vectors, `f32`.
    UnitVectors,
    /// Coefficients of a regression with its steps, `f64`.
    Regression,
    /// Counts of groups of items, `f64`.
    GroupCounts,
    /// Real-valued sketch rounded to a coarse grid, packed.
    SketchCompact,
    /// Values of a declared range, a byte each.
    BoundedValues,
    /// Sums of groups that follow from noisy second moments, and these, `f64`.
    PrivateGroups,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 18] = [
        Self::Sketch64,
        Self::Sketch32,
        Self::Signs,
        Self::IndividualSigns,
        Self::PlainSigns,
        Self::Symbols,
        Self::NoisyMinHash,
        Self::PlainSignatures,
        Self::Covariance,
        Self::LowRank,
        Self::Range,
        Self::Window,
        Self::UnitVectors,
        Self::Regression,
        Self::GroupCounts,
        Self::SketchCompact,
        Self::BoundedValues,
        Self::PrivateGroups,
    ];

    /// The number in the file: the place in [`Kind::ALL`], for ever.
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32
    }

    /// The kind of a number.
    ///
    /// # Errors
    /// [`Error::File`] for a number that is not known.
    pub(crate) fn from_code(code: u32) -> Result<Self> {
        let known = usize::try_from(code).ok().and_then(|code| Self::ALL.get(code));
        known.copied().ok_or_else(|| Error::file("kind", format!("{code} is not known")))
    }

    /// Name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sketch64 => "sketch (f64)",
            Self::Sketch32 => "sketch (f32)",
            Self::Signs => "signs",
            Self::IndividualSigns => "signs (individual differential privacy)",
            Self::PlainSigns => "signs (no guarantee)",
            Self::Symbols => "set signatures",
            Self::NoisyMinHash => "noisy MinHash bits",
            Self::PlainSignatures => "set signatures (no guarantee)",
            Self::Covariance => "covariance",
            Self::LowRank => "low-rank approximation",
            Self::Range => "range sketch",
            Self::Window => "sliding-window covariance",
            Self::UnitVectors => "unit vectors",
            Self::Regression => "regression",
            Self::GroupCounts => "counts of groups",
            Self::SketchCompact => "sketch (compact)",
            Self::BoundedValues => "bounded values",
            Self::PrivateGroups => "sums of private groups",
        }
    }

    /// Whether it holds a row for each row or set that went in.
    #[must_use]
    pub fn has_rows(self) -> bool {
        !matches!(
            self,
            Self::Covariance | Self::LowRank | Self::Range | Self::Window | Self::Regression
        )
    }

    /// The theorems that a proven guarantee of it may rest on: others are not about what it holds, and what they leave open nothing here
    /// would check.
    fn theorems(self) -> &'static [Theorem] {
        use Theorem as T;
        match self {
            Self::Sketch64 | Self::Sketch32 | Self::SketchCompact => &[
                T::ProjectionGaussian,
                T::ProjectionLaplace,
                T::ProjectionStaircase,
                T::ProjectionFresh,
            ],
            Self::Signs => &[T::SignsTouched, T::SignsFresh],
            Self::Symbols => &[T::OnePermutation, T::BucketResponse, T::MinHashMixture],
            Self::Covariance => &[
                T::CovarianceGaussian,
                T::CovarianceOfChosenBound,
                T::CovarianceWishart,
                T::CovarianceJl,
            ],
            Self::LowRank => &[T::PublicBasis, T::FindAndProject],
            Self::Range => &[T::RangeFinder],
            // One matrix a block needs no theorem of its own.
            Self::Window => {
                &[T::SlidingWindow, T::CovarianceGaussian, T::CovarianceWishart, T::CovarianceJl]
            }
            Self::UnitVectors => &[T::UnitVectors],
            Self::Regression => &[T::PrivateNewton],
            Self::GroupCounts => &[T::GroupCounts],
            Self::BoundedValues => &[T::BoundedValues],
            Self::PrivateGroups => &[T::PrivateGroups],
            Self::NoisyMinHash
            | Self::IndividualSigns
            | Self::PlainSigns
            | Self::PlainSignatures => &[],
        }
    }

    /// Refuses a proven guarantee that rests on another, and one of users with several rows that is not proven.
    pub(super) fn check_theorem(self, certificate: &AnyCertificate) -> Result<()> {
        let (adjacency, theorem) = match certificate {
            AnyCertificate::Private(private) => {
                let guarantee = private.guarantee();
                (guarantee.adjacency(), guarantee.provenance().theorem())
            }
            AnyCertificate::Individual(individual) => (individual.adjacency, None),
            AnyCertificate::None(_) => return Ok(()),
        };
        let reason = match theorem {
            Some(theorem) if !self.theorems().contains(&theorem) => {
                format!("rests on {theorem}, which is not about {}", self.name())
            }
            None if matches!(adjacency, Adjacency::User { .. }) => {
                "is of a user with several rows, and not proven, as it must be".to_owned()
            }
            _ => return Ok(()),
        };
        Err(Error::file("certificate", reason))
    }

    /// The class of its certificate.
    #[must_use]
    pub fn certificate_class(self) -> CertificateClass {
        match self {
            Self::IndividualSigns => CertificateClass::Individual,
            Self::PlainSigns | Self::PlainSignatures => CertificateClass::None,
            _ => CertificateClass::Private,
        }
    }
}
