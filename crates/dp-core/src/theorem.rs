//! The theorems of this library: what a proven guarantee may rest on, and what each speaks of.

use crate::adjacency::Adjacency;
use crate::error::Result;
use crate::error::rejected;
use crate::profile::{CoordinateProfile, Profile, RowChange, covariance_sensitivity};
use serde::{Deserialize, Serialize};

/// Every theorem that this library proves and a [`crate::Guarantee`] may rest on: a closed list, by
/// the identifier that certificates carry.
///
/// A theorem speaks of certain adjacencies and certain kinds of profile, and some of a least
/// sensitivity or probability; [`crate::mechanism::author::Authority::proven`] refuses every other triple, and so
/// does reading one back. What no theorem here speaks of can be
/// [declared](crate::Guarantee::declared).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Theorem {
    /// Gaussian noise on the rows themselves (Balle & Wang 2018, theorem 8): `gaussian.md`.
    GaussianOnRows,
    /// Gaussian noise on a given projection: `private-projection.md`, theorem 1.
    ProjectionGaussian,
    /// Laplace noise on a given projection: `private-projection.md`, theorem 2.
    ProjectionLaplace,
    /// Staircase noise on a projection of which one value moves one number: `staircase.md`, theorem 2.
    ProjectionStaircase,
    /// Groups from noisy second moments, and staircase noise on their sums: `signed-groups.md`, theorem 3.
    PrivateGroups,
    /// Gaussian noise on a fresh Gaussian projection: `private-projection.md`, theorem 3.
    ProjectionFresh,
    /// Gaussian noise on several scales of one projection: `private-projection.md`, theorem 4.
    ProjectionMultiScale,
    /// Flipped signs of given projections: `sign-flips.md`, theorem 3.
    SignsTouched,
    /// Flipped signs of a fresh Gaussian projection: `sign-flips.md`, theorem 4.
    SignsFresh,
    /// Gaussian noise on squared distances: `noise-addition.md`, theorem 1.
    NoisyDistances,
    /// Randomised response on bits: `noise-addition.md`, theorem 2.
    BitResponse,
    /// Responses on signatures over fresh hash functions: `minhash-mixture.md`.
    MinHashMixture,
    /// A response on every bucket: `bucket-response.md`.
    BucketResponse,
    /// Responses on the bins of one permutation: `one-permutation.md`.
    OnePermutation,
    /// Integer Laplace noise on counts of public groups: `group-counts.md`.
    GroupCounts,
    /// Gaussian noise on a fresh random sketch of a matrix: `range-finder.md`, theorem 1.
    RangeFinder,
    /// Gaussian noise on a matrix's coefficients in a public basis: `pfp.md`, theorem 1.
    PublicBasis,
    /// Find, then project: `pfp.md`, theorem 2.
    FindAndProject,
    /// The noisy power method: `noisy-power-method.md`, theorem 1.
    NoisyPowerMethod,
    /// Regression by noisy Newton steps: `private-newton.md`, theorem 1.
    PrivateNewton,
    /// Symmetric Gaussian noise on a covariance: `covariance.md`, theorem 1.
    CovarianceGaussian,
    /// The same for a bound that noisy counts of norms have chosen: `covariance.md`, chosen bounds.
    CovarianceOfChosenBound,
    /// Wishart noise on a covariance: `covariance.md`, theorem 2.
    CovarianceWishart,
    /// A Johnson-Lindenstrauss sketch of a lifted covariance: `covariance.md`, theorem 3.
    CovarianceJl,
    /// Noisy sums and trees of a stream's blocks: `sliding-window.md`.
    SlidingWindow,
    /// Caps around the directions of rows: `unit-vectors.md`.
    UnitVectors,
    /// A response on every value of a declared range: `bounded-values.md`.
    BoundedValues,
}

/// Relative room for two ways of computing one number.
const SLACK: f64 = 1e-9;

impl Theorem {
    /// Every theorem.
    pub const ALL: [Self; 27] = [
        Self::GaussianOnRows,
        Self::ProjectionGaussian,
        Self::ProjectionLaplace,
        Self::ProjectionStaircase,
        Self::PrivateGroups,
        Self::ProjectionFresh,
        Self::ProjectionMultiScale,
        Self::SignsTouched,
        Self::SignsFresh,
        Self::NoisyDistances,
        Self::BitResponse,
        Self::MinHashMixture,
        Self::BucketResponse,
        Self::OnePermutation,
        Self::GroupCounts,
        Self::RangeFinder,
        Self::PublicBasis,
        Self::FindAndProject,
        Self::NoisyPowerMethod,
        Self::PrivateNewton,
        Self::CovarianceGaussian,
        Self::CovarianceOfChosenBound,
        Self::CovarianceWishart,
        Self::CovarianceJl,
        Self::SlidingWindow,
        Self::UnitVectors,
        Self::BoundedValues,
    ];

