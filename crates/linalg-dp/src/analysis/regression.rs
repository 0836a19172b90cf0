//! Generalised linear regression from the second moments of `[A | B]`.

use super::square::check_square;
use crate::error::{Error, Result};
use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};

/// The ridge `lambda` added to the diagonal of `A^T A`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Ridge {
    /// This much.
    Fixed {
        /// lambda, in `[0, inf)`.
        lambda: f64,
    },
    /// `2 sd sqrt(d)` for noise of standard deviation `sd` in every direction: above the spectral norm of
    /// symmetric Gaussian noise, about `sqrt(2 d) sd`, so that the system is definite as a rule.
    NoiseLevel {
        /// Standard deviation of `x^T N x` for a unit vector `x`.
        sd: f64,
    },
}

impl Ridge {
    fn lambda(self, d: usize) -> Result<f64> {
        let (name, value, lambda) = match self {
            Self::Fixed { lambda } => ("lambda", lambda, lambda),
            Self::NoiseLevel { sd } => ("noise sd", sd, 2.0 * sd * (d as f64).sqrt()),
        };
        if value.is_finite() && value >= 0.0 {
            Ok(lambda)
        } else {
            Err(Error::invalid(name, value, "[0, inf)"))
        }
    }
}

/// `X* = argmin |A X - B|_F^2 + lambda |X|_F^2 = (A^T A + lambda I)^-1 A^T B` from the released
/// second moments `c` of the rows `[a | b]`: the first `features` variables are `a`.
/// The result is features x (d - features).
///
/// # Errors
/// [`Error::Core`] unless `1 <= features < d`; [`Error::Numerical`] when the system is
/// not positive definite (choose a larger ridge).
pub fn regression(c: MatRef<'_, f64>, features: usize, ridge: Ridge) -> Result<Mat<f64>> {
    let d = check_square(c)?;
    if features == 0 || features >= d {
        return Err(Error::invalid("features", features, format!("[1, {})", d)));
    }
    let lambda = ridge.lambda(features)?;
    let gram = Mat::from_fn(features, features, |i, j| {
        0.5 * (c[(i, j)] + c[(j, i)]) + if i == j { lambda } else { 0.0 }
    });
    let cross = Mat::from_fn(features, d - features, |i, j| c[(i, features + j)]);
    crate::dense::solve_definite(gram.as_ref(), cross.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovers_an_exact_linear_law() {
        let rows: Vec<[f64; 4]> = (0..40)
            .map(|t| {
                let (a, b) = ((t as f64).sin(), (1.7 * t as f64).cos());
                [a, b, 2.0 * a - b, 0.5 * a + 3.0 * b]
            })
            .collect();
        let c = Mat::from_fn(4, 4, |i, j| rows.iter().map(|r| r[i] * r[j]).sum::<f64>());
        let x = regression(c.as_ref(), 2, Ridge::Fixed { lambda: 0.0 }).expect("definite");
        for ((i, j), exact) in [((0, 0), 2.0), ((1, 0), -1.0), ((0, 1), 0.5), ((1, 1), 3.0)] {
            assert!((x[(i, j)] - exact).abs() < 1e-10);
        }
    }

    #[test]
    fn an_indefinite_system_is_refused_until_the_ridge_is_large() {
        let c = faer::mat![[1.0, 2.0, 1.0], [2.0, 1.0, 1.0], [1.0, 1.0, 1.0]];
        let refused = regression(c.as_ref(), 2, Ridge::Fixed { lambda: 0.5 });
        assert!(matches!(refused, Err(Error::Numerical { .. })));
        let x = regression(c.as_ref(), 2, Ridge::Fixed { lambda: 1.5 }).expect("definite");
        assert!((x[(0, 0)] - 1.0 / 4.5).abs() < 1e-12);
        let bad = regression(c.as_ref(), 2, Ridge::NoiseLevel { sd: -1.0 });
        assert!(matches!(bad, Err(Error::Core(_))));
    }
}
