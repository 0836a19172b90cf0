//! Which covariance errs least.

use super::{Planned, ordered};
use crate::covariance::GaussianCovariance;
use crate::error::{Error, Result};
use dp_core::{Adjacency, Budget};

/// What is to be released, and what is known of the rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CovarianceTask {
    /// Length d of a row.
    pub dim: usize,
    /// `AddRemoveRow`, `ReplaceRow` or `ZeroRow`.
    pub adjacency: Adjacency,
    /// Budget of the release.
    pub budget: Budget,
}

/// A way of releasing a covariance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CovarianceMethod {
    /// Symmetric Gaussian noise.
    Gaussian,
    /// Gaussian noise with sums and the number of rows: means, correlations, an intercept.
    Moments,
}

/// The error of `A^T A` in Frobenius norm, best first, by each mechanism's own prediction.
///
/// Gaussian noise has `sigma^2 d (d + 1)/2` as its expected square, and the law of chi. Wishart noise and Johnson-Lindenstrauss
/// sketches are left out: in this norm they err by more whatever their size, a sketch by less and less more as its rows grow. They
/// are for matrices that stay positive, and for relative errors ([`crate::covariance::JlCovariance::rows_for`]).
///
/// # Errors
/// d = 0, an adjacency that does not protect rows, or a budget that no mechanism meets.
pub fn plan_covariance(task: &CovarianceTask) -> Result<Vec<Planned<CovarianceMethod>>> {
    let CovarianceTask { dim, adjacency, budget } = *task;
    let d = dim as f64;
    let numbers = 0.5 * d * (d + 1.0);
    let gaussian = GaussianCovariance::calibrate(dim, adjacency, budget)?;
    let moments = GaussianCovariance::calibrate_moments(dim, adjacency, budget)?;
    let gaussian_error = |m: &GaussianCovariance| m.sigma().get() * numbers.sqrt();
    Ok(ordered(vec![
        Planned::of_normals(CovarianceMethod::Gaussian, gaussian_error(&gaussian), numbers),
        Planned::of_normals(CovarianceMethod::Moments, gaussian_error(&moments), numbers),
    ]))
}

/// `1 - cos^2` between the strongest direction of `A^T A` and that of a release with Gaussian noise, where the direction's second
/// moments are larger by these gaps than those of the d - 1 others: `sum sigma^2/(2 gap^2)` while that is below one, and 1 from
/// there on: nothing of it is seen.
///
/// # References
/// Benaych-Georges & Nadakuditi 2011 (a symmetric Gaussian matrix of variance `sigma^2/2` beside a single direction), for d growing
/// and equal gaps; first-order perturbation for others. The range is that of as many normal numbers as directions bear the error,
/// and the formula's own error, a share `sum sigma^2/(2 gap^2)` of it.
///
/// # Errors
/// Gaps that are not d - 1, or not positive; as [`plan_covariance`].
pub fn plan_direction(task: &CovarianceTask, gaps: &[f64]) -> Result<Planned<CovarianceMethod>> {
    if gaps.len() + 1 != task.dim {
        return Err(Error::shape("gaps", gaps.len(), task.dim.saturating_sub(1)));
    }
    if let Some(gap) = gaps.iter().find(|gap| !(gap.is_finite() && **gap > 0.0)) {
        return Err(Error::invalid("gap", gap, "(0, inf)"));
    }
    let sigma = GaussianCovariance::calibrate(task.dim, task.adjacency, task.budget)?.sigma().get();
    let method = CovarianceMethod::Gaussian;
    let sure = |x: f64| x.clamp(0.0, 1.0);
    if gaps.is_empty() {
        return Ok(Planned { method, error: 0.0, low: 0.0, high: 0.0 });
    }
    // The direction itself takes no part in the noise that turns it.
    let each = |gap: &f64| 0.5 * (sigma / gap).powi(2);
    let ratio: f64 = gaps.iter().map(each).sum();
    let numbers = ratio * ratio / gaps.iter().map(|gap| each(gap).powi(2)).sum::<f64>();
    let plan = Planned::of_normals(method, ratio.sqrt(), numbers);
    let (low, high) = (plan.low.powi(2), plan.high.powi(2));
    Ok(Planned {
        method,
        error: sure(ratio),
        low: sure(low * (1.0 - ratio).max(0.5)),
        high: sure(high * (1.0 + 2.0 * ratio)),
    })
}
