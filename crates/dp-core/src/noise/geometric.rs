//! The number of failures before the first success.

use super::bernoulli::Bernoulli;
use super::exact::{bernoulli, decompose};
use super::rng::NoiseStream;
use crate::error::{Error, Result};
use crate::quantity::Probability;

/// The law of the number of failures before the first success, `Pr[k] = (1 - p)^k p`,
/// exactly for the dyadic rational `p`.
///
/// `p = 2^-h r` with `r` in `(1/2, 1]`: a trial succeeds when `h` fair coins and one
/// coin of probability `r` all do. The trials where the fair coins succeed are at
/// geometric distances of parameter `2^-h`, found 64 at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometric {
    fair: Bernoulli,
    rest: f64,
}

impl Geometric {
    /// The law with success probability `success`.
    ///
    /// # Cost
    /// About `2 + 1 / (32 success)` words of random bits for each fair coin needed.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless `success` is in `[2^-32, 1]`.
    pub fn new(success: Probability) -> Result<Self> {
        let p = success.get();
        if p < 2f64.powi(-32) {
            return Err(Error::invalid("success probability", p, "[2^-32, 1]"));
        }
        let (mantissa, exponent) = decompose(p);
        // p = 2^-halvings * rest with rest in (1/2, 1].
        let mut halvings = -(exponent + 63 - mantissa.leading_zeros() as i32) - 1;
        if mantissa == 1 {
            halvings += 1;
        }
        let halvings = halvings.max(0);
        Ok(Self {
            fair: Bernoulli::new(Probability::new(2f64.powi(-halvings))?),
            rest: p * 2f64.powi(halvings),
        })
    }

    /// One draw.
    pub fn sample(&self, stream: &mut NoiseStream) -> u64 {
        let mut trials = 0u64;
        let mut word = [0u64];
        loop {
            self.fair.fill_words(stream, &mut word);
            let mut hits = word[0];
            while hits != 0 {
                let position = u64::from(hits.trailing_zeros());
                if bernoulli(stream, self.rest) {
                    return trials + position;
                }
                hits &= hits - 1;
            }
            trials += 64;
        }
    }
}
