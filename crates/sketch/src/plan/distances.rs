//! Which mechanism suits a task: predicted standard errors of squared distances.

use super::bounds::{optimal_k, projection_variance};
use crate::distances::{NoiseAddition, RandomizedResponse, ValueRange};
use crate::error::{Error, Result};
use dp_core::{Adjacency, Budget, L2Sensitivity, NoiseScale, Shift, calibrate};

/// What is to be released: n rows of d features in an interval, adjacency `Attribute{beta}`, and
/// the squared distance one cares about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistanceTask {
    /// Rows.
    pub n: usize,
    /// Features.
    pub d: usize,
    /// Largest change of one attribute.
    pub beta: Shift,
    /// Interval of the entries; randomised response is considered for [`ValueRange::BITS`].
    pub range: ValueRange,
    /// The squared distance whose estimate should be good.
    pub squared_distance: f64,
    /// Budget of the whole release.
    pub budget: Budget,
}

/// A way of releasing distances.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum DistanceMethod {
    /// Private projection to k dimensions with rows of norm one (Rademacher, OPORP, SRHT, sparse JL).
    Projection {
        /// Sketch size of least variance.
        k: usize,
    },
    /// Three private projections around the best k with equal shares.
    MultiScale {
        /// Their sizes.
        sizes: Vec<usize>,
    },
    /// Noise on all pairwise distances.
    NoiseAddition,
    /// Flipped bits.
    RandomizedResponse,
    /// Noise on the data itself.
    RawData,
}

/// A method and what it would achieve.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DistancePlan {
    /// The method.
    pub method: DistanceMethod,
    /// Predicted standard error of the squared distance.
    pub standard_error: f64,
    /// Noise scale (sigma), or the flip probability of randomised response.
    pub noise: f64,
}

/// Three sizes a factor four apart around the best one.
fn sizes_around(k: usize, d: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        [k / 4, k, k.saturating_mul(4)].iter().map(|&k| k.clamp(1, d)).collect();
    sizes.dedup();
    sizes
}

/// Predicts every method that applies, best first.
///
/// Variances: projection `2 r^4/k + 8 s^2 r^2 + 8 s^4 k` (an upper bound for the families with
/// negative coordinate-wise part), multi-scale the inverse-variance mean of its scales, noise
/// addition s^2, randomised response `d t (1-t)/(1-2p)^4`, raw data `8 s^2 r^2 + 8 s^4 d`.
/// Floating-point and grid slack (below one part in 10^6) is left out of the projection's sigma.
///
/// # Errors
/// An impossible task (n < 2, d = 0, negative distance, delta = 0).
pub fn plan_distances(task: &DistanceTask) -> Result<Vec<DistancePlan>> {
    let DistanceTask { n, d, squared_distance: r2, budget, .. } = *task;
    if !(r2.is_finite() && r2 > 0.0) {
        return Err(Error::invalid("squared distance", r2, "(0, inf)"));
    }
    let sigma = calibrate::gaussian(budget, L2Sensitivity::new(task.beta.get())?)?;
    let k = optimal_k(r2, sigma, d)?;
    let s2 = sigma.get().powi(2);
    let sizes = sizes_around(k, d);
    let share = NoiseScale::new(sigma.get() * (sizes.len() as f64).sqrt())?;
    let precision: f64 = sizes.iter().map(|&k| 1.0 / projection_variance(r2, k, share)).sum();
    let mut predictions = vec![
        DistancePlan {
            method: DistanceMethod::Projection { k },
            standard_error: projection_variance(r2, k, sigma).sqrt(),
            noise: sigma.get(),
        },
        DistancePlan {
            method: DistanceMethod::MultiScale { sizes },
            standard_error: precision.recip().sqrt(),
            noise: share.get(),
        },
        DistancePlan {
            method: DistanceMethod::RawData,
            standard_error: (8.0 * s2 * r2 + 8.0 * s2 * s2 * d as f64).sqrt(),
            noise: sigma.get(),
        },
    ];
    let adjacency = Adjacency::Attribute { beta: task.beta };
    let table = NoiseAddition::new(n, d, task.range, adjacency, budget)?;
    predictions.push(DistancePlan {
        method: DistanceMethod::NoiseAddition,
        standard_error: table.noise().sigma().get(),
        noise: table.noise().sigma().get(),
    });
    if task.range == ValueRange::BITS
        && let Ok(response) = RandomizedResponse::new(d, budget.epsilon)
    {
        let p = response.flip().get();
        let t = 2.0 * p * (1.0 - p);
        predictions.push(DistancePlan {
            method: DistanceMethod::RandomizedResponse,
            standard_error: (d as f64 * t * (1.0 - t)).sqrt() / (1.0 - 2.0 * p).powi(2),
            noise: p,
        });
    }
    predictions.sort_by(|a, b| a.standard_error.total_cmp(&b.standard_error));
    Ok(predictions)
}
