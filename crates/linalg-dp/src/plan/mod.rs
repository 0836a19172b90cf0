//! Choosing a mechanism from public facts: what each would err by.
//!
//! Nothing here looks at data: a plan costs no privacy. What a plan takes for a fact (rows, a typical norm, how much
//! stands out) must come from public knowledge, not from the private rows.
//!
//! ```
//! use dp_core::{Adjacency, Budget, NormBound};
//! use linalg_dp::plan::{CovarianceTask, plan_covariance};
//!
//! let adjacency = Adjacency::ReplaceRow { bound: NormBound::new(1.0)? };
//! let task = CovarianceTask { dim: 50, adjacency, budget: Budget::new(1.0, 1e-6)? };
//! let plans = plan_covariance(&task)?;
//! assert!(plans[0].low < plans[0].error && plans[0].error < plans[0].high);
//! # Ok::<(), linalg_dp::Error>(())
//! ```

mod covariance;
mod low_rank;
mod regress;
mod window;

pub use covariance::{CovarianceMethod, CovarianceTask, plan_covariance, plan_direction};
pub use low_rank::{LowRankMethod, LowRankTask, plan_low_rank};
pub use regress::{RegressionMethod, RegressionTask, plan_regression};
pub use window::plan_window;

/// A way of making a release, and what it is predicted to err by.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Planned<M> {
    /// The way.
    pub method: M,
    /// Root mean square of the error.
    pub error: f64,
    /// Nine in ten releases are predicted to err by more than this, and less than [`Planned::high`].
    pub low: f64,
    /// See [`Planned::low`]: 5 per cent are predicted beyond either.
    pub high: f64,
}

impl<M> Planned<M> {
    /// An error that is the norm of this many independent normal numbers.
    fn of_normals(method: M, error: f64, numbers: f64) -> Self {
        let (low, high) = chi_range(numbers);
        Self { method, error, low: low * error, high: high * error }
    }
}

/// Best first.
fn ordered<M>(mut plans: Vec<Planned<M>>) -> Vec<Planned<M>> {
    plans.sort_by(|a, b| a.error.total_cmp(&b.error));
    plans
}

/// The 5 and 95 per cent points of `sqrt(chi^2_k / k)`, by Wilson and Hilferty's cube: the upper one within 1.5 per cent
/// from k = 1 on, the lower one within 4 per cent from 3 on.
fn chi_range(k: f64) -> (f64, f64) {
    let step = (2.0 / (9.0 * k)).sqrt();
    let at = |z: f64| (1.0 - step * step + z * step).max(0.0).powf(1.5);
    (at(-1.644_853_626_951_472_2), at(1.644_853_626_951_472_2))
}

#[cfg(test)]
mod tests {
    use super::chi_range;

    /// Tables of the chi-square law: 5 and 95 per cent points.
    #[test]
    fn points_of_chi() {
        for (k, low, high) in [
            (1.0, 0.003_932, 3.841_459),
            (3.0, 0.351_846, 7.814_728),
            (10.0, 3.940_299, 18.307_038),
            (100.0, 77.929_465, 124.342_113),
        ] {
            let (a, b) = chi_range(k);
            let root = |x: f64| f64::sqrt(x / k);
            assert!((b / root(high) - 1.0).abs() < 0.015, "{k}: {b}");
            assert!(k < 3.0 || (a / root(low) - 1.0).abs() < 0.04, "{k}: {a}");
        }
        assert!(chi_range(1.0).0 < 0.1);
    }
}
