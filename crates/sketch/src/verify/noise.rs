//! Whether numbers can be what their certificate says of them.

use super::finding::Finding;
use crate::error::Result;
use dp_core::noise::{Grid, NoiseLaw};

/// Probability that an honest release is refused for too little noise.
pub const FALSE_ALARM: f64 = 1e-9;

/// Numbers with the noise they are said to carry.
#[derive(Debug, Clone, Copy)]
pub struct NoisyValues<'a> {
    values: &'a [f64],
    /// Numbers in a row, where rows share a mean that tells nothing of the noise.
    columns: Option<usize>,
    /// Independent deviations.
    degrees: f64,
    law: &'a NoiseLaw,
    /// A coarser grid that they were rounded to with their noise.
    rounding: Option<Grid>,
}

impl<'a> NoisyValues<'a> {
    /// Rows of `columns` numbers, each with noise of its own.
    #[must_use]
    pub fn rows(values: &'a [f64], columns: usize, law: &'a NoiseLaw) -> Self {
        let n = (values.len() / columns.max(1)) as f64;
        let (mean, free) = if n > 1.0 { (Some(columns), n - 1.0) } else { (None, n) };
        Self { values, columns: mean, degrees: free * columns as f64, law, rounding: None }
    }

    /// Numbers whose sum of squares is at least that of `degrees` of the noise's values, whatever the data.
    #[must_use]
    pub(super) fn about_zero(values: &'a [f64], degrees: f64, law: &'a NoiseLaw) -> Self {
        Self { values, columns: None, degrees, law, rounding: None }
    }

    /// All d^2 entries of a symmetric d x d matrix.
    #[must_use]
    pub fn symmetric(values: &'a [f64], d: usize, law: &'a NoiseLaw) -> Self {
        // Off the diagonal a deviation of half the variance stands twice.
        Self::about_zero(values, d as f64 * (d as f64 + 1.0) / 2.0, law)
    }

    /// The same, rounded to a coarser grid with their noise.
    pub(super) fn rounded_to(self, rounding: Option<Grid>) -> Self {
        Self { rounding, ..self }
    }

    /// Checks that the numbers lie on the grid of the noise, and are not far quieter than the noise alone
    /// (an honest release is refused with probability [`FALSE_ALARM`] at most).
    ///
    /// # Errors
    /// [`dp_core::Error::File`] when they cannot be what is stated.
    pub fn check(&self) -> Result<Finding> {
        if let Some(grid) = self.rounding {
            on_grid(self.values, grid)?;
        }
        match *self.law {
            NoiseLaw::RoundedGaussian { sigma, grid }
            | NoiseLaw::SymmetricGaussian { sigma, grid } => {
                on_grid(self.values, grid)?;
                // A sum of squares of Gaussians with any means is stochastically least with means zero.
                let found = self.length(sigma.get()) + self.slack(sigma.get(), grid);
                quiet(found, (least(self.degrees / 2.0) * self.degrees).sqrt())
            }
            NoiseLaw::RoundedLaplace { scale, grid } => {
                on_grid(self.values, grid)?;
                // So is a sum of absolute values of Laplace variables.
                let count = self.values.len() as f64;
                let sum: f64 = self.values.iter().map(|v| (v / scale.get()).abs()).sum();
                let found = sum + count.sqrt() * self.slack(scale.get(), grid);
                quiet(found, least(count) * count)
            }
            NoiseLaw::Staircase { .. } | NoiseLaw::DiscreteLaplace { .. } => {
                // Whole numbers are rounded to nothing.
                let rounded = match *self.law {
                    NoiseLaw::Staircase { grid, .. } => Some(grid),
                    _ => None,
                };
                on_grid(self.values, rounded.map_or_else(|| Grid::new(0), Ok)?)?;
                let (Some([variance, _]), Some(mean)) =
                    (self.law.moments(), self.law.mean_absolute())
                else {
                    return Ok(Finding::NotChecked("whether its values carry the stated noise"));
                };
                // The noise is symmetric and falls with |x|, so a sum of absolute values is stochastically least
                // without data, here too. In means: a sum of n positive values of mean one and second moment m is
                // below n - t with probability exp(-t^2/(2 n m)) at most.
                let (n, m) = (self.values.len() as f64, variance / (mean * mean));
                let least = n - (-2.0 * n * m * FALSE_ALARM.ln()).sqrt();
                let sum: f64 = self.values.iter().map(|v| (v / mean).abs()).sum();
                let slack = rounded.map_or(0.0, |grid| n.sqrt() * self.slack(mean, grid));
                quiet(sum + slack, least)
            }
            NoiseLaw::UnitCap { grid, .. } => {
                on_grid(self.values, grid)?;
                let found = self.length(1.0) + self.slack(1.0, grid);
                quiet(found, (least(self.degrees / 2.0) * self.degrees).sqrt())
            }
            _ => Ok(Finding::NotChecked("whether its values carry the stated noise")),
        }
    }

