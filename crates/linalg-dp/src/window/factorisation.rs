//! Correlated noise for sliding and decayed sums: Toeplitz square-root factorisation.
//!
//! The released sums are `A X`, with `A` the lower-triangular Toeplitz matrix of the
//! workload and one block of the stream in each row of `X`. With `A = B C` it is enough
//! to add `B Z`: by post-processing, the privacy is that of `C X + Z`, whose sensitivity
//! is one block's times the largest column norm of `C`.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Longest stream: three numbers a block are held while factorising.
const MOST_BLOCKS: u64 = 1 << 24;
/// Most coefficient products spent on the strategy's norm.
const MOST_WORK: u64 = 2_000_000_000;

/// What is summed at every block end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Workload {
    /// The last `blocks` blocks, with weight one.
    Sliding {
        /// Blocks in the window.
        blocks: u64,
    },
    /// All blocks, the one `j` blocks ago with weight `decay^j`.
    Decayed {
        /// Weight of the block before, in `(0, 1)`.
        decay: f64,
    },
}

impl Workload {
    /// Coefficient of `z^j` in the workload's generating function.
    #[must_use]
    pub fn weight(self, lag: u64) -> f64 {
        match self {
            Self::Sliding { blocks } => f64::from(u8::from(lag < blocks)),
            Self::Decayed { decay } => decay.powf(lag as f64),
        }
    }
}

/// A factorisation `A = B C` of a workload over at most `horizon` blocks.
///
/// `B` has `taps` coefficients, those of `(1 - z)^(-1/2)` (sliding sums) or
/// `(1 - decay z)^(-1/2)` (decayed sums), cut off: positive and falling, so that `B(z)` has no
/// zero in the closed unit disc (Enestrom-Kakeya) and the coefficients of `C = A / B`
/// fall geometrically. For a sliding sum of `m` blocks and `taps = m` the product of the
/// norms is below `1.01 + 0.46 ln m` (measured up to 1024 blocks): the noise in a released sum has standard deviation
/// `|b| |c| sigma_1`, where `sigma_1` is what one block alone would need.
///
/// References: the square-root factorisation of Henzinger, Upadhyay & Upadhyay (2023)
/// and Fichtenberger, Henzinger & Upadhyay (2023), there for prefix sums.
#[derive(Debug, Clone, PartialEq)]
pub struct Factorisation {
    workload: Workload,
    horizon: u64,
    noise_taps: Vec<f64>,
    column_norm: f64,
    strategy_l1: f64,
    inverse_l1: f64,
}

impl Factorisation {
    /// Factorises a workload for streams of at most `horizon` blocks, with `taps`
    /// past noise matrices kept in memory.
    ///
    /// # Errors
    /// [`Error::Core`] for an empty window or tap list, a horizon outside `[1, 2^24]`, a decay
    /// outside `(0, 1)`, or more than 2e9 products of work.
    pub fn new(workload: Workload, horizon: u64, taps: u64) -> Result<Self> {
        let base = match workload {
            Workload::Sliding { blocks: 0 } => {
                return Err(Error::invalid("window blocks", 0, "[1, inf)"));
            }
            Workload::Sliding { .. } => 1.0,
            Workload::Decayed { decay } if decay > 0.0 && decay < 1.0 => decay,
            Workload::Decayed { decay } => return Err(Error::invalid("decay", decay, "(0, 1)")),
        };
        if !(1..=MOST_BLOCKS).contains(&horizon) {
            return Err(Error::invalid("horizon", horizon, "[1, 2^24]"));
        }
        if taps == 0 || taps.saturating_mul(horizon) > MOST_WORK {
            let most = MOST_WORK / horizon;
            return Err(Error::invalid("taps", taps, format!("[1, {most}] at this horizon")));
        }
        let noise_taps = square_root_taps(base, taps.min(horizon) as usize);
        let strategy = divide(|lag| workload.weight(lag), &noise_taps, horizon as usize);
        // The coefficients carry a relative error of about taps 2^-53 each; one part in
        // 1e9 covers it many times over.
        let column_norm = strategy.iter().map(|c| c * c).sum::<f64>().sqrt() * (1.0 + 1e-9);
        let l1 = |c: &[f64]| c.iter().map(|x| x.abs()).sum::<f64>() * (1.0 + 1e-9);
        let inverse = divide(|lag| f64::from(u8::from(lag == 0)), &noise_taps, horizon as usize);
        let (strategy_l1, inverse_l1) = (l1(&strategy), l1(&inverse));
        Ok(Self { workload, horizon, noise_taps, column_norm, strategy_l1, inverse_l1 })
    }

    /// Most blocks of the stream.
    #[must_use]
    pub fn horizon(&self) -> u64 {
        self.horizon
    }

    /// Coefficients of `B`: how past noise enters the current sum, newest first.
    #[must_use]
    pub(crate) fn noise_taps(&self) -> &[f64] {
        &self.noise_taps
    }

