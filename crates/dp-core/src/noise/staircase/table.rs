//! The quantiles of the staircase law: straight lines, two a cell of the table, and the tail as an
//! enclosure. Proof: `docs/proofs/staircase.md`.

use super::shape::Shape;
use crate::noise::exact::decompose;
use crate::noise::kernel::{FAST_MIN, Lattice, MAGIC, V_MAX};
use crate::noise::rounded::{Enclosure, Magnitude, TABLE_MIN, Tail, survival};
use dashu_int::UBig;
use std::cell::RefCell;
use std::rc::Rc;

/// Cells of the table: 32 an octave, V from 2^-9 to one. Their ends are less than `e^(1/32)` apart, so
/// that no more than one step of the stair begins in one.
const CELLS: usize = 9 * 32;
/// Bits 47.. of the `f64` 2^54, the least V (times 2^63) of the table.
const FIRST: u64 = (1023 + 54) << 5;
/// More than floating point and unknown bits of V can be wrong by, in units of `C_0 + level width`.
const WRONG: f64 = 1.0 / (1u64 << 46) as f64;

/// The two lines `at - slope v` of a cell, and how near to an integer their larger one may be trusted.
#[derive(Clone, Copy)]
struct Cell {
    at: [f64; 2],
    slope: [f64; 2],
    limit: f64,
}

/// The magnitude as a function of V, uniform in (0, 1).
pub(super) struct Quantiles {
    shape: Shape,
    half: f64,
    cells: [Cell; CELLS],
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
        let mut made = Self {
            shape,
            half,
            cells: [Cell { at: [0.0; 2], slope: [0.0; 2], limit: -1.0 }; CELLS],
        };
        // The slopes of the lines, by level.
        let mut slopes: Vec<f64> = Vec::new();
        for i in (0..CELLS).rev() {
            let left = f64::from_bits((i as u64 + FIRST) << 47);
            let level = made.level(left * 2f64.powi(-63));
            while slopes.len() <= level as usize {
                let each = slopes.len() as f64 * shape.epsilon.get();
                slopes.push(half * each.exp() * 2f64.powi(-63));
            }
            let levels = [level.saturating_sub(1), level];
            let at = levels.map(|q| half + q as f64 * shape.width as f64);
            made.cells[i] = Cell {
                at,
                slope: levels.map(|q| slopes[q as usize]),
                limit: (0.5 - WRONG * at[1]).next_down(),
            };
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

    /// Adds noise to one value, or leaves it alone and returns true.
    #[inline(always)]
    pub(super) fn lane(&self, on: &Lattice, word: u64, value: &mut f64) -> bool {
        let v = (word >> 1) as i64 as f64;
        let inside = if v > FAST_MIN { v } else { FAST_MIN };
        let inside = if inside < V_MAX { inside } else { V_MAX };
        let cell = &self.cells[(((inside.to_bits() >> 47) - FIRST) as usize).min(CELLS - 1)];
        let (x, y) = (cell.at[0] - cell.slope[0] * inside, cell.at[1] - cell.slope[1] * inside);
        let magnitude = if x > y { x } else { y };
        let nearest = (magnitude + MAGIC) - MAGIC;
        let safe = (magnitude - nearest).abs() <= cell.limit && v >= FAST_MIN;
        if safe {
            let signed = f64::from_bits(nearest.to_bits() ^ (word << 63));
            *value = (on.input(*value) + signed) * on.spacing;
        }
        !safe
    }

    /// The largest line near a V, and how wrong it can be.
    fn line(&self, v: f64) -> (f64, f64) {
        let level = self.level(v);
        let line = |q: u64| {
            let q = q as f64;
            let at = self.half + q * self.shape.width as f64;
            at - self.half * (q * self.shape.epsilon.get()).exp() * v
        };
        let highest = line(level.saturating_sub(1)).max(line(level)).max(line(level + 1));
        (highest.max(0.0), WRONG * (self.half + (level + 1) as f64 * self.shape.width as f64))
    }
}

impl Magnitude for Quantiles {
    fn more_than(&self, j: u64, bits: usize) -> Enclosure {
        let Shape { epsilon, width, inner } = self.shape;
        let (q, r) = self.place(j);
        // Epsilon is at least 2^-5, so that its last bit is at least 2^-57 and these are exact.
        let (mantissa, exponent) = decompose(epsilon.get());
        let decay = |q: u64| {
            let shift = (bits as i64 + i64::from(exponent)) as usize;
            let exact = (UBig::from(mantissa) * UBig::from(q)) << shift;
            survival(Tail::Laplace, &Enclosure { low: exact.clone(), high: exact }, bits)
        };
        let b = decay(1);
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
        let steps = decay(q);
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
        let (line, error) = self.line(known * 2f64.powi(-63));
        let low = (line - error).next_down().max(0.0);
        Some((low.round() as u64, (line + error).next_up().round() as u64))
    }

