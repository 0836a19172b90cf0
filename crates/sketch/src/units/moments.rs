//! Moments of the law of unit vectors.

use crate::error::{Error, Result};
use crate::estimate::upper_tail;
use dp_core::noise::NoiseLaw;

/// Of the part alpha along the direction, and what follows from it. Proofs: `docs/proofs/unit-vectors.md`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CapMoments {
    /// `m = E alpha`.
    pub(super) mean: f64,
    /// `a = E alpha^2 - 1`.
    pub(super) excess: f64,
    third: f64,
    fourth: f64,
}

impl CapMoments {
    pub(super) fn of(law: &NoiseLaw) -> Result<Self> {
        let NoiseLaw::UnitCap { threshold, inside, .. } = *law else {
            return Err(Error::invalid("noise law", "of this release", "unit-cap"));
        };
        let (p, q) = (inside.get(), upper_tail(threshold));
        let density = (-0.5 * threshold * threshold).exp() / (2.0 * core::f64::consts::PI).sqrt();
        let mean = density * (p / q - (1.0 - p) / upper_tail(-threshold));
        if !(mean > 0.0 && mean.is_finite()) {
            return Err(Error::invalid(
                "noise law",
                "a cap that shows nothing",
                "inside above its normal probability",
            ));
        }
        let excess = threshold * mean;
        Ok(Self {
            mean,
            excess,
            third: mean * (threshold * threshold + 2.0),
            fourth: 3.0 * (1.0 + excess) + threshold.powi(3) * mean,
        })
    }

    /// Variance a number of a vector over its mean, at the best parameters and in any number of dimensions.
    pub(super) fn variance(&self) -> f64 {
        1.0 / (self.mean * self.mean)
    }

    /// Variance of the inner product with another such vector over `width` numbers, where the directions have the squared norms `left` and
    /// `right` and the inner product c.
    pub(super) fn product(
        &self,
        other: &Self,
        width: f64,
        (left, right): (f64, f64),
        c: f64,
    ) -> f64 {
        let both = self.excess * other.excess - (self.mean * other.mean).powi(2);
        width + self.excess * left + other.excess * right + both * c * c
    }

    /// Variance of the inner product with a given vector of squared norm `square` whose inner product with the direction is c.
    pub(super) fn against(&self, square: f64, c: f64) -> f64 {
        square + (self.excess - self.mean * self.mean) * c * c
    }

    /// Variance of the square of a number where the direction's squared one is s.
    pub(super) fn square(&self, s: f64) -> f64 {
        let Self { excess: a, fourth, .. } = *self;
        let r = 1.0 - s;
        s * s * fourth + 6.0 * s * r * (1.0 + a) + 3.0 * r * r - (1.0 + a * s).powi(2)
    }

    /// The largest [`CapMoments::square`] over s in [0, 1]: a quadratic's.
    pub(super) fn largest_square(&self) -> f64 {
        let [low, middle, high] = [0.0, 0.5, 1.0].map(|s| self.square(s));
        let (bend, slope) = (2.0 * (low + high - 2.0 * middle), 4.0 * middle - 3.0 * low - high);
        let top = -0.5 * slope / bend;
        let inner = if bend < 0.0 && (0.0..=1.0).contains(&top) { self.square(top) } else { low };
        inner.max(low).max(high)
    }

    /// Covariance of the square of a number, where the direction's squared one is s, and the inner product of the other numbers with
    /// a given vector, whose inner product with the direction is c.
    pub(super) fn square_and_product(&self, s: f64, c: f64) -> f64 {
        let Self { mean: m, excess: a, third, .. } = *self;
        s * c * (third - 3.0 * m - a * m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::Probability;
    use dp_core::noise::Grid;

    /// Quadrature of the law of alpha, independent of the formulas.
    #[test]
    fn moments_are_those_of_the_law() {
        for (threshold, p) in [(0.397, 0.59), (2.743, 0.877), (0.0, 0.8), (4.561, 0.954)] {
            let inside = Probability::new(p).unwrap();
            let law = NoiseLaw::UnitCap { threshold, inside, grid: Grid::new(-20).unwrap() };
            let found = CapMoments::of(&law).unwrap();
            let (q, step) = (upper_tail(threshold), 1e-4);
            let moment = |power: i32| {
                let term = |y: f64| {
                    let density = (-0.5 * y * y).exp() / (2.0 * std::f64::consts::PI).sqrt();
                    let share = if y >= threshold { p / q } else { (1.0 - p) / (1.0 - q) };
                    share * density * y.powi(power) * step
                };
                // Midpoints of cells that end at the threshold.
                (-140_000..120_000)
                    .map(|i| term(threshold + (f64::from(i) + 0.5) * step))
                    .sum::<f64>()
            };
            let want = [moment(1), moment(2) - 1.0, moment(3), moment(4)];
            let have = [found.mean, found.excess, found.third, found.fourth];
            for (a, b) in want.iter().zip(have) {
                assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "{threshold}: {want:?} {have:?}");
            }
            let scan = (0..=1000).map(|i| found.square(f64::from(i) / 1000.0)).fold(0.0, f64::max);
            let most = found.largest_square();
            assert!(most >= scan * (1.0 - 1e-12) && most < scan * 1.00001, "{most} {scan}");
        }
    }
}