    /// Largest l2 norm of a column of `C`: the factor on one block's sensitivity.
    #[must_use]
    pub fn column_norm(&self) -> f64 {
        self.column_norm
    }

    /// `sum |c_k|`: an entry of `C X` is at most this many times the largest entry of a block.
    pub(super) fn strategy_l1(&self) -> f64 {
        self.strategy_l1
    }

    /// A bound on the floating-point error of an entry of `C X` when it is computed by the
    /// recursion `(C X)_j = (A X)_j - sum_(k>=1) b_k (C X)_(j-k)` from blocks whose entries are at
    /// most `block`.
    ///
    /// Each step rounds at most `taps + 4` times a value of at most
    /// `|a|_1 block + |b|_1 |c|_1 block`; the errors of the steps are filtered by `1/B`, which
    /// multiplies them by at most `sum |(1/B)_k|`.
    pub(super) fn rounding_error(&self, block: f64) -> f64 {
        let workload = match self.workload {
            Workload::Sliding { blocks } => blocks as f64,
            Workload::Decayed { decay } => 1.0 / (1.0 - decay),
        };
        let taps_l1: f64 = self.noise_taps.iter().sum();
        let value = block * (workload + taps_l1 * self.strategy_l1);
        let roundings = self.noise_taps.len() as f64 + 4.0;
        // A decayed total carries the rounding of all the blocks before it.
        let workload_steps =
            if matches!(self.workload, Workload::Decayed { .. }) { workload } else { 1.0 };
        self.inverse_l1 * f64::EPSILON * value * (roundings + 2.0 * workload_steps)
    }

    /// Standard deviation of a released sum's noise over that of one block released
    /// alone, `|b| |c|`.
    #[must_use]
    pub fn noise_factor(&self) -> f64 {
        self.column_norm * self.noise_taps.iter().map(|b| b * b).sum::<f64>().sqrt()
    }
}

/// The first `taps` coefficients of `(1 - base z)^(-1/2)`.
fn square_root_taps(base: f64, taps: usize) -> Vec<f64> {
    let mut coefficient = 1.0;
    (0..taps)
        .map(|k| {
            if k > 0 {
                coefficient *= base * (1.0 - 0.5 / k as f64);
            }
            coefficient
        })
        .collect()
}

/// The first `terms` coefficients of `A(z) / B(z)`, `A` given by its coefficients.
fn divide(a: impl Fn(u64) -> f64, b: &[f64], terms: usize) -> Vec<f64> {
    let mut quotient: Vec<f64> = Vec::with_capacity(terms);
    for k in 0..terms {
        let reach = b.len().min(k + 1);
        let known: f64 = (1..reach).map(|j| b[j] * quotient[k - j]).sum();
        quotient.push((a(k as u64) - known) / b[0]);
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_multiply_to_the_workload() {
        for workload in [Workload::Sliding { blocks: 7 }, Workload::Decayed { decay: 0.9 }] {
            let f = Factorisation::new(workload, 60, 7).expect("valid");
            let c = divide(|lag| workload.weight(lag), f.noise_taps(), 60);
            for lag in 0..60usize {
                let product: f64 = f
                    .noise_taps()
                    .iter()
                    .enumerate()
                    .filter(|(j, _)| *j <= lag)
                    .map(|(j, b)| b * c[lag - j])
                    .sum();
                assert!(
                    (product - workload.weight(lag as u64)).abs() < 1e-12,
                    "{workload:?} {lag}"
                );
            }
            let norm = c.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!(f.column_norm() >= norm && f.column_norm() < norm * (1.0 + 2e-9));
        }
    }

    #[test]
    fn the_noise_grows_like_the_logarithm_of_the_window() {
        // Independent blocks cost sqrt(m): 32 at m = 1024, where this costs 4.13.
        for m in [1u64, 4, 16, 64, 256, 1024] {
            let f = Factorisation::new(Workload::Sliding { blocks: m }, 20 * m, m).expect("valid");
            let most = 1.01 + 0.46 * (m as f64).ln();
            assert!(f.noise_factor() <= most, "{m}: {}", f.noise_factor());
            assert!(f.noise_factor() >= 1.0);
        }
    }

    #[test]
    fn refuses_what_it_cannot_do() {
        let sliding = Workload::Sliding { blocks: 4 };
        for (workload, horizon, taps) in [
            (Workload::Sliding { blocks: 0 }, 1, 1),
            (Workload::Decayed { decay: 1.0 }, 1, 1),
            (Workload::Decayed { decay: f64::NAN }, 1, 1),
            (sliding, 0, 1),
            (sliding, 1, 0),
            (sliding, u64::MAX, 4),
        ] {
            let refused = Factorisation::new(workload, horizon, taps);
            assert!(matches!(refused, Err(Error::Core(_))), "{workload:?}");
        }
    }
}
