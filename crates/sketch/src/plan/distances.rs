//! Which mechanism suits a task: predicted standard errors of squared distances.

use super::bounds::projection_variance;
use crate::distances::{NoiseAddition, RandomizedResponse, ValueRange};
use crate::error::{Error, Result};
use crate::projection::{Family, ProjectionSpec};
use crate::vectors::{AveragedProjection, NoiseKind, PrivateProjection, ProjectionConfig};
use dp_core::mechanism::Mechanism;
use dp_core::{
    Adjacency, Budget, EntryBound, Epsilon, L2Sensitivity, NoiseScale, PublicSeed, calibrate,
};

/// What is to be released: n rows of d features in an interval, what is protected, and the squared
/// distance one cares about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistanceTask {
    /// Rows.
    pub n: usize,
    /// Features.
    pub d: usize,
    /// `Attribute`, `RowShift` or `ReplaceRow`.
    pub adjacency: Adjacency,
    /// Interval of the entries; randomised response is considered for [`ValueRange::BITS`].
    pub range: ValueRange,
    /// The squared distance whose estimate should be good.
    pub squared_distance: f64,
    /// Budget of the whole release; a delta of zero leaves the mechanisms of pure differential privacy.
    pub budget: Budget,
}

/// A way of releasing distances.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum DistanceMethod {
    /// Private OPORP to k dimensions.
    Projection {
        /// Sketch size of least variance; a power of two where the noise depends on it (whole rows).
        k: usize,
        /// The noise.
        noise: NoiseKind,
    },
    /// A Gaussian projection drawn after the rows and used once, with Gaussian noise.
    FreshProjection {
        /// Sketch size of least variance among powers of two.
        k: usize,
    },
    /// Three private projections around the best k with equal shares, Gaussian noise.
    MultiScale {
        /// Their sizes.
        sizes: Vec<usize>,
    },
    /// Noise on all pairwise distances.
    NoiseAddition,
    /// Flipped bits.
    RandomizedResponse,
    /// Noise on the data itself.
    RawData {
        /// The noise.
        noise: NoiseKind,
    },
}

/// A method and what it would achieve.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DistancePlan {
    /// The method.
    pub method: DistanceMethod,
    /// Predicted standard error of the squared distance, for rows whose difference is spread over all features.
    pub standard_error: f64,
    /// The standard error of other rows is above this: a projection errs by less where few features differ.
    pub low: f64,
    /// And below this. Either end has 5 per cent to spare, for what a hundred rows and a few projections leave to chance.
    pub high: f64,
    /// Standard deviation of the noise, or the flip probability of randomised response.
    pub noise: f64,
}

impl DistancePlan {
    /// A standard error of which as much as `projected` of its square may be missing.
    fn ranged(method: DistanceMethod, standard_error: f64, noise: f64, projected: f64) -> Self {
        let low = (standard_error.powi(2) - projected).max(0.0).sqrt() * (1.0 - SPARE);
        Self { method, standard_error, low, high: standard_error * (1.0 + SPARE), noise }
    }
}

/// What a range has to spare.
const SPARE: f64 = 0.05;

/// Largest sketch considered where the noise depends on its size.
const LARGEST: usize = 1 << 12;

impl DistanceTask {
    fn check(&self) -> Result<()> {
        let Self { n, d, squared_distance: r2, .. } = *self;
        if !(r2.is_finite() && r2 > 0.0) {
            return Err(Error::invalid("squared distance", r2, "(0, inf)"));
        }
        if n < 2 {
            return Err(Error::invalid("n", n, "[2, inf): distances need two rows"));
        }
        ProjectionSpec::new(Family::Oporp, d, 1, PublicSeed::new(0))?;
        match self.adjacency {
            Adjacency::Attribute { .. }
            | Adjacency::RowShift { .. }
            | Adjacency::ReplaceRow { .. } => Ok(()),
            other => {
                let allowed = "attribute, row-shift or replace-row: what releases of rows protect";
                Err(Error::invalid("adjacency", other, allowed))
            }
        }
    }

    fn bound(&self) -> Result<EntryBound> {
        Ok(EntryBound::new(self.range.largest())?)
    }

