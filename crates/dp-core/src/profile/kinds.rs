//! Every profile of this crate as data.

use crate::budget::{Budget, Delta, Epsilon, LogDelta};
use crate::error::{Error, Result};
use crate::noise::Grid;
use crate::numeric::float::square_of;
use crate::numeric::root;
use crate::quantity::{
    L1Sensitivity, L2Sensitivity, LaplaceScale, NoiseScale, NormBound, Probability,
};
use serde::{Deserialize, Serialize};

/// delta as a function of epsilon: the supremum over adjacent pairs, in both
/// directions, of the hockey-stick divergence.
pub trait PrivacyProfile {
    /// ln delta(epsilon).
    fn log_delta(&self, epsilon: Epsilon) -> LogDelta;

    /// The least epsilon (up to rounding, on the safe side) with delta(epsilon) at most `delta`.
    ///
    /// # Errors
    /// [`Error::Calibration`] when no finite epsilon reaches `delta`.
    fn epsilon(&self, delta: Delta) -> Result<Epsilon> {
        let budget = Budget { epsilon: Epsilon::ZERO, delta };
        let ln = |e: f64| Epsilon::new(e).map_or(0.0, |e| self.log_delta(e).get());
        let least = 1e-12;
        if ln(least) <= delta.ln().get() {
            return Epsilon::new(least);
        }
        if ln(1e6) > delta.ln().get() {
            return Err(Error::Calibration {
                family: "epsilon of a profile",
                budget,
                reason: "no epsilon up to 1e6 reaches this delta".into(),
            });
        }
        Epsilon::new(root::least("epsilon of a profile", budget, 1.0, ln)?)
    }
}

/// What happens to the one row two adjacent matrices differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowChange {
    /// It is there or it is not.
    AddRemove,
    /// It becomes another row within the same bound.
    Replace,
}

/// One Gaussian step of a composition.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianStep {
    /// l2 norm of the shift.
    pub sensitivity: L2Sensitivity,
    /// Standard deviation.
    pub sigma: NoiseScale,
    /// How many times the step is taken.
    pub times: u64,
}

/// One way of a change in a [`Profile::LossDistribution`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossWay {
    /// The least loss, in steps.
    pub first: i64,
    /// Probabilities of the losses from there on.
    pub masses: Vec<f64>,
    /// Probability of an infinite loss. What is missing of one counts as this.
    pub infinite: f64,
}

/// What happens in each coordinate that differs, in a [`Profile::BinomialMixture`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum CoordinateProfile {
    /// A bit is kept with probability `keep`; exact.
    RandomizedResponse {
        /// Probability of keeping: the very `f64` of the sampler.
        keep: Probability,
    },
    /// A letter is kept with probability `keep`; exact.
    KaryResponse {
        /// Size of the alphabet.
        alphabet: u64,
        /// Probability of keeping: the very `f64` of the sampler.
        keep: Probability,
    },
    /// The coordinate moves by `shift` under N(0, sigma^2); exact.
    Gaussian {
        /// Distance the coordinate moves.
        shift: L2Sensitivity,
        /// Standard deviation.
        sigma: NoiseScale,
    },
    /// The coordinate moves by `shift` under Laplace noise; an upper bound (m
    /// coordinates count as one that moves by `m shift`).
    Laplace {
        /// Distance the coordinate moves.
        shift: L1Sensitivity,
        /// Scale b.
        scale: LaplaceScale,
    },
}

