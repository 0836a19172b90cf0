//! Distances, inner products and cosines from releases only.

use super::noise::NoiseMoments;
use super::normal::two_sided_quantile;
use super::sketch::{PrivateSketch, SketchRelease};
use crate::error::{Error, Result};
use crate::projection::Moments;
use dp_core::Probability;
use dp_core::special::{ln_chi_square_cdf, ln_chi_square_sf};

/// A value with the standard error of its projection and noise together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error, estimated from the release.
    pub standard_error: f64,
}

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether the interval holds a value.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

impl Estimate {
    /// The interval `value +- z standard_error` of the normal law.
    ///
    /// # Errors
    /// When the confidence is not in `(0, 1)`.
    pub fn interval(&self, confidence: Probability) -> Result<Interval> {
        let reach = two_sided_quantile(miss(confidence)?) * self.standard_error;
        Ok(Interval { low: self.value - reach, high: self.value + reach })
    }
}

/// One minus the confidence.
fn miss(confidence: Probability) -> Result<f64> {
    let miss = 1.0 - confidence.get();
    if miss > 0.0 && miss < 1.0 {
        Ok(miss)
    } else {
        Err(Error::invalid("confidence", confidence, "(0, 1)"))
    }
}

/// Estimates between rows of two comparable releases (or of one release with itself).
///
/// # Variances
/// With the projection's [`Moments`] (pair a, quartic q), noise of variance s^2, t^2 and
/// fourth cumulants c, e on the two sides, D = u - v, and S4(w) the sum of w_i^4:
/// - `Var |u|^2 = (2 a |u|^4 + q S4(u))/k + 4 s^2 |u|^2 + k (2 s^4 + c)`
/// - `Var |u - v|^2 = (2 a |D|^4 + q S4(D))/k + 4 (s^2 + t^2) |D|^2 + k (2 (s^2 + t^2)^2 + c + e)`
/// - `Var <u, v> = (a (|u|^2 |v|^2 + <u, v>^2) + q sum u_i^2 v_i^2)/k + s^2 |v|^2 + t^2 |u|^2 + k s^2 t^2`
///
/// A release does not show S4: it is replaced by the end of its range `[|w|^4/d, |w|^4]` (for
/// products: `[0, |u|^2 |v|^2]`) that gives the larger variance, so standard errors err upwards.
#[derive(Debug, Clone, Copy)]
pub struct Pairs<'a> {
    left: &'a PrivateSketch,
    right: &'a PrivateSketch,
    moments: Moments,
    d: f64,
    k: f64,
}

impl<'a> Pairs<'a> {
    /// Pairs of rows of one release.
    #[must_use]
    pub fn within(release: &'a SketchRelease) -> Self {
        Self::of_sketches(release.payload(), release.payload())
    }

    /// Pairs of a row of `left` and a row of `right`.
    ///
    /// # Errors
    /// [`Error::Incompatible`] when they were made by different projections.
    pub fn between(left: &'a SketchRelease, right: &'a SketchRelease) -> Result<Self> {
        left.payload().check_comparable(right.payload())?;
        Ok(Self::of_sketches(left.payload(), right.payload()))
    }

    pub(crate) fn of_sketches(left: &'a PrivateSketch, right: &'a PrivateSketch) -> Self {
        let spec = left.projection();
        Self { left, right, moments: spec.moments(), d: spec.d() as f64, k: spec.k() as f64 }
    }

    fn same(&self, i: usize, j: usize) -> bool {
        core::ptr::eq(self.left, self.right) && i == j
    }

    /// Coefficient A of `Var = A r^4 + B r^2 + C`, the quartic part at its worst end.
    fn quadratic_form(&self, noise: NoiseMoments) -> [f64; 3] {
        let quartic = self.moments.quartic / if self.moments.quartic > 0.0 { 1.0 } else { self.d };
        [
            (2.0 * self.moments.pair + quartic).max(0.0) / self.k,
            4.0 * noise.variance,
            self.k * (2.0 * noise.variance.powi(2) + noise.fourth_cumulant),
        ]
    }

    /// Variance of a squared distance whose true value is `r2`, at the worst end of the range
    /// of its quartic part.
    #[must_use]
    pub fn squared_distance_variance(&self, r2: f64) -> f64 {
        let [a, b, c] = self.quadratic_form(self.left.moments().plus(self.right.moments()));
        a * r2 * r2 + b * r2 + c
    }

