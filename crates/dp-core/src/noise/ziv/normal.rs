//! A real standard normal: in floating point within [`ETA`], and to any precision.

use super::{Ball, Bits, Source, uniform};
use crate::noise::grid::Grid;
use crate::noise::kernel::{Kernel, V_MAX};
use crate::noise::rounded::{Enclosure, Tail, quantile_guess, survival};
use crate::noise::simd::rounded as simd;
use dashu_base::UnsignedAbs;
use dashu_int::{IBig, UBig};

/// How far [`Normals::approximate`] is from the real normal, at most.
pub(in crate::noise) const ETA: f64 = 1.0 / (1u64 << 48) as f64;

/// Bits beyond those asked for: enough up to 5.7.
const GUARD: usize = 32;

/// Normals in floating point.
pub(in crate::noise) struct Normals {
    kernel: Kernel,
}

impl Normals {
    pub(in crate::noise) fn new() -> Self {
        let unit = Grid::new(0).expect("zero is an exponent");
        Self { kernel: Kernel::new(Tail::Gaussian, 1.0, unit) }
    }

    /// The sample within [`ETA`]; NaN where that cannot be promised (beyond 16, which never happens).
    #[inline]
    pub(in crate::noise) fn approximate(&self, bits: &impl Bits, sample: u64) -> f64 {
        let word = bits.word(sample, 0);
        let x = self.kernel.sample(word);
        if x.is_nan() { self.in_the_tail(bits, sample, word) } else { x }
    }

    /// [`Normals::approximate`] of the samples from `first` on.
    pub(in crate::noise) fn fill(&self, source: &Source, first: u64, out: &mut [f64]) {
        match source.first_words(first, out.len()) {
            Some(words) => simd::samples(&self.kernel, words, out),
            None => out.fill(f64::NAN),
        }
        for (x, sample) in out.iter_mut().zip(first..) {
            if x.is_nan() {
                *x = self.approximate(source, sample);
            }
        }
    }

    #[cold]
    fn in_the_tail(&self, bits: &impl Bits, sample: u64, word: u64) -> f64 {
        let known = u128::from(word >> 1) << 64 | u128::from(bits.word(sample, 1));
        let v = (known as f64 * 2f64.powi(-64)).min(V_MAX);
        let magnitude = if v >= 2f64.powi(31) {
            self.kernel.magnitude(v)
        } else {
            let z = magnitude(bits, sample, 64).to_f64();
            if z < 16.0 { z } else { f64::NAN }
        };
        f64::from_bits(magnitude.to_bits() ^ (word << 63))
    }

    /// [`Normals::approximate`] of the magnitude whose tail probability is within eight parts in `2^53` of
    /// `tail`: within `2 ETA`. NaN below `2^-32`.
    pub(in crate::noise) fn quantile(&self, tail: f64) -> f64 {
        let v = tail * 2f64.powi(63);
        if (2f64.powi(31)..=V_MAX).contains(&v) { self.kernel.magnitude(v) } else { f64::NAN }
    }
}

/// The real normal at precision `precision`, radius 2.
pub(in crate::noise) fn enclose(bits: &impl Bits, sample: u64, precision: usize) -> Ball {
    let z = magnitude(bits, sample, precision);
    if bits.word(sample, 0) & 1 == 1 { z.negate() } else { z }
}

fn magnitude(bits: &impl Bits, sample: u64, precision: usize) -> Ball {
    quantile(|work| Some(uniform(bits, sample, 1, work)), precision).expect("always enclosed")
}

/// The y >= 0 with `Pr[|Z| > y] = V`, radius 2, for a V in (0, 1) that `tail` encloses ever more closely.
///
/// Newton's method finds a y; what is proven is the last step: with `D >= |S(y) - V|` and
/// `2 phi >= 2^-p` up to y + 1/100, `S(y + D 2^p) < V < S(y - D 2^p)`.
pub(in crate::noise) fn quantile(
    tail: impl Fn(usize) -> Option<Enclosure>,
    precision: usize,
) -> Option<Ball> {
    let mut work = precision + GUARD;
    let mut target = tail(work)?;
    let start = quantile_guess(Tail::Gaussian, to_f64(&target.high, work));
    let mut y = Ball::float(start, work).magnitude();
    loop {
        for _ in 0..8 {
            let s = survival(Tail::Gaussian, &Enclosure { low: y.clone(), high: y.clone() }, work);
            let gap = IBig::from(s.low.clone()) - IBig::from(target.low.clone());
            let widths = (&s.high - &s.low) + (&target.high - &target.low);
            let at = to_f64(&y, work);
            // -log2(2 phi(t)) = 0.72135 t^2 + 0.32575.
            let power = (0.7214 * (at + 0.01) * (at + 0.01) + 0.34).ceil() as usize;
            if power + 8 > work - precision {
                break;
            }
            let radius = (((&gap).unsigned_abs() + widths) << power) + 1u8;
            if radius <= UBig::ONE << (work - precision) {
                let mid = IBig::from(y) >> (work - precision);
                return Some(Ball::new(mid, UBig::from(2u8), precision));
            }
            // 2^40 / (2 phi), which need not be exact.
            let slope = 1.378_058_6e12 * libm::exp((0.5 * at * at).min(600.0));
            let step = (gap * Ball::float(slope, 0).ends().0) >> 40;
            let next = IBig::from(y) + step;
            y = UBig::try_from(next).unwrap_or(UBig::ZERO);
        }
        work += 64;
        y <<= 64;
        target = tail(work)?;
    }
}

fn to_f64(n: &UBig, bits: usize) -> f64 {
    super::ball::scaled(n.as_ibig(), -(bits as i64))
}
