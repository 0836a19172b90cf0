//! The table against the law by its definition, and what `noise::bounds` asks about it.

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
fn shapes() -> Vec<Shape> {
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

/// The tables of shapes of every sort, for `tools/reference/bounds.py`.
pub(in crate::noise) fn described(hex: fn(f64) -> String) -> serde_json::Value {
    use serde_json::json;
    let shapes = shapes().into_iter().map(|shape| {
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
    for (epsilon, width, inner) in [(1.0 / 32.0, 5, 2), (0.3, 3, 1), (1.0, 100, 41), (3.0, 9, 2)] {
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

/// As for the rounded laws: processors need more time for subnormal numbers, and the data's would show.
#[cfg(target_arch = "x86_64")]
#[test]
fn no_operation_meets_a_subnormal_number() {
    use crate::noise::simd::rounded::tests::meets_subnormals;
    let law = Quantiles::new(Shape::best(Epsilon::new(1.0).unwrap(), 1 << 30).unwrap());
    let mut words = vec![0; 64];
    stream(64).fill_words(&mut words);
    words[..3].copy_from_slice(&[0, 1, 2]);
    // On the second grid normal numbers would become subnormal in steps.
    for exponent in [-30, 900] {
        let grid = Grid::new(exponent).unwrap();
        let (on, step) = (Lattice::new(grid), grid.spacing());
        let data =
            [5e-324, -1e-310, f64::MIN_POSITIVE, -1e-200, 0.0, -0.0, 0.3 * step, -2.5 * step];
        let mut values = core::hint::black_box(data.repeat(8));
        let (mut block, mut pending) = (Block::new(), [0; 8]);
        assert!(
            !meets_subnormals(|| law.add(&on, &mut block, &words, &mut values, &mut pending)),
            "2^{exponent}"
        );
        assert!(pending[0] & 7 == 7 && values != data.repeat(8));
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

/// `2^-46 (C + jD)`-like bounds in floating point: `AT` of a line's height, and `(11 + q epsilon) 2^-53` of its fall.
#[test]
fn lines_state_their_errors() {
    for shape in [shape(4.0, 1 << 20, 9), shape(0.3, 1000, 400), shape(20.0, 1 << 40, 1)] {
        let law = Quantiles::new(shape);
        for q in [0u64, 1, 5, 20] {
            for v in [0.9, 1e-3, 1e-9] {
                let (at, slope) = law.parts(q);
                let fall = slope * v;
                let least =
                    AT * at + (PRODUCT + q as f64 * shape.epsilon.get()) * 2f64.powi(-53) * fall;
                let (_, wrong) = law.line(q, v);
                assert!((wrong / least - 1.0).abs() < 1e-12, "{q} {v}: {wrong:e}, {least:e}");
            }
        }
        // Where the first word is small nothing is known in floating point.
        assert!(law.bracket(0.999 * TABLE_MIN).is_none() && law.bracket(0.0).is_none());
        assert!(law.bracket(TABLE_MIN).is_some());
    }
}