    /// The proof page, a file in `docs/proofs/`.
    #[must_use]
    pub const fn page(self) -> &'static str {
        match self {
            Self::GaussianOnRows => "gaussian.md",
            Self::ProjectionGaussian
            | Self::ProjectionLaplace
            | Self::ProjectionFresh
            | Self::ProjectionMultiScale => "private-projection.md",
            Self::ProjectionStaircase => "staircase.md",
            Self::PrivateGroups => "signed-groups.md",
            Self::SignsTouched | Self::SignsFresh => "sign-flips.md",
            Self::NoisyDistances | Self::BitResponse => "noise-addition.md",
            Self::MinHashMixture => "minhash-mixture.md",
            Self::BucketResponse => "bucket-response.md",
            Self::OnePermutation => "one-permutation.md",
            Self::GroupCounts => "group-counts.md",
            Self::RangeFinder => "range-finder.md",
            Self::PublicBasis | Self::FindAndProject => "pfp.md",
            Self::NoisyPowerMethod => "noisy-power-method.md",
            Self::PrivateNewton => "private-newton.md",
            Self::CovarianceGaussian
            | Self::CovarianceOfChosenBound
            | Self::CovarianceWishart
            | Self::CovarianceJl => "covariance.md",
            Self::SlidingWindow => "sliding-window.md",
            Self::UnitVectors => "unit-vectors.md",
            Self::BoundedValues => "bounded-values.md",
        }
    }

    /// Whether short rows are no input of the mechanism: two long ones need not be joined by a path of long ones.
    pub(crate) const fn leaves_rows_out(self) -> bool {
        matches!(self, Self::SignsFresh)
    }

    /// Whether every row of the input has outputs of its own, under noise of their own and one public
    /// matrix that was given: what several rows move is then at right angles.
    pub(crate) const fn rows_have_own_noise(self) -> bool {
        matches!(
            self,
            Self::GaussianOnRows
                | Self::ProjectionGaussian
                | Self::ProjectionLaplace
                | Self::ProjectionStaircase
                | Self::ProjectionMultiScale
                | Self::SignsTouched
        )
    }

    /// Whether a pair of inputs that differ by all that the adjacency says moves what the profile says, all of it: one row, one
    /// attribute of the longest row of the matrix, the ends of a range. (Rows that replace each other move a covariance of one
    /// dimension by less, a zeroed row keeps its constant, and the steps of a regression are not moved most by one pair.)
    pub(crate) fn is_attained(self, adjacency: Adjacency) -> bool {
        match self {
            Self::GaussianOnRows
            | Self::ProjectionGaussian
            | Self::ProjectionStaircase
            | Self::BoundedValues => true,
            Self::CovarianceGaussian => matches!(adjacency, Adjacency::AddRemoveRow { .. }),
            _ => false,
        }
    }

    /// Whether a response may depend on more than whether one change touches it: smooth flips depend on how far from zero the value is.
    pub(crate) const fn responses_have_levels(self) -> bool {
        matches!(self, Self::SignsTouched)
    }

    /// Whether a row of zeros moves the statistic by no more than a row that is removed: then its guarantee holds for
    /// zeroed rows as it does for removed ones. (Moments count a row of zeros: `covariance.md`.)
    pub(crate) const fn covers_zeroed_rows(self) -> bool {
        matches!(
            self,
            Self::CovarianceGaussian
                | Self::CovarianceWishart
                | Self::CovarianceJl
                | Self::NoisyPowerMethod
                | Self::SlidingWindow
        )
    }

    /// Whether the theorem speaks of this profile under this adjacency.
    ///
    /// # Errors
    /// [`crate::Error::CertificateRejected`] naming what it does not speak of.
    pub(crate) fn check(self, adjacency: Adjacency, profile: &Profile) -> Result<()> {
        use Adjacency as A;
        use CoordinateProfile as C;
        use Profile as P;
        // What the rows of a unit move a matrix of second moments by: a user's add up.
        let row = || {
            let one = match adjacency.each() {
                A::AddRemoveRow { bound } | A::ZeroRow { bound } => {
                    covariance_sensitivity(bound, RowChange::AddRemove)
                }
                A::ReplaceRow { bound } => covariance_sensitivity(bound, RowChange::Replace),
                _ => return None,
            };
            Some(one * adjacency.rows() as f64)
        };
        let of_one = || row().filter(|_| adjacency.rows() == 1);
        // The l2 norm by which a row can move.
        let moves = || match adjacency {
            A::Attribute { beta } => Some(beta.get()),
            A::RowShift { l2 } => Some(l2.get()),
            A::ReplaceRow { bound } => Some(2.0 * bound.get()),
            _ => None,
        };
        let rows = |a| matches!(a, A::Attribute { .. } | A::RowShift { .. } | A::ReplaceRow { .. });
        // Of one row, and of each of a user's rows: these have one output row each, with noise of its own.
        let (projected, of_user) = (rows(adjacency), rows(adjacency.each()));
        // What the profile states, and the least that this adjacency makes possible.
        let at_least = |field, stated: f64, least: f64| match stated >= least * (1.0 - SLACK) {
            true => Ok(true),
            false => Err(rejected(field, format!("states {stated}, must be at least {least}"))),
        };
        const SENSITIVITY: &str = "guarantee.profile.sensitivity";
        let speaks = match (self, profile) {
            (Self::GaussianOnRows, P::Gaussian { sensitivity, .. }) => match adjacency {
                A::RowShift { l2 } => at_least(SENSITIVITY, sensitivity.get(), l2.get())?,
                _ => false,
            },
            (Self::ProjectionGaussian, P::Gaussian { .. })
            | (Self::ProjectionLaplace, P::Laplace { .. }) => of_user,
            (Self::ProjectionStaircase, P::Staircase { .. })
            | (Self::PrivateGroups, P::GaussianAndPure { .. }) => {
                matches!(adjacency, A::Attribute { .. })
            }
            (Self::ProjectionMultiScale, P::Gaussian { sensitivity, .. }) => {
                projected && sensitivity.get() == 1.0
            }
            (Self::ProjectionFresh, P::ChiMixtureGaussian { k, entry_shift, .. }) => {
                match moves() {
                    Some(norm) => {
                        let least = norm / (*k as f64).sqrt();
                        at_least("guarantee.profile.entry_shift", entry_shift.get(), least)?
                    }
                    None => false,
                }
            }
            (Self::SignsTouched, P::RandomizedResponse { bits, .. }) => {
                matches!(adjacency.each(), A::Attribute { .. }) && *bits >= adjacency.rows()
            }
            (Self::BitResponse, P::RandomizedResponse { .. }) => {
                matches!(adjacency, A::Attribute { .. })
            }
            (
                Self::SignsFresh,
                P::BinomialMixture { coordinate: C::RandomizedResponse { .. }, .. },
            ) => projected,
            (Self::NoisyDistances, P::Gaussian { .. }) => {
                matches!(adjacency, A::Attribute { .. } | A::ReplaceRow { .. })
            }
            (Self::MinHashMixture, P::BinomialMixture { probability, coordinate, .. }) => {
                let letters = match coordinate {
                    C::RandomizedResponse { .. } => 2.0,
                    C::KaryResponse { alphabet, .. } => *alphabet as f64,
                    _ => return self.refuse(adjacency, profile),
                };
                match least_difference(adjacency) {
                    Some(least) => {
                        let least = least * (1.0 - 1.0 / letters);
                        at_least("guarantee.profile.probability", probability.get(), least)?
                    }
                    None => false,
                }
            }
            // Every position may differ: the mixture with probability one.
            (Self::MinHashMixture, P::KaryResponse { .. }) => {
                matches!(adjacency, A::SetItems { .. })
            }
            (Self::OnePermutation, P::KaryResponse { responses, .. }) => {
                matches!(adjacency.each(), A::SetItems { .. }) && *responses >= adjacency.rows()
            }
            // As many trials as bins, or as items may differ: the fewer.
            (
                Self::OnePermutation,
                P::BinomialMixture { trials, probability, coordinate: C::KaryResponse { .. } },
            ) => match adjacency {
                A::SetItems { alpha, min_size } => {
                    let others =
                        common(alpha, min_size).saturating_add(alpha.saturating_sub(*trials));
                    let least = alpha as f64 / others.saturating_add(1) as f64;
                    at_least("guarantee.profile.probability", probability.get(), least)?
                }
                _ => false,
            },
            (Self::BucketResponse, P::KaryResponse { responses, .. }) => {
                adjacency.each() == A::AnyInput && *responses >= adjacency.rows()
            }
            (Self::BoundedValues, P::KaryResponse { responses, .. }) => {
                matches!(adjacency.each(), A::Attribute { .. }) && *responses >= adjacency.rows()
            }
            (Self::GroupCounts, P::PureDp { .. }) => matches!(adjacency, A::SetItems { .. }),
            (Self::UnitVectors, P::PureDp { .. }) => of_user || adjacency.each() == A::AnyInput,
            (
                Self::RangeFinder | Self::FindAndProject,
                P::ChiMixtureGaussian { k, entry_shift, .. },
            ) => match adjacency {
                A::RowShift { l2 } => {
                    let least = l2.get() / (*k as f64).sqrt();
                    at_least("guarantee.profile.entry_shift", entry_shift.get(), least)?
                }
                _ => false,
            },
            (Self::PublicBasis, P::Gaussian { sensitivity, .. }) => {
                matches!(adjacency, A::RowShift { .. }) && sensitivity.get() == 1.0
            }
            (Self::NoisyPowerMethod, P::GaussianComposition { steps }) => match of_one() {
                Some(least) => steps
                    .iter()
                    .try_fold(true, |_, s| at_least(SENSITIVITY, s.sensitivity.get(), least))?,
                None => false,
            },
            // The Gram matrix, gradients of unit clip, counts of residuals.
            (Self::PrivateNewton, P::GaussianComposition { steps }) => match (row(), &steps[..]) {
                (Some(least), [gram, gradient, counts]) => {
                    let (of_gradient, of_counts) = counted_moves(adjacency);
                    at_least(SENSITIVITY, gram.sensitivity.get(), least)?
                        && at_least(SENSITIVITY, gradient.sensitivity.get(), of_gradient)?
                        && at_least(SENSITIVITY, counts.sensitivity.get(), of_counts)?
                }
                _ => false,
            },
            // The matrix, whose bound is stated beside it, and counts of norms: those move as counts of residuals do.
            (Self::CovarianceOfChosenBound, P::GaussianComposition { steps }) => match &steps[..] {
                [_, counts] if row().is_some() => {
                    at_least(SENSITIVITY, counts.sensitivity.get(), counted_moves(adjacency).1)?
                }
                _ => false,
            },
            (Self::SlidingWindow, P::Gaussian { sensitivity, .. }) => match of_one() {
                Some(least) => at_least(SENSITIVITY, sensitivity.get(), least)?,
                None => false,
            },
            // Their bound and change are held against the adjacency by the profile itself.
            (Self::CovarianceGaussian, P::SymmetricGaussian { .. })
            | (Self::CovarianceWishart, P::Wishart { .. })
            | (Self::CovarianceJl | Self::SlidingWindow, P::JlMechanism { .. }) => true,
            (Self::SlidingWindow, P::Repeated { profile, .. }) => {
                matches!(**profile, P::Wishart { .. })
            }
            _ => false,
        };
        if speaks { Ok(()) } else { self.refuse(adjacency, profile) }
    }

    fn refuse(self, adjacency: Adjacency, profile: &Profile) -> Result<()> {
        let name = profile.kind();
        let text = format!("{self} does not speak of a {name} profile when {adjacency}");
        Err(rejected("guarantee.provenance", text))
    }
}

