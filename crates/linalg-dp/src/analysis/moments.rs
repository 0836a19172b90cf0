//! Means, deviations, correlations and centred second moments, from one release of sums and second moments.

use super::denoise::{DenoisedCovariance, denoised};
use super::normal::{checked, upper_quantile};
use super::pca::{PrivatePca, of_denoised};
use crate::covariance::{
    CHOSEN, CONSTANT, Centre, CovarianceNoise, PrivateCovariance, ROWS, answerable, unit_change,
};
use crate::error::{Error, Result};
use dp_core::{Probability, PublicValue, Release};
use faer::Mat;

/// Below so many standard deviations of its noise the number of rows, or a column's variance, is not divided by: an
/// interval is then the whole range.
const CLEAR: (f64, f64) = (10.0, 4.0);

type Range = (f64, f64);

/// What a release of moments ([`crate::covariance::GaussianCovariance::calibrate_moments`]) says of the
/// columns: post-processing, no budget.
///
/// Where the adjacency leaves the number n of rows public it is exact; else it is read from the release. Intervals are
/// for the rows that entered (not for a population they are drawn from), one at a time, and lie in the range of their
/// quantity: means in `[-B, B]`, deviations in `[0, B]`, correlations in `[-1, 1]`.
/// Those of means hold exactly their probability (Fieller 1954: a ratio of normal numbers); those of
/// deviations and correlations are first-order, tested and not proven. The page on covariances has the formulas.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound, Probability};
/// use linalg_dp::analysis::Moments;
/// use linalg_dp::covariance::GaussianCovariance;
///
/// let rows = [0.3, 0.1, 0.5, 0.3, 0.7, 0.5].repeat(20_000);
/// let adjacency = Adjacency::ReplaceRow { bound: NormBound::new(1.0)? };
/// let mechanism = GaussianCovariance::calibrate_moments(2, adjacency, Budget::new(1.0, 1e-6)?)?;
/// let release = mechanism.release(&rows, &mut NoiseRng::from_os()?)?;
/// let moments = Moments::of(&release)?;
/// assert_eq!(moments.rows(), 60_000.0);
/// assert!((moments.means()[0] - 0.5).abs() < 0.01);
/// assert!((moments.correlations()[(0, 1)] - 1.0).abs() < 0.1);
/// let (low, high) = moments.mean_ranges(Probability::new(0.05)?)?[0];
/// assert!(low < 0.51 && high > 0.49);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
///
/// # References
/// Fieller 1954 ("Some problems in interval estimation"). Joint release of first and second moments: Kalinin,
/// Upadhyay, Lampert 2025 (arXiv 2502.06597), whose sensitivity the constant column has. Proof: `docs/proofs/covariance.md`.
#[derive(Debug, Clone)]
pub struct Moments {
    seconds: PrivateCovariance,
    sums: Vec<f64>,
    /// `c^2 n`, with noise of scale sigma or exact.
    count: f64,
    exact: bool,
    constant: f64,
    sigma: f64,
    bound: f64,
}

impl Moments {
    /// Reads a release of moments.
    ///
    /// # Errors
    /// [`Error::Unusable`] when the release has no sums, or when the noise hides how many rows there are; [`Error::Core`] for
    /// rows so long or short that quantities of their eighth power are no numbers.
    pub fn of(release: &Release<PrivateCovariance>) -> Result<Self> {
        let (covariance, certificate) = (release.payload(), release.certificate());
        let unusable = |reason| Err(Error::Unusable { what: "release", reason });
        let CovarianceNoise::SymmetricGaussian { sigma } = covariance.noise() else {
            return unusable("its noise is not that of moments");
        };
        let (Some(sums), Some(PublicValue::Real(constant))) =
            (covariance.sums(), certificate.statement().public.get(CONSTANT))
        else {
            return unusable("it holds second moments only: release moments to know means");
        };
        let (sigma, square) = (sigma.get(), constant * constant);
        let (released, sums) = sums.values().split_last().unwrap_or((&0.0, &[]));
        let (count, exact) = match certificate.statement().public.get(ROWS) {
            Some(PublicValue::Integer(rows)) => (*rows as f64 * square, true),
            _ => (*released, false),
        };
        let least = if exact { f64::MIN_POSITIVE } else { CLEAR.0 * sigma };
        if count.is_nan() || count < least {
            return unusable(
                "its noise hides how many rows there are: more rows or epsilon are needed",
            );
        }
        let (bound, ..) = unit_change(certificate.guarantee().adjacency(), "moments")?;
        let bound = match certificate.statement().public.get(CHOSEN) {
            Some(PublicValue::Real(chosen)) => chosen.min(bound.get()),
            _ => bound.get(),
        };
        answerable("bound", bound)?;
        Ok(Self {
            seconds: covariance.clone(),
            sums: sums.to_vec(),
            count,
            exact,
            constant: *constant,
            sigma,
            bound,
        })
    }

