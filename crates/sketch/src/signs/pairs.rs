//! Similarities from published signs.

use super::codes::{SignCodes, SignSketch};
use crate::error::{Error, Result};
use crate::estimate::{Estimate, FlippedCount, Interval, ln_tail};
use crate::projection::{Family, ProjectionSpec};
use crate::rows::RowsView;
use core::f64::consts::PI;
use dp_core::certificate::Statement;
use dp_core::mechanism::Prediction;
use dp_core::noise::NoiseLaw;
use dp_core::numeric::{ln_binomial_cdf, ln_binomial_sf, ln_normal_cdf};
use dp_core::{Probability, Release};

/// Estimates between a row of one release and a row of another (or a different row of the
/// same one).
///
/// With bits kept with probabilities q and r on the two sides, a pair of bits that was equal
/// before flipping is equal afterwards with probability `1/2 + signal/2`, one that was not with
/// `1/2 - signal/2`, `signal = (2q-1)(2r-1)`. So the number of equal signs before flipping is
/// estimated for every family of projections, without any assumption on the rows
/// ([`SignPairs::equal_signs`], [`SignPairs::hamming`]). The coin that is published for a value of
/// exactly zero counts as that value's sign.
///
/// Angles and cosines are stated for Gaussian projections only: there each pair of signs
/// differs with probability theta/pi over the draw of the projection, whatever the rows (Goemans &
/// Williamson 1995). For other families that law depends on the rows: two identical sparse
/// rows leave most bins of OPORP empty, and two coins agree half of the time.
///
/// Releases of equal content count as one release, and a row of it has distance zero from
/// itself. Signs flipped by a smooth rule have no common keep probability, so nothing can be
/// inverted: they serve ranking and learning. Derivations: `docs/proofs/sign-flips.md`, section 7.
#[derive(Debug, Clone, Copy)]
pub struct SignPairs<'a> {
    left: &'a SignCodes,
    right: &'a SignCodes,
    /// Whether both sides hold the same published bits.
    same: bool,
    signal: f64,
}

impl<'a> SignPairs<'a> {
    /// Checks that the two releases came from the same projections and that their flips
    /// can be inverted.
    ///
    /// # Errors
    /// [`Error::Incompatible`], or [`Error::Undefined`] for smooth flips or pure coins; [`dp_core::Error::Mismatch`] when their
    /// values were mapped in different ways before.
    pub fn between<C: AsRef<Statement>, D: AsRef<Statement>>(
        left: &'a Release<SignCodes, C>,
        right: &'a Release<SignCodes, D>,
    ) -> Result<Self> {
        left.mapped_alike(right)?;
        let (left, right) = (left.payload(), right.payload());
        left.check_comparable(right)?;
        let signal = signal(left.noise())? * signal(right.noise())?;
        let same = core::ptr::eq(left, right) || left == right;
        Ok(Self { left, right, same, signal })
    }

    /// Number of equal published bits, and of all bits.
    fn equal_bits(&self, i: usize, j: usize) -> Result<(u64, u64)> {
        let k = self.left.bits().bits() as u64;
        Ok((k - u64::from(self.left.hamming(i, self.right, j)?), k))
    }

    /// The share of equal signs before flipping, unbiased over the flips (outside `[0, 1]` now
    /// and then). The standard error is that of the flips, `sqrt((1 - signal^2) / 4k) / signal`:
    /// zero where nothing was flipped.
    ///
    /// # Errors
    /// [`Error::Index`] for a row that does not exist.
    pub fn equal_signs(&self, i: usize, j: usize) -> Result<Estimate> {
        let (equal, k) = self.equal_bits(i, j)?;
        if self.same && i == j {
            return Ok(Estimate { value: 1.0, standard_error: 0.0 });
        }
        let share = equal as f64 / k as f64;
        let (value, bits) = (0.5 + (share - 0.5) / self.signal, self.left.bits().bits());
        Ok(Estimate { value, standard_error: error_of_share(self.signal, bits) })
    }

    /// The number of bits that differed before flipping: `k (1 - share of equal signs)`.
    ///
    /// # Errors
    /// As [`SignPairs::equal_signs`].
    pub fn hamming(&self, i: usize, j: usize) -> Result<Estimate> {
        let (k, s) = (self.left.bits().bits() as f64, self.equal_signs(i, j)?);
        Ok(Estimate { value: k * (1.0 - s.value), standard_error: k * s.standard_error })
    }

