//! What a release shows beside its values: its low bits, and the time that it takes.

use super::measured::{Attack, Measured, SHARE};
use super::neighbour::lesser;
use std::time::Instant;

/// What the attack by low bits is called.
pub(super) const LOW_BITS: &str = "the same change: low bits";

/// Low bits that are compared.
const BITS: u32 = 30;
/// Runs of either kind from which the times are learnt; as many are guessed.
const RUNS: usize = 1000;

/// Which of two clean images the low bits of a released one point to: 1 for the first, 0 for the second, 1/2 for neither.
/// `lowest` is the [`finest`] bit of the whole release.
///
/// Two leaks are looked for. A sum of floating-point numbers has no bits far below those of its parts, so a value with such
/// bits cannot come of an image that is too large for them (Mironov 2012). And noise on a coarser grid than the values' leaves the image's own low
/// bits as they are. On a public grid that every image is rounded to, with noise on every point of it, neither says anything: the low bits of
/// a value are those of the noise, whatever the image.
pub(super) fn low_bits(released: &[f64], own: &[f64], other: &[f64], lowest: i32) -> f64 {
    let (mut impossible, mut agree) = ((0.0, 0.0), (0.0, 0.0));
    for ((&z, &a), &b) in released.iter().zip(own).zip(other) {
        impossible.0 += too_fine(z, a);
        impossible.1 += too_fine(z, b);
        agree.0 -= agreeing(z, a, lowest);
        agree.1 -= agreeing(z, b, lowest);
    }
    match lesser(impossible.0, impossible.1) {
        0.5 => lesser(agree.0, agree.1),
        found => found,
    }
}

/// Exponent of the lowest bit that is set in any value: that of the grid, where there is one.
pub(super) fn finest(released: &[f64]) -> i32 {
    released.iter().filter_map(|&z| lowest_bit(z)).min().unwrap_or(0)
}

/// Exponent of the lowest bit that is set.
fn lowest_bit(x: f64) -> Option<i32> {
    if x == 0.0 || !x.is_finite() {
        return None;
    }
    let (bits, exponent) = (x.to_bits(), highest_bit(x));
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    Some(exponent - 52 + mantissa.trailing_zeros() as i32)
}

/// Exponent of the highest bit; that of the least normal number for what is smaller.
fn highest_bit(x: f64) -> i32 {
    ((x.to_bits() >> 52 & 0x7ff) as i32).max(1) - 1023
}

/// One where a sum with this image cannot have the bits of the value.
fn too_fine(z: f64, image: f64) -> f64 {
    // A sum that is more than half of the image has a last place of half of its own at least; for a smaller one the noise is
    // half of the image or more, and both are multiples of that place.
    let finest = highest_bit(image) - 53;
    match lowest_bit(z) {
        Some(bit) if image != 0.0 && bit < finest => 1.0,
        _ => 0.0,
    }
}

/// How many low bits the value and the image share, counted in units of 2^lowest.
fn agreeing(z: f64, image: f64, lowest: i32) -> f64 {
    let unit = 2f64.powi(-lowest.clamp(-1000, 1000));
    let (z, image) = ((z * unit).round_ties_even(), (image * unit).round_ties_even());
    if !(z.abs() < 2f64.powi(120) && image.abs() < 2f64.powi(120)) {
        return 0.0;
    }
    // Exact: whole numbers.
    let rest = z as i128 - image as i128;
    f64::from(rest.trailing_zeros().min(BITS))
}

/// Which of two computations ran, from the time it took: `run(true)` and `run(false)` alternate, half of the times teach where to
/// cut, the other half are guessed.
pub(super) fn times(mut run: impl FnMut(bool)) -> Attack {
    let mut time = |first: bool| {
        let start = Instant::now();
        run(first);
        start.elapsed().as_nanos() as f64
    };
    let mut taken = |_| {
        let (own, other) = (time(true), time(false));
        (own, other)
    };
    let learnt: Vec<(f64, f64)> = (0..RUNS).map(&mut taken).collect();
    let middle = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> = learnt.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let (own, other) = (middle(&|t| t.0), middle(&|t| t.1));
    let (cut, sign) = (0.5 * (own + other), if own < other { 1.0 } else { -1.0 });
    let guess = |(own, other): (f64, f64)| {
        lesser(sign * own, sign * cut) + lesser(sign * cut, sign * other)
    };
    let right: f64 = (0..RUNS).map(|i| guess(taken(i))).sum();
    Attack {
        name: "the same change: time of the projection",
        knows: "everything else, and a clock beside the machine",
        measure: SHARE,
        release: Measured::share(right, 2.0 * RUNS as f64),
        without: 0.5,
        clean: 1.0,
        bound: None,
        says: "the certificate does not speak of time".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::PublicSeed;
    use rand_core::Rng;

    /// Right guesses of 4,000 values, made of one of two images in turns.
    fn found(images: [f64; 2], mut release: impl FnMut(f64) -> f64) -> f64 {
        let values: Vec<f64> = (0..4000).map(|i| release(images[i % 2])).collect();
        let lowest = finest(&values);
        let guess =
            |(i, z): (usize, &f64)| low_bits(&[*z], &[images[i % 2]], &[images[1 - i % 2]], lowest);
        values.iter().enumerate().map(guess).sum::<f64>() / values.len() as f64
    }

    /// Nearest number of so many binary places.
    fn rounded(x: f64, places: i32) -> f64 {
        (x * 2f64.powi(places)).round_ties_even() / 2f64.powi(places)
    }

    #[test]
    fn low_bits_betray_textbook_noise_and_coarse_noise_and_no_other() {
        let mut generator = PublicSeed::new(1).generator(0);
        let mut uniform = || ((generator.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let mut laplace = || {
            let size = -uniform().ln();
            if uniform() < 0.5 { -size } else { size }
        };
        // Mironov's: where the noise is small, a sum with zero has bits that a sum with one has not.
        let textbook = found([0.0, 1.0], |x| x + laplace());
        assert!(textbook > 0.55, "{textbook}");
        // Noise of ten binary places on values of twenty.
        let images = [0.123_456_7, 0.765_432_1];
        let coarse = found(images, |x| rounded(x, 20) + rounded(8.0 * laplace(), 10));
        assert!(coarse > 0.99, "{coarse}");
        // Noise of twenty; and of ten, on values that are rounded to as many.
        for places in [20, 10] {
            let public = found(images, |x| rounded(x, places) + rounded(8.0 * laplace(), places));
            assert!((public - 0.5).abs() < 0.04, "{places}: {public}");
        }
    }

    #[test]
    fn clocks_tell_computations_of_different_lengths() {
        let mut generator = PublicSeed::new(1).generator(0);
        let mut work = |rounds: u32| {
            let sum = (0..rounds).fold(0u64, |s, _| s.wrapping_add(generator.next_u64()));
            core::hint::black_box(sum);
        };
        let found = times(|first| work(if first { 200 } else { 20_000 }));
        assert!(found.release.low > 0.9, "{found:?}");
    }
}
