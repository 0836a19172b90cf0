//! Similarities from published signs.

use super::codes::SignCodes;
use crate::error::{Error, Result};
use crate::estimate::{Estimate, FlippedCount, Interval, ln_tail};
use crate::projection::{Family, ProjectionSpec};
use core::f64::consts::PI;
use dp_core::certificate::Statement;
use dp_core::mechanism::Prediction;
use dp_core::noise::NoiseLaw;
use dp_core::numeric::{ln_binomial_cdf, ln_binomial_sf};
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
/// inverted between two of them: they serve ranking and learning, and [`smooth_to_public_row`](super::smooth_to_public_row).
/// Derivations: `docs/proofs/sign-flips.md`, section 7.
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

/// Where a condition on `[0, 1]` becomes true and stays so: the last point below, the first above.
/// To about 1e-9.
pub(super) fn bisect(holds: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..30 {
        let mid = 0.5 * (low + high);
        if holds(mid) { high = mid } else { low = mid }
    }
    (low, high)
}

pub(super) fn require_gaussian(projections: &[ProjectionSpec]) -> Result<()> {
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
pub(super) fn signal(noise: &NoiseLaw) -> Result<f64> {
    match noise {
        NoiseLaw::None => Ok(1.0),
        NoiseLaw::BitFlip { keep } if keep.get() > 0.5 => Ok(2.0 * keep.get() - 1.0),
        _ => Err(Error::Undefined {
            what: "a similarity from signs",
            reason: "their flips have no common keep probability above 1/2",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_found_by_halves() {
        for at in [1e-3, 0.3, 0.77] {
            let (low, high) = bisect(|x| x >= at);
            assert!(low < at && at <= high && high - low < 1e-8, "{low} {high}");
        }
    }

    /// A flip of one half says nothing, and one of more is no flip law of ours.
    #[test]
    fn fair_coins_have_no_signal() {
        let of = |keep| signal(&NoiseLaw::BitFlip { keep: Probability::new(keep).expect("valid") });
        assert!(of(0.5).is_err() && of(0.4).is_err());
        assert_eq!(of(0.75).expect("above a half"), 0.5);
    }
}
