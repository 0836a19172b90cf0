//! Choices among a few outcomes.

use super::exact::below;
use super::rng::NoiseStream;
use crate::error::{Error, Result};

/// The law that picks outcome `i` with probability `weights[i] / sum(weights)`, exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Categorical {
    /// `cumulative[i]` is the sum of the weights up to and including `i`.
    cumulative: Vec<u64>,
}

impl Categorical {
    /// The law with these integer weights.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when the weights sum to zero or to more than `2^64 - 1`.
    pub fn new(weights: &[u64]) -> Result<Self> {
        let mut total = 0u64;
        let cumulative: Option<Vec<u64>> = weights
            .iter()
            .map(|&w| {
                total = total.checked_add(w)?;
                Some(total)
            })
            .collect();
        match cumulative {
            Some(cumulative) if total > 0 => Ok(Self { cumulative }),
            Some(_) => Err(Error::invalid("weights", "sum 0", "sums in [1, 2^64)")),
            None => Err(Error::invalid("weights", "sum over 2^64", "sums in [1, 2^64)")),
        }
    }

    /// One outcome.
    pub fn sample(&self, stream: &mut NoiseStream) -> usize {
        let total = *self.cumulative.last().expect("a positive sum has a term");
        let point = below(stream, total);
        self.cumulative.partition_point(|&c| c <= point)
    }
}
