//! The quantiles of the staircase law: straight lines, two a cell of the table, and the tail as an
//! enclosure. Proof: `docs/proofs/staircase.md`.

use super::shape::Shape;
use crate::noise::exact::decompose;
use crate::noise::kernel::{FAST_MIN, Lattice, MAGIC, V_MAX};
use crate::noise::rounded::{Enclosure, FIRST_PRECISION, Magnitude, TABLE_MIN, Tail, survival};
use crate::noise::wide::{Work, widest};
use crate::quantity::Epsilon;
use dashu_int::UBig;
use std::cell::RefCell;
use std::rc::Rc;
use zeroize::Zeroize;

/// Cells of the table: 32 an octave, V from 2^-9 to one. Their ends are less than `e^(1/32)` apart, so
/// that no more than one step of the stair begins in one.
const CELLS: usize = 9 * 32;
/// Bits 47.. of the `f64` 2^54, the least V (times 2^63) of the table.
const FIRST: u64 = (1023 + 54) << 5;
/// More than floating point and unknown bits of V can be wrong by, in units of `C_0 + level width`.
const WRONG: f64 = 1.0 / (1u64 << 46) as f64;
/// With 127 bits of V and a line that is computed for it, in the same units and the product's own: `AT at`, and
/// `PRODUCT + q epsilon` roundings of the product.
const AT: f64 = 4.0 * f64::EPSILON;
const PRODUCT: f64 = 11.0;

/// More than rounding moves a corner by, of itself.
const BELOW: f64 = 1.0 / (1u64 << 38) as f64;

/// The numbers `at`, `slope` of the two lines `at - slope v` of a cell, and how near to an integer the larger one may be
/// trusted.
type Cell = [f64; 5];

/// The magnitude as a function of V, uniform in (0, 1).
pub(super) struct Quantiles {
    shape: Shape,
    half: f64,
    cells: [Cell; CELLS],
    /// `e^(-epsilon)` at the first precision.
    decay: Enclosure,
}

thread_local! {
    /// The last table of this thread: noise is drawn in short blocks, which take less time than a table.
    static LAST: RefCell<Option<Rc<Quantiles>>> = const { RefCell::new(None) };
}

impl Quantiles {
    /// The table of a shape, which follows from it alone.
    pub(super) fn of(shape: Shape) -> Rc<Self> {
        LAST.with_borrow_mut(|last| match last {
            Some(made) if made.shape == shape => Rc::clone(made),
            _ => Rc::clone(last.insert(Rc::new(Self::new(shape)))),
        })
    }

    fn new(shape: Shape) -> Self {
        let half = shape.half();
        let decay = decay(shape.epsilon, 1, FIRST_PRECISION);
        let mut made = Self { shape, half, cells: [[0.0; 5]; CELLS], decay };
        // The slopes of the lines, by level.
        let mut slopes: Vec<f64> = Vec::new();
        for i in (0..CELLS).rev() {
            let level = made.level_of_cell(i);
            while slopes.len() <= level as usize {
                let each = slopes.len() as f64 * shape.epsilon.get();
                slopes.push(half * each.exp() * 2f64.powi(-63));
            }
            let line = |q: u64| (half + q as f64 * shape.width as f64, slopes[q as usize]);
            let ((at, slope), (next_at, next_slope)) = (line(level.saturating_sub(1)), line(level));
            let limit = (0.5 - WRONG * next_at).next_down();
            made.cells[i] = [at, slope, next_at, next_slope, limit];
        }
        made
    }

    /// The step of the stair that a V is in, or one beside it.
    fn level(&self, v: f64) -> u64 {
        let first = 1.0 - (self.shape.inner as f64 - 0.5) / self.half;
        let level = (libm::log(first / v) / self.shape.epsilon.get()).ceil();
        // Below zero in level zero.
        level.max(0.0) as u64
    }

