//! What a release is about to be, from public facts: the steps themselves, on sums that are simulated.

use super::mechanism::{PrivateNewton, TIMES, WITHIN};
use super::step::NewtonStep;
use super::system::{Path, System};
use crate::analysis::upper_quantile;
use crate::covariance::{CovarianceNoise, PrivateCovariance};
use crate::error::Result;
use dp_core::numeric::ln_normal_cdf;

/// What is known of a regression.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Second moments of the features, which are orthogonal.
    pub(crate) seconds: Vec<f64>,
    /// A coefficient for each.
    pub(crate) coefficients: Vec<f64>,
    /// Standard deviation of what the features leave of the target.
    pub(crate) residual: f64,
    pub(crate) rows: f64,
}

impl Line {
    /// How much more coefficients leave of the target than these, feature by feature.
    pub(crate) fn excess(&self, found: &[f64]) -> Vec<f64> {
        let off = |(v, (f, t)): (&f64, (&f64, &f64))| v * (f - t) * (f - t);
        self.seconds.iter().zip(found.iter().zip(&self.coefficients)).map(off).collect()
    }

    /// Second moments of the features, and of what else stands in `more`, with symmetric noise.
    pub(crate) fn moments(
        &self,
        target: bool,
        (sigma, noise): (f64, CovarianceNoise),
        draw: &mut dyn FnMut() -> f64,
    ) -> PrivateCovariance {
        let d = self.seconds.len();
        let columns = d + usize::from(target);
        let cross = |j: usize| self.seconds[j] * self.coefficients[j];
        let told = (0..d).map(|j| cross(j) * self.coefficients[j]).sum::<f64>();
        let square = told + self.rows * self.residual * self.residual;
        let mut values = vec![0.0; columns * columns];
        for i in 0..columns {
            for j in 0..=i {
                let exact = match (i == d, j == d) {
                    (true, true) => square,
                    (true, false) => cross(j),
                    _ if i == j => self.seconds[i],
                    _ => 0.0,
                };
                let share = if i == j { 1.0 } else { core::f64::consts::FRAC_1_SQRT_2 };
                let noisy = exact + share * sigma * draw();
                (values[i * columns + j], values[j * columns + i]) = (noisy, noisy);
            }
        }
        PrivateCovariance::new(columns, values, None, noise)
    }
}

/// Of residuals that are clipped at `u` of their deviation, as if they were normal: the share of a step that a gradient sees, and the
/// variance, over that of a residual, of what clipping adds to it at the least squares.
fn clipped(u: f64) -> (f64, f64) {
    let tail = ln_normal_cdf(-u).exp();
    let kept = 1.0 - 2.0 * tail;
    let density = (-0.5 * u * u).exp() / core::f64::consts::TAU.sqrt();
    let square = kept - 2.0 * u * density + 2.0 * u * u * tail;
    (kept, (square - kept * kept).max(0.0))
}

impl PrivateNewton {
    /// The coefficients of one simulated release, whose normal numbers are drawn here.
    pub(crate) fn simulated(&self, line: &Line, draw: &mut dyn FnMut() -> f64) -> Result<Vec<f64>> {
        let d = line.seconds.len();
        let (gram_sigma, sigma) = (self.gram_sigma(), self.gradient_sigma());
        let noise = CovarianceNoise::SymmetricGaussian { sigma: gram_sigma };
        let gram = line.moments(false, (gram_sigma.get(), noise), draw);
        let system = System::of(&gram)?;
        let rows: Vec<f64> = line.seconds.iter().map(|v| v.sqrt() * draw()).collect();
        let u = upper_quantile(0.5 * (1.0 - WITHIN));
        let (mut theta, mut steps) = (vec![0.0; d], Vec::with_capacity(TIMES));
        for step in 0..TIMES {
            let excess: f64 = line.excess(&theta).iter().sum();
            let deviation = (line.residual * line.residual + excess / line.rows).sqrt();
            let known = self.thresholds();
            let largest = known.last().copied().unwrap_or(deviation);
            let clip = match step {
                0 => largest,
                _ => known.iter().copied().find(|t| *t >= u * deviation).unwrap_or(largest),
            };
            let (kept, added) = clipped(clip / deviation);
            let entry = |j: usize| {
                let slope = kept * line.seconds[j] * (theta[j] - line.coefficients[j]);
                slope + added.sqrt() * line.residual * rows[j]
            };
            let exact: Vec<f64> = (0..d).map(entry).collect();
            let gradient: Vec<f64> =
                exact.into_iter().map(|g| g / clip + sigma.get() * draw()).collect();
            theta = system.stepped(step, &theta, (clip, &gradient), sigma);
            steps.push(NewtonStep { clip, gradient, coefficients: theta.clone() });
        }
        Ok(Path::new(&system, &steps, sigma).refined())
    }
}