impl core::fmt::Display for Theorem {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.serialize(f)
    }
}

/// What one change moves a gradient of residuals clipped to one by, and counts of residuals by
/// (`private-newton.md`): a row of zeros has a residual too.
fn counted_moves(adjacency: Adjacency) -> (f64, f64) {
    let two = core::f64::consts::SQRT_2;
    let one = match adjacency.each() {
        Adjacency::AddRemoveRow { bound } => (bound.get(), 1.0),
        Adjacency::ZeroRow { bound } => (bound.get(), two),
        Adjacency::ReplaceRow { bound } => (2.0 * bound.get(), two),
        _ => (f64::INFINITY, f64::INFINITY),
    };
    let rows = adjacency.rows() as f64;
    (rows * one.0, rows * one.1)
}

/// The least probability over these neighbours that one minimum differs: one less than the least
/// similarity of two such sets.
fn least_difference(adjacency: Adjacency) -> Option<f64> {
    let Adjacency::SetItems { alpha, min_size } = adjacency else { return None };
    Some(alpha as f64 / common(alpha, min_size).saturating_add(alpha).max(1) as f64)
}

/// The least number of items that two such sets have in common.
fn common(alpha: u64, min_size: u64) -> u64 {
    min_size.saturating_sub(alpha / 2)
}