    /// The highest level in a cell: taken a little below its lower end, so that rounding cannot miss one.
    fn level_of_cell(&self, i: usize) -> u64 {
        let left = f64::from_bits((i as u64 + FIRST) << 47);
        self.level(left * 2f64.powi(-63) * (1.0 - BELOW))
    }

    /// Adds noise to every value that floating point can settle; sets the bits of the others.
    pub(super) fn add(
        &self,
        on: &Lattice,
        block: &mut Block,
        words: &[u64],
        values: &mut [f64],
        pending: &mut [u8],
    ) {
        let masks = pending.chunks_mut(BLOCK / 8);
        for ((words, values), masks) in words.chunks(BLOCK).zip(values.chunks_mut(BLOCK)).zip(masks)
        {
            let Block { v, cell, lines } = &mut *block;
            widest(Locate { words, v, cell });
            // Narrow on purpose: gathers in the place of these loads took twice as long.
            for (i, &cell) in cell.iter().enumerate() {
                for (line, number) in
                    lines.iter_mut().zip(self.cells[usize::from(cell).min(CELLS - 1)])
                {
                    line[i] = number;
                }
            }
            let mut left = [0; BLOCK];
            widest(Round { on, words, v, lines, values, left: &mut left });
            for (mask, left) in masks.iter_mut().zip(left.as_chunks::<8>().0) {
                *mask = (0..8).fold(0, |mask, i| mask | left[i] << i);
            }
        }
    }

    /// Line q at a V, and how wrong it can be.
    fn line(&self, q: u64, v: f64) -> (f64, f64) {
        let (at, slope) = self.parts(q);
        let (exponent, product) = (q as f64 * self.shape.epsilon.get(), slope * v);
        (at - product, AT * at + (PRODUCT + exponent) * (0.5 * f64::EPSILON) * product)
    }

    /// Line q at zero, and how steep it falls.
    fn parts(&self, q: u64) -> (f64, f64) {
        let q = q as f64;
        let at = self.half + q * self.shape.width as f64;
        (at, self.half * (q * self.shape.epsilon.get()).exp())
    }

    /// The ends between which the largest line at a V is.
    fn highest(&self, v: f64) -> (f64, f64) {
        let level = self.level(v);
        let lines = (level.saturating_sub(1)..=level + 1).map(|q| self.line(q, v));
        lines.fold((0.0, 0.0), |(low, high), (line, wrong)| {
            (f64::max(low, (line - wrong).next_down()), f64::max(high, (line + wrong).next_up()))
        })
    }
}

/// Values of one turn of [`Quantiles::add`].
const BLOCK: usize = 64;

/// Where the words of a turn are, and the lines there; wiped when dropped.
pub(super) struct Block {
    v: [f64; BLOCK],
    cell: [u16; BLOCK],
    lines: [[f64; BLOCK]; 5],
}

impl Block {
    pub(super) fn new() -> Self {
        Self { v: [0.0; BLOCK], cell: [0; BLOCK], lines: [[0.0; BLOCK]; 5] }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.v.zeroize();
        self.cell.zeroize();
        self.lines.zeroize();
    }
}

/// V of each word, and its cell.
struct Locate<'a> {
    words: &'a [u64],
    v: &'a mut [f64; BLOCK],
    cell: &'a mut [u16; BLOCK],
}

impl Work for Locate<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((&word, v), cell) in self.words.iter().zip(self.v).zip(self.cell) {
            *v = (word >> 1) as i64 as f64;
            let inside = if *v > FAST_MIN { *v } else { FAST_MIN };
            let inside = if inside < V_MAX { inside } else { V_MAX };
            *cell = ((inside.to_bits() >> 47) - FIRST) as u16;
        }
    }
}

/// Adds the larger line to each value where that is near enough to an integer.
struct Round<'a> {
    on: &'a Lattice,
    words: &'a [u64],
    v: &'a [f64; BLOCK],
    lines: &'a [[f64; BLOCK]; 5],
    values: &'a mut [f64],
    left: &'a mut [u8; BLOCK],
}

