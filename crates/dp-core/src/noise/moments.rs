//! What is known of one value of additive noise.

use super::law::NoiseLaw;
use super::staircase::{Shape, StaircaseNoise};
use crate::quantity::LaplaceScale;
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
            Self::DiscreteLaplace { scale } => {
                // Of two geometric variables, one less the other.
                let (a, rest) = Self::ratio(scale);
                let fourth = 2.0 * a * (1.0 + 4.0 * a + a * a) / rest.powi(4);
                Some([2.0 * a / (rest * rest), fourth])
            }
            Self::DiscreteGaussian { sigma } => {
                let s = sigma.get();
                // Poisson's sums: what is left out is below e^-170 of them.
                if s >= 3.0 {
                    return Some([s * s, 0.0]);
                }
                let [all, second, fourth] =
                    (1..=120).fold([1.0, 0.0, 0.0], |[all, second, fourth], x| {
                        let square = f64::from(x * x);
                        let both = 2.0 * (-0.5 * square / (s * s)).exp();
                        [all + both, second + both * square, fourth + both * square * square]
                    });
                let variance = second / all;
                Some([variance, fourth / all - 3.0 * variance * variance])
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
            Self::DiscreteLaplace { scale } => {
                let (a, rest) = Self::ratio(scale);
                Some(2.0 * a / (rest * (1.0 + a)))
            }
            Self::Staircase { epsilon, width, inner, grid } => {
                let shape = Shape::new(epsilon, width, inner).ok()?;
                Some(shape.mean_absolute() * grid.spacing())
            }
            _ => None,
        }
    }

    /// How much less likely each whole number is than the one before, and what that lacks of one.
    fn ratio(scale: LaplaceScale) -> (f64, f64) {
        let step = -1.0 / scale.get();
        (step.exp(), -step.exp_m1())
    }
}
