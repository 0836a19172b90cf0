//! The family of k-ary responses on a random number of differing coordinates.

use super::neighbours::SetNeighbours;
use super::secure::SymbolShape;
use crate::error::{Error, Result};
use dp_core::profile::CoordinateProfile;
use dp_core::{Budget, NoiseScale, PrivacyProfile, Probability, Profile, calibrate};

/// `coordinates` symbols, each differing between neighbours with probability `differ`
/// (independently), each answered by a k-ary response.
///
/// The privacy loss is `e (N+ - N-)`, `e = ln(keep/other)`, where a coordinate counts in `N+` with
/// probability `differ keep`, in `N-` with `differ other`, `other = (1-keep)/(B-1)`:
/// `delta(epsilon) = sum Pr[N+, N-] (1 - exp(epsilon - e (N+ - N-)))_+`: [`ResponseFamily::profile`] sums it up, safely rounded.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResponseFamily {
    pub(super) coordinates: u64,
    pub(super) differ: Probability,
    pub(super) alphabet: u64,
}

impl ResponseFamily {
    /// Hashed minima under fresh hash functions.
    pub(super) fn mixture(shape: SymbolShape, neighbours: SetNeighbours) -> Result<Self> {
        let alphabet = u64::from(shape.alphabet());
        let differ = neighbours.differ_probability(shape.concatenation(), alphabet)?;
        Ok(Self { coordinates: shape.positions() as u64, differ, alphabet })
    }

    /// Buckets of any two sets: all may differ.
    pub(super) fn buckets(shape: SymbolShape) -> Result<Self> {
        let differ = Probability::new(1.0)?;
        let (coordinates, alphabet) = (shape.positions() as u64, u64::from(shape.alphabet()));
        Ok(Self { coordinates, differ, alphabet })
    }

    /// Bins of `values` symbols besides "empty": alpha items touch at most alpha of them.
    pub(super) fn bins(bins: usize, values: u32, alpha: u64) -> Result<Self> {
        let differ = Probability::new(1.0)?;
        Ok(Self { coordinates: alpha.min(bins as u64), differ, alphabet: u64::from(values) + 1 })
    }

    /// The same under fresh hash functions.
    pub(super) fn fresh_bins(bins: usize, values: u32, neighbours: SetNeighbours) -> Result<Self> {
        let (coordinates, differ) = neighbours.seen_in_bins(bins as u64)?;
        Ok(Self { coordinates, differ, alphabet: u64::from(values) + 1 })
    }
}

impl ResponseFamily {
    /// The same symbols of each of so many sets, which are answered apart.
    pub(super) fn of_user(self, sets: u64) -> Self {
        Self { coordinates: self.coordinates.saturating_mul(sets), ..self }
    }
}

/// No symbol loses more.
const MOST_LOSS: f64 = 60.0;
const FAMILY: &str = "k-ary response on differing coordinates";

/// No response keeps with a higher probability: `1 - keep` stays well inside an `f64`.
const MOST_KEEP: f64 = 1.0 - 1.0 / (1u64 << 40) as f64;

impl ResponseFamily {
    /// The probability of keeping at a per-symbol loss, rounded down.
    fn keep(&self, loss: f64) -> Probability {
        let others = (self.alphabet - 1) as f64;
        let keep = 1.0 / (1.0 + others * (-loss).exp()) * (1.0 - 4.0 * f64::EPSILON);
        Probability::new(keep.clamp(1.0 / self.alphabet as f64, MOST_KEEP)).expect("clamped")
    }

    fn meets(&self, budget: Budget, keep: Probability) -> bool {
        self.profile(keep).log_delta(budget.epsilon) <= budget.delta.ln()
    }

    /// The largest probability of keeping that meets the budget.
    pub(super) fn calibrate(&self, budget: Budget) -> Result<Probability> {
        let mut loss = self.loss(budget)?;
        // The profile of the certificate has the last word.
        for step in 0..40 {
            let keep = self.keep(loss);
            if keep.get() > 1.0 / self.alphabet as f64 && self.meets(budget, keep) {
                return Ok(keep);
            }
            loss *= 1.0 - 1e-13 * 2f64.powi(step);
        }
        Err(Error::Core(dp_core::Error::Calibration {
            family: FAMILY,
            budget,
            reason: "no response that tells anything meets it".into(),
        }))
    }

    /// About the largest loss of a symbol that meets the budget.
    fn loss(&self, budget: Budget) -> Result<f64> {
        if budget.delta.get() <= 0.0 {
            // All coordinates differ at worst.
            return Ok(budget.epsilon.get() / self.coordinates as f64);
        }
        if self.meets(budget, self.keep(MOST_LOSS)) {
            return Ok(MOST_LOSS);
        }
        // Noise is one over a loss.
        let family = |noise: NoiseScale| self.profile(self.keep(1.0 / noise.get()));
        Ok(1.0 / calibrate::least_scale(FAMILY, budget, family)?.get())
    }

    /// The exact profile as data.
    pub(super) fn profile(&self, keep: Probability) -> Profile {
        let Self { coordinates, differ, alphabet } = *self;
        if differ.get() >= 1.0 {
            Profile::KaryResponse { responses: coordinates, alphabet, keep }
        } else {
            let coordinate = CoordinateProfile::KaryResponse { alphabet, keep };
            Profile::BinomialMixture { trials: coordinates, probability: differ, coordinate }
        }
    }
}