    fn is_of_one_value(&self) -> bool {
        matches!(self.adjacency, Adjacency::Attribute { .. })
    }

    /// A projection of this family, size and noise.
    fn projection(&self, family: Family, k: usize, noise: NoiseKind) -> Result<PrivateProjection> {
        let projection = ProjectionSpec::new(family, self.d, k, PublicSeed::new(0))?.build();
        let (adjacency, bound) = (self.adjacency, self.bound()?);
        let config = ProjectionConfig { projection, adjacency, bound, noise };
        PrivateProjection::calibrate(config, self.budget)
    }

    /// What a mechanism predicts for itself.
    fn plan(&self, method: DistanceMethod, mechanism: &PrivateProjection) -> Result<DistancePlan> {
        let standard_error = mechanism.predict(self.squared_distance)?.root_mean_square;
        let noise = mechanism.noise().variance().sqrt();
        let projected = self.projected(mechanism.projection().spec());
        Ok(DistancePlan::ranged(method, standard_error, noise, projected))
    }

    /// By how much the variance of a projection is less where one feature differs than where all do.
    fn projected(&self, spec: ProjectionSpec) -> f64 {
        let other = 1.0 - 1.0 / self.d as f64;
        spec.moments().quartic.abs() * other * self.squared_distance.powi(2) / spec.k() as f64
    }

    /// The best size for this noise.
    fn oporp(&self, noise: NoiseKind) -> Result<DistancePlan> {
        let at = |k: usize| {
            let mechanism = self.projection(Family::Oporp, k, noise)?;
            self.plan(DistanceMethod::Projection { k, noise }, &mechanism)
        };
        if !self.is_of_one_value() {
            return self.best_power(at);
        }
        // One value moves one number by as much whatever k is, and so the error is a/k + b + c k.
        let c = self.projection(Family::Oporp, 1, noise)?.predict(0.0)?.root_mean_square;
        let best = 2f64.sqrt() * self.squared_distance / c;
        let low = (best.min(self.d as f64).floor() as usize).clamp(1, self.d);
        least([at(low)?, at((low + 1).min(self.d))?])
    }

    fn fresh(&self) -> Result<DistancePlan> {
        self.best_power(|k| {
            let bound = self.bound()?;
            let fresh =
                AveragedProjection::gaussian(self.d, k, self.adjacency, bound, self.budget)?;
            let standard_error = fresh.predict(self.squared_distance)?.root_mean_square;
            let method = DistanceMethod::FreshProjection { k };
            let noise = fresh.noise().variance().sqrt();
            // A Gaussian projection errs by as much whatever the rows are.
            Ok(DistancePlan::ranged(method, standard_error, noise, 0.0))
        })
    }

    fn best_power(&self, at: impl Fn(usize) -> Result<DistancePlan>) -> Result<DistancePlan> {
        let powers = (0..).map(|i| 1 << i).take_while(|&k| k <= self.d.min(LARGEST));
        least(powers.map(at).collect::<Result<Vec<_>>>()?)
    }

    fn multi_scale(&self, beta: f64) -> Result<DistancePlan> {
        let sigma = calibrate::gaussian(self.budget, L2Sensitivity::new(beta)?)?;
        let k = super::optimal_k(self.squared_distance, sigma, self.d)?;
        let sizes = sizes_around(k, self.d);
        let share = NoiseScale::new(sigma.get() * (sizes.len() as f64).sqrt())?;
        let variance = |&k: &usize| projection_variance(self.squared_distance, k, share);
        let precision: f64 = sizes.iter().map(|k| variance(k).recip()).sum();
        // Each scale has a share of its inverse variance: what it may lack counts by the square of that share.
        let mut projected = 0.0;
        for &k in &sizes {
            let spec = ProjectionSpec::new(Family::Oporp, self.d, k, PublicSeed::new(0))?;
            projected += self.projected(spec) * (variance(&k) * precision).powi(-2);
        }
        let (error, method) = (precision.recip().sqrt(), DistanceMethod::MultiScale { sizes });
        Ok(DistancePlan::ranged(method, error, share.get(), projected))
    }