    /// All numbers of differing bits, in `[0, k]`, that an exact two-sided test of the flips does not
    /// reject: covers with at least the stated confidence, and more, as the law is discrete.
    ///
    /// # Errors
    /// [`Error::Index`] for a row that does not exist, or a confidence outside `(0, 1)`.
    pub fn hamming_interval(
        &self,
        i: usize,
        j: usize,
        confidence: Probability,
    ) -> Result<Interval> {
        let tail = ln_tail(confidence)?;
        let (equal, k) = self.equal_bits(i, j)?;
        if self.same && i == j {
            return Ok(Interval { low: 0.0, high: 0.0 });
        }
        let Interval { low, high } = FlippedCount::interval(equal, k, self.signal, tail);
        Ok(Interval { low: k as f64 - high, high: k as f64 - low })
    }

    /// The angle, in radians: `pi (1 - s)`, unbiased; its error is that of projection and flips.
    ///
    /// # Errors
    /// As [`SignPairs::equal_signs`]; [`Error::Undefined`] for a projection that is not Gaussian.
    pub fn angle(&self, i: usize, j: usize) -> Result<Estimate> {
        require_gaussian(self.left.projections())?;
        let share = self.equal_signs(i, j)?;
        if self.same && i == j {
            return Ok(Estimate { value: 0.0, standard_error: 0.0 });
        }
        let (equal, k) = self.equal_bits(i, j)?;
        // Agresti and Coull's two pseudo-counts keep the error positive at 0 and 1.
        let smoothed = (equal as f64 + 2.0) / (k as f64 + 4.0);
        let error = (smoothed * (1.0 - smoothed) / k as f64).sqrt() / self.signal;
        Ok(Estimate { value: PI * (1.0 - share.value), standard_error: PI * error })
    }

    /// Interval of the angle, in `[0, pi]`: Clopper and Pearson's for the probability that two
    /// bits are equal. Covers with at least the stated confidence.
    ///
    /// # Errors
    /// As [`SignPairs::angle`], or a confidence outside `(0, 1)`.
    pub fn angle_interval(&self, i: usize, j: usize, confidence: Probability) -> Result<Interval> {
        require_gaussian(self.left.projections())?;
        let tail = ln_tail(confidence)?;
        let (equal, k) = self.equal_bits(i, j)?;
        if self.same && i == j {
            return Ok(Interval { low: 0.0, high: 0.0 });
        }
        let angle = |p: f64| PI * (0.5 - (p - 0.5) / self.signal).clamp(0.0, 1.0);
        let least =
            if equal == 0 { 0.0 } else { bisect(|p| ln_binomial_sf(k, p, equal - 1) > tail).0 };
        let largest =
            if equal == k { 1.0 } else { bisect(|p| ln_binomial_cdf(k, p, equal) <= tail).1 };
        Ok(Interval { low: angle(largest), high: angle(least) })
    }

    /// The cosine of the angle cut to `[0, pi]` (which is the maximum-likelihood estimate
    /// from these bits alone), with its error to second order.
    ///
    /// # Errors
    /// As [`SignPairs::angle`].
    pub fn cosine(&self, i: usize, j: usize) -> Result<Estimate> {
        let angle = self.angle(i, j)?;
        let theta = angle.value.clamp(0.0, PI);
        let (slope, bend) = (theta.sin(), theta.cos());
        let e = angle.standard_error;
        let variance = (slope * e).powi(2) + 0.5 * (bend * e * e).powi(2);
        Ok(Estimate { value: theta.cos(), standard_error: variance.sqrt() })
    }

    /// The cosines of [`SignPairs::angle_interval`], in `[-1, 1]`.
    ///
    /// # Errors
    /// As [`SignPairs::angle_interval`].
    pub fn cosine_interval(&self, i: usize, j: usize, confidence: Probability) -> Result<Interval> {
        let Interval { low, high } = self.angle_interval(i, j, confidence)?;
        Ok(Interval { low: high.cos(), high: low.cos() })
    }
}

/// The standard error of the share of k equal signs, from flips of this signal.
fn error_of_share(signal: f64, k: usize) -> f64 {
    (0.25 * (1.0 - signal * signal) / k as f64).sqrt() / signal
}

/// The expected error of the share of equal signs between two rows of k bits with such flips.
pub(super) fn predict_share(noise: &NoiseLaw, k: usize) -> Result<Prediction> {
    let signal = signal(noise)?;
    Ok(Prediction::new("the share of equal signs", error_of_share(signal * signal, k)))
}

