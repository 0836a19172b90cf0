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
            // Narrow on purpose: on many processors a gather takes longer than the loads that it is made of.
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

/// The tables of shapes of every sort, for `tools/reference/bounds.py`.
#[cfg(test)]
pub(in crate::noise) fn described(hex: fn(f64) -> String) -> serde_json::Value {
    use serde_json::json;
    let shapes = tests::shapes().into_iter().map(|shape| {
        let law = Quantiles::new(shape);
        let cells = (0..CELLS).map(|i| {
            let level = law.level_of_cell(i);
            let [at, slope, next_at, next_slope, _] = law.cells[i].map(hex);
            json!({"at": [at, next_at], "slope": [slope, next_slope],
                "levels": [level.saturating_sub(1), level]})
        });
        // Of levels of every size: what is computed where V is one.
        let most = law.level(TABLE_MIN * 2f64.powi(-63)) + 1;
        let levels = (0..=most).step_by(1 + most as usize / 40);
        let lines: Vec<_> = levels
            .map(|q| {
                let (at, product) = law.parts(q);
                json!({"level": q, "at": hex(at), "slope": hex(product)})
            })
            .collect();
        json!({"epsilon": hex(shape.epsilon.get()), "width": shape.width, "inner": shape.inner,
            "cells": cells.collect::<Vec<_>>(), "lines": lines})
    });
    let line = json!({"at": hex(AT), "product": PRODUCT});
    json!({"wrong": hex(WRONG), "line": line, "shapes": shapes.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::super::StaircaseNoise;
    use super::*;
    use crate::noise::grid::Grid;
    use crate::noise::rng::{NoiseRng, NoiseStream};
    use crate::noise::rounded::settle;
    use rand_core::{Rng, TryRng};

    fn stream(seed: u64) -> NoiseStream {
        NoiseRng::deterministic_not_private(seed).stream()
    }

    fn shape(epsilon: f64, width: u64, inner: u64) -> Shape {
        Shape::new(Epsilon::new(epsilon).unwrap(), width, inner).unwrap()
    }

    /// Shapes of every sort: small and large steps, the ends of epsilon, an inner width at both ends.
    pub(super) fn shapes() -> Vec<Shape> {
        // Corners a rounding or two above the lower end of a cell, where a level that is too low is off by steps.
        let mut all = vec![
            shape(18.349_957_034_681_378, 1 << 44, 85_742_642),
            shape(19.906_201_719_673_62, 1 << 40, 992_189),
        ];
        for epsilon in [1.0 / 32.0, 0.3, 1.0, 2.5, 9.0, 20.0] {
            for width in [1, 2, 9, 1000, 1 << 20, (1 << 30) + 7, 1 << 40, 1 << 45] {
                let best = Shape::best(Epsilon::new(epsilon).unwrap(), width).unwrap();
                all.extend([1, best.inner, width].map(|inner| shape(epsilon, width, inner)));
            }
        }
        all
    }

    /// Tail probabilities by the definition, in f64.
    fn tail(s: Shape, n: u64) -> f64 {
        let e = s.epsilon.get();
        let first = (-e).exp() / -(-e).exp_m1();
        let total = 2.0 * s.inner as f64 - 1.0 + 2.0 * s.width as f64 * first;
        let rest = |q: u64| s.width as f64 * first * (-(q as f64) * e).exp();
        let (mut q, mut edge) = (0, s.inner);
        while edge < n {
            (q, edge) = (q + 1, edge + s.width);
        }
        2.0 * ((edge - n) as f64 * (-(q as f64) * e).exp() + rest(q)) / total
    }

    #[test]
    fn enclosures_hold_the_tail() {
        for s in shapes() {
            let law = Quantiles::new(s);
            let places = [1, 2, s.inner, s.inner + 1, s.inner + s.width, s.inner + 3 * s.width + 1];
            for n in places {
                let (found, expected) = (law.more_than(n - 1, 256), tail(s, n));
                assert!(found.high >= found.low);
                let at = |x: &UBig| u128::try_from(x >> 156).unwrap() as f64 * 2f64.powi(-100);
                let (low, high) = (at(&found.low), at(&found.high));
                let room = 1e-12 * expected + 1e-18;
                assert!((low - expected).abs() < room, "{s:?} {n}: {low} {expected}");
                assert!(high - low < room, "{s:?} {n}: {low} {high}");
                let halvings = u32::try_from(law.halvings(n - 1)).unwrap();
                assert!(expected <= 0.5f64.powi(halvings as i32), "{s:?} {n}");
            }
        }
    }

    struct Ones;

    impl TryRng for Ones {
        type Error = core::convert::Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            unreachable!("words of 64 bits")
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            Ok(1 << 63)
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
            unreachable!("words of 64 bits")
        }
    }

    /// What floating point settles is what exact comparisons of the same V say, whatever its further bits; and
    /// so are the bounds that save the comparisons.
    #[test]
    fn the_fast_path_is_the_exact_one() {
        struct Exact<'a>(&'a Quantiles);
        impl Magnitude for Exact<'_> {
            fn more_than(&self, j: u64, bits: usize) -> Enclosure {
                self.0.more_than(j, bits)
            }
            fn halvings(&self, j: u64) -> UBig {
                self.0.halvings(j)
            }
            fn bracket(&self, _: f64) -> Option<(u64, u64)> {
                None
            }
            fn guess(&self, known: f64) -> u64 {
                self.0.guess(known)
            }
        }
        let mut pick = stream(60);
        for s in shapes() {
            let law = Quantiles::new(s);
            let mut fast = 0;
            for i in 0..60 {
                // Of every size.
                let word = (pick.next_u64() >> (i % 15)) | (i & 1);
                let exact = settle(&Exact(&law), word, &mut Ones);
                assert_eq!(settle(&law, word, &mut Ones), exact, "{s:?} {word:#x}");
                if let Some(sample) = sample(&law, word) {
                    fast += 1;
                    assert_eq!(sample as i64, exact, "{s:?} {word:#x}");
                }
            }
            assert!(fast > 20 || law.half + s.width as f64 > 2f64.powi(40), "{s:?}: {fast} of 60");
        }
    }

    /// At every end of a cell and every begin of a step, where the wrong line or the wrong integer would show.
    #[test]
    fn cells_meet_where_steps_begin() {
        for (epsilon, width, inner) in
            [(1.0 / 32.0, 5, 2), (0.3, 3, 1), (1.0, 100, 41), (3.0, 9, 2)]
        {
            let s = shape(epsilon, width, inner);
            let law = Quantiles::new(s);
            let ends = (0..CELLS).map(|i| f64::from_bits((i as u64 + FIRST) << 47));
            let begins = (1..400).map(|n| tail(s, n) * 2f64.powi(63));
            for v in ends.chain(begins).filter(|v| *v < V_MAX && *v > FAST_MIN) {
                for v in [v * (1.0 - 1e-13), v * (1.0 + 1e-13)] {
                    let word = (v as u64) << 1;
                    let exact = settle(&law, word, &mut Ones);
                    if let Some(sample) = sample(&law, word) {
                        assert_eq!(sample as i64, exact, "{s:?} {v:e}");
                    }
                    let probability = v * 2f64.powi(-63);
                    let n = exact.unsigned_abs();
                    assert!(tail(s, n + 1) <= probability * (1.0 + 1e-12), "{s:?} {v:e} {n}");
                    assert!(n == 0 || tail(s, n) >= probability * (1.0 - 1e-12), "{s:?} {v:e} {n}");
                }
            }
        }
    }

    /// Of each word alone, in steps, by the definition of its cell; none where floating point may be wrong.
    fn sample(law: &Quantiles, word: u64) -> Option<f64> {
        let v = (word >> 1) as f64;
        let ends = |i: &usize| f64::from_bits((*i as u64 + FIRST) << 47);
        let cell = (0..CELLS).rev().find(|i| ends(i) <= v)?;
        let [at, slope, next_at, next_slope, limit] = law.cells[cell];
        let v = v.min(V_MAX);
        let magnitude = f64::max(at - slope * v, next_at - next_slope * v);
        let nearest = magnitude.round_ties_even();
        let signed = if word & 1 == 1 { -nearest } else { nearest };
        ((magnitude - nearest).abs() <= limit).then_some(signed)
    }

    #[test]
    fn lanes_are_single_samples_however_wide() {
        let on = Lattice::new(Grid::new(-30).unwrap());
        let mut words = vec![0; 509];
        stream(62).fill_words(&mut words);
        words[..6].copy_from_slice(&[0, 1, u64::MAX, 1 << 55, (1 << 55) - 1, 3 << 60]);
        let data: Vec<f64> = (0..words.len()).map(|i| (i as f64 - 200.0) * 1e-3).collect();
        for s in shapes() {
            let law = Quantiles::new(s);
            let (mut values, mut pending) = (data.clone(), vec![0; words.len().div_ceil(8)]);
            law.add(&on, &mut Block::new(), &words, &mut values, &mut pending);
            for (i, (&word, value)) in words.iter().zip(values).enumerate() {
                let noise = sample(&law, word);
                let expected = noise.map_or(data[i], |n| (on.input(data[i]) + n) * on.spacing);
                assert_eq!(value.to_bits(), expected.to_bits(), "{s:?} {word:#x}");
                assert_eq!(pending[i / 8] >> (i % 8) & 1 == 1, noise.is_none(), "{s:?} {word:#x}");
            }
        }
    }

    /// The bound of the slow path is tight: few of 65,536 draws are open after 127 bits, at either end of epsilon.
    #[test]
    fn few_draws_need_exact_arithmetic() {
        for (epsilon, width) in [(1.0 / 32.0, 1 << 30), (1.0, 1 << 30), (20.0, 1 << 34)] {
            let law = Quantiles::new(Shape::best(Epsilon::new(epsilon).unwrap(), width).unwrap());
            let mut words = vec![0; 1 << 16];
            stream(63).fill_words(&mut words);
            let open = |w: &&u64| {
                let (low, high) = law.bracket((**w >> 1).max(1 << 31) as f64).unwrap();
                low < high
            };
            let count = words.iter().filter(open).count();
            assert!(count < 40, "{epsilon}: {count} of {}", words.len());
        }
    }

    #[test]
    fn few_draws_are_slow() {
        let law = Quantiles::new(Shape::best(Epsilon::new(1.0).unwrap(), 1 << 30).unwrap());
        let mut words = vec![0; 1 << 20];
        stream(61).fill_words(&mut words);
        let slow = words.iter().filter(|w| sample(&law, **w).is_none()).count();
        // One in 512 is beyond the table, and one in some thousands too near to an edge.
        assert!((1800..3000).contains(&slow), "{slow}");
        let noise = StaircaseNoise::new(law.shape, Grid::new(-30).unwrap());
        assert!(noise.is_ok());
    }
}