    fn squared_length(&self, sum_of_squares: f64, noise: NoiseMoments) -> Estimate {
        let value = sum_of_squares - self.k * noise.variance;
        let [a, b, c] = self.quadratic_form(noise);
        // E[a X^2 + b X + c] = Var + a Var for the unbiased X: dividing makes it unbiased. Far below
        // zero it gives nothing, or less; no true length has less variance than length zero.
        let variance = (a * value * value + b * value + c) / (1.0 + a);
        Estimate { value, standard_error: variance.max(c).sqrt() }
    }

    /// Unbiased squared l2 norm of a row of the left release.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn squared_norm(&self, i: usize) -> Result<Estimate> {
        let x = self.left;
        Ok(self.squared_length(dot(x.row(i)?, x.row(i)?), x.moments()))
    }

    fn squared_norm_right(&self, j: usize) -> Result<Estimate> {
        Pairs { left: self.right, ..*self }.squared_norm(j)
    }

    fn difference(&self, i: usize, j: usize) -> Result<(f64, NoiseMoments)> {
        let (x, y) = (self.left, self.right);
        let sum = x.row(i)?.iter().zip(y.row(j)?).map(|(a, b)| (a - b) * (a - b)).sum();
        Ok((sum, x.moments().plus(y.moments())))
    }

    /// Unbiased squared l2 distance `|z_i - z_j|^2 - k (s^2 + t^2)` (Algorithm 2 of Kenthapadi
    /// et al. 2013). A row has distance zero from itself.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn squared_distance(&self, i: usize, j: usize) -> Result<Estimate> {
        let (sum, noise) = self.difference(i, j)?;
        if self.same(i, j) {
            return Ok(Estimate { value: 0.0, standard_error: 0.0 });
        }
        Ok(self.squared_length(sum, noise))
    }

    /// Confidence interval of a squared distance, covering projection and noise, by inverting
    /// a test against a scaled chi-square law with the mean and variance of the estimate:
    /// exact for a Gaussian projection with Gaussian noise, approximate otherwise.
    ///
    /// # Errors
    /// [`Error::Index`], or a confidence outside `(0, 1)`.
    pub fn squared_distance_interval(
        &self,
        i: usize,
        j: usize,
        confidence: Probability,
    ) -> Result<Interval> {
        let miss = miss(confidence)?;
        let (sum, noise) = self.difference(i, j)?;
        if self.same(i, j) {
            return Ok(Interval { low: 0.0, high: 0.0 });
        }
        Ok(invert(sum, self.k * noise.variance, miss, self.quadratic_form(noise)))
    }

    /// Confidence interval of a squared norm, as [`Pairs::squared_distance_interval`].
    ///
    /// # Errors
    /// [`Error::Index`], or a confidence outside `(0, 1)`.
    pub fn squared_norm_interval(&self, i: usize, confidence: Probability) -> Result<Interval> {
        let (x, noise) = (self.left.row(i)?, self.left.moments());
        let floor = self.k * noise.variance;
        Ok(invert(dot(x, x), floor, miss(confidence)?, self.quadratic_form(noise)))
    }

    /// Unbiased inner product `<z_i, z_j>`; a row's product with itself is its squared norm.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn inner_product(&self, i: usize, j: usize) -> Result<Estimate> {
        if self.same(i, j) {
            return self.squared_norm(i);
        }
        let (x, y) = (self.left, self.right);
        let value = dot(x.row(i)?, y.row(j)?);
        let variance = self.product_variance(
            value,
            self.squared_norm(i)?.value.max(0.0),
            self.squared_norm_right(j)?.value.max(0.0),
        );
        Ok(Estimate { value, standard_error: variance.sqrt() })
    }

    fn product_variance(&self, product: f64, left: f64, right: f64) -> f64 {
        let (s, t) = (self.left.noise_variance(), self.right.noise_variance());
        let Moments { pair, quartic } = self.moments;
        (pair * (left * right + product * product) + quartic.max(0.0) * left * right) / self.k
            + s * right
            + t * left
            + self.k * s * t
    }

    /// Cosine from the debiased product and norms (ratio of unbiased estimates), cut to `[-1, 1]`;
    /// standard error by the delta method.
    ///
    /// # Errors
    /// [`Error::Index`], or [`Error::Undefined`] when a debiased norm is not positive.
    pub fn cosine(&self, i: usize, j: usize) -> Result<Estimate> {
        if self.same(i, j) {
            return Ok(Estimate { value: 1.0, standard_error: 0.0 });
        }
        let product = self.inner_product(i, j)?.value;
        let left = self.squared_norm(i)?.value;
        let right = self.squared_norm_right(j)?.value;
        if left <= 0.0 || right <= 0.0 {
            return Err(Error::Undefined {
                what: "cosine",
                reason: "the noise hides the norm of a row; use cosine_normalised",
            });
        }
        let value = (product / (left * right).sqrt()).clamp(-1.0, 1.0);
        let noise = [self.left.moments(), self.right.moments()];
        let variance = self.cosine_variance(value, left, right, noise);
        Ok(Estimate { value, standard_error: variance.max(0.0).sqrt() })
    }

    fn cosine_variance(&self, cosine: f64, left: f64, right: f64, noise: [NoiseMoments; 2]) -> f64 {
        let root = (left * right).sqrt();
        let product = cosine * root;
        let a = self.moments.pair / self.k;
        let norm = |x: f64, m: NoiseMoments| {
            2.0 * a * x * x
                + 4.0 * m.variance * x
                + self.k * (2.0 * m.variance.powi(2) + m.fourth_cumulant)
        };
        let with_norm =
            |x: f64, m: NoiseMoments| 2.0 * a * x * product + 2.0 * m.variance * product;
        self.product_variance(product, left, right) / (left * right)
            + 0.25
                * cosine
                * cosine
                * (norm(left, noise[0]) / (left * left)
                    + norm(right, noise[1]) / (right * right)
                    + 4.0 * a * product * product / (left * right))
            - cosine / root
                * (with_norm(left, noise[0]) / left + with_norm(right, noise[1]) / right)
    }

    /// Cosine of the noisy rows themselves, in `[-1, 1]`: always defined and of small variance
    /// (the normalised estimator of OPORP), but noise pulls it towards zero. Without noise
    /// it is a consistent estimate of the cosine; with noise it estimates the cosine times
    /// `sqrt(|u|^2/(|u|^2 + k s^2)) sqrt(|v|^2/(|v|^2 + k t^2))`. Standard error `(1 - c^2)/sqrt k`.
    ///
    /// # Errors
    /// [`Error::Index`], or [`Error::Undefined`] for a row of zeros.
    pub fn cosine_normalised(&self, i: usize, j: usize) -> Result<Estimate> {
        if self.same(i, j) {
            return Ok(Estimate { value: 1.0, standard_error: 0.0 });
        }
        let (x, y) = (self.left.row(i)?, self.right.row(j)?);
        let norms = dot(x, x) * dot(y, y);
        if norms <= 0.0 {
            return Err(Error::Undefined { what: "cosine", reason: "a row is zero" });
        }
        let value = (dot(x, y) / norms.sqrt()).clamp(-1.0, 1.0);
        Ok(Estimate { value, standard_error: (1.0 - value * value) / self.k.sqrt() })
    }
}