/// The law of a sum of independent terms, each `weight` with some probability and else zero. Mass below
/// 1e-18 at either end is dropped.
struct WeightedSum {
    from: usize,
    mass: Vec<f64>,
}

impl Default for WeightedSum {
    fn default() -> Self {
        Self { from: 0, mass: vec![1.0] }
    }
}

impl WeightedSum {
    fn add(&mut self, weight: usize, p: f64) {
        let n = self.mass.len();
        self.mass.resize(n + weight, 0.0);
        for s in (0..n + weight).rev() {
            let moved = if s >= weight { p * self.mass[s - weight] } else { 0.0 };
            self.mass[s] = (1.0 - p) * self.mass[s] + moved;
        }
        let kept = |m: &f64| *m >= 1e-18;
        let last = self.mass.iter().rposition(kept).unwrap_or(0);
        self.mass.truncate(last + 1);
        let first = self.mass.iter().position(kept).unwrap_or(0);
        self.mass.drain(..first);
        self.from += first;
    }

    /// Probabilities of at most, and of at least, this sum.
    fn tails(&self, sum: usize) -> (f64, f64) {
        let at = |s: &usize| (self.from + s).cmp(&sum);
        let over = |keep: fn(core::cmp::Ordering) -> bool| -> f64 {
            (0..self.mass.len()).filter(|s| keep(at(s))).map(|s| self.mass[s]).sum()
        };
        (over(|o| o.is_le()), over(|o| o.is_ge()))
    }
}

/// Where a condition on `[0, 1]` becomes true and stays so: the last point below, the first above.
/// To about 1e-9.
fn bisect(holds: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..30 {
        let mid = 0.5 * (low + high);
        if holds(mid) { high = mid } else { low = mid }
    }
    (low, high)
}

fn require_gaussian(projections: &[ProjectionSpec]) -> Result<()> {
    if projections.iter().all(|spec| spec.family() == Family::Gaussian) {
        Ok(())
    } else {
        Err(Error::Undefined {
            what: "an angle from signs",
            reason: "its law is known for Gaussian projections only; ask for the number of \
                differing bits instead",
        })
    }
}

/// `2 keep - 1` of a flip law.
fn signal(noise: &NoiseLaw) -> Result<f64> {
    match noise {
        NoiseLaw::None => Ok(1.0),
        NoiseLaw::BitFlip { keep } if keep.get() > 0.5 => Ok(2.0 * keep.get() - 1.0),
        _ => Err(Error::Undefined {
            what: "a similarity from signs",
            reason: "their flips have no common keep probability above 1/2",
        }),
    }
}

/// The cosine between a row the analyst may read (a public query) and a published row, by
/// maximum likelihood, and its interval.
///
/// The projected query is used whole, not only its signs: with y its coordinates in units
/// of |u|/sqrt k, bit j is one with probability `f + (1 - 2f) Phi(t y_j)`,
/// `t = rho / sqrt(1 - rho^2)`, f the flip probability. The standard error comes from the
/// Fisher information at the estimate; the interval inverts exact tests of a weighted count of the
/// bits that agree with the query, so it covers with at least the stated confidence. It beats the collision estimator,
/// most for similar rows, because a sign says more where |y| is large. For Gaussian projections.
///
/// # Errors
/// [`Error::Incompatible`] when the sketch did not make the release, [`Error::Undefined`]
/// for another projection, smooth flips or a query of norm zero, [`Error::Index`] for a missing row,
/// or a confidence outside `(0, 1)`.
pub fn cosine_to_public_row<C>(
    sketch: &SignSketch,
    query: &[f64],
    release: &Release<SignCodes, C>,
    row: usize,
    confidence: Probability,
) -> Result<(Estimate, Interval)> {
    let codes = release.payload();
    if sketch.specs() != codes.projections() {
        return Err(Error::Incompatible {
            what: "projections of the sketch and of the release",
            left: format!("{} bits", sketch.bits()),
            right: format!("{} bits", codes.bits().bits()),
        });
    }
    require_gaussian(codes.projections())?;
    if row >= codes.bits().n() {
        return Err(Error::Index { what: "row", index: row, len: codes.bits().n() });
    }
    let signal = signal(codes.noise())?;
    let tail = ln_tail(confidence)?;
    let norm = query.iter().map(|x| x * x).sum::<f64>().sqrt();
    if norm == 0.0 {
        return Err(Error::Undefined { what: "a cosine", reason: "the query has norm zero" });
    }
    // Signed so that a positive entry votes for a positive cosine.
    let mut votes = Vec::with_capacity(sketch.bits());
    sketch.for_each_block(RowsView::f64(1, query.len(), query)?, |_, y| {
        votes.extend_from_slice(y);
        Ok(())
    })?;
    let mut column = 0;
    for part in sketch.parts() {
        let unit = (part.spec().k() as f64).sqrt() / norm;
        for _ in 0..part.spec().k() {
            let sign = if codes.bits().get(row, column) { 1.0 } else { -1.0 };
            votes[column] *= unit * sign;
            column += 1;
        }
    }
    let likelihood = Likelihood { votes, signal };
    let theta = likelihood.best_angle();
    // At the ends of the range the information vanishes with the slope of the cosine.
    let inside = theta.clamp(0.1, PI - 0.1);
    let information = likelihood.information(inside);
    let estimate =
        Estimate { value: theta.cos(), standard_error: inside.sin() / information.sqrt() };
    let (low, high) = likelihood.not_rejected(tail);
    Ok((estimate, Interval { low: high.cos(), high: low.cos() }))
}

