//! Similarities from published signs.

use super::codes::{SignCodes, SignSketch};
use crate::error::{Error, Result};
use crate::private::Estimate;
use crate::rows::RowsView;
use core::f64::consts::PI;
use dp_core::Release;
use dp_core::noise::NoiseLaw;
use dp_core::special::ln_normal_cdf;

/// Estimates between a row of one release and a row of another (or a different row of the
/// same one).
///
/// With bits kept with probabilities q and r on the two sides, and a share s of equal signs
/// before flipping, bits are equal with probability `1/2 + (2q-1)(2r-1)(s - 1/2)`. For dense
/// projections `s = 1 - theta/pi` on average (Goemans & Williamson 1995), and the angle is
/// that of Li & Li (2023), theorem 4.6, generalised to two keep probabilities. Standard
/// errors take bits to be independent, which they are for Gaussian, Rademacher and other
/// projections with independent columns. Signs flipped by a smooth rule have no common keep
/// probability, so nothing can be inverted: they serve ranking and learning.
#[derive(Debug, Clone, Copy)]
pub struct SignPairs<'a> {
    left: &'a SignCodes,
    right: &'a SignCodes,
    signal: f64,
}

impl<'a> SignPairs<'a> {
    /// Checks that the two releases came from the same projections and that their flips
    /// can be inverted.
    ///
    /// # Errors
    /// [`Error::Incompatible`], or [`Error::Undefined`] for smooth flips or pure coins.
    pub fn between<C, D>(
        left: &'a Release<SignCodes, C>,
        right: &'a Release<SignCodes, D>,
    ) -> Result<Self> {
        let (left, right) = (left.payload(), right.payload());
        left.check_comparable(right)?;
        let signal = signal(left.noise())? * signal(right.noise())?;
        Ok(Self { left, right, signal })
    }

    /// The share of equal signs before flipping, unbiased (outside `[0, 1]` now and then).
    ///
    /// # Errors
    /// [`Error::Index`] for a row that does not exist.
    pub fn equal_signs(&self, i: usize, j: usize) -> Result<Estimate> {
        let (a, b) = (self.left.bits(), self.right.bits());
        let k = a.bits() as f64;
        let equal = 1.0 - f64::from(a.hamming(i, b, j)?) / k;
        // Agresti and Coull's two pseudo-counts keep the error positive at 0 and 1.
        let smoothed = (equal * k + 2.0) / (k + 4.0);
        Ok(Estimate {
            value: 0.5 + (equal - 0.5) / self.signal,
            standard_error: (smoothed * (1.0 - smoothed) / k).sqrt() / self.signal,
        })
    }

    /// The number of bits that differed before flipping, unbiased.
    ///
    /// # Errors
    /// As [`SignPairs::equal_signs`].
    pub fn hamming(&self, i: usize, j: usize) -> Result<Estimate> {
        let (k, s) = (self.left.bits().bits() as f64, self.equal_signs(i, j)?);
        Ok(Estimate { value: k * (1.0 - s.value), standard_error: k * s.standard_error })
    }

    /// The angle, in radians: `pi (1 - s)`; unbiased for Gaussian projections.
    ///
    /// # Errors
    /// As [`SignPairs::equal_signs`].
    pub fn angle(&self, i: usize, j: usize) -> Result<Estimate> {
        let s = self.equal_signs(i, j)?;
        Ok(Estimate { value: PI * (1.0 - s.value), standard_error: PI * s.standard_error })
    }

    /// The cosine of the angle cut to `[0, pi]` (which is the maximum-likelihood estimate
    /// from these bits alone), with its error to second order.
    ///
    /// # Errors
    /// As [`SignPairs::equal_signs`].
    pub fn cosine(&self, i: usize, j: usize) -> Result<Estimate> {
        let angle = self.angle(i, j)?;
        let theta = angle.value.clamp(0.0, PI);
        let (slope, bend) = (theta.sin(), theta.cos());
        let e = angle.standard_error;
        let variance = (slope * e).powi(2) + 0.5 * (bend * e * e).powi(2);
        Ok(Estimate { value: theta.cos(), standard_error: variance.sqrt() })
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
/// maximum likelihood.
///
/// The projected query is used whole, not only its signs: with y its coordinates in units
/// of |u|/sqrt k, bit j is one with probability `f + (1 - 2f) Phi(t y_j)`,
/// `t = rho / sqrt(1 - rho^2)`, f the flip probability. Its standard error comes from the
/// Fisher information at the estimate. It beats the collision estimator, most for similar
/// rows, because a sign says more where |y| is large. For Gaussian projections; approximate
/// for other dense ones.
///
/// # Errors
/// [`Error::Incompatible`] when the sketch did not make the release, [`Error::Undefined`]
/// for smooth flips or a query of norm zero, [`Error::Index`] for a missing row.
pub fn cosine_to_public_row<C>(
    sketch: &SignSketch,
    query: &[f64],
    release: &Release<SignCodes, C>,
    row: usize,
) -> Result<Estimate> {
    let codes = release.payload();
    if sketch.specs() != codes.projections() {
        return Err(Error::Incompatible {
            what: "projections of the sketch and of the release",
            left: format!("{} bits", sketch.bits()),
            right: format!("{} bits", codes.bits().bits()),
        });
    }
    if row >= codes.bits().n() {
        return Err(Error::Index { what: "row", index: row, len: codes.bits().n() });
    }
    let signal = signal(codes.noise())?;
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
    Ok(Estimate { value: theta.cos(), standard_error: inside.sin() / information.sqrt() })
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
