//! Rows of bits packed into words.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// n rows of `bits` bits, `ceil(bits/64)` words a row; bit j is bit `j % 64` of word
/// `j / 64`, and bits beyond the last are zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub struct PackedBits {
    n: usize,
    bits: usize,
    words: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    n: u64,
    bits: u64,
    words: Vec<u64>,
}

impl PackedBits {
    /// Takes over packed rows.
    ///
    /// # Errors
    /// [`Error::Length`] for a wrong number of words, or an invalid `bits`
    /// (`[1, 2^24]`) or a bit set beyond the last.
    pub fn new(n: usize, bits: usize, words: Vec<u64>) -> Result<Self> {
        if !(1..=1 << 24).contains(&bits) {
            return Err(Error::invalid("bits", bits, "[1, 2^24]"));
        }
        let width = bits.div_ceil(64);
        if n.checked_mul(width) != Some(words.len()) {
            let expected = n.saturating_mul(width);
            return Err(Error::Length { what: "packed bits", expected, found: words.len() });
        }
        if !bits.is_multiple_of(64)
            && words.chunks_exact(width).any(|row| row[width - 1] >> (bits % 64) != 0)
        {
            return Err(Error::invalid("packed bits", "a bit beyond the last", "zero there"));
        }
        Ok(Self { n, bits, words })
    }

    /// Number of rows.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Bits of a row.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Words of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.bits.div_ceil(64)
    }

    /// All words, row after row.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words of one row.
    ///
    /// # Panics
    /// When the row does not exist.
    #[must_use]
    pub fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.width()..(row + 1) * self.width()]
    }

    /// One bit.
    ///
    /// # Panics
    /// When row or bit do not exist.
    #[must_use]
    pub fn get(&self, row: usize, bit: usize) -> bool {
        assert!(bit < self.bits, "bit {bit} of {}", self.bits);
        self.row(row)[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Number of bits in which a row differs from a row of another set, which must hold bits of
    /// the same projections: [`super::SignCodes::hamming`] checks it.
    pub(super) fn hamming(&self, row: usize, other: &Self, other_row: usize) -> Result<u32> {
        if self.bits != other.bits {
            return Err(Error::Shape { what: "bits", expected: self.bits, found: other.bits });
        }
        for (index, len) in [(row, self.n), (other_row, other.n)] {
            if index >= len {
                return Err(Error::Index { what: "row", index, len });
            }
        }
        let pairs = self.row(row).iter().zip(other.row(other_row));
        Ok(pairs.map(|(a, b)| (a ^ b).count_ones()).sum())
    }

    /// One row as +-1, the form that linear models take.
    ///
    /// # Panics
    /// When the row does not exist or `out` does not have one entry a bit.
    pub fn signs(&self, row: usize, out: &mut [f64]) {
        assert_eq!(out.len(), self.bits, "one entry a bit");
        let words = self.row(row);
        for (j, o) in out.iter_mut().enumerate() {
            *o = if words[j / 64] >> (j % 64) & 1 == 1 { 1.0 } else { -1.0 };
        }
    }
}

impl TryFrom<Raw> for PackedBits {
    type Error = Error;
    fn try_from(raw: Raw) -> Result<Self> {
        let size = |name, v: u64| {
            usize::try_from(v).map_err(|_| Error::invalid(name, v, "fits in memory"))
        };
        Self::new(size("n", raw.n)?, size("bits", raw.bits)?, raw.words)
    }
}

impl From<PackedBits> for Raw {
    fn from(bits: PackedBits) -> Self {
        Self { n: bits.n as u64, bits: bits.bits as u64, words: bits.words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_stray_bits_are_checked() {
        assert!(PackedBits::new(2, 65, vec![0; 3]).is_err());
        assert!(PackedBits::new(1, 65, vec![0, 2]).is_err());
        assert!(PackedBits::new(1, 0, vec![]).is_err());
        let bits = PackedBits::new(2, 65, vec![1, 1, 3, 0]).expect("valid");
        assert!(bits.get(0, 0) && bits.get(0, 64) && bits.get(1, 1) && !bits.get(1, 64));
        assert_eq!(bits.hamming(0, &bits, 1).expect("same bits"), 2);
        let mut signs = vec![0.0; 65];
        bits.signs(1, &mut signs);
        assert_eq!(&signs[..3], &[1.0, 1.0, -1.0]);
    }

    #[test]
    fn json_goes_through_the_constructor() {
        let bits = PackedBits::new(1, 3, vec![5]).expect("valid");
        let text = serde_json::to_string(&bits).expect("serialises");
        assert_eq!(serde_json::from_str::<PackedBits>(&text).expect("valid"), bits);
        assert!(serde_json::from_str::<PackedBits>(&text.replace('5', "9")).is_err());
    }
}