/// All x >= 0 that a two-sided test does not reject: at x the sum of squares has mean
/// `m = x + floor` and variance `V = a x^2 + b x + c`, and is compared with the scaled chi-square
/// law of that mean and variance, `2 m^2/V` degrees of freedom. For a Gaussian projection with
/// Gaussian noise that law is exact.
fn invert(sum: f64, floor: f64, miss: f64, [a, b, c]: [f64; 3]) -> Interval {
    let tail = (0.5 * miss).ln();
    let place = |x: f64| {
        let mean = x + floor;
        let freedom = 2.0 * mean * mean / (a * x * x + b * x + c).max(f64::MIN_POSITIVE);
        (freedom.min(1e9), freedom.min(1e9) * sum / mean)
    };
    // Both ends of the test move one way in x.
    let too_small = |x: f64| {
        let (k, at) = place(x);
        ln_chi_square_sf(k, at) < tail
    };
    let too_large = |x: f64| {
        let (k, at) = place(x);
        ln_chi_square_cdf(k, at) < tail
    };
    let first = |rejected: &dyn Fn(f64) -> bool, want: bool| {
        let (mut low, mut high) = (0.0, sum.max(floor).max(f64::MIN_POSITIVE));
        while rejected(high) != want && high < 1e300 {
            (low, high) = (high, high * 2.0);
        }
        while high - low > 1e-12 * high && high < 1e300 {
            let mid = 0.5 * (low + high);
            if rejected(mid) == want { high = mid } else { low = mid }
        }
        if high < 1e300 { high } else { f64::INFINITY }
    };
    let tiny = f64::MIN_POSITIVE;
    Interval {
        low: if too_small(tiny) { first(&too_small, false) } else { 0.0 },
        high: if too_large(tiny) { 0.0 } else { first(&too_large, true) },
    }
}

pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}
