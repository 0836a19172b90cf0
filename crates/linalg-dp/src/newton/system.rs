//! From the released matrix and gradients to coefficients: post-processing.

use super::step::{NewtonStep, near};
use crate::covariance::{CovarianceNoise, PrivateCovariance};
use crate::dense;
use crate::error::{Error, Result};
use dp_core::NoiseScale;

/// By how much the variances of intervals are raised: the released matrix is not that of the rows, whose effect is not
/// centred for every coefficient.
const RAISED: f64 = 3.0;

/// The released Gram matrix, in its eigenvectors.
pub(super) struct System {
    vectors: faer::Mat<f64>,
    /// Denoised: at least that of a flat rest.
    values: Vec<f64>,
    /// What gradients are moved by: as released where an eigenvalue stands out, half denoised elsewhere.
    moves: Vec<f64>,
    /// Half of the noise's spectral radius.
    level: f64,
    sigma: f64,
}

impl System {
    pub(super) fn of(gram: &PrivateCovariance) -> Result<Self> {
        let CovarianceNoise::SymmetricGaussian { sigma } = gram.noise() else {
            return Err(Error::Unusable { what: "matrix", reason: "another noise" });
        };
        let d = gram.dim();
        let sigma = sigma.get();
        let level = sigma * (0.5 * d as f64).sqrt();
        let eigen = dense::symmetric_eigen(gram.raw())?;
        // Above twice the level an eigenvalue stands out, and noise has lifted it from this one.
        let stands_out = |w: &f64| (w * w - 4.0 * level * level).max(0.0).sqrt();
        let found: Vec<f64> = eigen
            .values
            .iter()
            .map(|w| if *w > 2.0 * level { stands_out(w) } else { 0.0 })
            .collect();
        let (trace, kept) = (eigen.values.iter().sum::<f64>(), found.iter().sum::<f64>());
        let hidden = found.iter().filter(|f| **f == 0.0).count().max(1);
        let rest = (trace - kept).max(0.0) / hidden as f64;
        let values = found.iter().map(|f| f.max(rest)).collect();
        let between = |(w, f): (&f64, &f64)| if *f > 0.0 { *w } else { 0.5 * (w + rest) };
        let moves = eigen.values.iter().zip(&found).map(between).collect();
        Ok(Self { vectors: eigen.vectors, values, moves, level, sigma })
    }

    /// The ridge of a step of noise `noise` in an entry of its gradient.
    fn ridge(&self, step: usize, noise: f64) -> f64 {
        match step {
            0 => self.level + 0.5 * noise * (self.values.len() as f64).sqrt(),
            _ => 0.5 * (self.level + noise),
        }
    }

    /// The coefficients after a step, by its gradient over its clip at those before.
    pub(super) fn stepped(
        &self,
        step: usize,
        before: &[f64],
        (clip, gradient): (f64, &[f64]),
        sigma: NoiseScale,
    ) -> Vec<f64> {
        let whole: Vec<f64> = gradient.iter().map(|g| clip * g).collect();
        let back = self.solve(&whole, self.ridge(step, clip * sigma.get()));
        before.iter().zip(back).map(|(t, b)| t - b).collect()
    }

    /// A vector in the eigenvectors, each part changed, and back.
    fn changed(&self, right: &[f64], change: impl Fn(usize, f64) -> f64) -> Vec<f64> {
        let (v, d) = (&self.vectors, right.len());
        let along = |j: usize| (0..d).map(|i| v[(i, j)] * right[i]).sum::<f64>();
        let turned: Vec<f64> = (0..d).map(|j| change(j, along(j))).collect();
        (0..d).map(|i| (0..d).map(|j| v[(i, j)] * turned[j]).sum()).collect()
    }

    fn solve(&self, right: &[f64], ridge: f64) -> Vec<f64> {
        self.changed(right, |j, x| x / (self.values[j] + ridge))
    }

    /// How far coefficients may differ between machines: their elementary functions, and rounding that the smallest
    /// ridge multiplies.
    pub(super) fn room(&self) -> f64 {
        let largest = self.values.iter().fold(0.0f64, |m, v| m.max(*v));
        let rounding = 8.0 * self.values.len() as f64 * f64::EPSILON;
        (1e-6 + rounding * (2.0 * largest / self.level + 1.0)).min(1e-2)
    }
}

