//! Bits whose probabilities are chosen from a table, bit by bit.

use super::exact::bernoulli;
use super::rng::NoiseStream;
use crate::quantity::Probability;
use zeroize::Zeroize;

/// Bits whose random words are drawn together.
const CHUNK: usize = 512;

/// Laws of bits that are one with one of a few probabilities, exactly: each `p` is the
/// dyadic rational its `f64` stands for.
///
/// A bit compares a random byte with the first eight binary digits of its `p`; only when they
/// agree (once in 256 bits) are further words compared with the rest of the expansion.
#[derive(Debug, Clone, PartialEq)]
pub struct BernoulliTable {
    /// `min(floor(256 p), 255)`.
    digits: Vec<u8>,
    /// `256 p - digit`, in `[0, 1]`: both steps are exact in `f64`.
    rests: Vec<f64>,
}

impl BernoulliTable {
    /// The laws of bits that are one with these probabilities.
    #[must_use]
    pub fn new(probabilities: &[Probability]) -> Self {
        let split = |p: &Probability| {
            let scaled = 256.0 * p.get();
            let digit = scaled.floor().min(255.0);
            (digit as u8, scaled - digit)
        };
        let (digits, rests) = probabilities.iter().map(split).unzip();
        Self { digits, rests }
    }

    /// Flips bit `i` with probability number `which[i]` of the table, exactly and
    /// independently; bit `i` is bit `i % 64` of word `i / 64`, later bits stay as they are.
    ///
    /// About 1.4 random bytes a bit. Each call begins with a new word of the stream.
    ///
    /// # Panics
    /// When the words hold fewer bits than there are choices, or the table lacks a number.
    pub fn flip_each(&self, stream: &mut NoiseStream, words: &mut [u64], which: &[u16]) {
        assert!(which.len() <= 64 * words.len(), "{} bits in {} words", which.len(), words.len());
        let mut random = [0u64; CHUNK / 8];
        for (words, which) in words.chunks_mut(CHUNK / 64).zip(which.chunks(CHUNK)) {
            stream.fill_words(&mut random[..which.len().div_ceil(8)]);
            for ((word, which), random) in
                words.iter_mut().zip(which.chunks(64)).zip(random.as_chunks::<8>().0)
            {
                let (mut flips, mut ties) = self.compare(random, which);
                while ties != 0 {
                    let i = ties.trailing_zeros();
                    let rest = self.rests[usize::from(which[i as usize])];
                    flips |= u64::from(bernoulli(stream, rest)) << i;
                    ties &= ties - 1;
                }
                *word ^= flips;
            }
        }
        random.zeroize();
    }

    /// The bits whose byte is below their digit, and those whose byte equals it.
    #[inline]
    fn compare(&self, random: &[u64; 8], which: &[u16]) -> (u64, u64) {
        let mut digits = [0u8; 64];
        for (digit, &w) in digits.iter_mut().zip(which) {
            *digit = self.digits[usize::from(w)];
        }
        let (mut below, mut equal) = ([0u8; 64], [0u8; 64]);
        let mut bytes = [0u8; 64];
        for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(random) {
            *bytes = word.to_le_bytes();
        }
        for i in 0..64 {
            below[i] = u8::from(bytes[i] < digits[i]);
            equal[i] = u8::from(bytes[i] == digits[i]);
        }
        bytes.zeroize();
        // Random bytes beyond the last choice meet the digit 0: never below, perhaps equal.
        (pack(&below), pack(&equal) & (u64::MAX >> (64 - which.len())))
    }
}

/// Bytes 0 or 1 to bits, the first lowest: the product moves bit 8 i of eight bytes to bit
/// 56 + i, and no two of its terms meet.
#[inline]
fn pack(bytes: &[u8; 64]) -> u64 {
    let eights = bytes.as_chunks::<8>().0.iter().enumerate();
    eights.fold(0, |bits, (g, &eight)| {
        let word = u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080);
        bits | word >> 56 << (8 * g)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::NoiseRng;
    use rand_core::Rng;

    fn stream(seed: u64) -> NoiseStream {
        NoiseRng::deterministic_not_private(seed).stream()
    }

    const EDGES: [f64; 14] = [
        0.0,
        5e-324,
        1e-9,
        1.0 / 256.0,
        0.3,
        1.0 / 3.0,
        0.499_999,
        0.5,
        0.731,
        255.0 / 256.0,
        0.999,
        1.0 - 1e-9,
        1.0 - f64::EPSILON / 2.0,
        1.0,
    ];

    fn table() -> BernoulliTable {
        BernoulliTable::new(&EDGES.map(|p| Probability::new(p).unwrap()))
    }

    #[test]
    fn bytes_pack_to_bits() {
        for (byte, place) in (0..=255u64).zip((0..8).cycle()) {
            let bits = byte << (8 * place) | byte.reverse_bits();
            assert_eq!(pack(&core::array::from_fn(|i| (bits >> i & 1) as u8)), bits);
        }
    }

    #[test]
    fn digit_and_rest_are_the_probability() {
        let table = table();
        for ((&p, &digit), &rest) in EDGES.iter().zip(&table.digits).zip(&table.rests) {
            assert!((0.0..=1.0).contains(&rest));
            // Exact: the digit and the rest overlap in no bit, up to 53 of them; a tiny p
            // has digit zero.
            assert_eq!(f64::from(digit) + rest, 256.0 * p);
            assert_eq!((256.0 * p - f64::from(digit)).to_bits(), rest.to_bits());
        }
    }

    /// The definition, bit by bit, from the same words in the same order.
    fn slow(source: &mut NoiseStream, words: &mut [u64], which: &[u16]) {
        for (c, which) in which.chunks(CHUNK).enumerate() {
            let drawn: Vec<u64> = (0..which.len().div_ceil(8)).map(|_| source.next_u64()).collect();
            for (i, &w) in which.iter().enumerate() {
                let byte = (drawn[i / 8] >> (8 * (i % 8))) as u8;
                let scaled = 256.0 * EDGES[usize::from(w)];
                // U = (byte + V) / 256 with a further uniform V: U < p ?
                let left = scaled - f64::from(byte);
                let flip = left >= 1.0 || left > 0.0 && bernoulli(source, left);
                let at = c * CHUNK + i;
                words[at / 64] ^= u64::from(flip) << (at % 64);
            }
        }
    }

    #[test]
    fn words_agree_with_the_definition_bit_for_bit() {
        let table = table();
        let mut choose = stream(1);
        for bits in [1, 7, 8, 63, 64, 65, 256, 511, 512, 513, 1300] {
            let (mut fast, mut plain) = (stream(50), stream(50));
            for _ in 0..60 {
                let which: Vec<u16> =
                    (0..bits).map(|_| (choose.next_u64() % EDGES.len() as u64) as u16).collect();
                let start: Vec<u64> = (0..bits / 64 + 2).map(|_| choose.next_u64()).collect();
                let (mut a, mut b) = (start.clone(), start);
                table.flip_each(&mut fast, &mut a, &which);
                slow(&mut plain, &mut b, &which);
                assert_eq!(a, b, "{bits} bits");
            }
            assert_eq!(fast.next_u64(), plain.next_u64(), "as many words were drawn");
        }
    }

    #[test]
    #[should_panic(expected = "bits in 1 words")]
    fn too_few_words_are_refused() {
        table().flip_each(&mut stream(2), &mut [0], &[0; 65]);
    }
}
