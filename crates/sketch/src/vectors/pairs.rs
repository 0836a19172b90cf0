//! Distances, norms, inner products and cosines from releases only.

use super::interval::{Law, Miss, Polar, Tails};
use super::noise::NoiseMoments;
use super::sketch::PrivateSketch;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval, sum_of_squared_differences};
use crate::projection::{Moments, ProjectionSpec};
use crate::rows::NORM_SLACK;
use dp_core::certificate::PublicValue;
use dp_core::mechanism::Prediction;
use dp_core::noise::NoiseLaw;
use dp_core::{Adjacency, Certificate, Probability, Release};

/// Estimates between rows of two comparable releases (or of one release with itself).
///
/// # One release or two
/// Releases of equal projection, noise law and published numbers are one release, however they were
/// loaded; so is a release beside its copy rounded to `f32`. A row of a release has distance zero
/// from itself: the same noise on both sides cancels.
///
/// # Variances
/// With the projection's [`Moments`] (pair a, quartic q), noise of variance s^2, t^2 and
/// fourth cumulants c, e on the two sides, D = u - v, and S4(w) the sum of w_i^4:
/// - `Var |u|^2 = (2 a |u|^4 + q S4(u))/k + 4 s^2 |u|^2 + k (2 s^4 + c)`
/// - `Var |u - v|^2 = (2 a |D|^4 + q S4(D))/k + 4 (s^2 + t^2) |D|^2 + k (2 (s^2 + t^2)^2 + c + e)`
/// - `Var <u, v> = (a (|u|^2 |v|^2 + <u, v>^2) + q sum u_i^2 v_i^2)/k + s^2 |v|^2 + t^2 |u|^2 + k s^2 t^2`
///
/// A release does not show S4: it is replaced by the end of its range `[|w|^4/d, |w|^4]` (for
/// products: `[0, |u|^2 |v|^2]`) that gives the larger variance, so the projection's part errs upwards.
///
/// # Intervals
/// Test inversions (`docs/proofs/estimators.md`): exact for lengths under a Gaussian projection with Gaussian
/// noise. Under other projections they allow for the most unfavourable rows, those of few
/// nonzeros, and are wider than most rows need. Under [`Groups`](crate::projection::Groups), which are not drawn,
/// there are no estimates of rows: every quantity is refused. Every interval stays in the range of its
/// quantity, and within what the largest entry that the certificate states allows.
#[derive(Debug, Clone, Copy)]
pub struct Pairs<'a> {
    left: &'a PrivateSketch,
    right: &'a PrivateSketch,
    /// Whether both sides are one release.
    same: bool,
    moments: Moments,
    tails: Tails,
    d: f64,
    k: f64,
    /// Largest norms of rows that the certificates allow.
    largest: [f64; 2],
}

/// Sums of squares and of products of two noisy rows.
#[derive(Debug, Clone, Copy)]
struct Sums {
    left: f64,
    right: f64,
    product: f64,
    difference: f64,
}

impl<'a> Pairs<'a> {
    /// Pairs of rows of one release.
    #[must_use]
    pub fn within(release: &'a Release<PrivateSketch>) -> Self {
        let largest = largest_norm(release.certificate(), release.payload().projection().d());
        Self::of_sketch(release.payload(), largest)
    }

    /// Pairs of a row of `left` and a row of `right`.
    ///
    /// # Errors
    /// [`Error::Incompatible`] when they were made by different projections; [`dp_core::Error::Mismatch`] when their values were
    /// mapped in different ways before.
    pub fn between(
        left: &'a Release<PrivateSketch>,
        right: &'a Release<PrivateSketch>,
    ) -> Result<Self> {
        let (x, y) = (left.payload(), right.payload());
        x.check_comparable(y)?;
        left.mapped_alike(right)?;
        let largest = [left, right].map(|r| largest_norm(r.certificate(), x.projection().d()));
        Ok(Self { right: y, same: x.is_copy_of(y), largest, ..Self::within(left) })
    }

    /// Pairs of a row of a release and a query that was never released ([`PrivateSketch::exact`]), whose noise is zero.
    ///
    /// # Errors
    /// As [`Pairs::between`].
    pub fn exact(left: &'a Release<PrivateSketch>, queries: &'a PrivateSketch) -> Result<Self> {
        let within = Self::within(left);
        left.payload().check_comparable(queries)?;
        let largest = [within.largest[0], f64::INFINITY];
        Ok(Self { right: queries, same: false, largest, ..within })
    }

