//! The slow path: more bits, and exact comparisons at the rounding boundaries.

use super::Tail;
use super::enclosure::{Enclosure, FIRST_PRECISION, survival};
use crate::noise::exact::decompose;
use crate::noise::grid::Grid;
use crate::noise::kernel::{Kernel, V_MAX};
use dashu_int::UBig;
use rand_core::Rng;
use zeroize::Zeroizing;

/// The least V (times 2^63) of which 127 bits are precise: V = 2^-32.
pub(in crate::noise) const TABLE_MIN: f64 = 2_147_483_648.0;

/// Magnitudes are cut here, two bits beyond where the sum is clamped anyway.
const CUT: u64 = 1 << 54;

/// A magnitude as the number of boundaries below it: what the slow path needs to know.
pub(in crate::noise) trait Magnitude {
    /// The probability of more than j, at precision `bits`.
    fn more_than(&self, j: u64, bits: usize) -> Enclosure;
    /// That probability is at most 2 to the minus this.
    fn halvings(&self, j: u64) -> UBig;
    /// Proven bounds on the magnitude of V, times 2^63 and rounded once, where they are known.
    fn bracket(&self, known: f64) -> Option<(u64, u64)>;
    /// About the magnitude of V, below 2^54; nothing depends on its quality but time.
    fn guess(&self, known: f64) -> u64;
}

/// The rounding boundaries `y_j = (2j + 1) / (2 s)` of a law, s = mantissa 2^exponent.
pub(super) struct Boundaries {
    tail: Tail,
    mantissa: u64,
    exponent: i32,
}

impl Boundaries {
    pub(super) fn new(tail: Tail, scale: f64, grid: Grid) -> Self {
        let (mantissa, exponent) = decompose(scale);
        Self { tail, mantissa, exponent: exponent - grid.exponent() }
    }

    /// y_j at precision `bits`.
    pub(super) fn enclose(&self, j: u64, bits: usize) -> Enclosure {
        // (2j + 1) 2^(bits - 1 - exponent) / mantissa
        let shift = bits as i64 - 1 - i64::from(self.exponent);
        let odd = UBig::from(2 * j + 1);
        let low = if shift >= 0 {
            (odd << shift as usize) / self.mantissa
        } else {
            odd / (UBig::from(self.mantissa) << shift.unsigned_abs() as usize)
        };
        Enclosure { high: &low + 1u8, low }
    }

    /// The whole part of y_j.
    fn floor(&self, j: u64) -> UBig {
        self.enclose(j, 0).low
    }
}

/// A uniform V in (0, 1): the bits drawn so far, first word highest, and where more
/// come from.
struct LazyUniform<'a, R> {
    value: Zeroizing<UBig>,
    bits: usize,
    source: &'a mut R,
}

impl<R: Rng> LazyUniform<'_, R> {
    fn draw(&mut self) {
        *self.value <<= 64;
        *self.value += self.source.next_u64();
        self.bits += 64;
    }

    /// V at precision `bits`.
    fn enclose(&self, bits: usize) -> Enclosure {
        if bits >= self.bits {
            let shift = bits - self.bits;
            Enclosure { low: &*self.value << shift, high: (&*self.value + 1u8) << shift }
        } else {
            let low = &*self.value >> (self.bits - bits);
            Enclosure { high: &low + 1u8, low }
        }
    }

    /// Whether V is below the probability of more than j, that is the magnitude is more.
    fn below(&mut self, law: &impl Magnitude, j: u64) -> bool {
        // Far boundaries need no series.
        let floor = law.halvings(j);
        while *self.value == UBig::ZERO {
            self.draw();
        }
        let zeros = self.bits - dashu_base::BitTest::bit_len(&*self.value);
        if floor > UBig::from(zeros) {
            return false;
        }
        let mut precision = FIRST_PRECISION;
        loop {
            let s = law.more_than(j, precision);
            let v = self.enclose(precision);
            if v.high <= s.low {
                return true;
            }
            if v.low >= s.high {
                return false;
            }
            precision += 128;
            while self.bits < precision {
                self.draw();
            }
        }
    }
}

/// The signed number of steps of the value that `word` and the words of `source` after
/// it define.
pub(in crate::noise) fn settle<R: Rng>(law: &impl Magnitude, word: u64, source: &mut R) -> i64 {
    let next = source.next_u64();
    let start = u128::from(word >> 1) << 64 | u128::from(next);
    let mut v = LazyUniform { value: Zeroizing::new(UBig::from(start)), bits: 127, source };
    // V times 2^63, correctly rounded: 127 bits, then an exact power of two.
    let known = (start as f64 * 2f64.powi(-64)).min(V_MAX);
    let magnitude = match law.bracket(known) {
        Some((low, high)) => bisect(&mut v, law, low, high),
        None => gallop(&mut v, law, law.guess(known).min(CUT - 1)),
    };
    if word & 1 == 1 { -(magnitude as i64) } else { magnitude as i64 }
}

