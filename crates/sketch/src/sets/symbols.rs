//! Noisy symbols of many sets: what is published.

use super::estimate::check_keep;
use super::secure::SymbolShape;
use super::signature::{Scheme, SignatureMatrix};
use crate::error::{Error, Result};
use crate::joined::{alike, joinable};
use dp_core::Probability;
use dp_core::noise::{KaryResponse, NoiseRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What a symbol stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub(crate) enum Coding {
    /// The hash of K minima.
    Hashed {
        /// Minima hashed together, K.
        concatenation: usize,
    },
    /// The least hash of a bin, plus one; zero for an empty bin. With one value: occupancy bits.
    Bins,
}

/// What is public about noisy symbols: all that estimators need besides the symbols.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawFacts")]
pub(crate) struct SymbolFacts {
    /// How the signatures were made.
    pub scheme: Scheme,
    /// What a symbol stands for.
    pub coding: Coding,
    /// Size of the alphabet of the response.
    pub alphabet: u64,
    /// Probability that a symbol was kept.
    pub keep: Probability,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFacts {
    scheme: Scheme,
    coding: Coding,
    alphabet: u64,
    keep: Probability,
}

impl TryFrom<RawFacts> for SymbolFacts {
    type Error = Error;
    fn try_from(raw: RawFacts) -> Result<Self> {
        let RawFacts { scheme, coding, alphabet, keep } = raw;
        if !(2..=1 << 16).contains(&alphabet) {
            return Err(Error::invalid("alphabet", alphabet, "[2, 65536]"));
        }
        check_keep(alphabet, keep)?;
        let name = match coding {
            Coding::Hashed { concatenation } => {
                SymbolShape::new(scheme.slots, concatenation, alphabet as u32)?;
                format!("secure-minhash/K={concatenation}/B={alphabet}")
            }
            Coding::Bins => format!("one-permutation/B={}", alphabet - 1),
        };
        if scheme.sketch != name {
            return Err(Error::invalid(
                "sketch",
                scheme.sketch,
                format!("{name}, as the coding says"),
            ));
        }
        Ok(Self { scheme, coding, alphabet, keep })
    }
}

/// Noisy symbols, row by row, with all that estimators need.
#[derive(Debug, Clone, PartialEq)]
pub struct PrivateSymbols {
    facts: SymbolFacts,
    data: Vec<u16>,
}

/// Rows that share one noise stream.
pub(super) const ROWS_PER_STREAM: usize = 64;

/// Applies the response to every symbol: one stream for 64 rows, so the result does not depend
/// on the number of threads.
pub(super) fn respond(
    signatures: &SignatureMatrix,
    response: &KaryResponse,
    rng: &mut NoiseRng,
) -> Result<Vec<u16>> {
    let (rows, slots) = (signatures.rows(), signatures.scheme().slots);
    let mut data = vec![0u16; rows * slots];
    let streams = rng.reserve(rows.div_ceil(ROWS_PER_STREAM) as u64);
    let blocks = data.par_chunks_mut(ROWS_PER_STREAM * slots).zip(streams).enumerate();
    blocks.try_for_each(|(block, (out, mut stream))| {
        for (i, row) in out.chunks_mut(slots).enumerate() {
            for (symbol, &value) in row.iter_mut().zip(signatures.row(block * ROWS_PER_STREAM + i))
            {
                *symbol = u16::try_from(value).expect("symbols have at most 16 bits");
            }
        }
        response.apply(&mut stream, out)
    })?;
    Ok(data)
}

impl PrivateSymbols {
    /// Rows of symbols of the alphabet, with what is public about them.
    pub(crate) fn new(facts: SymbolFacts, data: Vec<u16>) -> Self {
        Self { facts, data }
    }

    /// The rows of several releases that were made alike, one after the other: what is asked of them all is asked of these.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for other hash functions or another response, and for one release given twice; [`dp_core::Error::InvalidParameter`] for none.
    pub fn joined(parts: &[&Self]) -> Result<Self> {
        let first = joinable(parts, Self::eq)?;
        for part in parts {
            first.scheme().check(part.scheme())?;
            alike("responses", &first.facts, &part.facts)?;
        }
        let data = parts.iter().flat_map(|part| &part.data).copied().collect();
        Ok(Self::new(first.facts.clone(), data))
    }

    /// What is public about them.
    #[must_use]
    pub(crate) fn facts(&self) -> &SymbolFacts {
        &self.facts
    }

    /// All symbols, row after row.
    #[must_use]
    pub fn symbols(&self) -> &[u16] {
        &self.data
    }

    /// How the signatures were made.
    #[must_use]
    pub fn scheme(&self) -> &Scheme {
        &self.facts.scheme
    }

    /// What a symbol stands for.
    #[must_use]
    pub(crate) fn coding(&self) -> Coding {
        self.facts.coding
    }

    /// Size of the alphabet of the response.
    #[must_use]
    pub fn alphabet(&self) -> u64 {
        self.facts.alphabet
    }

    /// Probability that a symbol was kept.
    #[must_use]
    pub fn keep(&self) -> Probability {
        self.facts.keep
    }

    /// Number of sets.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.data.len() / self.facts.scheme.slots
    }

    /// The noisy symbols of a set.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] when there is no such row.
    pub fn row(&self, i: usize) -> Result<&[u16]> {
        if i >= self.rows() {
            return Err(Error::invalid("row", i, format!("[0, {})", self.rows())));
        }
        Ok(self.row_unchecked(i))
    }

    pub(crate) fn row_unchecked(&self, i: usize) -> &[u16] {
        &self.data[i * self.facts.scheme.slots..][..self.facts.scheme.slots]
    }
}
