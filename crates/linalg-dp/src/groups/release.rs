//! What is published, and what may be read from it.

use crate::analysis::denoised;
use crate::covariance::{CovarianceNoise, PrivateCovariance};
use crate::dense;
use crate::error::{Error, Result};
use dp_core::NoiseScale;
use faer::Mat;
use sketch::projection::{Groups, PublicMoments};
use sketch::vectors::PrivateSketch;

/// What [`super::PrivateGroups`] publishes: noisy second moments of all rows, groups of columns that follow from them, and
/// every row's noisy sums of these.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupSums {
    sums: PrivateSketch,
    moments: NoisyMoments,
}

/// Second moments of rows that are followed by a constant, with symmetric Gaussian noise: the lower triangle, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NoisyMoments {
    pub(super) constant: f64,
    pub(super) sigma: NoiseScale,
    pub(super) triangle: Vec<f64>,
}

/// Numbers of a triangle for d columns and the constant.
pub(super) fn triangle_of(d: usize) -> Option<usize> {
    let columns = d.checked_add(1)?;
    Some(columns.checked_mul(columns.checked_add(1)?)? / 2)
}

impl NoisyMoments {
    pub(super) fn columns(&self) -> usize {
        (0..).find(|c| c * (c + 1) / 2 >= self.triangle.len()).unwrap_or(0)
    }

    /// Of all entries of the matrix.
    pub(super) fn full(&self) -> Vec<f64> {
        let columns = self.columns();
        let at = |i: usize, j: usize| {
            let (high, low) = (i.max(j), i.min(j));
            self.triangle[high * (high + 1) / 2 + low]
        };
        (0..columns * columns).map(|e| at(e / columns, e % columns)).collect()
    }

    /// Mean and covariance of n rows: centred, the noise taken out of the eigenvalues by this rule. Post-processing.
    fn of_rows(&self, n: usize, rule: Rule) -> Result<PublicMoments> {
        let d = self.columns() - 1;
        let (n, full) = (n as f64, self.full());
        let last = &full[d * (d + 1)..];
        let mean: Vec<f64> = last[..d].iter().map(|sum| sum / self.constant / n).collect();
        let centred =
            (0..d * d).map(|e| full[e / d * (d + 1) + e % d] - n * mean[e / d] * mean[e % d]);
        let noise = CovarianceNoise::SymmetricGaussian { sigma: self.sigma };
        let scatter = PrivateCovariance::new(d, centred.collect(), None, noise);
        let clear = denoised(&scatter)?;
        let (edge, sigma) = ((2.0 * d as f64).sqrt() * self.sigma.get(), self.sigma.get());
        let out = |l: f64| if l > edge { l - d as f64 * sigma * (sigma / l) } else { 0.0 };
        let both = clear.released_values().iter().zip(clear.values());
        let value = |(l, v): (&f64, &f64)| match rule {
            Rule::Groups => 0.5 * (out(*l) + v) / n,
            Rule::Rows => v / n,
        };
        let values: Vec<f64> = both.map(value).collect();
        let v = clear.vectors();
        let scaled = Mat::from_fn(d, d, |i, j| v[(i, j)] * values[j]);
        let product = dense::product(scaled.as_ref(), v.transpose());
        let even = |i: usize, j: usize| 0.5 * (product[(i, j)] + product[(j, i)]);
        let mut covariance: Vec<f64> = (0..d * d).map(|e| even(e / d, e % d)).collect();
        if (0..d).all(|i| covariance[i * d + i] <= 0.0) {
            // Nothing stands out of the noise: no column is known to move with another.
            (0..d).for_each(|i| covariance[i * d + i] = self.sigma.get() / n);
        }
        Ok(PublicMoments::new(mean, &covariance)?)
    }
}

/// How the noise is taken out of the eigenvalues of noisy moments.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// For groups: what stands out of the noise alone groups better where there is much noise, all that may be there where there
    /// is little. Half of both.
    Groups,
    /// For a guess of rows by their sums: the rotation-invariant estimate, which is nearest to the covariance.
    Rows,
}

/// The groups that follow from the moments, for sums with noise of this variance.
pub(super) fn groups_of(moments: &NoisyMoments, n: usize, variance: f64) -> Result<Groups> {
    Ok(Groups::of(&moments.of_rows(n, Rule::Groups)?, variance)?)
}

impl GroupSums {
    pub(super) fn new(sums: PrivateSketch, moments: NoisyMoments) -> Self {
        Self { sums, moments }
    }

    /// Every row's noisy sums: a sketch as others, whose projection is [`sketch::projection::Family::Grouped`].
    #[must_use]
    pub fn sums(&self) -> &PrivateSketch {
        &self.sums
    }

    /// Mean and covariance of the rows, read from the noisy moments: what [`sketch::vectors::Posterior`] guesses rows by.
    ///
    /// # Errors
    /// [`Error::Numerical`] when an eigendecomposition fails.
    pub fn moments(&self) -> Result<PublicMoments> {
        self.moments.of_rows(self.sums.n(), Rule::Rows)
    }

    pub(super) fn noisy(&self) -> &NoisyMoments {
        &self.moments
    }

    /// The noisy moments as they were released: all entries of the matrix of rows with the constant behind each, (d + 1) x (d + 1).
    #[must_use]
    pub fn noisy_moments(&self) -> Vec<f64> {
        self.moments.full()
    }

    /// Refuses groups that do not follow from the moments, for sums with noise of this variance.
    pub(crate) fn check_groups(&self, variance: f64) -> Result<()> {
        let groups = groups_of(&self.moments, self.sums.n(), variance)?;
        if self.sums.projection() == groups.spec() {
            return Ok(());
        }
        Err(Error::rejected("groups", "do not follow from the noisy moments beside them"))
    }
}
