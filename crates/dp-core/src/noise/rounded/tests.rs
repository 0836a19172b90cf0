//! The fast path against the oracle, the slow path against both, vectors against scalars.

use super::oracle::{BITS, ERROR, Oracle};
use super::resolve::{Boundaries, Rounded, settle};
use super::{Tail, Words, add_block, simd};
use crate::noise::grid::Grid;
use crate::noise::kernel::{Kernel, Table};
use crate::noise::law::CHUNK;
use crate::noise::rng::{NoiseRng, NoiseStream};
use rand_core::{Rng, TryRng};
use std::sync::OnceLock;

/// A version of the kernel.
type Run<'a> = &'a dyn Fn(&Kernel, &[u64], &mut [f64], &mut [u8]);

fn stream(seed: u64) -> NoiseStream {
    NoiseRng::deterministic_not_private(seed).stream()
}

fn resolve<R: Rng>(kernel: &Kernel, boundaries: &Boundaries, word: u64, source: &mut R) -> i64 {
    settle(&Rounded { kernel, boundaries }, word, source)
}

fn oracle(tail: Tail) -> &'static Oracle {
    static BOTH: [OnceLock<Oracle>; 2] = [OnceLock::new(), OnceLock::new()];
    BOTH[tail as usize].get_or_init(|| match tail {
        Tail::Gaussian => Oracle::new(tail, 10),
        Tail::Laplace => Oracle::new(tail, 48),
    })
}

/// y_j with 112 fractional bits, rounded down.
fn point(b: &Boundaries, j: u64) -> u128 {
    u128::try_from(b.enclose(j, BITS).low).unwrap()
}

/// Whether `n` is the magnitude for every V in `[low, high]` (112 fractional bits); None
/// when the oracle's own error leaves it open.
fn agrees(oracle: &Oracle, b: &Boundaries, n: u64, low: i128, high: i128) -> Option<bool> {
    // One unit of y moves the tail probability by at most one unit.
    let slack = ERROR + 1;
    let below_next = low - oracle.survival(point(b, n));
    let above_last = match n {
        0 => i128::MAX,
        _ => oracle.survival(point(b, n - 1)) - high,
    };
    let worst = below_next.min(above_last);
    if worst > slack {
        Some(true)
    } else if worst < -slack {
        Some(false)
    } else {
        None
    }
}

/// Runs the scalar kernel on fresh words; returns the magnitudes, None where pending.
fn fast(kernel: &Kernel, words: &[u64]) -> Vec<Option<u64>> {
    words
        .iter()
        .map(|&word| {
            let mut value = 0.0;
            let pending = kernel.lane(word, &mut value);
            (!pending).then(|| (value.abs() * kernel.on.per_spacing) as u64)
        })
        .collect()
}

struct Recorder {
    inner: NoiseStream,
    words: Vec<u64>,
}

impl TryRng for Recorder {
    type Error = core::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        unreachable!("the slow path draws words of 64 bits")
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.words.push(self.inner.next_u64());
        Ok(self.words[self.words.len() - 1])
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        unreachable!("the slow path draws words of 64 bits")
    }
}

/// Words that are given, and no more.
struct Script {
    words: Vec<u64>,
    next: usize,
}

impl TryRng for Script {
    type Error = core::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        unreachable!("the slow path draws words of 64 bits")
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.next += 1;
        Ok(self.words[self.next - 1])
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        unreachable!("the slow path draws words of 64 bits")
    }
}

/// The steps that `count` zeros get from a known key's first stream, and how many words each drew after its first. Those
/// that floating point settles are settled exactly as well in one of `forced` (0: in none), with any further words.
pub(in crate::noise) fn recorded(
    forced: usize,
    tail: Tail,
    scale: f64,
    grid: i32,
    seed: u64,
    count: u64,
) -> Vec<(i64, u64)> {
    let grid = Grid::new(grid).unwrap();
    let (kernel, b) = (Kernel::new(tail, scale, grid), Boundaries::new(tail, scale, grid));
    let mut source = Recorder { inner: stream(seed), words: vec![] };
    let (mut own, mut other) = (Words::new(), stream(seed + 1));
    let mut out = vec![0.0; count as usize];
    let mut all = Vec::new();
    for chunk in out.chunks_mut(CHUNK) {
        let words = own.refill(&mut source.inner, chunk.len());
        for ((word, magnitude), value) in words.iter().zip(fast(&kernel, words)).zip(chunk) {
            source.words.clear();
            let steps = match magnitude {
                None => resolve(&kernel, &b, *word, &mut source),
                Some(n) => {
                    let steps = if word & 1 == 1 { -(n as i64) } else { n as i64 };
                    if forced > 0 && all.len().is_multiple_of(forced) {
                        assert_eq!(resolve(&kernel, &b, *word, &mut other), steps);
                    }
                    steps
                }
            };
            *value = kernel.on.sum(0.0, steps);
            all.push((steps, source.words.len() as u64));
        }
    }
    // And that is what is added, clamped.
    let mut whole = vec![0.0; out.len()];
    add_block(tail, scale, grid, &mut stream(seed), &mut whole);
    assert!(whole == out);
    all
}

