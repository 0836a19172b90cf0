//! What is known of one value of additive noise.

use super::law::NoiseLaw;
use super::staircase::{Shape, StaircaseNoise};
use core::f64::consts::FRAC_2_PI;

impl NoiseLaw {
    /// Variance and fourth cumulant of one value of additive noise, none of them included; nothing for other
    /// laws.
    #[must_use]
    pub fn moments(&self) -> Option<[f64; 2]> {
        match *self {
            Self::None => Some([0.0; 2]),
            Self::RoundedGaussian { sigma, .. } => Some([sigma.get().powi(2), 0.0]),
            Self::RoundedLaplace { scale, .. } => {
                let b = scale.get();
                Some([2.0 * b * b, 12.0 * b.powi(4)])
            }
            Self::Staircase { epsilon, width, inner, grid } => {
                let noise =
                    StaircaseNoise::new(Shape::new(epsilon, width, inner).ok()?, grid).ok()?;
                Some([noise.variance(), noise.fourth_cumulant()])
            }
            _ => None,
        }
    }

    /// Mean absolute value of one value of additive noise, none of them included; nothing for other laws.
    #[must_use]
    pub fn mean_absolute(&self) -> Option<f64> {
        match *self {
            Self::None => Some(0.0),
            Self::RoundedGaussian { sigma, .. } => Some(sigma.get() * FRAC_2_PI.sqrt()),
            Self::RoundedLaplace { scale, .. } => Some(scale.get()),
            Self::Staircase { epsilon, width, inner, grid } => {
                let shape = Shape::new(epsilon, width, inner).ok()?;
                Some(shape.mean_absolute() * grid.spacing())
            }
            _ => None,
        }
    }
}
