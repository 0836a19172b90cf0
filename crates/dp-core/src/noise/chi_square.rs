//! Chi-square draws for the covariance mechanisms.

use super::gaussian::GaussianNoise;
use super::grid::Grid;
use super::law::AdditiveNoise;
use super::rng::NoiseStream;
use crate::error::{Error, Result};
use crate::quantity::NoiseScale;
use rand_core::Rng;

/// The chi-square law, **idealised**: a floating-point sampler whose values carry
/// about 40 correct bits, not an exact one.
///
/// Up to [`ChiSquare::SQUARES`] degrees of freedom it is a sum of squared Gaussians;
/// above, twice a gamma variable by rejection (Marsaglia and Tsang 2000).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChiSquare {
    dof: u64,
    normal: GaussianNoise,
}

impl ChiSquare {
    /// Largest number of degrees of freedom drawn as a sum of squares.
    pub const SQUARES: u64 = 8;

    /// The law with `dof` degrees of freedom.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless `dof` is in `[1, 2^40]`.
    pub fn new(dof: u64) -> Result<Self> {
        if !(1..=1 << 40).contains(&dof) {
            return Err(Error::invalid("degrees of freedom", dof, "[1, 2^40]"));
        }
        Ok(Self { dof, normal: standard_normal() })
    }

    /// The degrees of freedom.
    #[must_use]
    pub fn dof(&self) -> u64 {
        self.dof
    }

    /// One draw.
    pub fn sample(&self, stream: &mut NoiseStream) -> f64 {
        if self.dof <= Self::SQUARES {
            let mut z = [0.0; Self::SQUARES as usize];
            let z = &mut z[..self.dof as usize];
            self.normal.fill_block(stream, z);
            return z.iter().map(|z| z * z).sum();
        }
        let shape = self.dof as f64 / 2.0;
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let mut z = [0.0];
            self.normal.fill_block(stream, &mut z);
            let v = (1.0 + c * z[0]).powi(3);
            if v <= 0.0 {
                continue;
            }
            let u = ((stream.next_u64() >> 11) as f64 + 0.5) * 2f64.powi(-53);
            if libm::log(u) < 0.5 * z[0] * z[0] + d - d * v + d * libm::log(v) {
                return 2.0 * d * v;
            }
        }
    }
}

/// A standard Gaussian rounded to multiples of `2^-40`.
pub(super) fn standard_normal() -> GaussianNoise {
    let unit = NoiseScale::new(1.0).expect("one is a scale");
    let grid = Grid::new(-40).expect("-40 is an exponent");
    GaussianNoise::new(unit, grid).expect("the grid is fine enough")
}
