//! The public dyadic grid that releases live on.

use super::wide::{Work, widest};
use crate::error::{Error, Result};
pub(crate) use crate::numeric::float::floor_log2;
use crate::quantity::{EntryBound, L1Sensitivity, L2Sensitivity, Scale};
use serde::{Deserialize, Serialize};

/// The multiples of `2^exponent`.
///
/// Releases on a grid have no low bits to leak: inputs are rounded to it before the
/// noise, the noise is a multiple of its spacing, and the sum is exact. Proofs:
/// `docs/proofs/grid.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i32", into = "i32")]
pub struct Grid {
    exponent: i32,
}

/// Whether all values are finite and at most so large.
struct Within<'a, T> {
    values: &'a [T],
    most: f64,
}

impl<T: Copy + Into<f64>> Work for Within<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        // NaN compares false. Without a branch, so that it is done many at a time.
        self.values.iter().fold(true, |fine, &v| fine & (v.into().abs() <= self.most))
    }
}

impl Grid {
    /// With these, `2^52` steps neither overflow nor lose bits.
    const EXPONENTS: (i32, i32) = (-960, 960);
    /// The whole numbers.
    pub(crate) const WHOLE: Self = Self { exponent: 0 };

    /// The grid of spacing `2^exponent`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless the exponent is in `[-960, 960]`.
    pub fn new(exponent: i32) -> Result<Self> {
        if (Self::EXPONENTS.0..=Self::EXPONENTS.1).contains(&exponent) {
            Ok(Self { exponent })
        } else {
            Err(Error::invalid("grid exponent", exponent, "[-960, 960]"))
        }
    }

    /// The grid for noise of this scale on values of absolute value at most
    /// `bound`: spacing about `2^-30` of the noise scale, coarser (up to `2^-10`) only
    /// when `bound` plus 1024 noise scales would pass the `2^51` steps up to which
    /// inputs are not clamped and sums are exact.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when no grid keeps the sums exact: a bound over about
    /// `2^41` noise scales, or a noise scale outside about `[2^-950, 2^970]`.
    pub fn choose(scale: impl Scale, bound: EntryBound) -> Result<Self> {
        let scale: f64 = scale.into();
        let fine = floor_log2(scale) - 30;
        let finest = fine.max(Self::EXPONENTS.0);
        // One ulp up makes up for the roundings of the sum.
        let reach = (bound.get() + 1024.0 * scale).next_up();
        if !reach.is_finite() || finest > Self::EXPONENTS.1 {
            return Err(Error::invalid("bound plus 1024 noise scales", reach, "[0, 2^990]"));
        }
        let coarse = floor_log2(reach) + 1 - 51;
        let exponent = finest.max(coarse);
        if exponent > fine + 20 {
            return Err(Error::invalid(
                "bound",
                bound,
                format!("at most about 2^40 noise scales ({:e})", 1.1e12 * scale),
            ));
        }
        Self::new(exponent)
    }

    /// Refuses values that noise on this grid cannot be added to exactly: NaN, infinity, and what
    /// lies beyond `2^51` steps of the grid.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`], which does not say which value.
    pub(crate) fn check_values<T: Copy + Into<f64>>(self, values: &[T]) -> Result<()> {
        let most = 2f64.powi(51) * self.spacing();
        if widest(Within { values, most }) {
            Ok(())
        } else {
            let allowed = format!("finite numbers up to {most:e}, 2^51 steps of the noise's grid");
            Err(Error::invalid("values that noise is added to", "one of them", allowed))
        }
    }

    /// Refuses a grid that is coarser than noise of this scale allows: a spacing above `2^-9` of it.
    ///
    /// On a coarse grid two values that hardly differ may round to points whole noise scales apart;
    /// on a fine one the rounding can be paid for ([`Grid::inflate_l2`]).
    ///
    /// # Errors
    /// [`Error::InvalidParameter`].
    pub(crate) fn check_scale(self, scale: impl Scale) -> Result<()> {
        if self.spacing() <= scale.into() * 2f64.powi(-9) {
            Ok(())
        } else {
            let allowed = format!("spacings up to 2^-9 of the noise scale {scale}");
            Err(Error::invalid("grid exponent", self.exponent, allowed))
        }
    }

    /// The exponent of the spacing.
    #[must_use]
    pub const fn exponent(self) -> i32 {
        self.exponent
    }

    /// The spacing `2^exponent`.
    #[must_use]
    pub fn spacing(self) -> f64 {
        2f64.powi(self.exponent)
    }

    /// Nearest grid point, ties to even; zero is always +0, whose sign tells nothing.
    ///
    /// Exact for every finite value: beyond `2^52` steps every `f64` is a grid point.
    #[must_use]
    pub fn round(self, value: f64) -> f64 {
        let g = self.spacing();
        if value.abs() < 4_503_599_627_370_496.0 * g {
            // Dividing and multiplying by a power of two are exact, or underflow to a
            // quotient that rounds to zero as the true one does.
            (value / g).round_ties_even() * g + 0.0
        } else {
            value
        }
    }

    /// The l2 sensitivity after both outputs were computed with an error of at most
    /// `error` and rounded to the grid, in the `coordinates` that can differ:
    /// `D + sqrt(coordinates) (g + 2 error)`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when `error` is negative or not finite.
    pub fn inflate_l2(
        self,
        exact: L2Sensitivity,
        coordinates: usize,
        error: f64,
    ) -> Result<L2Sensitivity> {
        let slack = self.slack(error)?;
        L2Sensitivity::new((exact.get() + (coordinates as f64).sqrt() * slack).next_up())
    }

    /// As [`Grid::inflate_l2`] in l1: `D + coordinates (g + 2 error)`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when `error` is negative or not finite.
    pub fn inflate_l1(
        self,
        exact: L1Sensitivity,
        coordinates: usize,
        error: f64,
    ) -> Result<L1Sensitivity> {
        let slack = self.slack(error)?;
        L1Sensitivity::new((exact.get() + coordinates as f64 * slack).next_up())
    }

    fn slack(self, error: f64) -> Result<f64> {
        if error.is_finite() && error >= 0.0 {
            // Covers the roundings of this sum, the square root and the product, 2^-53 each;
            // next_up above covers the last addition.
            Ok((self.spacing() + 2.0 * error) * (1.0 + 8.0 * f64::EPSILON))
        } else {
            Err(Error::invalid("computation error", error, "[0, inf)"))
        }
    }
}

impl TryFrom<i32> for Grid {
    type Error = Error;
    fn try_from(exponent: i32) -> Result<Self> {
        Self::new(exponent)
    }
}

impl From<Grid> for i32 {
    fn from(grid: Grid) -> i32 {
        grid.exponent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rounded_lies_on_the_grid() {
        for exponent in [-30, 0, 30, 200] {
            let grid = Grid::new(exponent).unwrap();
            let g = grid.spacing();
            for steps in [0.0, 0.3, 0.5, 1.5, 2.5, 1e6 + 0.25, 2f64.powi(51) + 0.5, 2f64.powi(60)] {
                let found = grid.round(steps * g) / g;
                assert_eq!(found, steps.round_ties_even(), "{exponent}: {steps}");
                assert_eq!(grid.round(-steps * g), 0.0 - found * g);
            }
        }
        // A number far beyond the spacing, and not yet on the grid.
        let coarse = Grid::new(30).unwrap();
        assert_eq!(coarse.round(2f64.powi(60) + 2f64.powi(8)), 2f64.powi(60));
    }
}
