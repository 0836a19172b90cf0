//! Noise on the integers: discrete Laplace and discrete Gaussian.

use super::exact::{
    below, bernoulli_between, bernoulli_exp, bernoulli_inv_e, bernoulli_ratio, decompose,
};
use super::grid::Grid;
use super::law::{AdditiveNoise, NoiseLaw};
use super::rng::NoiseStream;
use crate::error::{Error, Result};
use crate::quantity::{LaplaceScale, NoiseScale, Scale};
use dashu_int::UBig;
use rand_core::Rng;

const SCALES: &str = "[2^-10, 2^40]";

fn check(scale: impl Scale) -> Result<()> {
    if (2f64.powi(-10)..=2f64.powi(40)).contains(&scale.into()) {
        Ok(())
    } else {
        Err(Error::invalid("noise scale", scale, SCALES))
    }
}

/// The law on the integers with `Pr[x]` proportional to `exp(-|x| / b)`, exactly
/// (Canonne, Kamath, Steinke 2020, algorithm 2), for the dyadic rational `b`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiscreteLaplace {
    scale: LaplaceScale,
    /// b = t / 2^shift.
    t: u64,
    shift: u32,
}

impl DiscreteLaplace {
    /// Discrete Laplace noise of scale `scale`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless the scale is in `[2^-10, 2^40]`.
    pub fn new(scale: LaplaceScale) -> Result<Self> {
        check(scale)?;
        Ok(Self::of(scale))
    }

    /// For a scale in `[2^-10, 2^40 + 1]`: t is below 2^53, with room in `u64`.
    fn of(scale: LaplaceScale) -> Self {
        let (mantissa, exponent) = decompose(scale.get());
        let (t, shift) = if exponent >= 0 {
            (mantissa << exponent, 0)
        } else {
            (mantissa, exponent.unsigned_abs())
        };
        Self { scale, t, shift }
    }

    /// Its scale.
    #[must_use]
    pub fn scale(&self) -> LaplaceScale {
        self.scale
    }

    /// One draw.
    pub fn sample(&self, stream: &mut NoiseStream) -> i64 {
        loop {
            let u = below(stream, self.t);
            if !bernoulli_exp(stream, |s| bernoulli_ratio(s, u, self.t)) {
                continue;
            }
            let mut turns = 0u128;
            while bernoulli_inv_e(stream) {
                turns += 1;
            }
            // exp(-x / t) on the non-negative integers, then x / 2^shift rounded down.
            let magnitude = (u128::from(u) + turns * u128::from(self.t)) >> self.shift;
            let negative = stream.next_u32() & 1 == 1;
            if negative && magnitude == 0 {
                continue;
            }
            let magnitude = i64::try_from(magnitude).expect("2^23 turns have chance exp(-2^23)");
            return if negative { -magnitude } else { magnitude };
        }
    }

    /// Adds a fresh draw to every value; sums wrap around (a bijection, hence post-processing).
    pub fn add_block(&self, stream: &mut NoiseStream, values: &mut [i64]) {
        for value in values {
            *value = value.wrapping_add(self.sample(stream));
        }
    }
}

/// The law on the integers with `Pr[x]` proportional to `exp(-x^2 / (2 sigma^2))`, exactly
/// (Canonne, Kamath, Steinke 2020, algorithm 3), for the dyadic rational `sigma`.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscreteGaussian {
    sigma: NoiseScale,
    /// t = floor(sigma) + 1, the scale of the proposals.
    t: u64,
    proposals: DiscreteLaplace,
    /// sigma^2 = square / 2^shift.
    square: UBig,
    shift: usize,
}

impl DiscreteGaussian {
    /// Discrete Gaussian noise of parameter `sigma`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless sigma is in `[2^-10, 2^40]`.
    pub fn new(sigma: NoiseScale) -> Result<Self> {
        check(sigma)?;
        let t = sigma.get().floor() as u64 + 1;
        let (mantissa, exponent) = decompose(sigma.get());
        let square = UBig::from(mantissa) * UBig::from(mantissa);
        let (square, shift) = if exponent >= 0 {
            (square << (2 * exponent.unsigned_abs() as usize), 0)
        } else {
            (square, 2 * exponent.unsigned_abs() as usize)
        };
        // One above the range of the law itself at most.
        let proposals = DiscreteLaplace::of(LaplaceScale::new(t as f64)?);
        Ok(Self { sigma, t, proposals, square, shift })
    }

    /// Its parameter.
    #[must_use]
    pub fn sigma(&self) -> NoiseScale {
        self.sigma
    }

    /// One draw.
    pub fn sample(&self, stream: &mut NoiseStream) -> i64 {
        loop {
            let y = self.proposals.sample(stream);
            if self.accept(stream, y.unsigned_abs()) {
                return y;
            }
        }
    }

    /// Adds a fresh draw to every value; sums wrap around (a bijection, hence post-processing).
    pub fn add_block(&self, stream: &mut NoiseStream, values: &mut [i64]) {
        for value in values {
            *value = value.wrapping_add(self.sample(stream));
        }
    }

