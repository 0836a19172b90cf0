//! Rounded Gaussian and Laplace noise: laws, tails, independence, threads, and the attack
//! on textbook samplers. Statistical tests reject a right sampler with probability at most
//! 1e-7 and must reject the scales x0.7 and x1.3.

use crate::support::{chi_square_excess, ks_excess, normal_cdf, stream};
use dp_core::authority;
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid, LaplaceNoise, NoiseStream};
use dp_core::{LaplaceScale, NoiseRng, NoiseScale};
use rand_core::Rng;
use std::collections::BTreeSet;

/// A law and its cdf.
type Law<'a> = (&'a dyn AdditiveNoise, &'a dyn Fn(f64) -> f64);

fn scale(s: f64) -> NoiseScale {
    NoiseScale::new(s).unwrap()
}

fn gaussian(s: f64, exponent: i32) -> GaussianNoise {
    authority!().gaussian(scale(s), Grid::new(exponent).unwrap()).unwrap()
}

fn laplace(s: f64, exponent: i32) -> LaplaceNoise {
    authority!().laplace(LaplaceScale::new(s).unwrap(), Grid::new(exponent).unwrap()).unwrap()
}

fn laplace_cdf(x: f64) -> f64 {
    if x < 0.0 { 0.5 * x.exp() } else { 1.0 - 0.5 * (-x).exp() }
}

