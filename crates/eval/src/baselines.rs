//! What private sketches are compared with.

use crate::data::Points;
use crate::error::Result;
use dp_core::authority;
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid};
use dp_core::{Budget, EntryBound, L2Sensitivity, NoiseRng, NoiseScale, Shift, calibrate};
use sketch::RowsView;

/// Noise on the raw coordinates (Raw-data-G-OPT of Li & Li 2023): `u + N(0, sigma^2 I)`.
///
/// # Privacy
/// `Attribute { beta }` on one row, exact Gaussian calibration with sensitivity `beta` and
/// the rounding of one coordinate to the release's grid.
#[derive(Debug, Clone)]
pub(crate) struct NoisyRawData {
    bound: EntryBound,
    noise: GaussianNoise,
}

impl NoisyRawData {
    /// Calibrates the noise; `bound` is the largest absolute value of a coordinate.
    ///
    /// # Errors
    /// Those of [`calibrate::gaussian`], or a bound that no grid carries.
    pub(crate) fn new(beta: Shift, bound: EntryBound, budget: Budget) -> Result<Self> {
        let exact = L2Sensitivity::new(beta.get())?;
        let grid = Grid::choose(calibrate::gaussian(budget, exact)?, bound)?;
        let sigma = calibrate::gaussian(budget, grid.inflate_l2(exact, 1, 0.0)?)?;
        Ok(Self { bound, noise: authority!().gaussian(sigma, grid)? })
    }

    /// Standard deviation of the noise.
    #[must_use]
    pub(crate) fn sigma(&self) -> NoiseScale {
        self.noise.sigma()
    }

    /// The noisy rows, n x d, row-major.
    ///
    /// # Errors
    /// [`sketch::Error::OutOfRange`] naming the place of a value outside the bound.
    pub(crate) fn release(&self, points: &Points, rng: &mut NoiseRng) -> Result<Vec<f64>> {
        RowsView::f64(points.n(), points.d(), points.values())?.check_bound(self.bound)?;
        let mut values = points.values().to_vec();
        self.noise.add_to(rng, &mut values)?;
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(budget: Budget) -> Result<NoisyRawData> {
        let one = EntryBound::new(1.0).unwrap();
        NoisyRawData::new(Shift::new(1.0).unwrap(), one, budget)
    }

    #[test]
    fn sigma_is_the_exact_one() {
        let sigma = baseline(Budget::new(1.0, 1e-6).unwrap()).unwrap().sigma().get();
        // 60-digit bisection of the exact profile.
        let exact = 4.224_678_889_33;
        assert!((exact..exact * (1.0 + 1e-8)).contains(&sigma), "{sigma}");
        assert!(baseline(Budget::new(1.0, 0.0).unwrap()).is_err(), "Gaussian noise is never pure");
    }

    #[test]
    fn noise_has_the_stated_scale_and_bad_values_are_refused() {
        let baseline = baseline(Budget::new(1.0, 1e-6).unwrap()).unwrap();
        let n = 100_000;
        let points = Points::new("zeros", 10, vec![0.0; n], None).unwrap();
        let mut rng = NoiseRng::deterministic_not_private(5);
        let noisy = baseline.release(&points, &mut rng).unwrap();
        let variance = noisy.iter().map(|x| x * x).sum::<f64>() / n as f64;
        // Standard deviation of the ratio sqrt(2/n) = 0.0045: 5 of them is a false alarm in 2e6.
        let ratio = variance / baseline.sigma().get().powi(2);
        assert!((ratio - 1.0).abs() < 0.0225, "{ratio}");
        let outside = Points::new("bad", 2, vec![0.0, 0.0, 0.0, 1.5], None).unwrap();
        let error = baseline.release(&outside, &mut rng).unwrap_err().to_string();
        assert!(error.contains("row 1, column 1") && !error.contains("1.5"), "{error}");
    }
}