/// Checks `count` draws; returns how many of them were pending.
fn check(tail: Tail, scale: f64, grid: i32, count: usize, seed: u64) -> usize {
    let mut words = vec![0; count];
    stream(seed).fill_words(&mut words);
    check_words(tail, scale, grid, &words, seed)
}

fn check_words(tail: Tail, scale: f64, grid: i32, words: &[u64], seed: u64) -> usize {
    let grid = Grid::new(grid).unwrap();
    let (kernel, b) = (Kernel::new(tail, scale, grid), Boundaries::new(tail, scale, grid));
    let oracle = oracle(tail);
    let mut source = Recorder { inner: stream(seed + 1000), words: vec![] };
    let (mut pending, mut open) = (0, 0);
    for (word, magnitude) in words.iter().zip(fast(&kernel, words)) {
        let unit = BITS - 63;
        let (n, low, high) = match magnitude {
            Some(n) => {
                let low = i128::from(word >> 1) << unit;
                (n, low, low + (1 << unit))
            }
            None => {
                pending += 1;
                source.words.clear();
                let n = resolve(&kernel, &b, *word, &mut source);
                assert!(n == 0 || (n < 0) == (word & 1 == 1));
                let bits = u128::from(word >> 1) << 64 | u128::from(source.words[0]);
                let low = (bits >> (127 - BITS)) as i128;
                (n.unsigned_abs(), low, low + 1)
            }
        };
        match agrees(oracle, &b, n, low, high) {
            Some(agrees) => assert!(agrees, "{tail:?} scale {scale} word {word:#x}: {n}"),
            None => open += 1,
        }
    }
    assert!(open <= 2, "the oracle decides nearly everything: {open}");
    pending
}

#[test]
fn a_million_gaussian_draws_agree_with_the_oracle() {
    // About 2^30 steps, as Grid::choose gives; one in 2^17 needs more bits, and one in 512
    // is in the far tail.
    let pending = check(Tail::Gaussian, 1.7, -30, 1_000_000, 1);
    assert!((1500..2500).contains(&pending), "{pending}");
    let pending = check(Tail::Gaussian, 0.013, -10, 1_000_000, 2);
    assert!((1500..2500).contains(&pending), "{pending}");
}

#[test]
fn a_million_laplace_draws_agree_with_the_oracle() {
    let pending = check(Tail::Laplace, 1.7, -30, 1_000_000, 3);
    assert!((1500..2500).contains(&pending), "{pending}");
    let pending = check(Tail::Laplace, 77.7, -2, 1_000_000, 4);
    assert!((1500..2500).contains(&pending), "{pending}");
}

#[test]
fn far_tails_agree_with_the_oracle() {
    // V below 2^-zeros: just past the fast range, 6 sigma (2^-28.9), both ends of the
    // table (2^-32), and beyond it.
    for (zeros, count) in [(9, 100_000), (28, 20_000), (31, 2_000), (32, 300), (40, 200)] {
        let mut words = vec![0; count];
        stream(20 + zeros).fill_words(&mut words);
        words.iter_mut().for_each(|w| *w >>= zeros);
        for tail in [Tail::Gaussian, Tail::Laplace] {
            assert_eq!(check_words(tail, 1.7, -30, &words, 21), count);
        }
    }
}

#[test]
fn samples_agree_with_mpmath_to_the_last_of_hundreds_of_bits() {
    #[derive(serde::Deserialize)]
    struct Case {
        kind: String,
        law: String,
        scale_bits: String,
        grid: i32,
        words: Vec<String>,
        steps: i64,
    }
    #[derive(serde::Deserialize)]
    struct Cases {
        cases: Vec<Case>,
    }
    let text = include_str!("../../../tests/data/rounded_noise.json");
    let cases: Cases = serde_json::from_str(text).unwrap();
    let mut edges = 0;
    for case in cases.cases {
        let hex = |s: &String| u64::from_str_radix(s, 16).unwrap();
        let scale = f64::from_bits(hex(&case.scale_bits));
        let grid = Grid::new(case.grid).unwrap();
        let tail = if case.law == "gaussian" { Tail::Gaussian } else { Tail::Laplace };
        let kernel = Kernel::new(tail, scale, grid);
        let words: Vec<u64> = case.words.iter().map(hex).collect();
        let mut source = Script { words: words[1..].to_vec(), next: 0 };
        let label = format!("{} {} {scale} {}", case.kind, case.law, case.grid);
        let b = Boundaries::new(tail, scale, grid);
        assert_eq!(resolve(&kernel, &b, words[0], &mut source), case.steps, "{label}");
        if let Some(n) = fast(&kernel, &words[..1])[0] {
            assert!(case.kind != "edge", "{label}: accepted within 2^-500 of a boundary");
            assert_eq!(n, case.steps.unsigned_abs(), "{label}");
        }
        edges += usize::from(source.next > 8);
    }
    assert!(edges > 20, "{edges} cases needed more than 512 bits");
}

