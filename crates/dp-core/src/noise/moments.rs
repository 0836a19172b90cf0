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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Grid;
    use crate::quantity::NoiseScale;

    /// Of a staircase by the definition, in steps of the grid.
    #[test]
    fn a_staircase_has_its_mean_absolute_value() {
        let (epsilon, grid) =
            (crate::quantity::Epsilon::new(0.7).unwrap(), Grid::new(-14).unwrap());
        let law = NoiseLaw::Staircase { epsilon, width: 3000, inner: 1100, grid };
        let (mut sum, mut all) = (0.0, 0.0);
        for x in 0..200_000u64 {
            let level = if x < 1100 { 0 } else { (x - 1100) / 3000 + 1 };
            let weight = (-0.7 * level as f64).exp() * if x == 0 { 1.0 } else { 2.0 };
            (sum, all) = (sum + weight * x as f64, all + weight);
        }
        let expected = sum / all * grid.spacing();
        let found = law.mean_absolute().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-9, "{found}, {expected}");
    }

    #[test]
    fn moments_are_those_of_the_laws() {
        let (sigma, scale) = (NoiseScale::new(1.5).unwrap(), LaplaceScale::new(1.5).unwrap());
        let grid = Grid::new(-30).unwrap();
        assert_eq!(NoiseLaw::None.moments(), Some([0.0; 2]));
        assert_eq!(NoiseLaw::RoundedGaussian { sigma, grid }.moments(), Some([2.25, 0.0]));
        assert_eq!(NoiseLaw::RoundedLaplace { scale, grid }.moments(), Some([4.5, 60.75]));
        // Whole numbers, by their sums.
        let summed = |weight: &dyn Fn(f64) -> f64| {
            let sum = |power: i32| -> f64 {
                (-400..=400).map(|x| f64::from(x).powi(power) * weight(f64::from(x))).sum()
            };
            let variance = sum(2) / sum(0);
            [variance, sum(4) / sum(0) - 3.0 * variance * variance]
        };
        let near = |law: NoiseLaw, weight: &dyn Fn(f64) -> f64| {
            let [found, expected] = [law.moments().unwrap(), summed(weight)];
            for (a, b) in found.into_iter().zip(expected) {
                assert!(
                    (a - b).abs() <= 1e-9 * (1.0 + b.abs()),
                    "{law:?}: {found:?}, {expected:?}"
                );
            }
        };
        near(NoiseLaw::DiscreteLaplace { scale }, &|x| (-x.abs() / 1.5).exp());
        for s in [0.4, 1.5, 2.99, 3.0, 9.0] {
            let sigma = NoiseScale::new(s).unwrap();
            near(NoiseLaw::DiscreteGaussian { sigma }, &|x| (-0.5 * (x / s).powi(2)).exp());
        }
    }
}