    fn guess(&self, known: f64) -> u64 {
        self.line((known * 2f64.powi(-63)).max(1e-38)).0 as u64
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
        let cells = law.cells.iter().enumerate().map(|(i, cell)| {
            let level = law.level(f64::from_bits((i as u64 + FIRST) << 47) * 2f64.powi(-63));
            json!({"at": cell.at.map(hex), "slope": cell.slope.map(hex), "levels": [level.saturating_sub(1), level]})
        });
        json!({"epsilon": hex(shape.epsilon.get()), "width": shape.width, "inner": shape.inner,
            "cells": cells.collect::<Vec<_>>()})
    });
    json!({"wrong": hex(WRONG), "shapes": shapes.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::super::StaircaseNoise;
    use super::*;
    use crate::noise::grid::Grid;
    use crate::noise::rng::{NoiseRng, NoiseStream};
    use crate::noise::rounded::settle;
    use crate::quantity::Epsilon;
    use rand_core::{Rng, TryRng};

    fn stream(seed: u64) -> NoiseStream {
        NoiseRng::deterministic_not_private(seed).stream()
    }

    fn shape(epsilon: f64, width: u64, inner: u64) -> Shape {
        Shape::new(Epsilon::new(epsilon).unwrap(), width, inner).unwrap()
    }

    /// Shapes of every sort: small and large steps, the ends of epsilon, an inner width at both ends.
    pub(super) fn shapes() -> Vec<Shape> {
        let mut all = Vec::new();
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
            let on = Lattice::new(Grid::new(0).unwrap());
            let mut fast = 0;
            for i in 0..60 {
                // Of every size.
                let word = (pick.next_u64() >> (i % 15)) | (i & 1);
                let exact = settle(&Exact(&law), word, &mut Ones);
                assert_eq!(settle(&law, word, &mut Ones), exact, "{s:?} {word:#x}");
                let mut value = 0.0;
                if !law.lane(&on, word, &mut value) {
                    fast += 1;
                    assert_eq!(value as i64, exact, "{s:?} {word:#x}");
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
            let on = Lattice::new(Grid::new(0).unwrap());
            let ends = (0..CELLS).map(|i| f64::from_bits((i as u64 + FIRST) << 47));
            let begins = (1..400).map(|n| tail(s, n) * 2f64.powi(63));
            for v in ends.chain(begins).filter(|v| *v < V_MAX && *v > FAST_MIN) {
                for v in [v * (1.0 - 1e-13), v * (1.0 + 1e-13)] {
                    let word = (v as u64) << 1;
                    let (mut value, exact) = (0.0, settle(&law, word, &mut Ones));
                    if !law.lane(&on, word, &mut value) {
                        assert_eq!(value as i64, exact, "{s:?} {v:e}");
                    }
                    let probability = v * 2f64.powi(-63);
                    let n = exact.unsigned_abs();
                    assert!(tail(s, n + 1) <= probability * (1.0 + 1e-12), "{s:?} {v:e} {n}");
                    assert!(n == 0 || tail(s, n) >= probability * (1.0 - 1e-12), "{s:?} {v:e} {n}");
                }
            }
        }
    }

    #[test]
    fn few_draws_are_slow() {
        let law = Quantiles::new(Shape::best(Epsilon::new(1.0).unwrap(), 1 << 30).unwrap());
        let on = Lattice::new(Grid::new(-30).unwrap());
        let mut words = vec![0; 1 << 20];
        stream(61).fill_words(&mut words);
        let slow = words.iter().filter(|w| law.lane(&on, **w, &mut 0.0)).count();
        // One in 512 is beyond the table, and one in some thousands too near to an edge.
        assert!((1800..3000).contains(&slow), "{slow}");
        let noise = StaircaseNoise::new(law.shape, Grid::new(-30).unwrap());
        assert!(noise.is_ok());
    }
}