/// Steps under gradients of a known noise, and what follows from them.
pub(super) struct Path<'a> {
    system: &'a System,
    steps: &'a [NewtonStep],
    sigma: NoiseScale,
}

impl<'a> Path<'a> {
    pub(super) fn new(system: &'a System, steps: &'a [NewtonStep], sigma: NoiseScale) -> Self {
        Self { system, steps, sigma }
    }

    /// Where the gradient of each step was taken.
    fn places(&self) -> Vec<Vec<f64>> {
        let zero = vec![0.0; self.system.values.len()];
        let after = self.steps.iter().map(|step| step.coefficients.clone());
        core::iter::once(zero).chain(after).collect()
    }

    /// Whether the coefficients of each step are those that it leads to.
    pub(super) fn is_followed(&self) -> bool {
        let room = self.system.room();
        let places = self.places();
        self.steps.iter().enumerate().all(|(t, step)| {
            let sum = (step.clip, step.gradient.as_slice());
            let next = self.system.stepped(t, &places[t], sum, self.sigma);
            near(&next, &step.coefficients, room)
        })
    }

    /// What each gradient counts in the last step: one over its variance at the last coefficients, its own and that of
    /// the matrix times the way.
    fn weights(&self, places: &[Vec<f64>]) -> Vec<f64> {
        let last = &places[self.steps.len()];
        let of = |(step, place): (&NewtonStep, &Vec<f64>)| {
            let length = last.iter().zip(place).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            let own = step.clip * self.sigma.get();
            1.0 / (own * own + 0.5 * self.system.sigma.powi(2) * length)
        };
        self.steps.iter().zip(places).map(of).collect()
    }

    /// One more step, by the mean of all gradients as they would be at the last coefficients.
    pub(super) fn refined(&self) -> Vec<f64> {
        let (system, places) = (self.system, self.places());
        let weights = self.weights(&places);
        let total = weights.iter().sum::<f64>();
        let last = &places[self.steps.len()];
        let mut mean = vec![0.0; last.len()];
        for ((step, place), weight) in self.steps.iter().zip(&places).zip(&weights) {
            let way: Vec<f64> = last.iter().zip(place).map(|(a, b)| a - b).collect();
            let moved = system.changed(&way, |j, x| system.moves[j] * x);
            for ((m, g), h) in mean.iter_mut().zip(&step.gradient).zip(moved) {
                *m += (step.clip * g + h) * weight / total;
            }
        }
        let back = system.solve(&mean, system.level + (1.0 / total).sqrt());
        let refined: Vec<f64> = last.iter().zip(back).map(|(t, b)| t - b).collect();
        // Squares beyond the range of floating point say nothing.
        if refined.iter().all(|t| t.is_finite()) { refined } else { last.clone() }
    }

    /// Standard deviations of the last coefficients about those of the same steps without noise in their gradients: to
    /// first order, as if the rows had the denoised matrix.
    pub(super) fn errors(&self) -> Vec<f64> {
        let (system, count) = (self.system, self.steps.len());
        let weights = self.weights(&self.places());
        let total = weights.iter().sum::<f64>();
        let last_ridge = system.level + (1.0 / total).sqrt();
        let noise: Vec<f64> = self.steps.iter().map(|s| s.clip * self.sigma.get()).collect();
        // What a unit of the noise of gradient `of` makes of the coefficients, in a direction of second moment `v`.
        let moved = |of: usize, j: usize| {
            let v = system.values[j];
            let mut after = vec![0.0; count + 1];
            for t in 0..count {
                let inverse = 1.0 / (v + system.ridge(t, noise[t]));
                let own = if t == of { noise[t] } else { 0.0 };
                after[t + 1] = after[t] - inverse * (v * after[t] + own);
            }
            let mean: f64 = (0..count)
                .map(|t| {
                    let own = if t == of { noise[t] } else { 0.0 };
                    let way = after[count] - after[t];
                    weights[t] / total * (v * after[t] + own + system.moves[j] * way)
                })
                .sum();
            after[count] - mean / (v + last_ridge)
        };
        let d = system.values.len();
        let spread: Vec<f64> =
            (0..d).map(|j| (0..count).map(|of| moved(of, j).powi(2)).sum::<f64>()).collect();
        let v = &system.vectors;
        let variance = |i: usize| (0..d).map(|j| v[(i, j)].powi(2) * spread[j]).sum::<f64>();
        (0..d).map(|i| (RAISED * variance(i)).sqrt()).collect()
    }
}