    /// The number of rows: exact, or an estimate.
    #[must_use]
    pub fn rows(&self) -> f64 {
        self.count / (self.constant * self.constant)
    }

    /// An interval for it; one number where it is exact.
    ///
    /// # Errors
    /// `failure` outside (0, 1).
    pub fn rows_range(&self, failure: Probability) -> Result<Range> {
        let error = quantile(failure)? * self.count_variance().sqrt();
        let square = self.constant * self.constant;
        Ok((((self.count - error) / square).max(0.0), (self.count + error) / square))
    }

    /// The mean of every column.
    #[must_use]
    pub fn means(&self) -> Vec<f64> {
        self.sums.iter().map(|b| self.in_ball(self.constant * b / self.count)).collect()
    }

    /// An interval for each mean.
    ///
    /// # Errors
    /// As [`Moments::rows_range`].
    pub fn mean_ranges(&self, failure: Probability) -> Result<Vec<Range>> {
        let z = quantile(failure)?.powi(2);
        let (half, count) = (0.5 * self.sigma * self.sigma, self.count_variance());
        let lead = self.count * self.count - z * count;
        let range = |b: &f64| match between(lead, b * self.count, z * (count * b * b + half * lead))
        {
            Some((low, high)) => {
                (self.in_ball(self.constant * low), self.in_ball(self.constant * high))
            }
            None => (-self.bound, self.bound),
        };
        Ok(self.sums.iter().map(range).collect())
    }

    /// The standard deviation of every column, with n in the denominator; zero where the noise says less.
    #[must_use]
    pub fn deviations(&self) -> Vec<f64> {
        (0..self.sums.len()).map(|i| self.deviation(self.scatter(i, i))).collect()
    }

    /// An interval for each standard deviation.
    ///
    /// # Errors
    /// As [`Moments::rows_range`].
    pub fn deviation_ranges(&self, failure: Probability) -> Result<Vec<Range>> {
        let z = quantile(failure)?;
        let range = |i: usize| {
            // The scatter over the number of rows: c^2 scatter / count.
            let (m, scatter) = (self.slope(i), self.scatter(i, i));
            let by_count = m * m - scatter / self.count;
            let variance = self.sigma * self.sigma * (1.0 + 2.0 * m * m)
                + self.count_variance() * by_count * by_count;
            let error = z * variance.sqrt();
            (self.deviation(scatter - error), self.deviation(scatter + error))
        };
        Ok((0..self.sums.len()).map(range).collect())
    }

    /// The correlations of all pairs of columns, 1 with itself; zero where a column's variance is not above the noise.
    #[must_use]
    pub fn correlations(&self) -> Mat<f64> {
        let d = self.sums.len();
        Mat::from_fn(d, d, |i, j| {
            let scale = self.scatter(i, i).max(0.0) * self.scatter(j, j).max(0.0);
            if i == j {
                1.0
            } else if scale > 0.0 {
                (self.scatter(i, j) / scale.sqrt()).clamp(-1.0, 1.0)
            } else {
                0.0
            }
        })
    }

    /// An interval for the correlation of columns `i` and `j`.
    ///
    /// # Errors
    /// As [`Moments::rows_range`]; a column that there is not.
    pub fn correlation_range(&self, i: usize, j: usize, failure: Probability) -> Result<Range> {
        let (z, d) = (quantile(failure)?.powi(2), self.sums.len());
        for column in [i, j] {
            if column >= d {
                return Err(Error::invalid("column", column, format!("[0, {d})")));
            }
        }
        if i == j {
            return Ok((1.0, 1.0));
        }
        let (a, b) = (self.scatter(i, i), self.scatter(j, j));
        let (p, q) = (self.slope(i), self.slope(j));
        let noise = |m: f64| {
            let count = self.count_variance() * m.powi(4);
            (self.sigma * self.sigma * (1.0 + 2.0 * m * m) + count).sqrt()
        };
        if a < CLEAR.1 * noise(p) || b < CLEAR.1 * noise(q) {
            return Ok((-1.0, 1.0));
        }
        // scatter_ij - rho sqrt(a b) is normal, with variance u + v rho + w rho^2 to first order.
        let ratio = (b / a).sqrt();
        let (half, count) = (0.5 * self.sigma * self.sigma, self.count_variance());
        let (pp, qq) = (ratio * p, q / ratio);
        let by_count = 0.5 * (pp * p + qq * q);
        let u = half * (1.0 + p * p + q * q) + count * (p * q).powi(2);
        let v = -2.0 * half * (q * pp + p * qq) - 2.0 * count * p * q * by_count;
        let w = half * (0.5 * (ratio * ratio + ratio.powi(-2)) + pp * pp + qq * qq)
            + count * by_count * by_count;
        let (c, g) = (self.scatter(i, j), (a * b).sqrt());
        let square = u * g * g + v * c * g + w * c * c - z * (u * w - 0.25 * v * v);
        let found = between(g * g - z * w, c * g + 0.5 * z * v, z * square);
        let inside = |rho: f64| rho.clamp(-1.0, 1.0);
        Ok(found.map_or((-1.0, 1.0), |(low, high)| (inside(low), inside(high))))
    }