    /// Of two comparable sketches whose certificates are not at hand.
    pub(crate) fn of_sketches(left: &'a PrivateSketch, right: &'a PrivateSketch) -> Self {
        Self { right, same: left.is_copy_of(right), ..Self::of_sketch(left, f64::INFINITY) }
    }

    pub(crate) fn of_sketch(sketch: &'a PrivateSketch, largest: f64) -> Self {
        let spec = sketch.projection();
        Self {
            left: sketch,
            right: sketch,
            same: true,
            moments: spec.moments(),
            tails: Tails::of(spec),
            d: spec.d() as f64,
            k: spec.k() as f64,
            largest: [largest; 2],
        }
    }

    fn same(&self, i: usize, j: usize) -> bool {
        self.same && i == j
    }

    fn sums(&self, i: usize, j: usize) -> Result<Sums> {
        if !self.left.projection().keeps_products() {
            return Err(Error::Undefined {
                what: "a quantity of rows",
                reason: "sums of chosen groups and images under a given matrix do not tell it without bias; search \
                         ranks by them",
            });
        }
        let (x, y) = (self.left.row(i)?, self.right.row(j)?);
        let difference = sum_of_squared_differences(x, y);
        let sums = Sums { left: dot(x, x), right: dot(y, y), product: dot(x, y), difference };
        let noise = self.left.moments().plus(self.right.moments());
        // Variances hold fourth powers of the numbers.
        let finite = [sums.left, sums.right, difference].iter().all(|s| *s < 1e140);
        if finite && (noise.variance == 0.0 || (1e-140..1e140).contains(&noise.variance)) {
            return Ok(sums);
        }
        Err(Error::Undefined {
            what: "a quantity of this release",
            reason: "its squares leave the range of double precision; scale the data",
        })
    }

    fn law(&self, noise: NoiseMoments) -> Law {
        law_of_sum((self.moments, self.tails), (self.d, self.k), noise)
    }

    /// The law of a sum of squared differences.
    pub(crate) fn distance_law(&self) -> Law {
        self.law(self.left.moments().plus(self.right.moments()))
    }

    /// Variance of a squared distance whose true value is `r2`, at the worst end of the range
    /// of its quartic part.
    #[must_use]
    pub(crate) fn squared_distance_variance(&self, r2: f64) -> f64 {
        self.distance_law().variance(r2)
    }

    /// The sum of squared differences of two noisy rows.
    pub(super) fn sum_of_squared_differences(&self, i: usize, j: usize) -> Result<f64> {
        Ok(self.sums(i, j)?.difference)
    }

    /// Unbiased squared l2 norm of a row of the left release.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::Undefined`] for numbers whose squares overflow.
    pub fn squared_norm(&self, i: usize) -> Result<Estimate> {
        let itself = Self { right: self.left, ..*self };
        Ok(length(itself.sums(i, i)?.left, &self.law(self.left.moments())))
    }

    /// Unbiased squared l2 distance `|z_i - z_j|^2 - k (s^2 + t^2)` (Algorithm 2 of Kenthapadi
    /// et al. 2013). A row has distance zero from itself.
    ///
    /// # Errors
    /// As [`Pairs::squared_norm`].
    pub fn squared_distance(&self, i: usize, j: usize) -> Result<Estimate> {
        let sums = self.sums(i, j)?;
        if self.same(i, j) {
            return Ok(Estimate::known(0.0));
        }
        Ok(length(sums.difference, &self.distance_law()))
    }

    /// Confidence interval of a squared distance, covering projection and noise.
    ///
    /// # Errors
    /// As [`Pairs::squared_norm`], or a confidence outside `(0, 1)`.
    pub fn squared_distance_interval(
        &self,
        i: usize,
        j: usize,
        confidence: Probability,
    ) -> Result<Interval> {
        let (miss, sums) = (Miss::of(confidence)?, self.sums(i, j)?);
        if self.same(i, j) {
            return Ok(Interval { low: 0.0, high: 0.0 });
        }
        let largest = self.largest[0] + self.largest[1];
        Ok(length_interval(sums.difference, &self.distance_law(), largest, miss))
    }

