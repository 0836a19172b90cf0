//! Whether numbers can be what their certificate says of them.

use super::loaded::Loaded;
use crate::error::{Error, Result};
use dp_core::noise::{Grid, NoiseLaw};

/// Probability that an honest release is refused for too little noise.
pub(super) const FALSE_ALARM: f64 = 1e-9;

/// Numbers with the noise they are said to carry.
struct Noisy<'a> {
    values: &'a [f64],
    /// Numbers in a row, where rows share a mean that tells nothing of the noise.
    columns: Option<usize>,
    /// Independent deviations.
    degrees: f64,
    law: &'a NoiseLaw,
}

/// Checks the numbers of a release against its noise law: on the grid, and not far quieter than the noise alone.
/// `false` for releases whose numbers are of another kind.
///
/// # Errors
/// [`Error::Refused`] when they cannot be what is stated.
pub(super) fn check(loaded: &Loaded) -> Result<bool> {
    let noisy = match loaded {
        Loaded::Sketch(release) => {
            let payload = release.payload();
            let (n, k) = (payload.n() as f64, payload.k());
            let (columns, degrees) =
                if n > 1.0 { (Some(k), (n - 1.0) * k as f64) } else { (None, n * k as f64) };
            Noisy { values: payload.values(), columns, degrees, law: payload.noise() }
        }
        Loaded::Covariance(release) => {
            let (payload, law) = (release.payload(), &release.certificate().statement().noise);
            let NoiseLaw::SymmetricGaussian { .. } = law else { return Ok(false) };
            let (raw, d) = (payload.raw(), payload.dim());
            let values: Vec<f64> = (0..d).flat_map(|i| (0..d).map(move |j| raw[(i, j)])).collect();
            // Off the diagonal a deviation of half the variance stands twice.
            let degrees = d as f64 * (d as f64 + 1.0) / 2.0;
            return Noisy { values: &values, columns: None, degrees, law }.check();
        }
        _ => return Ok(false),
    };
    noisy.check()
}

impl Noisy<'_> {
    fn check(&self) -> Result<bool> {
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
            _ => Ok(false),
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
        (self.values.len() as f64).sqrt() * (grid.spacing() / unit) + 1e-7 * all
    }
}

fn on_grid(values: &[f64], grid: Grid) -> Result<()> {
    if values.iter().all(|&v| grid.round(v) == v) {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "release rejected: a value of the payload is not on the stated grid of spacing 2^{}, where every \
         release of this noise lies",
        grid.exponent()
    )))
}

fn quiet(found: f64, needed: f64) -> Result<bool> {
    if found >= needed {
        return Ok(true);
    }
    Err(Error::Refused(format!(
        "release rejected: its values vary less than the stated noise alone would (a release with that \
         noise is refused with probability at most {FALSE_ALARM:e})"
    )))
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