    /// Root of the sum of squares about the means of columns, in `unit`s: squares of very small or
    /// large numbers are none.
    fn length(&self, unit: f64) -> f64 {
        let Some(k) = self.columns else {
            return self.values.iter().map(|v| (v / unit).powi(2)).sum::<f64>().sqrt();
        };
        let rows = self.values.len() / k;
        let mut means = vec![0.0; k];
        for row in self.values.chunks_exact(k) {
            means.iter_mut().zip(row).for_each(|(m, v)| *m += v / unit / rows as f64);
        }
        let about =
            |row: &[f64]| row.iter().zip(&means).map(|(v, m)| (v / unit - m).powi(2)).sum::<f64>();
        self.values.chunks_exact(k).map(about).sum::<f64>().sqrt()
    }

    /// More than rounding to the grid, to 32 bits and in these sums moves the root of a sum of squares.
    fn slack(&self, unit: f64, grid: Grid) -> f64 {
        let all = self.values.iter().map(|v| (v / unit).powi(2)).sum::<f64>().sqrt();
        let coarse = self.rounding.map_or(0.0, |grid| 0.5 * grid.spacing());
        (self.values.len() as f64).sqrt() * ((grid.spacing() + coarse) / unit) + 1e-7 * all
    }
}

/// Checks that every number is a multiple of the grid's spacing.
///
/// # Errors
/// [`dp_core::Error::File`] when one is not.
pub fn on_grid(values: &[f64], grid: Grid) -> Result<()> {
    if values.iter().all(|&v| grid.round(v) == v) {
        return Ok(());
    }
    let reason = format!(
        "a value is not on the stated grid of spacing 2^{}, where every release of this noise lies",
        grid.exponent()
    );
    Err(dp_core::Error::file("payload", reason).into())
}

fn quiet(found: f64, needed: f64) -> Result<Finding> {
    if found >= needed {
        return Ok(Finding::Agrees);
    }
    let reason = format!(
        "its values vary less than the stated noise alone would (a release with that noise is refused \
         with probability at most {FALSE_ALARM:e})"
    );
    Err(dp_core::Error::file("payload", reason).into())
}

/// The t in (0, 1) with `P(Gamma(a) <= a t) <= FALSE_ALARM`, by Chernoff's bound `(t exp(1 - t))^a`.
fn least(a: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..200 {
        let t = (low + high) / 2.0;
        if a * (t.ln() + 1.0 - t) <= FALSE_ALARM.ln() { low = t } else { high = t }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against quantiles of chi-square at 1e-9 from 30-digit arithmetic: never above, and near for many degrees.
    #[test]
    fn the_threshold_is_below_the_quantile() {
        for (degrees, quantile, near) in [
            (1.0, 1.570_796e-18, 0.2),
            (20.0, 1.204_269, 0.8),
            (200.0, 102.286_6, 0.95),
            (20_000.0, 18_823.656, 0.995),
        ] {
            let found = least(degrees / 2.0) * degrees;
            assert!(found <= quantile && found >= near * quantile, "{degrees}: {found}");
        }
    }
}