    /// Confidence interval of a squared norm, as [`Pairs::squared_distance_interval`].
    ///
    /// # Errors
    /// As [`Pairs::squared_distance_interval`].
    pub fn squared_norm_interval(&self, i: usize, confidence: Probability) -> Result<Interval> {
        let itself = Self { right: self.left, ..*self };
        let (miss, sums) = (Miss::of(confidence)?, itself.sums(i, i)?);
        Ok(length_interval(sums.left, &self.law(self.left.moments()), self.largest[0], miss))
    }

    /// Unbiased inner product `<z_i, z_j>`; a row's product with itself is its squared norm.
    ///
    /// # Errors
    /// As [`Pairs::squared_norm`].
    pub fn inner_product(&self, i: usize, j: usize) -> Result<Estimate> {
        if self.same(i, j) {
            return self.squared_norm(i);
        }
        let sums = self.sums(i, j)?;
        let (s, t) = (self.left.noise_variance(), self.right.noise_variance());
        let [left, right] = self.squared_norms(&sums).map(|x| x.max(0.0));
        let Moments { pair, quartic } = self.moments;
        let product = sums.product;
        let variance =
            (pair * (left * right + product * product) + quartic.max(0.0) * left * right) / self.k
                + s * right
                + t * left
                + self.k * s * t;
        Ok(Estimate { value: product, standard_error: variance.sqrt() })
    }

    /// Confidence interval of an inner product, from the lengths of `u + c v` and `u - c v` with c such that
    /// their errors are uncorrelated. With k = 1, or where a sparse row can hide in the
    /// projection, only the bound `|u| |v|` is stated.
    ///
    /// # Errors
    /// As [`Pairs::squared_distance_interval`].
    pub fn inner_product_interval(
        &self,
        i: usize,
        j: usize,
        confidence: Probability,
    ) -> Result<Interval> {
        if self.same(i, j) {
            return self.squared_norm_interval(i, confidence);
        }
        let (miss, sums) = (Miss::of(confidence)?, self.sums(i, j)?);
        let known = self.largest[0] * self.largest[1];
        if self.k == 1.0 || self.tails.can_hide(2.0, miss) {
            let noise = [self.left.moments(), self.right.moments()];
            let squares = [sums.left, sums.right];
            let highs = [0, 1].map(|side| {
                let law = self.law(noise[side]);
                length_interval(squares[side], &law, self.largest[side], miss).high.sqrt()
            });
            let most = if highs.contains(&0.0) { 0.0 } else { highs[0] * highs[1] };
            return Ok(Interval { low: -most, high: most });
        }
        let (s, t) = (self.left.noise_variance(), self.right.noise_variance());
        let a = self.moments.pair;
        let share = if a > 0.0 { (1.0 - (1.0 - a).max(0.0).sqrt()) / a } else { 0.5 };
        let [left, right] = self.squared_norms(&sums).map(|x| x.max(0.0));
        let scale = ratio(left + self.k * share * s, right + self.k * share * t);
        // The fourth cumulants of the noise cancel in the difference.
        let polar = Polar { correlation: 0.0, ..self.polar(&sums, scale, 0.0, miss) };
        let Interval { low, high } = polar.difference(1.0, 1.0);
        let interval = Interval { low: low / (4.0 * scale), high: high / (4.0 * scale) };
        Ok(interval.within(-known, known))
    }

    /// Cosine of the private rows, from the debiased product and norms (ratio of unbiased
    /// estimates), cut to `[-1, 1]`; standard error by the delta method.
    ///
    /// # Errors
    /// As [`Pairs::squared_norm`], or [`Error::Undefined`] when a debiased norm is not positive.
    pub fn cosine(&self, i: usize, j: usize) -> Result<Estimate> {
        let sums = self.sums(i, j)?;
        if self.same(i, j) {
            return Ok(Estimate::known(1.0));
        }
        let Some((value, scale)) = self.debiased_cosine(&sums) else {
            return Err(Error::Undefined {
                what: "cosine",
                reason: "the noise hides the norm of a row; the cosine of the noisy rows ranks",
            });
        };
        let laws = self.polar_law(scale, 1.0);
        let [plus, minus] = self.polar_values(&sums, scale, laws.0.floor);
        let (p, m) = (1.0 - value, 1.0 + value);
        let variance =
            p * p * laws.0.variance(plus) + m * m * laws.0.variance(minus) - 2.0 * p * m * laws.1;
        Ok(Estimate { value, standard_error: variance.max(0.0).sqrt() / (plus + minus).abs() })
    }

