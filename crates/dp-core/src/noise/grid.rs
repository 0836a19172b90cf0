//! The public dyadic grid that releases live on.

use crate::error::{Error, Result};
use crate::quantity::{Bound, L1Sensitivity, L2Sensitivity, NoiseScale};
use serde::{Deserialize, Serialize};

/// The multiples of `2^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i32", into = "i32")]
pub struct Grid {
    exponent: i32,
}

impl Grid {
    /// The grid of spacing `2^exponent`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless the exponent is in `[-960, 960]`.
    pub fn new(exponent: i32) -> Result<Self> {
        if (-960..=960).contains(&exponent) {
            Ok(Self { exponent })
        } else {
            Err(Error::invalid("grid exponent", exponent, "[-960, 960]"))
        }
    }

    /// The grid for noise of this scale on values of absolute value at most
    /// `bound`: spacing about `2^-30` of the noise scale, coarser only when sums
    /// would otherwise leave the exactly representable range.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when no grid keeps the sums exact.
    pub fn choose(scale: NoiseScale, bound: Bound) -> Result<Self> {
        let fine = scale.get().log2().floor() as i32 - 30;
        // The noise stays below 2^10 scales; value plus noise must stay below 2^52 steps.
        let reach = bound.get() + 1024.0 * scale.get();
        let coarse = reach.log2().ceil() as i32 - 52;
        if coarse > fine + 20 {
            return Err(Error::invalid(
                "bound",
                bound,
                format!("at most about 2^32 noise scales ({:e})", 4.29e9 * scale.get()),
            ));
        }
        Self::new(fine.max(coarse))
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

    /// Nearest grid point, ties to even.
    #[must_use]
    pub fn round(self, value: f64) -> f64 {
        let g = self.spacing();
        (value / g).round_ties_even() * g
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
        L2Sensitivity::new(exact.get() + (coordinates as f64).sqrt() * slack)
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
        L1Sensitivity::new(exact.get() + coordinates as f64 * slack)
    }

    fn slack(self, error: f64) -> Result<f64> {
        if error.is_finite() && error >= 0.0 {
            // Two ulps up: the additions above round to nearest.
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