    /// True with probability `exp(-gamma)`, `gamma = (y - sigma^2/t)^2 / (2 sigma^2)`.
    fn accept(&self, stream: &mut NoiseStream, y: u64) -> bool {
        let fraction = || self.gamma(y);
        let (low, high) = self.gamma_bounds(y);
        let whole = if low.floor() == high.floor() {
            low.floor() as u64
        } else {
            let (num, den) = fraction();
            match u64::try_from(num / den) {
                Ok(whole) => whole,
                Err(_) => return false, // exp(-2^64): cannot be reached
            }
        };
        for _ in 0..whole {
            if !bernoulli_inv_e(stream) {
                return false;
            }
        }
        let base = whole as f64;
        // Subtracting the whole part of a number below 2^52 is exact.
        let bounds = ((low - base).max(0.0), (high - base).min(1.0));
        bernoulli_exp(stream, |s| {
            bernoulli_between(s, bounds, || {
                let (num, den) = fraction();
                let num = num - &den * UBig::from(whole);
                (num, den)
            })
        })
    }

    /// gamma = (y t D - S)^2 / (2 S D t^2) with sigma^2 = S / D, as numerator and denominator.
    fn gamma(&self, y: u64) -> (UBig, UBig) {
        let ytd = (UBig::from(y) * UBig::from(self.t)) << self.shift;
        let gap = if ytd > self.square { &ytd - &self.square } else { &self.square - &ytd };
        let den = ((&self.square * UBig::from(self.t) * UBig::from(self.t)) << self.shift) << 1;
        (&gap * &gap, den)
    }

    /// An interval around gamma from `f64` arithmetic: each of the operations is off by
    /// at most 2^-53 relatively.
    fn gamma_bounds(&self, y: u64) -> (f64, f64) {
        let sigma = self.sigma.get();
        let (y, center) = (y as f64, sigma * sigma / self.t as f64);
        let gap = (y - center).abs();
        let error = (y + center) * 2f64.powi(-50);
        let twice = 2.0 * sigma * sigma;
        let (near, far) = ((gap - error).max(0.0), gap + error);
        let slack = 2f64.powi(-49);
        (near * near / twice * (1.0 - slack), far * far / twice * (1.0 + slack))
    }
}

/// Whole numbers up to here, and none beyond, are doubles without a gap.
const WHOLE: i64 = 1 << 53;

/// Adds integers to whole numbers, exactly; sums are cut off at `2^53`.
fn add_whole(values: &mut [f64], mut sample: impl FnMut() -> i64) -> Result<()> {
    Grid::WHOLE.check_values(values)?;
    if values.iter().any(|v| v.fract() != 0.0) {
        let allowed = "whole numbers: integer noise hides nothing else";
        return Err(Error::invalid("values that noise is added to", "one of them", allowed));
    }
    for value in values {
        *value = (*value as i64).saturating_add(sample()).clamp(-WHOLE, WHOLE) as f64;
    }
    Ok(())
}

/// On whole numbers: others are refused, not rounded.
impl AdditiveNoise for DiscreteLaplace {
    fn law(&self) -> NoiseLaw {
        NoiseLaw::DiscreteLaplace { scale: self.scale }
    }

    fn grid(&self) -> Grid {
        Grid::WHOLE
    }

    fn add_block(&self, stream: &mut NoiseStream, values: &mut [f64]) -> Result<()> {
        add_whole(values, || self.sample(stream))
    }
}

/// On whole numbers: others are refused, not rounded.
impl AdditiveNoise for DiscreteGaussian {
    fn law(&self) -> NoiseLaw {
        NoiseLaw::DiscreteGaussian { sigma: self.sigma }
    }

    fn grid(&self) -> Grid {
        Grid::WHOLE
    }

    fn add_block(&self, stream: &mut NoiseStream, values: &mut [f64]) -> Result<()> {
        add_whole(values, || self.sample(stream))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::NoiseRng;

    #[test]
    fn a_block_is_drawn_number_by_number() {
        let law = DiscreteLaplace::new(LaplaceScale::new(40.0).unwrap()).unwrap();
        let stream = || NoiseRng::deterministic_not_private(99).stream();
        let mut block = [5, -7, i64::MAX, i64::MIN, 0];
        let (before, mut one) = (block, stream());
        law.add_block(&mut stream(), &mut block);
        let sums = before.map(|x| x.wrapping_add(law.sample(&mut one)));
        assert_eq!(block, sums);
        assert_ne!(block, before);
    }

    #[test]
    fn the_interval_around_gamma_holds_the_exact_fraction() {
        let mut pick = NoiseRng::deterministic_not_private(46).stream();
        for sigma in [0.4, 1.0, 3.7, 20.0, 1e5 / 3.0, 9e11] {
            let law = DiscreteGaussian::new(NoiseScale::new(sigma).unwrap()).unwrap();
            for i in 0..20_000u64 {
                let y = if i < 64 { i } else { below(&mut pick, (12.0 * sigma) as u64 + 2) };
                let (low, high) = law.gamma_bounds(y);
                let (num, den) = law.gamma(y);
                // 2^-80 as the unit: floor(gamma 2^80) between the bounds.
                let gamma = u128::try_from((num << 80) / den).unwrap();
                let unit = 2f64.powi(80);
                assert!((low * unit) as u128 <= gamma && gamma <= (high * unit) as u128, "{y}");
                assert!(high - low <= 1e-9 * high + 1e-9, "{y}: {low} {high}");
            }
        }
    }
}