    /// Confidence interval of the cosine of the private rows, in `[-1, 1]`: the whole range
    /// where the noise hides the norm of a row, with k = 1, or where a sparse row can hide
    /// in the projection.
    ///
    /// # Errors
    /// As [`Pairs::squared_distance_interval`].
    pub fn cosine_interval(&self, i: usize, j: usize, confidence: Probability) -> Result<Interval> {
        let (miss, sums) = (Miss::of(confidence)?, self.sums(i, j)?);
        if self.same(i, j) {
            return Ok(Interval { low: 1.0, high: 1.0 });
        }
        match self.debiased_cosine(&sums) {
            Some((value, scale))
                if self.k > 1.0
                    && !self.tails.can_hide(2.0, miss)
                    && self.both_seen(&sums, miss) =>
            {
                let polar = self.polar(&sums, scale, 1.0, miss);
                let intervals = polar.intervals.map(|i| i.within(0.0, f64::INFINITY));
                Ok(Polar { intervals, ..polar }.cosines(value))
            }
            _ => Ok(Interval { low: -1.0, high: 1.0 }),
        }
    }

    /// Cosine of the **noisy** rows, in `[-1, 1]`: what [`crate::search`] ranks by. Noise pulls it
    /// towards zero, so it states no error: it estimates the cosine of the private rows times
    /// `sqrt(|u|^2/(|u|^2 + k s^2)) sqrt(|v|^2/(|v|^2 + k t^2))`. For the private rows see [`Pairs::cosine`].
    ///
    /// # Errors
    /// As [`Pairs::squared_norm`], or [`Error::Undefined`] for a row of zeros.
    pub fn noisy_cosine(&self, i: usize, j: usize) -> Result<f64> {
        let sums = self.sums(i, j)?;
        let norms = sums.left.sqrt() * sums.right.sqrt();
        if norms <= 0.0 {
            return Err(Error::Undefined { what: "cosine", reason: "a row is zero" });
        }
        Ok((sums.product / norms).clamp(-1.0, 1.0))
    }

    /// Whether the noise hides neither row: a norm that it hides is positive half of the time by chance,
    /// and what is measured in units of it means nothing.
    fn both_seen(&self, sums: &Sums, miss: Miss) -> bool {
        [(sums.left, self.left.moments()), (sums.right, self.right.moments())].into_iter().all(
            |(sum, noise)| length_interval(sum, &self.law(noise), f64::INFINITY, miss).low > 0.0,
        )
    }

    /// Unbiased squared norms of the two rows.
    fn squared_norms(&self, sums: &Sums) -> [f64; 2] {
        [
            sums.left - self.k * self.left.noise_variance(),
            sums.right - self.k * self.right.noise_variance(),
        ]
    }

    /// The debiased cosine and the ratio of the norms it rests on; none unless both are positive.
    fn debiased_cosine(&self, sums: &Sums) -> Option<(f64, f64)> {
        let [left, right] = self.squared_norms(sums);
        let value = sums.product / (left.sqrt() * right.sqrt());
        (left > 0.0 && right > 0.0).then(|| (value.clamp(-1.0, 1.0), ratio(left, right)))
    }

    /// The law of `|z_u + c z_v|^2` and of `|z_u - c z_v|^2`, and the covariance of the two when
    /// `|u| = c |v|`. `fourth` is one, or zero to leave out the fourth cumulants of the noise.
    fn polar_law(&self, scale: f64, fourth: f64) -> (Law, f64) {
        let (s, t) = (self.left.moments(), self.right.moments());
        let square = scale * scale;
        let noise = NoiseMoments {
            variance: s.variance + square * t.variance,
            fourth_cumulant: fourth * (s.fourth_cumulant + square * square * t.fourth_cumulant),
        };
        let uneven = s.variance - square * t.variance;
        let covariance = self.k * (2.0 * uneven * uneven + noise.fourth_cumulant);
        // The scale was estimated from the same rows: one degree of freedom is gone of two, less of more, where MOVER is wide.
        let lost = (2.0 / self.k).min(1.0);
        (Law { left: 1.0 - lost / self.k, ..self.law(noise) }, covariance)
    }