#[test]
fn fine_grids_leave_much_to_the_slow_path_and_stay_right() {
    for tail in [Tail::Gaussian, Tail::Laplace] {
        let pending = check(tail, 1.0, -43, 30_000, 5);
        assert!(pending > 300, "{pending}");
        // Nothing is fast here.
        assert_eq!(check(tail, 1.3, -50, 3_000, 6), 3_000);
        // Coarse grids: nearly always zero.
        check(tail, 0.1, 0, 30_000, 7);
        check(tail, 2f64.powi(-205) * 1.5, -203, 1_000, 8);
    }
}

#[test]
fn forced_slow_path_gives_the_fast_results() {
    for (tail, seed) in [(Tail::Gaussian, 9), (Tail::Laplace, 10)] {
        for scale in [1.9, 0.001] {
            let grid = Grid::new(-29).unwrap();
            let kernel = Kernel::new(tail, scale, grid);
            let slow = Kernel { limit: -1.0, ..Kernel::new(tail, scale, grid) };
            let b = Boundaries::new(tail, scale, grid);
            let mut words = vec![0; 3000];
            stream(seed).fill_words(&mut words);
            let mut source = stream(seed + 1000);
            for (&word, n) in words.iter().zip(fast(&kernel, &words)) {
                let exact = resolve(&slow, &b, word, &mut source).unsigned_abs();
                assert!(n.is_none_or(|n| n == exact), "word {word:#x}");
            }
        }
    }
}

#[test]
fn a_table_that_is_slightly_wrong_is_caught() {
    for tail in [Tail::Gaussian, Tail::Laplace] {
        let good = Table::of(tail);
        let mut rows = good.rows;
        for row in &mut rows {
            row[0] += 2f64.powi(-44);
        }
        let broken: &'static Table = Box::leak(Box::new(Table { rows, ..*good }));
        let grid = Grid::new(-36).unwrap();
        let kernel = Kernel { table: broken, ..Kernel::new(tail, 1.0, grid) };
        let b = Boundaries::new(tail, 1.0, grid);
        let mut words = vec![0; 20_000];
        stream(11).fill_words(&mut words);
        let wrong = words
            .iter()
            .zip(fast(&kernel, &words))
            .filter_map(|(word, n)| {
                let low = i128::from(word >> 1) << (BITS - 63);
                agrees(oracle(tail), &b, n?, low, low + (1 << (BITS - 63)))
            })
            .filter(|agrees| !agrees)
            .count();
        assert!(wrong > 10, "{tail:?}: {wrong}");
    }
}

#[test]
fn vector_and_scalar_code_give_the_same_bits() {
    let mut words = vec![0; 200_000];
    stream(12).fill_words(&mut words);
    // Corners: both ends of V, of the fast range, of rows.
    let corners = [0u64, 1, 2, 3, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 55) - 2, 1 << 55];
    words.extend(corners.iter().flat_map(|c| [*c, c.wrapping_add(2), c.wrapping_sub(2)]));
    words.extend((0..64).map(|i| 1u64 << i));
    words.extend((0..64).map(|i| (1u64 << i).wrapping_sub(1)));
    words.extend((0..2048u64).map(|i| i << 53 | 0x3FF));
    let special = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 5e-324];
    let values: Vec<f64> = (0..words.len())
        .map(|i| if i % 7 == 0 { special[i / 7 % 8] } else { (i as f64).sin() * 100.0 })
        .collect();
    for tail in [Tail::Gaussian, Tail::Laplace] {
        for (scale, grid) in [(1.7, -30), (1.0, -40), (1e-3, 0), (1.0, -50), (3.3e100, 300)] {
            let kernel = Kernel::new(tail, scale, Grid::new(grid).unwrap());
            let run = |f: Run<'_>| {
                let (mut out, mut masks) = (values.clone(), vec![]);
                for (w, v) in words.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
                    let mut mask = vec![0xAA; w.len().div_ceil(8)];
                    f(&kernel, w, v, &mut mask);
                    masks.extend(mask);
                }
                (out.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), masks)
            };
            let scalar = run(&Kernel::run);
            assert!(run(&simd::run) == scalar);
            #[cfg(target_arch = "x86_64")]
            vector_versions(&|f| assert!(run(f) == scalar));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn vector_versions(check: &dyn Fn(Run<'_>)) {
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the feature was just detected.
        check(&|k, w, v, p| unsafe { simd::x86::run_avx2(k, w, v, p) });
    }
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
        // SAFETY: the features were just detected.
        check(&|k, w, v, p| unsafe { simd::x86::run_avx512(k, w, v, p) });
    }
}