#[test]
fn both_laws_pass_kolmogorov_smirnov() {
    let n = 300_000;
    for (s, exponent) in [(1.0, -30), (1e-3, -45), (6.25e9, 2)] {
        let laws: [Law<'_>; 2] =
            [(&gaussian(s, exponent), &normal_cdf), (&laplace(s, exponent), &laplace_cdf)];
        for (law, cdf) in laws {
            let mut draws = vec![0.0; n];
            law.fill(&mut NoiseRng::deterministic_not_private(31), &mut draws);
            for (factor, rejected) in [(1.0, false), (0.7, true), (1.3, true)] {
                let excess = ks_excess(&mut draws, |x| cdf(x / (s * factor)));
                assert_eq!(excess > 0.0, rejected, "scale {s} factor {factor}");
            }
        }
    }
}

/// Counts of `|x|` beyond each threshold, cell by cell, over `n` draws.
fn tail_counts(law: &dyn AdditiveNoise, n: usize, edges: &[f64]) -> Vec<u64> {
    let mut s = stream(32);
    let mut block = vec![0.0; 1 << 15];
    let mut counts = vec![0; edges.len() + 1];
    for _ in 0..n / block.len() {
        block.fill(0.0);
        law.add_block(&mut s, &mut block).unwrap();
        for x in &block {
            counts[edges.partition_point(|e| *e < x.abs())] += 1;
        }
    }
    counts
}

#[test]
fn tails_are_right_to_six_standard_deviations() {
    // 2^26 draws: 38 beyond 5 sigma, 2.5 beyond 5.5, 0.13 beyond 6; the far end is also
    // compared with exact arithmetic draw by draw in the unit tests.
    let n = 1 << 26;
    let edges = [2.0, 2.5, 3.0, 3.5, 4.0, 4.25, 4.5, 4.75, 5.0, 5.25, 5.5, 6.0];
    let cells = |sf: &dyn Fn(f64) -> f64, factor: f64| -> Vec<f64> {
        let mut last = 1.0;
        let mut cells: Vec<f64> = edges
            .iter()
            .map(|e| {
                let next = sf(e / factor);
                core::mem::replace(&mut last, next) - next
            })
            .collect();
        cells.push(last);
        cells
    };
    let normal = |x: f64| libm::erfc(x * core::f64::consts::FRAC_1_SQRT_2);
    let exponential = |x: f64| (-x).exp();
    let both: [Law<'_>; 2] = [(&gaussian(1.0, -30), &normal), (&laplace(1.0, -30), &exponential)];
    for (law, sf) in both {
        let counts = tail_counts(law, n, &edges);
        assert!(chi_square_excess(&counts, &cells(sf, 1.0)) < 0.0, "{counts:?}");
        assert!(chi_square_excess(&counts, &cells(sf, 0.7)) > 0.0);
        assert!(chi_square_excess(&counts, &cells(sf, 1.3)) > 0.0);
        // The last cells alone: a tail cut off at 5 sigma would be seen.
        let beyond: u64 = counts[9..].iter().sum();
        let expected = n as f64 * sf(5.0);
        assert!((beyond as f64 - expected).abs() < 6.0 * expected.sqrt() + 16.0);
        assert!(beyond > 8);
    }
}

#[test]
fn neighbours_in_a_block_are_independent() {
    // 12 x 12 cells of equal probability, at lags inside a vector, across vectors, across
    // chunks of 512 words, and across streams of 4096 values.
    let (n, side) = (1 << 20, 12usize);
    let laws: [Law<'_>; 2] =
        [(&gaussian(1.0, -30), &normal_cdf), (&laplace(1.0, -30), &laplace_cdf)];
    for (law, cdf) in laws {
        let mut draws = vec![0.0; n];
        law.fill(&mut NoiseRng::deterministic_not_private(33), &mut draws);
        let cell = |x: f64| ((cdf(x) * side as f64) as usize).min(side - 1);
        let cells: Vec<usize> = draws.iter().map(|&x| cell(x)).collect();
        let joint = |cells: &[usize], lag: usize| {
            let mut counts = vec![0u64; side * side];
            cells.windows(lag + 1).for_each(|w| counts[side * w[0] + w[lag]] += 1);
            chi_square_excess(&counts, &vec![1.0 / (side * side) as f64; side * side])
        };
        for lag in [1, 2, 3, 4, 7, 8, 16, 511, 512, 4095, 4096] {
            assert!(joint(&cells, lag) < 0.0, "lag {lag}");
        }
        // Power: the wrong scale, and a law that mixes in a fiftieth of its neighbour.
        for factor in [0.7, 1.3] {
            let wrong: Vec<usize> = draws.iter().map(|&x| cell(x * factor)).collect();
            assert!(joint(&wrong, 1) > 0.0);
        }
        let mixed: Vec<usize> =
            draws.windows(2).map(|w| cell(0.9998 * w[0] + 0.02 * w[1])).collect();
        assert!(joint(&mixed, 1) > 0.0);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let values: Vec<f64> = (0..50_000).map(|i| f64::from(i).sin()).collect();
    let single: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    let law = gaussian(2.0, -29);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut rng = NoiseRng::deterministic_not_private(34);
            let (mut a, mut b, mut c) = (values.clone(), single.clone(), values.clone());
            law.add_to(&mut rng, &mut a).unwrap();
            law.add_to_f32(&mut rng, &mut b).unwrap();
            laplace(2.0, -29).add_to(&mut rng, &mut c).unwrap();
            (a, b, c)
        })
    };
    let one = run(1);
    assert!(run(2) == one && run(8) == one);
    // Sequentially, block by block, from the same streams.
    let mut rng = NoiseRng::deterministic_not_private(34);
    let streams = rng.reserve(values.len().div_ceil(4096) as u64);
    let mut sequential = values.clone();
    for (block, mut stream) in sequential.chunks_mut(4096).zip(streams) {
        law.add_block(&mut stream, block).unwrap();
    }
    assert_eq!(sequential, one.0);
}

#[test]
fn single_precision_is_the_rounding_of_double_precision() {
    let single: Vec<f32> = (0..5000).map(|i| (i as f32).cos() * 50.0).collect();
    let mut double: Vec<f64> = single.iter().map(|&v| f64::from(v)).collect();
    let law = gaussian(0.3, -32);
    let mut rounded = single.clone();
    law.add_to_f32(&mut NoiseRng::deterministic_not_private(35), &mut rounded).unwrap();
    law.add_to(&mut NoiseRng::deterministic_not_private(35), &mut double).unwrap();
    assert!(rounded.iter().zip(&double).all(|(s, d)| s.to_bits() == (*d as f32).to_bits()));
}

#[test]
fn pieces_of_512_give_the_same_as_the_whole() {
    let law = laplace(1.0, -30);
    let mut whole = vec![0.25; 3000];
    let mut pieces = whole.clone();
    law.add_block(&mut stream(36), &mut whole).unwrap();
    let mut s = stream(36);
    for piece in pieces.chunks_mut(1024) {
        law.add_block(&mut s, piece).unwrap();
    }
    assert_eq!(whole, pieces);
}

/// The sampler of the textbooks: Box and Muller in floating point, added in floating point.
fn textbook(stream: &mut NoiseStream, value: f64) -> f64 {
    let mut uniform = || ((stream.next_u64() >> 11) as f64 + 0.5) * 2f64.powi(-53);
    let radius = (-2.0 * uniform().ln()).sqrt();
    value + radius * (core::f64::consts::TAU * uniform()).cos()
}

/// Mironov (2012): outputs that one of two adjacent inputs can give and the other cannot.
/// Near zero, `0 + noise` has bits below 2^-53 and `1 + noise` has none.
#[test]
fn reachable_outputs_tell_adjacent_inputs_apart_for_the_textbook_only() {
    let n = 200_000;
    let near = |y: f64| y.abs() < 0.25;
    let fine = |y: f64| (y * 2f64.powi(53)).fract() != 0.0;
    let rate = |outputs: &[f64]| {
        let near: Vec<f64> = outputs.iter().copied().filter(|&y| near(y)).collect();
        near.iter().filter(|&&y| fine(y)).count() as f64 / near.len() as f64
    };
    let mut s = stream(37);
    let from = |x: f64, s: &mut NoiseStream| (0..n).map(|_| textbook(s, x)).collect::<Vec<_>>();
    let (zero, one) = (from(0.0, &mut s), from(1.0, &mut s));
    assert!(rate(&zero) > 0.8, "the attack works on the textbook: {}", rate(&zero));
    assert_eq!(rate(&one), 0.0);
    // The same attack on ours, at the grid that Grid::choose gives.
    let law = gaussian(1.0, -30);
    for x in [0.0, 1.0] {
        let mut outputs = vec![x; n];
        law.add_block(&mut s, &mut outputs).unwrap();
        assert_eq!(rate(&outputs), 0.0);
        assert!(outputs.iter().all(|y| (y * 2f64.powi(30)).fract() == 0.0));
    }
}

#[test]
fn adjacent_inputs_reach_exactly_the_same_outputs() {
    // On a coarse grid the reachable set can be listed: every point of a window, from both
    // inputs, wherever between grid points the inputs lie.
    let window = |outputs: Vec<f64>| -> BTreeSet<i64> {
        outputs.iter().filter(|y| y.abs() <= 3.0).map(|y| (y * 16.0) as i64).collect()
    };
    let all: BTreeSet<i64> = (-48..=48).collect();
    let laws: [&dyn AdditiveNoise; 2] = [&gaussian(32.0, -4), &laplace(32.0, -4)];
    let mut s = stream(38);
    for law in laws {
        for x in [0.0, 1.0, 0.3, 0.300_000_1, -0.0, 1e-300] {
            let mut outputs = vec![x; 400_000];
            law.add_block(&mut s, &mut outputs).unwrap();
            assert!(window(outputs) == all, "input {x}");
        }
    }
    // And with equal bits, adjacent inputs give outputs that differ by their rounded
    // difference exactly: the noise does not depend on the input.
    for (law, x, y) in [(gaussian(1.0, -30), 0.1, 0.7), (gaussian(3.0, -20), -1e-9, 1e5)] {
        let (mut a, mut b) = (vec![x; 100_000], vec![y; 100_000]);
        law.add_block(&mut stream(39), &mut a).unwrap();
        law.add_block(&mut stream(39), &mut b).unwrap();
        let gap = law.grid().round(y) - law.grid().round(x);
        assert!(a.iter().zip(&b).all(|(a, b)| b - a == gap));
    }
}