struct Likelihood {
    votes: Vec<f64>,
    signal: f64,
}

impl Likelihood {
    /// Probability of the bit that was seen.
    fn probability(&self, t: f64, vote: f64) -> f64 {
        0.5 * (1.0 - self.signal) + self.signal * ln_normal_cdf(t * vote).exp()
    }

    fn log(&self, theta: f64) -> f64 {
        let t = theta.tan().recip();
        let ln = |&v: &f64| self.probability(t, v).max(f64::MIN_POSITIVE).ln();
        self.votes.iter().map(ln).sum()
    }

    /// The most likely angle: a grid, then golden sections around its best point.
    fn best_angle(&self) -> f64 {
        const GRID: u32 = 64;
        let step = PI / f64::from(GRID);
        let at = |i: u32| (f64::from(i) + 0.5) * step;
        let best = (0..GRID).max_by(|&a, &b| self.log(at(a)).total_cmp(&self.log(at(b))));
        let centre = at(best.expect("a grid"));
        let (mut low, mut high) = ((centre - step).max(1e-6), (centre + step).min(PI - 1e-6));
        let golden = 0.5 * (5f64.sqrt() - 1.0);
        for _ in 0..30 {
            let (a, b) = (high - golden * (high - low), low + golden * (high - low));
            if self.log(a) > self.log(b) { high = b } else { low = a }
        }
        0.5 * (low + high)
    }

    /// The angles that two exact one-sided tests do not reject. The statistic is the sum over the bits
    /// that agree with the query's sign of whole weights, one to four, that grow with |y|: its law is
    /// a convolution, and every bit agrees less often the larger the angle.
    fn not_rejected(&self, ln_tail: f64) -> (f64, f64) {
        let weight = |vote: f64| 1 + (2.0 * vote.abs()).min(3.0) as usize;
        let agreed = |vote: &&f64| **vote > 0.0;
        let seen: usize = self.votes.iter().filter(agreed).map(|&v| weight(v)).sum();
        let tail = ln_tail.exp();
        // Probabilities of a sum of at most, and of at least, the one seen.
        let tails = |theta: f64| {
            let t = theta.tan().recip();
            let mut law = WeightedSum::default();
            self.votes.iter().for_each(|&v| law.add(weight(v), self.probability(t, v.abs())));
            law.tails(seen)
        };
        let low = bisect(|x| tails(PI * x).0 > tail).0;
        let high = bisect(|x| tails(PI * x).1 <= tail).1;
        (PI * low, PI * high)
    }

    /// Fisher information about the angle (t = cot theta, so |dt/dtheta| = 1/sin^2 theta).
    fn information(&self, theta: f64) -> f64 {
        let (t, slope) = (theta.tan().recip(), theta.sin().powi(-2));
        self.votes
            .iter()
            .map(|&v| {
                let p = self.probability(t, v);
                let density = (-0.5 * (t * v).powi(2)).exp() / (2.0 * PI).sqrt();
                let change = self.signal * density * v * slope;
                change * change / (p * (1.0 - p)).max(1e-300)
            })
            .sum()
    }
}
