//! Exact choices from lazily drawn random bits.

use super::rng::NoiseStream;
pub(crate) use crate::numeric::float::decompose;
use dashu_int::UBig;
use rand_core::Rng;

const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// True with probability `p`, exactly: compares random words with the binary
/// expansion of `p`, 64 bits at a time. Scaling by 2^64, truncation and the
/// subtraction of the integer part are all exact in `f64`.
#[inline]
pub(crate) fn bernoulli<R: Rng>(stream: &mut R, p: f64) -> bool {
    if p >= 1.0 {
        return true;
    }
    let mut rest = p;
    while rest > 0.0 {
        let scaled = rest * TWO_64;
        let digit = scaled as u64;
        let word = stream.next_u64();
        if word != digit {
            return word < digit;
        }
        rest = scaled - digit as f64;
    }
    false
}

/// True with probability `num / den`, exactly, for `num <= den < 2^64`, `den > 0`.
pub(crate) fn bernoulli_ratio(stream: &mut NoiseStream, num: u64, den: u64) -> bool {
    if num >= den {
        return true;
    }
    let mut rest = num;
    while rest > 0 {
        let scaled = u128::from(rest) << 64;
        let digit = (scaled / u128::from(den)) as u64;
        let word = stream.next_u64();
        if word != digit {
            return word < digit;
        }
        rest = (scaled % u128::from(den)) as u64;
    }
    false
}

/// True with probability `x`, exactly, for a rational `x` in `[0, 1]` known to lie in
/// `[low, high]` and given by `fraction` as (numerator, denominator) when that is not
/// enough to decide.
pub(crate) fn bernoulli_between(
    stream: &mut NoiseStream,
    (low, high): (f64, f64),
    fraction: impl FnOnce() -> (UBig, UBig),
) -> bool {
    let mut word = stream.next_u64();
    // The conversion and the two operations round by at most 2^-53 each.
    let (w, slack) = (word as f64, 4.0 * f64::EPSILON);
    if (w + 1.0) * (1.0 + slack) < low * TWO_64 {
        return true;
    }
    if w * (1.0 - slack) > high * TWO_64 {
        return false;
    }
    let (mut num, den) = fraction();
    if num >= den {
        return true;
    }
    loop {
        num <<= 64;
        let digit = u64::try_from(&num / &den).expect("the numerator is below the denominator");
        if word != digit {
            return word < digit;
        }
        num -= &den * UBig::from(digit);
        if num == UBig::ZERO {
            return false;
        }
        word = stream.next_u64();
    }
}

/// True with probability `exp(-gamma)`, exactly, for `gamma` in `[0, 1]`, given a
/// sampler of bits of probability `gamma` (Canonne, Kamath, Steinke 2020, algorithm 1).
pub(crate) fn bernoulli_exp(
    stream: &mut NoiseStream,
    mut gamma: impl FnMut(&mut NoiseStream) -> bool,
) -> bool {
    let mut k = 1;
    while bernoulli_ratio(stream, 1, k) && gamma(stream) {
        k += 1;
    }
    k % 2 == 1
}

/// True with probability `exp(-1)`, exactly.
pub(crate) fn bernoulli_inv_e(stream: &mut NoiseStream) -> bool {
    bernoulli_exp(stream, |_| true)
}

