//! The fast path: one table lookup, one polynomial, one test.
//!
//! Every operation is a single IEEE operation rounded to nearest, none is fused, so the
//! vector versions in `noise::simd` give the same bits.

use super::table::Table;
use super::tail::Tail;
use crate::noise::grid::Grid;

/// Adding and subtracting this rounds to the nearest integer, ties to even, for
/// absolute values up to 2^51; zero comes out as +0.
pub(in crate::noise) const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
/// Rounded inputs are clamped to this many steps of the grid.
pub(in crate::noise) const INPUT_LIMIT: f64 = 2_251_799_813_685_248.0; // 2^51
/// Outputs are clamped to this many steps of the grid.
const OUTPUT_LIMIT: i64 = 1 << 52;
/// The least 63-bit V (times 2^63) of the fast path: V = 2^-9.
pub(in crate::noise) const FAST_MIN: f64 = 18_014_398_509_481_984.0; // 2^54
/// The largest `f64` below 2^63.
pub(in crate::noise) const V_MAX: f64 = 9_223_372_036_854_774_784.0;
/// Bits 47.. of the `f64` 2^31, the least V (times 2^63) of the table.
pub(in crate::noise) const FIRST_ROW: u64 = (1023 + 31) << 5;
/// Bits of the mantissa below the row number.
pub(in crate::noise) const LOCAL: u64 = (1 << 47) - 1;
/// The bits of 1.0.
pub(in crate::noise) const ONE: u64 = 1023 << 52;
/// 1 + 1/64, the centre of a row relative to its left end.
pub(in crate::noise) const CENTRE: f64 = 1.015625;

/// The constants of one law on one grid.
pub(in crate::noise) struct Kernel {
    pub(in crate::noise) table: &'static Table,
    /// s = scale / spacing.
    pub(in crate::noise) steps: f64,
    /// The largest distance to the nearest integer that is safe; negative when the
    /// fast path cannot be used at all.
    pub(in crate::noise) limit: f64,
    pub(in crate::noise) on: Lattice,
}

/// The grid, as values meet it.
#[derive(Clone, Copy)]
pub(in crate::noise) struct Lattice {
    pub(in crate::noise) spacing: f64,
    pub(in crate::noise) per_spacing: f64,
    /// The bits of half a spacing: what is smaller in absolute value rounds to zero.
    pub(in crate::noise) least: u64,
}

/// All bits of an `f64` but its sign.
pub(in crate::noise) const MAGNITUDE: u64 = !(1 << 63);

impl Lattice {
    pub(in crate::noise) fn new(grid: Grid) -> Self {
        let (spacing, per_spacing) = (grid.spacing(), 1.0 / grid.spacing());
        Self { spacing, per_spacing, least: (0.5 * spacing).to_bits() }
    }

    /// The value rounded to the grid, in steps, clamped; NaN goes to the lower end.
    ///
    /// What rounds to zero is masked by integers first, so that no floating-point operation meets
    /// a subnormal number: on many processors those take longer, and the data would show.
    #[inline(always)]
    pub(in crate::noise) fn input(&self, value: f64) -> f64 {
        let bits = value.to_bits();
        let counts = u64::from(bits & MAGNITUDE >= self.least).wrapping_neg();
        let x = f64::from_bits(bits & counts) * self.per_spacing;
        let x = if x > -INPUT_LIMIT { x } else { -INPUT_LIMIT };
        let x = if x < INPUT_LIMIT { x } else { INPUT_LIMIT };
        (x + MAGIC) - MAGIC
    }

    /// The value rounded to the grid plus `noise` steps, clamped to 2^52 steps.
    pub(in crate::noise) fn sum(&self, value: f64, noise: i64) -> f64 {
        let sum = self.input(value) as i64 + noise;
        sum.clamp(-OUTPUT_LIMIT, OUTPUT_LIMIT) as f64 * self.spacing
    }
}

impl Kernel {
    pub(in crate::noise) fn new(tail: Tail, scale: f64, grid: Grid) -> Self {
        let table = Table::of(tail);
        let on = Lattice::new(grid);
        let steps = scale * on.per_spacing;
        // Powers of two: exact as long as nothing over- or underflows.
        let exact = scale.is_normal() && (2f64.powi(-200)..2f64.powi(47)).contains(&steps);
        // Half a step less the error; next_down makes up for rounding the difference
        // and makes the inequality strict.
        let limit = if exact { (0.5 - steps * table.first_error).next_down() } else { -1.0 };
        Self { table, steps, limit, on }
    }

    /// The magnitude in steps for `v = V 2^63` in `[2^31, 2^63)`.
    #[inline(always)]
    pub(in crate::noise) fn magnitude(&self, v: f64) -> f64 {
        let bits = v.to_bits();
        let row = &self.table.rows[((bits >> 47) - FIRST_ROW) as usize & 1023];
        let t = f64::from_bits((bits & LOCAL) | ONE) - CENTRE;
        let mut sum = row[7];
        for k in (0..7).rev() {
            sum = row[k] + t * sum;
        }
        sum * self.steps
    }

    /// The signed sample of a word, in steps and not rounded; NaN below V = 2^-9.
    #[inline(always)]
    pub(in crate::noise) fn sample(&self, word: u64) -> f64 {
        let v = (word >> 1) as f64;
        if v >= FAST_MIN {
            f64::from_bits(self.magnitude(v.min(V_MAX)).to_bits() ^ (word << 63))
        } else {
            f64::NAN
        }
    }

    /// Rounds one value to the grid and adds noise, or returns true. Rounding it again changes nothing.
    #[inline(always)]
    pub(in crate::noise) fn lane(&self, word: u64, value: &mut f64) -> bool {
        let v = (word >> 1) as f64;
        let inside = if v > FAST_MIN { v } else { FAST_MIN };
        let inside = if inside < V_MAX { inside } else { V_MAX };
        let magnitude = self.magnitude(inside);
        let signed = f64::from_bits(magnitude.to_bits() ^ (word << 63));
        let nearest = (signed + MAGIC) - MAGIC;
        let safe = (signed - nearest).abs() <= self.limit && v >= FAST_MIN;
        let nearest = if safe { nearest } else { 0.0 };
        *value = (self.on.input(*value) + nearest) * self.on.spacing;
        !safe
    }

    /// The scalar version of [`crate::noise::simd::rounded::run`].
    pub(in crate::noise) fn run(&self, words: &[u64], values: &mut [f64], pending: &mut [u8]) {
        let lanes = words.chunks(8).zip(values.chunks_mut(8));
        for (mask, (words, values)) in pending.iter_mut().zip(lanes) {
            *mask = 0;
            for (i, (&word, value)) in words.iter().zip(values).enumerate() {
                *mask |= u8::from(self.lane(word, value)) << i;
            }
        }
    }
}