/// A real law that is rounded.
pub(super) struct Rounded<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) boundaries: &'a Boundaries,
}

impl Magnitude for Rounded<'_> {
    fn more_than(&self, j: u64, bits: usize) -> Enclosure {
        survival(self.boundaries.tail, &self.boundaries.enclose(j, bits), bits)
    }

    /// S(y) <= 2^-floor(y).
    fn halvings(&self, j: u64) -> UBig {
        self.boundaries.floor(j)
    }

    /// From the table, where it applies.
    fn bracket(&self, known: f64) -> Option<(u64, u64)> {
        let kernel = self.kernel;
        if kernel.limit == -1.0 || known < TABLE_MIN {
            return None;
        }
        let steps = kernel.magnitude(known);
        // Both additions round by less than the next_down / next_up steps.
        let error = kernel.steps * kernel.table.second_error;
        let low = (steps - error).next_down().max(0.0);
        let high = (steps + error).next_up();
        Some((low.round() as u64, high.round() as u64))
    }

    fn guess(&self, known: f64) -> u64 {
        let v = known * 2f64.powi(-63);
        let steps = quantile_guess(self.boundaries.tail, v) * self.kernel.steps;
        if steps.is_finite() { steps as u64 } else { 0 }
    }
}

/// The least j in `[low, high]` with |Z| <= y_j, which is the magnitude; it is known to be there.
fn bisect<R: Rng>(
    v: &mut LazyUniform<'_, R>,
    law: &impl Magnitude,
    mut low: u64,
    mut high: u64,
) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if v.below(law, middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// As [`bisect`] with nothing known: doubles the distance from a guess until the
/// magnitude is bracketed.
fn gallop<R: Rng>(v: &mut LazyUniform<'_, R>, law: &impl Magnitude, guess: u64) -> u64 {
    let mut step = 1;
    if v.below(law, guess) {
        let mut low = guess + 1;
        loop {
            let next = (low + step).min(CUT);
            if next >= CUT {
                // Cut: the sum is clamped wherever beyond this the magnitude lies.
                return bisect(v, law, low.min(CUT), CUT);
            }
            if !v.below(law, next) {
                return bisect(v, law, low, next);
            }
            low = next + 1;
            step *= 2;
        }
    }
    let mut high = guess;
    loop {
        let next = high.saturating_sub(step);
        if next == 0 {
            return bisect(v, law, 0, high);
        }
        if v.below(law, next) {
            return bisect(v, law, next + 1, high);
        }
        high = next;
        step *= 2;
    }
}

/// Roughly the y with `Pr[|Z| > y] = v`.
pub(in crate::noise) fn quantile_guess(tail: Tail, v: f64) -> f64 {
    let v = v.max(1e-38);
    let ln = libm::log(v);
    match tail {
        Tail::Laplace => -ln,
        Tail::Gaussian => {
            let mut z = (-2.0 * ln - libm::log(1.0 - 2.0 * ln).max(0.0)).max(0.0).sqrt();
            for _ in 0..6 {
                let tail = libm::erfc(z * core::f64::consts::FRAC_1_SQRT_2);
                let density = libm::exp(-0.5 * z * z) * (2.0 / core::f64::consts::PI).sqrt();
                z = (z + (tail - v) / density).clamp(0.0, 14.0);
            }
            z
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::NoiseRng;

    /// What is known of V is one unit wide in its last bit, at every precision.
    #[test]
    fn what_is_known_of_a_uniform_is_as_wide_as_its_last_bit() {
        let mut source = NoiseRng::deterministic_not_private(101).stream();
        let value = Zeroizing::new(UBig::from(0x1234_5678_9abc_def0u64));
        let v = LazyUniform { value, bits: 127, source: &mut source };
        for bits in [64, 126, 127, 128, 200] {
            let Enclosure { low, high } = v.enclose(bits);
            let width = UBig::ONE << bits.saturating_sub(127);
            assert_eq!(high - low, width, "{bits}");
        }
    }

    /// A boundary that lies some scales out is passed with a chance below so many halvings: the far ones need no series, which
    /// would have as many terms.
    #[test]
    fn far_boundaries_are_known_by_their_halvings() {
        let grid = Grid::new(-3).unwrap();
        for tail in [Tail::Laplace, Tail::Gaussian] {
            let (kernel, boundaries) =
                (Kernel::new(tail, 4.0, grid), Boundaries::new(tail, 4.0, grid));
            let law = Rounded { kernel: &kernel, boundaries: &boundaries };
            // (j + 1/2) / 32 scales.
            for (j, whole) in [(0, 0u64), (31, 0), (32, 1), (320, 10), (1 << 45, 1 << 40)] {
                assert_eq!(law.halvings(j), UBig::from(whole), "{j}");
            }
            let mut source = NoiseRng::deterministic_not_private(104).stream();
            let value = Zeroizing::new(UBig::ONE);
            let mut v = LazyUniform { value, bits: 127, source: &mut source };
            assert!(!v.below(&law, 1 << 45));
        }
    }
}
