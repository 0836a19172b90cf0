//! Which regression errs least.

use super::{Planned, ordered};
use crate::covariance::GaussianCovariance;
use crate::error::{Error, Result};
use crate::newton::{Line, NewtonConfig, PrivateNewton};
use dp_core::{Adjacency, Budget, NormBound};

/// What is to be regressed, and what is known of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RegressionTask<'a> {
    /// Rows.
    pub rows: u64,
    /// `AddRemoveRow`, `ReplaceRow` or `ZeroRow`; its bound is on the norm of a row's features.
    pub adjacency: Adjacency,
    /// Largest size of a target.
    pub label_bound: NormBound,
    /// Mean square of a row's features along each of their principal directions: together the mean square of its norm.
    pub spectrum: &'a [f64],
    /// Root mean square of what the features tell of the target.
    pub explained: f64,
    /// Root mean square of the rest.
    pub residual: f64,
    /// Budget of the release.
    pub budget: Budget,
}

/// A way of releasing a regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegressionMethod {
    /// [`PrivateNewton`]: one question.
    Newton,
    /// [`crate::analysis::Regression`] from a released covariance of the features and the target: every column may be asked for.
    Covariance,
    /// Zero coefficients: no budget is spent.
    Nothing,
}

/// What the formulas themselves may be off by: a share of the error.
const OFF: f64 = 0.1;

/// How far predictions of the target are from those of least squares on the same rows: root mean square over the rows, best first.
///
/// The model: coefficients are as large in every principal direction, and what is left of the target is normal. To first
/// order in the noise; the bias of the ridges is in it. Ranges are those of as many normal numbers as directions bear the
/// error, and a tenth for the formulas.
///
/// # Errors
/// No direction, facts that are not positive, as [`PrivateNewton::calibrate`] and [`GaussianCovariance::calibrate`].
pub fn plan_regression(task: &RegressionTask<'_>) -> Result<Vec<Planned<RegressionMethod>>> {
    let RegressionTask { rows, adjacency, label_bound, spectrum, explained, residual, budget } = *task;
    let d = spectrum.len();
    let facts = [("explained", explained), ("residual", residual), ("rows", rows as f64)];
    let of_features = spectrum.iter().map(|v| ("mean square of features", *v));
    for (name, value) in facts.into_iter().chain(of_features) {
        if !(value.is_finite() && value > 0.0) {
            return Err(Error::invalid(name, value, "(0, inf)"));
        }
    }
    let config = NewtonConfig { features: d, adjacency, label_bound, intercept: false };
    let newton = PrivateNewton::calibrate(config, budget)?;
    let n = rows as f64;
    let mut seconds: Vec<f64> = spectrum.iter().map(|v| n * v).collect();
    seconds.sort_by(|a, b| b.total_cmp(a));
    let size = explained * explained * n / seconds.iter().sum::<f64>();
    let line = Line { seconds: &seconds, size, residual, rows: n };
    let sums = GaussianCovariance::calibrate(d + 1, longer(adjacency, label_bound)?, budget)?;
    let nothing = explained;
    let plan = |method, excess: Vec<f64>| {
        let total: f64 = excess.iter().sum();
        let numbers = total * total / excess.iter().map(|x| x * x).sum::<f64>();
        let plan = Planned::of_normals(method, (total / n).sqrt(), numbers);
        Planned { low: plan.low * (1.0 - OFF), high: plan.high * (1.0 + OFF), ..plan }
    };
    let zero = Planned { method: RegressionMethod::Nothing, error: nothing, low: nothing, high: nothing };
    Ok(ordered(vec![
        zero,
        plan(RegressionMethod::Newton, newton.expected_excess(&line)),
        plan(RegressionMethod::Covariance, of_sums(&line, sums.sigma().get())),
    ]))
}

/// The adjacency of rows with their target: one vector.
fn longer(adjacency: Adjacency, label: NormBound) -> Result<Adjacency> {
    let with = |bound: NormBound| NormBound::new(bound.get().hypot(label.get()));
    Ok(match adjacency {
        Adjacency::AddRemoveRow { bound } => Adjacency::AddRemoveRow { bound: with(bound)? },
        Adjacency::ReplaceRow { bound } => Adjacency::ReplaceRow { bound: with(bound)? },
        Adjacency::ZeroRow { bound } => Adjacency::ZeroRow { bound: with(bound)? },
        other => other,
    })
}

/// The expected excess of [`crate::analysis::Regression`] in each direction. A direction below the level of the noise is not seen;
/// elsewhere the ridge is the best for coefficients of this size, and noise in the matrix acts on them as noise in the products.
fn of_sums(line: &Line<'_>, sigma: f64) -> Vec<f64> {
    let Line { seconds, size, .. } = *line;
    let d = seconds.len() as f64;
    let level = sigma * (0.5 * d).sqrt();
    let noise = 0.5 * sigma * sigma * (1.0 + d * size);
    let of = |v: &f64| {
        // What denoising leaves of it.
        let seen = if *v > level { v - level * level / v } else { 0.0 };
        let inverse = seen / (seen * seen + noise / size);
        v * ((1.0 - inverse * v).powi(2) * size + inverse * inverse * noise)
    };
    seconds.iter().map(of).collect()
}
