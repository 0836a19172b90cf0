//! Secure MinHash and b-bit MinHash: minima concatenated and hashed to few symbols.

use super::classic::MinHash;
use super::hash::reduce;
use super::items::ItemSet;
use super::signature::{Fill, Scheme, Scratch, SetSketch};
use crate::error::{Error, Result};
use dp_core::PublicSeed;
use serde::{Deserialize, Serialize};

/// Shape of a coded signature: `positions` symbols from an alphabet of `alphabet`, each
/// hashed from `concatenation` minima.
///
/// `alphabet = 2` is Secure MinHash (Riazi et al. 2016); `concatenation = 1`, `alphabet = 2^b` is
/// b-bit MinHash (Li & König 2010).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawShape")]
pub struct SymbolShape {
    positions: usize,
    concatenation: usize,
    alphabet: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawShape {
    positions: usize,
    concatenation: usize,
    alphabet: u32,
}

impl TryFrom<RawShape> for SymbolShape {
    type Error = Error;
    fn try_from(raw: RawShape) -> Result<Self> {
        Self::new(raw.positions, raw.concatenation, raw.alphabet)
    }
}

impl SymbolShape {
    /// A shape.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless `positions * concatenation` is in `[1, 2^20]` and
    /// `alphabet` in `[2, 65536]`.
    pub fn new(positions: usize, concatenation: usize, alphabet: u32) -> Result<Self> {
        let minima = positions.saturating_mul(concatenation);
        if !(1..=1 << 20).contains(&minima) {
            return Err(Error::invalid("positions times concatenation", minima, "[1, 1048576]"));
        }
        if !(2..=1 << 16).contains(&alphabet) {
            return Err(Error::invalid("alphabet", alphabet, "[2, 65536]"));
        }
        Ok(Self { positions, concatenation, alphabet })
    }

    /// Positions L.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// Minima hashed together, K.
    #[must_use]
    pub fn concatenation(&self) -> usize {
        self.concatenation
    }

    /// Symbols B.
    #[must_use]
    pub fn alphabet(&self) -> u32 {
        self.alphabet
    }
}

/// Secure MinHash: `Pr[symbols agree] = J^K + (1 - J^K)/B`, independently over the positions
/// (random function model).
///
/// # Privacy
/// The sketch alone has none worth the name: two neighbours differ somewhere with probability
/// `1 - ((1 + J^K)/2)^L`, and then are told apart for certain.
#[derive(Debug, Clone)]
pub struct SecureMinHash {
    shape: SymbolShape,
    minhash: MinHash,
    codes: super::hash::HashFamily,
}

/// Offset of the seed of the codes: the minima and the codes use unrelated functions.
const MIX: u64 = 0x5ec0_de00_5ec0_de00;

impl SecureMinHash {
    /// The sketch of a shape and seed.
    #[must_use]
    pub fn new(shape: SymbolShape, seed: PublicSeed) -> Self {
        let minhash = MinHash::new(shape.positions * shape.concatenation, seed)
            .expect("a shape has between 1 and 2^20 minima");
        let codes = super::hash::HashFamily::new(seed.offset(MIX), shape.positions);
        Self { shape, minhash, codes }
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> SymbolShape {
        self.shape
    }

    /// The symbol of a position's minima, under the position's own function.
    fn symbol(&self, position: usize, minima: &[u64]) -> u32 {
        let mixed = minima.iter().fold(0u64, |code, &m| self.codes.premix(code.rotate_left(1) ^ m));
        reduce((self.codes.hash(position, mixed) >> 32) as u32, self.shape.alphabet)
    }
}

impl SetSketch for SecureMinHash {
    fn scheme(&self) -> Scheme {
        let SymbolShape { concatenation, alphabet, positions } = self.shape;
        let seed = self.minhash.scheme().seed;
        Scheme::new(format!("secure-minhash/K={concatenation}/B={alphabet}"), positions, seed)
    }

    fn slots(&self) -> usize {
        self.shape.positions
    }
}

impl Fill for SecureMinHash {
    fn sketch_into(&self, set: &ItemSet, row: &mut [u32], scratch: &mut Scratch) {
        scratch.words.resize(self.minhash.slots(), 0);
        self.minhash.minima(set, &mut scratch.words);
        let minima = scratch.words.chunks(self.shape.concatenation);
        for (position, (symbol, minima)) in row.iter_mut().zip(minima).enumerate() {
            *symbol = self.symbol(position, minima);
        }
    }
}