    /// The second moments around the means, `sum (x - mean)(x - mean)^T`, with their noise taken out
    /// ([`super::denoised`]): divide by [`Moments::rows`] for a covariance matrix.
    ///
    /// # Errors
    /// As [`super::denoised`].
    pub fn denoised(&self) -> Result<DenoisedCovariance> {
        denoised(&self.centred())
    }

    /// The variance of the released count in units of sigma squared: 0 or 1.
    pub(super) fn count_noise(&self) -> f64 {
        if self.exact { 0.0 } else { 1.0 }
    }

    /// The constant that sums are multiplied with.
    pub(super) fn constant(&self) -> f64 {
        self.constant
    }

    pub(super) fn centred(&self) -> PrivateCovariance {
        let d = self.sums.len();
        let values = (0..d * d).map(|e| self.scatter(e / d, e % d)).collect();
        let norm = self.sums.iter().map(|b| b * b).sum::<f64>().sqrt();
        // A row, and so a mean, is longer than the bound by its rounding only.
        let longest = self.bound * (1.0 + 1e-3) / self.constant;
        let centre = Centre { sum: norm, count: self.count, longest };
        PrivateCovariance::new(d, values, None, self.seconds.noise()).centred(centre)
    }

    /// `sum (x_i - mean_i)(x_j - mean_j)`, unbiased but for a half of sigma squared over `c^2 n`.
    fn scatter(&self, i: usize, j: usize) -> f64 {
        self.seconds.raw()[(i, j)] - self.sums[i] * self.sums[j] / self.count
    }

    /// The mean over c.
    fn slope(&self, i: usize) -> f64 {
        self.sums[i] / self.count
    }

    fn deviation(&self, scatter: f64) -> f64 {
        (scatter.max(0.0) / self.rows()).sqrt().min(self.bound)
    }

    fn in_ball(&self, mean: f64) -> f64 {
        mean.clamp(-self.bound, self.bound)
    }

    fn count_variance(&self) -> f64 {
        self.count_noise() * self.sigma * self.sigma
    }
}

/// Two-sided.
fn quantile(failure: Probability) -> Result<f64> {
    Ok(upper_quantile(0.5 * checked(failure)?))
}

/// Where `lead x^2 - 2 middle x + last <= 0`, if that is an interval: of `square = middle^2 - lead last`, which is taken without a
/// difference of large numbers. What has left the range of numbers gives none.
fn between(lead: f64, middle: f64, square: f64) -> Option<Range> {
    let sound = [lead, square].iter().all(|x| *x > 0.0 && x.is_normal()) && middle.is_finite();
    let root = square.sqrt();
    sound.then(|| ((middle - root) / lead, (middle + root) / lead))
}

/// The top k principal directions around the mean, from a release of moments: post-processing.
///
/// # Errors
/// As [`Moments::of`] and [`super::pca()`].
pub fn pca_centred(release: &Release<PrivateCovariance>, k: usize) -> Result<Release<PrivatePca>> {
    let found = of_denoised(Moments::of(release)?.denoised()?, k)?;
    Ok(Release::certified(found, release.certificate().clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neither a difference of infinities nor a square that is too small for a number is an interval of no width.
    #[test]
    fn what_is_no_number_is_no_interval() {
        assert_eq!(between(2.0, 4.0, 4.0), Some((1.0, 3.0)));
        let (large, tiny) = (f64::INFINITY, 1e-310);
        for (lead, middle, square) in [
            (0.0, 1.0, 1.0),
            (-1.0, 1.0, 1.0),
            (large, 1.0, 1.0),
            (1.0, large, 1.0),
            (1.0, 1.0, large),
            (1.0, 1.0, large - large),
            (large - large, 1.0, 1.0),
            (1.0, 1.0, 0.0),
            (1.0, 1.0, tiny),
            (tiny, 1.0, 1.0),
        ] {
            assert_eq!(between(lead, middle, square), None, "{lead} {middle} {square}");
        }
    }
}