    fn polar_values(&self, sums: &Sums, scale: f64, floor: f64) -> [f64; 2] {
        let (both, cross) = (sums.left + scale * scale * sums.right, 2.0 * scale * sums.product);
        [(both + cross).max(0.0) - floor, (both - cross).max(0.0) - floor]
    }

    fn polar(&self, sums: &Sums, scale: f64, fourth: f64, miss: Miss) -> Polar {
        let (law, covariance) = self.polar_law(scale, fourth);
        let law = law.widened(miss);
        let values = self.polar_values(sums, scale, law.floor);
        let variances = values.map(|x| law.variance(x));
        let most = variances[0].sqrt() * variances[1].sqrt();
        let correlation = if most > 0.0 { (covariance / most).min(1.0) } else { 0.0 };
        let intervals = values.map(|x| law.invert(x + law.floor, miss));
        Polar { values, intervals, correlation }
    }
}

/// The law of a sum of squares of k noisy numbers, the quartic part at its worst end.
fn law_of_sum((moments, tails): (Moments, Tails), (d, k): (f64, f64), noise: NoiseMoments) -> Law {
    let quartic = moments.quartic / if moments.quartic > 0.0 { 1.0 } else { d };
    let form = [
        (2.0 * moments.pair + quartic).max(0.0) / k,
        4.0 * noise.variance,
        k * (2.0 * noise.variance.powi(2) + noise.fourth_cumulant),
    ];
    Law { floor: k * noise.variance, form, tails, left: 1.0 }
}

/// The expected error of a squared distance from sketches of these projections with this noise,
/// weighted by their inverse variances at that distance.
pub(super) fn predict_distance(
    sketches: &[(ProjectionSpec, NoiseLaw)],
    squared_distance: f64,
) -> Result<Prediction> {
    if !(squared_distance.is_finite() && squared_distance >= 0.0) {
        return Err(Error::invalid("squared distance", squared_distance, "[0, inf)"));
    }
    let mut precision = 0.0;
    for (spec, noise) in sketches {
        let noise = NoiseMoments::of(noise)?;
        let known = (spec.moments(), Tails::of(*spec));
        let law = law_of_sum(known, (spec.d() as f64, spec.k() as f64), noise.plus(noise));
        precision += law.variance(squared_distance).recip();
    }
    let chosen = sketches.iter().any(|(spec, _)| !spec.keeps_products());
    let what = if chosen { "a squared distance of projected rows" } else { "a squared distance" };
    Ok(Prediction::new(what, precision.sqrt().recip()))
}

/// `sqrt(x / y)`, one when that is not a positive number.
fn ratio(x: f64, y: f64) -> f64 {
    let root = (x / y).sqrt();
    if root > 1e-60 && root < 1e60 { root } else { 1.0 }
}

/// An unbiased squared length.
pub(super) fn length(sum_of_squares: f64, law: &Law) -> Estimate {
    let value = sum_of_squares - law.floor;
    let [a, b, c] = law.form;
    // E[a X^2 + b X + c] = Var + a Var for the unbiased X: dividing makes it unbiased. Far below
    // zero it gives nothing, or less; no true length has less variance than length zero.
    let variance = (a * value * value + b * value + c) / (1.0 + a);
    Estimate { value, standard_error: variance.max(c).sqrt() }
}

/// Interval of a squared length that is at most `largest^2`.
pub(super) fn length_interval(sum: f64, law: &Law, largest: f64, miss: Miss) -> Interval {
    let mut interval = law.widened(miss).invert(sum, miss);
    if law.tails.can_hide(1.0, miss) {
        interval.high = f64::INFINITY;
    }
    interval.within(0.0, largest * largest)
}

/// The largest norm of a row that a certificate allows; infinite when it states none.
pub(super) fn largest_norm(certificate: &Certificate, d: usize) -> f64 {
    let entry = match certificate.statement().public.get("largest entry") {
        Some(PublicValue::Real(x)) if *x > 0.0 => *x,
        Some(PublicValue::Integer(x)) if *x > 0 => *x as f64,
        _ => f64::INFINITY,
    };
    let by_entries = entry * (d as f64).sqrt() * (1.0 + 1e-12);
    match certificate.guarantee().adjacency() {
        Adjacency::ReplaceRow { bound } => by_entries.min(bound.get() * (1.0 + 2.0 * NORM_SLACK)),
        _ => by_entries,
    }
}

pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}
