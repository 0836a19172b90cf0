//! Bits that are one with an exact probability.

use super::exact::bernoulli;
use super::rng::NoiseStream;
use crate::quantity::Probability;
use rand_core::Rng;

/// The law of a bit that is one with probability `p`, exactly: `p` is the dyadic
/// rational its `f64` stands for, and random bits are compared with its binary
/// expansion until they differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bernoulli {
    p: Probability,
    /// Zero bits of the expansion before the first one.
    zeros: u32,
    /// The bits from the first one on, first bit highest.
    digits: u64,
}

impl Bernoulli {
    /// The law of a bit that is one with probability `p`.
    #[must_use]
    pub fn new(p: Probability) -> Self {
        let bits = p.get().to_bits();
        let (field, fraction) = ((bits >> 52) as u32, bits & ((1 << 52) - 1));
        // p = mantissa * 2^exponent with an integer mantissa.
        let (mantissa, exponent) =
            if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field as i32 - 1075) };
        let lead = mantissa.leading_zeros();
        // The top bit of the mantissa has weight 2^(63 - lead + exponent) = 2^-(zeros + 1).
        let zeros = if mantissa == 0 || p.get() >= 1.0 { 0 } else { lead as i32 - 64 - exponent };
        let digits = mantissa.checked_shl(lead).unwrap_or(0);
        Self { p, zeros: zeros as u32, digits }
    }

    /// The probability of a one.
    #[must_use]
    pub fn p(&self) -> Probability {
        self.p
    }

    /// One bit.
    pub fn sample(&self, stream: &mut NoiseStream) -> bool {
        bernoulli(stream, self.p.get())
    }

    /// Fills words with independent bits, 64 comparisons at a time: about
    /// `1.33 + log2 64` random words for each output word, fewer for short expansions.
    pub fn fill_words(&self, stream: &mut NoiseStream, out: &mut [u64]) {
        for word in out {
            *word = self.word(stream);
        }
    }

    /// Flips each of the first `nbits` bits with probability `p`; bit `i` is bit
    /// `i % 64` of word `i / 64`. Later bits stay as they are.
    ///
    /// # Panics
    /// When the words hold fewer than `nbits` bits.
    pub fn flip_packed(&self, stream: &mut NoiseStream, words: &mut [u64], nbits: usize) {
        assert!(nbits <= 64 * words.len(), "{nbits} bits in {} words", words.len());
        let (full, rest) = (nbits / 64, nbits % 64);
        for word in &mut words[..full] {
            *word ^= self.word(stream);
        }
        if rest > 0 {
            words[full] ^= self.word(stream) & ((1 << rest) - 1);
        }
    }

    /// Compares 64 infinite random strings with the expansion of p, bit by bit.
    fn word(&self, stream: &mut NoiseStream) -> u64 {
        if self.p.get() >= 1.0 {
            return u64::MAX;
        }
        let mut undecided = if self.digits == 0 { 0 } else { u64::MAX };
        for _ in 0..self.zeros {
            if undecided == 0 {
                break;
            }
            undecided &= !stream.next_u64();
        }
        let (mut ones, mut digits) = (0, self.digits);
        // Once no digit is left the strings that are still equal are not below p.
        while undecided != 0 && digits != 0 {
            let random = stream.next_u64();
            if digits >> 63 == 1 {
                ones |= undecided & !random;
                undecided &= random;
            } else {
                undecided &= !random;
            }
            digits <<= 1;
        }
        ones
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole words take a word each, and no bit more.
    #[test]
    fn whole_words_are_flipped_as_they_are_filled() {
        let law = Bernoulli::new(Probability::new(0.3).unwrap());
        let stream = || NoiseRng::deterministic_not_private(98).stream();
        for words in [0, 1, 2, 5] {
            let (mut filled, mut flipped) = (vec![0; words], vec![u64::MAX; words]);
            let (mut one, mut other) = (stream(), stream());
            law.fill_words(&mut one, &mut filled);
            law.flip_packed(&mut other, &mut flipped, 64 * words);
            assert!(filled.iter().zip(&flipped).all(|(a, b)| *a == !b), "{words}");
            assert_eq!(one.next_u64(), other.next_u64());
        }
    }
    use crate::noise::NoiseRng;

    fn stream(seed: u64) -> NoiseStream {
        NoiseRng::deterministic_not_private(seed).stream()
    }

    /// The definition, lane by lane: bits of p by doubling, exact in `f64`.
    fn slow_word(source: &mut NoiseStream, p: f64) -> u64 {
        let mut rest = p;
        let (mut open, mut ones) = ([true; 64], 0);
        while rest > 0.0 && open.contains(&true) {
            rest *= 2.0;
            let digit = rest >= 1.0;
            rest -= f64::from(u8::from(digit));
            let random = source.next_u64();
            for (lane, open) in open.iter_mut().enumerate() {
                let bit = random >> lane & 1 == 1;
                if *open && bit != digit {
                    ones |= u64::from(digit) << lane;
                    *open = false;
                }
            }
        }
        ones
    }

    #[test]
    fn words_agree_with_the_definition_bit_for_bit() {
        let third = 1.0 / 3.0;
        let half_odd = 0.5f64.next_down();
        for p in [0.5, 0.75, third, 0.731, half_odd, 1e-3, 2f64.powi(-20) * third, 1.0 - 1e-9] {
            let law = Bernoulli::new(Probability::new(p).unwrap());
            let (mut fast, mut slow) = (stream(40), stream(40));
            for _ in 0..16_000 {
                assert_eq!(law.word(&mut fast), slow_word(&mut slow, p), "p = {p}");
            }
            assert_eq!(fast.next_u64(), slow.next_u64(), "as many words were drawn");
        }
    }

    #[test]
    fn single_bits_compare_the_expansion_exactly() {
        // Words right at, below and above the first 64 digits of p.
        for p in [0.5, 1.0 / 3.0, 0.999, 1e-7, 3e-20] {
            let mut rest = Probability::new(p).unwrap().get();
            let mut digits = vec![];
            while rest > 0.0 {
                let word = (0..64).fold(0u64, |word, _| {
                    rest *= 2.0;
                    let digit = u64::from(rest >= 1.0);
                    rest -= digit as f64;
                    word << 1 | digit
                });
                digits.push(word);
            }
            let run = |words: &[u64]| bernoulli(&mut Script(words.to_vec()), p);
            assert!(!run(&digits), "U with all the digits of p is not below p = {p}");
            for (i, &word) in digits.iter().enumerate() {
                let with = |w: Option<u64>| w.map(|w| [&digits[..i], &[w]].concat());
                assert!(with(word.checked_sub(1)).is_none_or(|w| run(&w)));
                assert!(with(word.checked_add(1)).is_none_or(|w| !run(&w)));
            }
        }
    }

    /// Hands out these words; panics when asked for more.
    struct Script(Vec<u64>);

    impl rand_core::TryRng for Script {
        type Error = core::convert::Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            Ok(self.try_next_u64()? as u32)
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            Ok(self.0.remove(0))
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
            unreachable!("bits are drawn by words")
        }
    }
}
