//! What the steps are about to err by, from public facts: to first order, one direction at a time.

use super::mechanism::TIMES;
use super::system::System;
use crate::analysis::upper_quantile;
use dp_core::NoiseScale;
use dp_core::numeric::ln_normal_cdf;

/// What is known of a regression.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Second moments of the features in their principal directions, largest first.
    pub(crate) seconds: &'a [f64],
    /// Mean square of a coefficient in such a direction.
    pub(crate) size: f64,
    /// Standard deviation of what the features leave of the target.
    pub(crate) residual: f64,
    pub(crate) rows: f64,
}

/// Coefficients after a step, less the true ones, in one direction: a multiple of the true one, and of the noise of each gradient.
#[derive(Debug, Clone, Copy)]
struct Off {
    left: f64,
    noise: [f64; TIMES],
}

impl Off {
    fn combined(self, a: f64, other: Self, b: f64) -> Self {
        let noise = core::array::from_fn(|s| a * self.noise[s] + b * other.noise[s]);
        Self { left: a * self.left + b * other.left, noise }
    }

    fn square(self, size: f64) -> f64 {
        self.left * self.left * size + self.noise.iter().map(|x| x * x).sum::<f64>()
    }
}

/// A gradient whose residuals are clipped at `u` of their deviation: the share of a step that it sees, and the variance of Huber's
/// estimator over that of least squares.
fn clipped(u: f64) -> (f64, f64) {
    let tail = ln_normal_cdf(-u).exp();
    let kept = 1.0 - 2.0 * tail;
    let density = (-0.5 * u * u).exp() / core::f64::consts::TAU.sqrt();
    let square = kept - 2.0 * u * density + 2.0 * u * u * tail;
    (kept, square / (kept * kept))
}

impl Line<'_> {
    /// The expected excess over the sum of squares of least squares, in each direction. Of the noise of the Gram matrix that
    /// part alone counts that moves the last step; residuals are taken as normal.
    pub(super) fn excess(
        &self,
        (gram, gradient): (NoiseScale, NoiseScale),
        (label_bound, thresholds): (f64, &[f64]),
        within: f64,
    ) -> Vec<f64> {
        let Self { seconds, size, residual, rows } = *self;
        let system = System::expected(seconds, gram);
        let all = |of: &[Off]| -> f64 {
            seconds.iter().zip(of).map(|(v, off)| v * off.square(size)).sum::<f64>()
        };
        let u = upper_quantile(0.5 * (1.0 - within));
        let mut places = vec![vec![Off { left: -1.0, noise: [0.0; TIMES] }; seconds.len()]];
        let mut steps = Vec::new();
        for step in 0..TIMES {
            let before = &places[step];
            let deviation = (residual * residual + all(before) / rows).sqrt();
            let clip = match step {
                0 => label_bound,
                _ => thresholds.iter().copied().find(|t| *t >= u * deviation).unwrap_or(label_bound),
            };
            let (kept, over) = clipped(clip / deviation);
            let noise = clip * gradient.get();
            let after = seconds.iter().zip(before).enumerate().map(|(j, (v, off))| {
                let inverse = 1.0 / (system.value(j) + system.ridge(step, noise));
                let mut next = off.combined(1.0 - inverse * v * kept, *off, 0.0);
                next.noise[step] -= inverse * noise;
                next
            });
            let after: Vec<Off> = after.collect();
            steps.push((kept, over, noise));
            places.push(after);
        }
        let last = &places[TIMES];
        let way = |place: &[Off]| {
            let off = |(a, b): (&Off, &Off)| a.combined(1.0, *b, -1.0).square(size);
            last.iter().zip(place).map(off).sum::<f64>()
        };
        let moved = 0.5 * gram.get().powi(2);
        let weights: Vec<f64> = steps
            .iter()
            .zip(&places)
            .map(|((.., noise), place)| 1.0 / (noise * noise + moved * way(place)))
            .collect();
        let total: f64 = weights.iter().sum();
        let ridge = system.last_ridge(total);
        // The matrix is one: its noise goes the mean way.
        let mut mean_way = vec![Off { left: 0.0, noise: [0.0; TIMES] }; seconds.len()];
        for (place, w) in places.iter().zip(&weights) {
            for ((mean, a), b) in mean_way.iter_mut().zip(last).zip(place) {
                *mean = mean.combined(1.0, a.combined(1.0, *b, -1.0), w / total);
            }
        }
        let by_matrix = moved * mean_way.iter().map(|way| way.square(size)).sum::<f64>();
        let huber = residual * residual * (steps[TIMES - 1].1 - 1.0).max(0.0);
        seconds
            .iter()
            .enumerate()
            .map(|(j, v)| {
                let mut mean = Off { left: 0.0, noise: [0.0; TIMES] };
                for (t, (kept, _, noise)) in steps.iter().enumerate() {
                    let (here, share) = (places[t][j], weights[t] / total);
                    let mut seen = here.combined(kept * v, here, 0.0);
                    seen.noise[t] += noise;
                    let way = last[j].combined(1.0, here, -1.0);
                    mean = mean.combined(1.0, seen.combined(1.0, way, system.moves(j)), share);
                }
                let inverse = 1.0 / (system.value(j) + ridge);
                let off = last[j].combined(1.0, mean, -inverse);
                v * (off.square(size) + inverse * inverse * (by_matrix + v * huber))
            })
            .collect()
    }
}