impl Work for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { on: &on, words, v, lines, values, left } = self;
        let [at, slope, next_at, next_slope, limit] = lines;
        for (i, ((&word, value), left)) in words.iter().zip(values).zip(left).enumerate() {
            let inside = if v[i] < V_MAX { v[i] } else { V_MAX };
            let (x, y) = (at[i] - slope[i] * inside, next_at[i] - next_slope[i] * inside);
            let magnitude = if x > y { x } else { y };
            let nearest = (magnitude + MAGIC) - MAGIC;
            let safe = ((magnitude - nearest).abs() <= limit[i]) & (v[i] >= FAST_MIN);
            let signed = f64::from_bits(nearest.to_bits() ^ (word << 63));
            let sum = (on.input(*value) + signed) * on.spacing;
            *value = if safe { sum } else { *value };
            *left = u8::from(!safe);
        }
    }
}

/// `e^(-epsilon q)` at precision `bits`.
fn decay(epsilon: Epsilon, q: u64, bits: usize) -> Enclosure {
    // Epsilon is at least 2^-5, so that its last bit is at least 2^-57 and this is exact.
    let (mantissa, exponent) = decompose(epsilon.get());
    let shift = (bits as i64 + i64::from(exponent)) as usize;
    let exact = (UBig::from(mantissa) * UBig::from(q)) << shift;
    survival(Tail::Laplace, &Enclosure { low: exact.clone(), high: exact }, bits)
}

impl Magnitude for Quantiles {
    fn more_than(&self, j: u64, bits: usize) -> Enclosure {
        let Shape { epsilon, width, inner } = self.shape;
        let (q, r) = self.place(j);
        let b = if bits == FIRST_PRECISION { &self.decay } else { &decay(epsilon, 1, bits) };
        let sum = |whole: u64, part: u64| Enclosure {
            low: (UBig::from(whole) << bits) + &b.low * UBig::from(part),
            high: (UBig::from(whole) << bits) + &b.high * UBig::from(part),
        };
        let above = sum(2 * r, 2 * (width - r));
        let total = sum(2 * inner - 1, 2 * (width - inner) + 1);
        if q == 0 {
            let low = (&above.low << bits) / &total.high;
            return Enclosure { low, high: (&above.high << bits) / &total.low + 1u8 };
        }
        let steps = decay(epsilon, q, bits);
        let low = (&above.low * &steps.low) / &total.high;
        Enclosure { low, high: (&above.high * &steps.high) / &total.low + 1u8 }
    }

    /// At most `e^(-(q - 1) epsilon)`, and e is above 2.
    fn halvings(&self, j: u64) -> UBig {
        let (q, _) = self.place(j);
        let (mantissa, exponent) = decompose(self.shape.epsilon.get());
        let product = UBig::from(mantissa) * UBig::from(q.saturating_sub(1));
        if exponent >= 0 {
            product << exponent as usize
        } else {
            product >> exponent.unsigned_abs() as usize
        }
    }

    fn bracket(&self, known: f64) -> Option<(u64, u64)> {
        if known < TABLE_MIN {
            return None;
        }
        let (low, high) = self.highest(known * 2f64.powi(-63));
        Some((low.round() as u64, high.round() as u64))
    }

    fn guess(&self, known: f64) -> u64 {
        self.highest((known * 2f64.powi(-63)).max(1e-38)).1 as u64
    }
}

impl Quantiles {
    /// The step of the stair below the integer `j + 1`, and how far the next one is above it.
    fn place(&self, j: u64) -> (u64, u64) {
        let Shape { width, inner, .. } = self.shape;
        let n = j + 1;
        match n.checked_sub(inner + 1) {
            None => (0, inner - n),
            Some(beyond) => (beyond / width + 1, width - 1 - beyond % width),
        }
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
pub(super) mod tests;