/// Uniform on `0..n`, exactly, for `n > 0`: a 128-bit product with rejection of the
/// few low halves that would be counted once too often (Lemire 2019).
#[inline]
pub(crate) fn below(stream: &mut NoiseStream, n: u64) -> u64 {
    let mut product = u128::from(stream.next_u64()) * u128::from(n);
    if (product as u64) < n {
        let excess = n.wrapping_neg() % n;
        while (product as u64) < excess {
            product = u128::from(stream.next_u64()) * u128::from(n);
        }
    }
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::NoiseRng;

    fn stream(seed: u64) -> NoiseStream {
        NoiseRng::deterministic_not_private(seed).stream()
    }

    /// Of three quarters of all words each third is as likely: where the low halves are few the ones that are counted once
    /// too often are as many as the others.
    #[test]
    fn numbers_below_are_equally_likely() {
        let mut stream = stream(43);
        let mut counts = [0; 3];
        for _ in 0..30_000 {
            counts[(below(&mut stream, 3 << 62) % 3) as usize] += 1;
        }
        // Six deviations of 82.
        assert!(counts.iter().all(|n: &i32| (n - 10_000).abs() < 490), "{counts:?}");
    }

    /// Where the interval does not decide the fraction does, digit by digit.
    #[test]
    fn close_comparisons_are_decided_by_the_fraction() {
        for seed in 0..64 {
            let mut twin = stream(seed);
            let (word, next) = (twin.next_u64(), twin.next_u64());
            let end = (word as f64 + 1.0) / TWO_64;
            let mut asked = false;
            // An end that the word may or may not reach.
            bernoulli_between(&mut stream(seed), (end, 1.0), || {
                asked = true;
                (UBig::ONE, UBig::from(2u8))
            });
            assert!(asked, "{seed}");
            // x = (word + 1/2) 2^-64, and (word + 1/2 + 2^-64) 2^-64.
            for more in [0u64, 1] {
                let num = (((UBig::from(word) << 1) + 1u8) << 63) + UBig::from(more);
                let found = bernoulli_between(&mut stream(seed), (0.0, 1.0), || {
                    (num.clone(), UBig::ONE << 128)
                });
                assert_eq!(found, next < (1 << 63) + more, "{seed}");
            }
        }
    }

    #[test]
    fn ratios_agree_with_exact_integers_bit_for_bit() {
        let (mut fast, mut slow, mut pick) = (stream(41), stream(41), stream(42));
        for i in 0..300_000u64 {
            let den = (pick.next_u64() >> (i % 60)).max(1);
            let num = below(&mut pick, den);
            let fraction = || (UBig::from(num), UBig::from(den));
            // Zero is decided without a word; the others draw the same ones.
            if num > 0 {
                let exact = bernoulli_between(&mut slow, (0.0, 1.0), fraction);
                assert_eq!(bernoulli_ratio(&mut fast, num, den), exact, "{num} / {den}");
            }
        }
    }

    #[test]
    fn bounds_decide_as_the_exact_fraction_does() {
        let (mut fast, mut slow, mut pick) = (stream(43), stream(43), stream(44));
        for i in 0..300_000u64 {
            let (num, den) = (pick.next_u64() >> (i % 8), u64::MAX);
            let x = num as f64 / den as f64;
            let fraction = || (UBig::from(num), UBig::from(den));
            let slack = 2f64.powi(-(i as i32 % 50));
            let bounds = (x * (1.0 - slack), x * (1.0 + slack) + f64::EPSILON);
            assert_eq!(
                bernoulli_between(&mut fast, bounds, fraction),
                bernoulli_between(&mut slow, (0.0, 1.0), fraction)
            );
        }
    }

    #[test]
    fn uniform_indices_are_uniform() {
        // A bound for which a plain product would be off by a third: 3 * 2^62.
        let n = 3u64 << 62;
        let mut s = stream(45);
        let mut counts = [0u32; 3];
        (0..90_000).for_each(|_| counts[(below(&mut s, n) >> 62) as usize] += 1);
        assert!(counts.iter().all(|&c| c.abs_diff(30_000) < 900), "{counts:?}");
        assert!((0..1000).all(|_| below(&mut s, 1) == 0));
    }

    #[test]
    fn decomposition_is_exact() {
        for x in [1.0, 3.5, 5e-324, f64::MIN_POSITIVE, f64::MAX, 1e-310, 0.1] {
            let (mantissa, exponent) = decompose(x);
            assert_eq!(mantissa % 2, 1);
            let half = exponent / 2;
            assert_eq!(mantissa as f64 * 2f64.powi(half) * 2f64.powi(exponent - half), x);
        }
    }
}