/// Every profile of this crate as data: what a certificate states and `verify` recomputes.
///
/// Parameters that no mechanism can have (an alphabet of one letter, too few degrees
/// of freedom, no runs) evaluate to the safe answer delta = 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Profile {
    /// N(0, sigma^2 I) against a shift of l2 norm `sensitivity`; exact.
    Gaussian {
        /// l2 norm of the shift.
        sensitivity: L2Sensitivity,
        /// Standard deviation.
        sigma: NoiseScale,
    },
    /// Several Gaussian steps on the same data, adaptively chosen; exact.
    GaussianComposition {
        /// The steps.
        steps: Vec<GaussianStep>,
    },
    /// Laplace noise of scale `scale` against a shift of l1 norm `sensitivity`, in one
    /// coordinate (exact) or several (dominated by one).
    Laplace {
        /// l1 norm of the shift.
        sensitivity: L1Sensitivity,
        /// Scale b.
        scale: LaplaceScale,
    },
    /// Staircase noise of this epsilon against one number that moves by `sensitivity`; exact.
    Staircase {
        /// How far the number moves: as many whole steps of the grid as it holds.
        sensitivity: L1Sensitivity,
        /// The pure epsilon.
        epsilon: Epsilon,
        /// Inner width, in steps of the grid.
        inner: u64,
        /// Grid (exponent of two).
        grid: Grid,
    },
    /// Integer Laplace noise of scale `scale` against whole numbers that move by `moves` in l1 norm, in one number
    /// (exact) or several (dominated by one).
    DiscreteLaplace {
        /// By how much they move in all, a whole number.
        moves: u64,
        /// Scale b.
        scale: LaplaceScale,
    },
    /// Integer Gaussian noise of parameter `sigma` against one whole number that moves by `moves`; exact.
    DiscreteGaussian {
        /// By how much it moves, a whole number.
        moves: u64,
        /// Parameter sigma.
        sigma: NoiseScale,
    },
    /// Any mechanism of pure differential privacy: `(e^epsilon - e^eps) / (1 + e^epsilon)`,
    /// the worst case, reached by one randomised response.
    PureDp {
        /// The pure epsilon.
        epsilon: Epsilon,
    },
    /// A Gaussian step, then any step of pure differential privacy on the same data, chosen by its output: the exact
    /// composition with the worst case, one randomised response.
    GaussianAndPure {
        /// l2 norm of the Gaussian step's shift.
        sensitivity: L2Sensitivity,
        /// Its standard deviation.
        sigma: NoiseScale,
        /// The pure epsilon of the other step.
        epsilon: Epsilon,
    },
    /// Bits that all differ, each kept with probability `keep`; exact. Fewer
    /// differing bits are dominated.
    RandomizedResponse {
        /// Number of bits.
        bits: u64,
        /// Probability of keeping: the very `f64` of the sampler.
        keep: Probability,
    },
    /// Letters that all differ, each kept with probability `keep`, else replaced by any
    /// other letter alike; exact.
    KaryResponse {
        /// Number of responses.
        responses: u64,
        /// Size of the alphabet.
        alphabet: u64,
        /// Probability of keeping: the very `f64` of the sampler.
        keep: Probability,
    },
    /// Fresh public Gaussian projection, then Gaussian noise, then perhaps a later
    /// Gaussian step: mu^2 = (entry shift / sigma)^2 chi2_k + later_mu^2 (averaged
    /// calibration); exact.
    ChiMixtureGaussian {
        /// Degrees of freedom: columns of the projection.
        k: u64,
        /// Entry scale c times the l2 norm of the shift.
        entry_shift: L2Sensitivity,
        /// Standard deviation of the noise.
        sigma: NoiseScale,
        /// mu of a later Gaussian step; zero for none.
        later_mu: f64,
    },
    /// `R [A; w I]` with R of standard normal entries (Johnson-Lindenstrauss
    /// mechanism), or any function of it; exact.
    JlMechanism {
        /// Rows of the sketch.
        rows: u64,
        /// Bound on a data row's l2 norm.
        bound: NormBound,
        /// The lift w.
        lift: NoiseScale,
        /// What happens to the row that differs.
        change: RowChange,
    },
    /// `A^T A + N`, `N ~ W_dim(dof, scale I)`; exact.
    Wishart {
        /// Columns of the data.
        dim: u64,
        /// Degrees of freedom: above `dim + 1`.
        dof: u64,
        /// Bound on a data row's l2 norm.
        bound: NormBound,
        /// Scale of the identity (a squared length).
        scale: NoiseScale,
        /// What happens to the row that differs.
        change: RowChange,
    },
    /// `A^T A + G`, G symmetric Gaussian with standard deviation `sigma` on the diagonal
    /// and `sigma / sqrt 2` off it; exact.
    SymmetricGaussian {
        /// Bound on a data row's l2 norm.
        bound: NormBound,
        /// Standard deviation of a diagonal entry.
        sigma: NoiseScale,
        /// What happens to the row that differs.
        change: RowChange,
    },
    /// The number of differing coordinates is `Bin(trials, probability)` over fresh
    /// public hash functions, or stochastically below that.
    BinomialMixture {
        /// Number of coordinates.
        trials: u64,
        /// Probability that one of them differs.
        probability: Probability,
        /// What each differing coordinate gives away.
        coordinate: CoordinateProfile,
    },
    /// One mechanism `times` times on the same data, each time with fresh noise and
    /// adaptively: the upper end of the numerical composition. A row replaced under
    /// Wishart noise: the two-step bound of the composition.
    Repeated {
        /// One run.
        profile: Box<Profile>,
        /// Number of runs, in `[1, 2^40]`.
        times: u64,
    },
    /// Any mechanism that is (epsilon, delta)-differentially private: the worst case of that, which is
    /// reached. Of a declared guarantee.
    ApproximateDp {
        /// Epsilon.
        epsilon: Epsilon,
        /// Delta.
        delta: Delta,
    },
    /// Any mechanism of rho-zero-concentrated differential privacy (Bun, Steinke 2016); an upper bound. Of integer
    /// Gaussian noise on several numbers, and of declared guarantees.
    Zcdp {
        /// Rho.
        rho: f64,
    },
    /// A loss distribution in cells, from above: with probability `masses[i]` the loss is
    /// `(first + i) step`. Of a declared guarantee.
    LossDistribution {
        /// Width of a cell.
        step: f64,
        /// One way of the change, or both; the worse counts.
        ways: Vec<LossWay>,
    },
    /// A unit whose change takes `size` steps, each of which has this profile: group privacy, an upper
    /// bound.
    Group {
        /// One step.
        profile: Box<Profile>,
        /// Number of steps.
        size: u64,
    },
}

