//! Exact privacy profiles.

mod gaussian;

use crate::budget::{Budget, Delta, Epsilon, LogDelta};
use crate::error::{Error, Result};
use crate::quantity::{L1Sensitivity, L2Sensitivity, NoiseScale};
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
        let target = delta.ln();
        let holds = |e: f64| Epsilon::new(e).map(|e| self.log_delta(e) <= target);
        let (mut low, mut high) = (0.0, 1e-12);
        while !holds(high)? {
            low = high;
            high *= 2.0;
            if high > 1e6 {
                return Err(Error::Calibration {
                    family: "epsilon of a profile",
                    budget: Budget { epsilon: Epsilon::ZERO, delta },
                    reason: "no epsilon up to 1e6 reaches this delta".into(),
                });
            }
        }
        for _ in 0..200 {
            let mid = 0.5 * (low + high);
            if mid <= low || mid >= high {
                break;
            }
            if holds(mid)? { high = mid } else { low = mid }
        }
        Epsilon::new(high)
    }
}

/// Every profile of this crate as data: what a certificate states and `verify` recomputes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Profile {
    /// N(0, sigma^2 I) against a shift of l2 norm `sensitivity`.
    Gaussian {
        /// l2 norm of the shift.
        sensitivity: L2Sensitivity,
        /// Standard deviation.
        sigma: NoiseScale,
    },
    /// Laplace noise of scale `scale` against a shift of l1 norm `sensitivity`.
    Laplace {
        /// l1 norm of the shift.
        sensitivity: L1Sensitivity,
        /// Scale b.
        scale: NoiseScale,
    },
    /// Fresh public Gaussian projection, then Gaussian noise, then perhaps a later
    /// Gaussian step: mu^2 = (entry shift / sigma)^2 chi2_k + later_mu^2 (averaged calibration).
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
}

impl PrivacyProfile for Profile {
    fn log_delta(&self, epsilon: Epsilon) -> LogDelta {
        match self {
            Self::Gaussian { sensitivity, sigma } => {
                gaussian::log_delta(sensitivity.get() / sigma.get(), epsilon.get())
            }
            Self::Laplace { sensitivity, scale } => {
                let t = 0.5 * (epsilon.get() - sensitivity.get() / scale.get());
                if t >= 0.0 {
                    LogDelta::ZERO_DELTA
                } else {
                    LogDelta::saturating((-t.exp_m1()).ln())
                }
            }
            Self::ChiMixtureGaussian { .. } => LogDelta::saturating(0.0),
        }
    }
}
