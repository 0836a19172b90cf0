//! Whether numbers can be what their certificate says of them.

use super::finding::Finding;
use crate::error::Result;
use dp_core::noise::{Grid, NoiseLaw};
use rayon::prelude::*;

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
        self.check_at(FALSE_ALARM)
    }

    /// The same with another probability that an honest release is refused.
    pub(super) fn check_at(&self, alarm: f64) -> Result<Finding> {
        match *self.law {
            NoiseLaw::RoundedGaussian { sigma, grid }
            | NoiseLaw::SymmetricGaussian { sigma, grid } => {
                self.on_grid(grid)?;
                // A sum of squares of Gaussians with any means is stochastically least with means zero.
                let found = self.length(sigma.get()) + self.slack(sigma.get(), grid);
                quiet(found, (least(self.degrees / 2.0, alarm) * self.degrees).sqrt())
            }
            NoiseLaw::RoundedLaplace { scale, grid } => {
                self.on_grid(grid)?;
                // So is a sum of absolute values of Laplace variables.
                let count = self.values.len() as f64;
                let sum = sum(self.values, |v| (v / scale.get()).abs());
                let found = sum + count.sqrt() * self.slack(scale.get(), grid);
                quiet(found, least(count, alarm) * count)
            }
            NoiseLaw::Staircase { .. } | NoiseLaw::DiscreteLaplace { .. } => {
                // Whole numbers are rounded to nothing.
                let rounded = match *self.law {
                    NoiseLaw::Staircase { grid, .. } => Some(grid),
                    _ => None,
                };
                self.on_grid(rounded.map_or_else(|| Grid::new(0), Ok)?)?;
                let (Some([variance, _]), Some(mean)) =
                    (self.law.moments(), self.law.mean_absolute())
                else {
                    return Ok(Finding::NotChecked("whether its values carry the stated noise"));
                };
                // The noise is symmetric and falls with |x|, so a sum of absolute values is stochastically least
                // without data, here too. In means: a sum of n positive values of mean one and second moment m is
                // below n - t with probability exp(-t^2/(2 n m)) at most.
                let (n, m) = (self.values.len() as f64, variance / (mean * mean));
                let least = n - (-2.0 * n * m * alarm.ln()).sqrt();
                let sum = sum(self.values, |v| (v / mean).abs());
                let slack = rounded.map_or(0.0, |grid| n.sqrt() * self.slack(mean, grid));
                quiet(sum + slack, least)
            }
            NoiseLaw::UnitCap { grid, .. } => {
                self.on_grid(grid)?;
                let found = self.length(1.0) + self.slack(1.0, grid);
                quiet(found, (least(self.degrees / 2.0, alarm) * self.degrees).sqrt())
            }
            _ => {
                if let Some(grid) = self.rounding {
                    on_grid(self.values, grid)?;
                }
                Ok(Finding::NotChecked("whether its values carry the stated noise"))
            }
        }
    }

    /// On both grids: on the coarser one, whose points are some of the other's.
    fn on_grid(&self, grid: Grid) -> Result<()> {
        let coarse = self.rounding.filter(|coarse| coarse.exponent() > grid.exponent());
        on_grid(self.values, coarse.unwrap_or(grid))
    }

    /// Root of the sum of squares about the means of columns, in `unit`s: squares of very small or
    /// large numbers are none.
    fn length(&self, unit: f64) -> f64 {
        let Some(k) = self.columns else {
            return sum(self.values, |v| (v / unit).powi(2)).sqrt();
        };
        let rows = (self.values.len() / k) as f64;
        let add = |mut sums: Vec<f64>, row: &[f64]| {
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
            sums
        };
        let parts = self.values.par_chunks(whole_rows(k));
        let means = parts
            .map(|part| {
                // In units, and of few rows, before they are added: sums of what is finite then are.
                wide(|| {
                    part.chunks_exact(k).fold(vec![0.0; k], |mut means, row| {
                        means.iter_mut().zip(row).for_each(|(m, v)| *m += v / unit / rows);
                        means
                    })
                })
            })
            .reduce(|| vec![0.0; k], |all, part| add(all, &part));
        let about = |part: &[f64]| {
            let mut lanes = [0.0; 8];
            for row in part.chunks_exact(k) {
                let (eights, rest) = row.as_chunks::<8>();
                let (centres, last) = means.as_chunks::<8>();
                for (eight, centre) in eights.iter().zip(centres) {
                    for ((lane, v), m) in lanes.iter_mut().zip(eight).zip(centre) {
                        *lane += (v / unit - m).powi(2);
                    }
                }
                lanes[0] += rest.iter().zip(last).map(|(v, m)| (v / unit - m).powi(2)).sum::<f64>();
            }
            lanes.iter().sum::<f64>()
        };
        let parts = self.values.par_chunks(whole_rows(k));
        parts.map(|part| wide(|| about(part))).sum::<f64>().sqrt()
    }

    /// More than rounding to the grid, to 32 bits and in these sums moves the root of a sum of squares.
    fn slack(&self, unit: f64, grid: Grid) -> f64 {
        let all = sum(self.values, |v| (v / unit).powi(2)).sqrt();
        let coarse = self.rounding.map_or(0.0, |grid| 0.5 * grid.spacing());
        (self.values.len() as f64).sqrt() * ((grid.spacing() + coarse) / unit) + 1e-7 * all
    }
}

/// Checks that every number is a multiple of the grid's spacing.
///
/// # Errors
/// [`dp_core::Error::File`] when one is not.
pub fn on_grid(values: &[f64], grid: Grid) -> Result<()> {
    let beside = |part: &[f64]| part.iter().fold(false, |found, &v| found | (grid.round(v) != v));
    if !values.par_chunks(PART).any(|part| wide(|| beside(part))) {
        return Ok(());
    }
    let reason = format!(
        "a value is not on the stated grid of spacing 2^{}, where every release of this noise lies",
        grid.exponent()
    );
    Err(dp_core::Error::file("payload", reason).into())
}

/// Numbers that one task looks at.
const PART: usize = 1 << 14;

/// As many, in whole rows of k.
fn whole_rows(k: usize) -> usize {
    (PART / k).max(1) * k
}

/// With the widest instructions at hand.
fn wide<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// The sum of what becomes of the numbers. Its order is not fixed: what it moves is far below the slack of every check.
fn sum(values: &[f64], of: impl Fn(f64) -> f64 + Sync) -> f64 {
    let part = |part: &[f64]| {
        let (eights, rest) = part.as_chunks::<8>();
        let mut lanes = [0.0; 8];
        for eight in eights {
            lanes.iter_mut().zip(eight).for_each(|(lane, &v)| *lane += of(v));
        }
        lanes.iter().sum::<f64>() + rest.iter().map(|&v| of(v)).sum::<f64>()
    };
    values.par_chunks(PART).map(|values| wide(|| part(values))).sum()
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

/// The t in (0, 1) with `P(Gamma(a) <= a t) <= alarm`, by Chernoff's bound `(t exp(1 - t))^a`.
fn least(a: f64, alarm: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..200 {
        let t = (low + high) / 2.0;
        if a * (t.ln() + 1.0 - t) <= alarm.ln() { low = t } else { high = t }
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
            let found = least(degrees / 2.0, FALSE_ALARM) * degrees;
            assert!(found <= quantile && found >= near * quantile, "{degrees}: {found}");
        }
    }
}