    fn noise_addition(&self) -> Result<DistancePlan> {
        let table = NoiseAddition::new(self.n, self.d, self.range, self.adjacency, self.budget)?;
        let noise = table.noise().sigma().get();
        Ok(DistancePlan::ranged(DistanceMethod::NoiseAddition, noise, noise, 0.0))
    }

    fn response(&self) -> Result<DistancePlan> {
        let p = RandomizedResponse::new(self.d, self.budget.epsilon)?.flip().get();
        let t = 2.0 * p * (1.0 - p);
        let error = (self.d as f64 * t * (1.0 - t)).sqrt() / (1.0 - 2.0 * p).powi(2);
        Ok(DistancePlan::ranged(DistanceMethod::RandomizedResponse, error, p, 0.0))
    }
}

fn least(plans: impl IntoIterator<Item = DistancePlan>) -> Result<DistancePlan> {
    let better = |a: &DistancePlan, b: &DistancePlan| a.standard_error.total_cmp(&b.standard_error);
    plans.into_iter().min_by(better).ok_or_else(|| Error::invalid("d", 0, "[1, 2^32)"))
}

/// Three sizes a factor four apart around the best one.
fn sizes_around(k: usize, d: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        [k / 4, k, k.saturating_mul(4)].iter().map(|&k| k.clamp(1, d)).collect();
    sizes.dedup();
    sizes
}

/// Predicts every method that can meet the budget, best first.
///
/// Projections and noise on the data by their own [`Mechanism::predict`] (`2 r^4/k + 4 v r^2 + k (2 v^2 + c)` for
/// noise whose difference has variance v and fourth cumulant c), multi-scale the inverse-variance mean of its
/// scales, noise addition its own, randomised response `d t (1-t)/(1-2p)^4`. A projection's seed is one of many:
/// under `RowShift` and `ReplaceRow` another seed has another sensitivity, by some per cent.
///
/// # Errors
/// An impossible task (n < 2, d = 0, no positive distance, another adjacency); a budget that no method meets.
pub fn plan_distances(task: &DistanceTask) -> Result<Vec<DistancePlan>> {
    task.check()?;
    let raw = |noise| {
        let mechanism = task.projection(Family::Identity, task.d, noise)?;
        task.plan(DistanceMethod::RawData { noise }, &mechanism)
    };
    let mut plans: Vec<Result<DistancePlan>> = Vec::new();
    for noise in NoiseKind::ALL {
        plans.extend([task.oporp(noise), raw(noise)]);
    }
    match task.adjacency {
        Adjacency::Attribute { beta } => {
            plans.extend([task.multi_scale(beta.get()), task.noise_addition()]);
            if task.range == ValueRange::BITS {
                plans.push(task.response());
            }
        }
        _ => plans.push(task.fresh()),
    }
    let (met, failed): (Vec<_>, Vec<_>) = plans.into_iter().partition(Result::is_ok);
    let mut plans = met.into_iter().collect::<Result<Vec<_>>>()?;
    if let (true, Some(Err(error))) = (plans.is_empty(), failed.into_iter().next()) {
        return Err(error);
    }
    plans.sort_by(|a, b| a.standard_error.total_cmp(&b.standard_error));
    Ok(plans)
}

/// The epsilon, to a per cent, at which the best method has this standard error, the delta of the task being
/// kept; `None` when an epsilon of 64 is not enough. It is at least 1/64.
///
/// # Errors
/// As [`plan_distances`]; an error that is not positive.
pub fn epsilon_for_error(task: &DistanceTask, standard_error: f64) -> Result<Option<Epsilon>> {
    if !(standard_error.is_finite() && standard_error > 0.0) {
        return Err(Error::invalid("standard error", standard_error, "(0, inf)"));
    }
    task.check()?;
    super::least_epsilon(|epsilon| {
        let budget = Budget { epsilon, ..task.budget };
        let plans = plan_distances(&DistanceTask { budget, ..*task })?;
        Ok(plans.first().is_some_and(|best| best.standard_error <= standard_error))
    })
}
