//! Normals above a threshold, exactly rounded.

use super::grid::Grid;
use super::rng::NoiseStream;
use super::rounded::{Enclosure, Tail, survival};
use super::ziv::{Ball, Bits, ETA, Normals, Path, Source, U, nearest, quantile, settle, uniform};
use crate::error::{Error, Result};
use dashu_int::UBig;

/// The law of a standard normal given that it is at least `threshold`, rounded to a grid: the grid
/// point nearest to a real draw, exactly. The real draw is never below the threshold; its rounding may be, by half
/// a step.
///
/// The draw is a = the value whose tail probability is `V Pr[Z > threshold]`, V uniform: no rejection. Proof:
/// `docs/proofs/exact-rounding.md`.
///
/// ```
/// use dp_core::NoiseRng;
/// use dp_core::noise::{Grid, TruncatedNormal};
///
/// let law = TruncatedNormal::new(2.5, Grid::new(-30)?)?;
/// let alpha = law.sample(NoiseRng::from_os()?.stream());
/// assert!(alpha > 2.499);
/// # Ok::<(), dp_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TruncatedNormal {
    threshold: f64,
    grid: Grid,
    /// `Pr[|Z| > |threshold|]` within one part in `2^52`, NaN where that is not promised.
    tail: f64,
    /// The same from below and from above, in units of `2^-KEPT`.
    kept: (UBig, UBig),
}

/// Bits of the tail that are kept. Cancellation takes about 210 of them at 12.
const KEPT: usize = 448;

impl TruncatedNormal {
    /// The law above `threshold`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a threshold outside `[-12, 12]` or a grid whose exponent is outside `[-60, 0]`.
    pub fn new(threshold: f64, grid: Grid) -> Result<Self> {
        if !(-12.0..=12.0).contains(&threshold) {
            return Err(Error::invalid("threshold", threshold, "[-12, 12]"));
        }
        if !(-60..=0).contains(&grid.exponent()) {
            return Err(Error::invalid("grid exponent", grid.exponent(), "[-60, 0]"));
        }
        let (low, high) = tail_ends(threshold, KEPT);
        let width = &high - &low;
        let close = (width << 60) <= low;
        let middle = Ball::new((low.clone()).into(), UBig::ZERO, KEPT);
        let tail = if close { middle.to_f64() } else { f64::NAN };
        Ok(Self { threshold, grid, tail, kept: (low, high) })
    }

    /// `Pr[|Z| > |threshold|]` in units of `2^-bits`.
    fn tail_ends(&self, bits: usize) -> (UBig, UBig) {
        match KEPT.checked_sub(bits) {
            Some(less) => (&self.kept.0 >> less, (&self.kept.1 >> less) + 1u8),
            None => tail_ends(self.threshold, bits),
        }
    }

    /// The threshold.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// One draw, which uses a stream up: its words may lie anywhere in it.
    ///
    /// # Panics
    /// When the stream was drawn from before: the draw would repeat those words.
    #[must_use]
    pub fn sample(&self, stream: NoiseStream) -> f64 {
        self.steps(Path::Fast, &Source::new(stream, 1)) as f64 * self.grid.spacing()
    }

    /// The draw in steps of the grid.
    pub(super) fn steps(&self, path: Path, source: &impl Bits) -> i128 {
        let (x, error) = self.approximate(&Normals::new(), source, 0);
        let per_step = 1.0 / self.grid.spacing();
        nearest(path, x * per_step, (error + 2.0 * U * x.abs()) * per_step).unwrap_or_else(|| {
            settle(|bits| {
                let z = self.enclose(source, 0, bits)?;
                Some(z.shift(-i64::from(self.grid.exponent())))
            })
        })
    }

    /// The draw that a sample defines, in floating point, and a bound on its error.
    pub(super) fn approximate(
        &self,
        normals: &Normals,
        source: &impl Bits,
        sample: u64,
    ) -> (f64, f64) {
        // V is known within one part in 2^54 when its first word is not small.
        let word = source.word(sample, 0);
        let v = if word >= 1 << 55 { word as f64 * 2f64.powi(-64) } else { f64::NAN };
        // Twice the upper tail of the draw, within five parts in 2^53; the sign of the draw is that of 1 - twice.
        let top = if self.threshold >= 0.0 { self.tail } else { 2.0 - self.tail };
        let twice = v * top;
        let (z, error) = if twice <= 1.0 {
            (normals.quantile(twice), 2.0 * ETA)
        } else {
            // The complement has lost digits where it is small.
            let rest = 2.0 - twice;
            (-normals.quantile(rest), 2.0 * ETA + 16.0 * U / rest)
        };
        if z.is_nan() { self.far_out(source, sample) } else { (z, error) }
    }

    /// The same by big numbers, once, where the kernel promises nothing: a vector whose numbers all settle by
    /// themselves would take as many again for each of them.
    #[cold]
    fn far_out(&self, source: &impl Bits, sample: u64) -> (f64, f64) {
        let z = (1..=8).find_map(|words| self.enclose(source, sample, 64 * words));
        z.map_or((f64::NAN, f64::NAN), |z| (z.to_f64(), ETA))
    }

    /// The draw; none when more precision is needed.
    pub(super) fn enclose(&self, source: &impl Bits, sample: u64, bits: usize) -> Option<Ball> {
        // T = V (twice the upper tail at the threshold), in (0, 2); the sign shows at once or never.
        let upper = |work: usize| {
            let (low, high) = self.tail_ends(work);
            let two = UBig::from(2u8) << work;
            let (low, high) =
                if self.threshold >= 0.0 { (low, high) } else { (&two - high, two - low) };
            let v = uniform(source, sample, 0, work);
            Enclosure { low: (low * v.low) >> work, high: ((high * v.high) >> work) + 1u8 }
        };
        let first = upper(bits);
        let one = UBig::ONE << bits;
        if first.high <= one {
            quantile(|work| Some(upper(work)), bits)
        } else if first.low >= one {
            let lower = |work: usize| {
                let (t, two) = (upper(work), UBig::from(2u8) << work);
                let low = if t.high < two { &two - t.high } else { UBig::ZERO };
                Some(Enclosure { low, high: two - t.low })
            };
            quantile(lower, bits).map(Ball::negate)
        } else {
            None
        }
    }
}

/// `Pr[|Z| > |y|]` in units of `2^-bits`.
fn tail_ends(y: f64, bits: usize) -> (UBig, UBig) {
    let y = Ball::float(y.abs(), bits).magnitude();
    let tail = survival(Tail::Gaussian, &Enclosure { low: y.clone(), high: y }, bits);
    (tail.low, tail.high)
}
