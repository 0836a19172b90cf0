//! Which regression errs least.

use super::{Planned, ordered};
use crate::analysis::Regression;
use crate::covariance::{CovarianceNoise, GaussianCovariance};
use crate::error::{Error, Result};
use crate::newton::{Line, NewtonConfig, PrivateNewton};
use dp_core::{Adjacency, Budget, NormBound, PublicGenerator, PublicSeed};
use rand_core::Rng;
use rayon::prelude::*;

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

/// What the model may be off by: a share of the error.
const OFF: f64 = 0.1;
/// Most features: every simulated release solves eigenvalue problems of this size.
const MOST: usize = 256;

/// How far predictions of the target are from those of least squares on the same rows: root mean square over the rows, best first.
///
/// The releases themselves are simulated, on second moments of this spectrum, with coefficients that are drawn as normal in every
/// principal direction and residuals that are normal. Ranges are those of as many normal numbers as directions bear
/// the error, a tenth for the model, and what so few simulations leave to chance.
///
/// # Errors
/// No direction or more than 256, facts that are not positive, as [`PrivateNewton::calibrate`] and [`GaussianCovariance::calibrate`].
pub fn plan_regression(task: &RegressionTask<'_>) -> Result<Vec<Planned<RegressionMethod>>> {
    let RegressionTask { rows, adjacency, label_bound, spectrum, explained, residual, budget } =
        *task;
    let d = spectrum.len();
    if !(1..=MOST).contains(&d) {
        return Err(Error::invalid("features", d, format!("[1, {MOST}] for a plan")));
    }
    let facts = [("explained", explained), ("residual", residual), ("rows", rows as f64)];
    let of_features = spectrum.iter().map(|v| ("mean square of features", *v));
    for (name, value) in facts.into_iter().chain(of_features) {
        if !(value.is_finite() && value > 0.0) {
            return Err(Error::invalid(name, value, "(0, inf)"));
        }
    }
    let config = NewtonConfig { features: d, adjacency, label_bound, intercept: false };
    let newton = PrivateNewton::calibrate(config, budget)?;
    let sums = GaussianCovariance::calibrate(d + 1, longer(adjacency, label_bound)?, budget)?;
    let noise = CovarianceNoise::SymmetricGaussian { sigma: sums.sigma() };
    let n = rows as f64;
    let seconds: Vec<f64> = spectrum.iter().map(|v| n * v).collect();
    let times = (4_000_000 / d.pow(3)).clamp(2, 24) as u64;
    let simulated = |time: u64| -> Result<[Vec<f64>; 2]> {
        let mut generator = PublicSeed::new(d as u64).generator(STREAM + time);
        let mut draw = || normal(&mut generator);
        let mut coefficients: Vec<f64> = (0..d).map(|_| draw()).collect();
        let told: f64 = coefficients.iter().zip(&seconds).map(|(c, v)| v * c * c).sum();
        let scale = explained * (n / told).sqrt();
        coefficients.iter_mut().for_each(|c| *c *= scale);
        let line = Line { seconds: seconds.clone(), coefficients, residual, rows: n };
        let stepped = line.excess(&newton.simulated(&line, &mut draw)?);
        let moments = line.moments(true, (sums.sigma().get(), noise), &mut draw);
        Ok([stepped, line.excess(&Regression::coefficients_of(&moments, d)?)])
    };
    let all: Vec<[Vec<f64>; 2]> =
        (0..times).into_par_iter().map(simulated).collect::<Result<_>>()?;
    let (mut of_newton, mut of_sums) = (Simulated::new(d), Simulated::new(d));
    for [stepped, summed] in &all {
        of_newton.add(stepped);
        of_sums.add(summed);
    }
    // What is known of the target is known about.
    let (low, high) = (explained * (1.0 - OFF), explained * (1.0 + OFF));
    Ok(ordered(vec![
        Planned { method: RegressionMethod::Nothing, error: explained, low, high },
        of_newton.plan(RegressionMethod::Newton, n),
        of_sums.plan(RegressionMethod::Covariance, n),
    ]))
}

/// First stream of the public generator that simulated releases come from, one each.
const STREAM: u64 = 0x7267;

/// A normal number that hides nothing.
fn normal(generator: &mut PublicGenerator) -> f64 {
    let mut uniform = || (generator.next_u64() >> 11) as f64 * 2f64.powi(-53);
    (-2.0 * (1.0 - uniform()).ln()).sqrt() * (core::f64::consts::TAU * uniform()).cos()
}

/// Excess of simulated releases, direction by direction.
struct Simulated {
    sums: Vec<f64>,
    totals: Vec<f64>,
}

impl Simulated {
    fn new(d: usize) -> Self {
        Self { sums: vec![0.0; d], totals: Vec::new() }
    }

    fn add(&mut self, excess: &[f64]) {
        self.sums.iter_mut().zip(excess).for_each(|(s, x)| *s += x);
        self.totals.push(excess.iter().sum());
    }

    fn plan(&self, method: RegressionMethod, rows: f64) -> Planned<RegressionMethod> {
        let times = self.totals.len() as f64;
        let total: f64 = self.totals.iter().sum();
        let numbers = total * total / self.sums.iter().map(|s| s * s).sum::<f64>();
        let error = (total / times / rows).sqrt();
        let plan = Planned::of_normals(method, error, numbers);
        // A mean of so many squares of as many normal numbers, and its root.
        let off = OFF + 1.645 / (2.0 * numbers * times).sqrt();
        Planned { low: plan.low * (1.0 - off), high: plan.high * (1.0 + off), ..plan }
    }
}

/// The adjacency of rows with their target: one vector.
fn longer(adjacency: Adjacency, label: NormBound) -> Result<Adjacency> {
    let with = |bound: NormBound| NormBound::new(bound.get().hypot(label.get()));
    let each = match adjacency.each() {
        Adjacency::AddRemoveRow { bound } => Adjacency::AddRemoveRow { bound: with(bound)? },
        Adjacency::ReplaceRow { bound } => Adjacency::ReplaceRow { bound: with(bound)? },
        Adjacency::ZeroRow { bound } => Adjacency::ZeroRow { bound: with(bound)? },
        other => other,
    };
    Ok(each.of_user(adjacency.rows())?)
}
