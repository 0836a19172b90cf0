//! What the families share: budgets, noise for scale, rows.

use dp_core::{Budget, L2Sensitivity, Probability, PublicGenerator, PublicSeed, calibrate};
use eval::Result;
use sketch::vectors::SketchNoise;

/// The budget at which Gaussian mechanisms are audited: a delta that counting can reach.
pub(crate) fn gaussian_budget() -> Result<Budget> {
    Ok(Budget::new(1.0, 1e-2)?)
}

/// The budget at which pure mechanisms are audited.
pub(crate) fn pure_budget() -> Result<Budget> {
    Ok(Budget::new(1.0, 0.0)?)
}

/// Gaussian noise for a sensitivity of one: in proportion to it stands every noise whose profile is
/// that of one Gaussian.
pub(crate) fn gaussian_noise(budget: Budget) -> Result<f64> {
    Ok(calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?.get())
}

/// What stands for the noise of responses: the inverse of their epsilon, as for Laplace noise.
pub(crate) fn pure_noise(budget: Budget) -> Result<f64> {
    Ok(1.0 / budget.epsilon.get())
}

/// The same for one response of an alphabet, given its probability of keeping.
pub(crate) fn response_noise(keep: Probability, alphabet: u32) -> f64 {
    1.0 / (keep.get() * f64::from(alphabet - 1) / (1.0 - keep.get())).ln()
}

pub(crate) fn bound<B: TryFrom<f64, Error = dp_core::Error>>(value: f64) -> Result<B> {
    Ok(B::try_from(value)?)
}

/// Public randomness of a search.
pub(crate) fn search_rng(purpose: u64) -> PublicGenerator {
    PublicSeed::new(0x5ea6c4).generator(purpose)
}

/// The same row `n` times.
pub(crate) fn repeated(row: &[f64], n: usize) -> Vec<f64> {
    row.repeat(n)
}

/// The scale of a sketch's noise.
pub(crate) fn scale(noise: SketchNoise) -> f64 {
    match noise {
        SketchNoise::Gaussian(g) => g.sigma().get(),
        SketchNoise::Laplace(l) => l.scale().get(),
        SketchNoise::Staircase(s) => s.variance().sqrt(),
    }
}