impl Profile {
    /// Whether the profile averages over public randomness drawn after the data was fixed. It says
    /// nothing about a seed that somebody knew before.
    #[must_use]
    pub fn needs_fresh_seed(&self) -> bool {
        match self {
            Self::ChiMixtureGaussian { .. } | Self::BinomialMixture { .. } => true,
            Self::Repeated { profile, .. } | Self::Group { profile, .. } => {
                profile.needs_fresh_seed()
            }
            _ => false,
        }
    }
}

/// Frobenius distance of `A^T A` between adjacent matrices: `B^2`, or `sqrt 2 B^2` when a row is
/// replaced; rounded up.
#[must_use]
pub fn covariance_sensitivity(bound: NormBound, change: RowChange) -> f64 {
    let square = square_of(bound.get()) * (1.0 + 4.0 * f64::EPSILON);
    match change {
        RowChange::AddRemove => square,
        RowChange::Replace => core::f64::consts::SQRT_2 * square,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several runs, and several steps, average over what one of them averages over.
    #[test]
    fn a_profile_of_another_needs_the_seed_that_the_other_needs() {
        let sigma = NoiseScale::new(1.0).unwrap();
        let shift = L2Sensitivity::new(1.0).unwrap();
        let projected =
            Profile::ChiMixtureGaussian { k: 3, entry_shift: shift, sigma, later_mu: 0.0 };
        let hashed = Profile::BinomialMixture {
            trials: 5,
            probability: Probability::new(0.1).unwrap(),
            coordinate: CoordinateProfile::Gaussian { shift, sigma },
        };
        let plain = Profile::Gaussian { sensitivity: shift, sigma };
        for (profile, needs) in [(projected, true), (hashed, true), (plain, false)] {
            let times = Profile::Repeated { profile: Box::new(profile.clone()), times: 2 };
            let group = Profile::Group { profile: Box::new(times.clone()), size: 2 };
            for profile in [profile, times, group] {
                assert_eq!(profile.needs_fresh_seed(), needs, "{profile:?}");
            }
        }
    }
}
