//! Correlated noise for sliding and decayed sums: Toeplitz square-root factorisation.
//!
//! The released sums are `A X`, with `A` the lower-triangular Toeplitz matrix of the
//! workload and one block of the stream in each row of `X`. With `A = B C` it is enough
//! to add `B Z`: by post-processing, the privacy is that of `C X + Z`, whose sensitivity
//! is one block's times the largest column norm of `C`.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};

/// Longest stream whose factorisation is kept: 24 MiB.
const MOST_KEPT: u64 = 1 << 20;

/// Longest stream: three numbers a block are held while factorising.
const MOST_BLOCKS: u64 = 1 << 24;
/// Sums side by side.
const LANES: usize = 16;
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

    /// Past noise matrices that a sum is made of: twice the window's blocks, or as many as leave a two-hundredth
    /// of the weights' squares of a decayed sum, at most 1024.
    pub(crate) fn taps(self) -> u64 {
        match self {
            Self::Sliding { blocks } => blocks.saturating_mul(2),
            // Saturates; at most 1024.
            Self::Decayed { decay } => {
                (200f64.ln() / (-2.0 * decay.ln())).ceil().clamp(1.0, 1024.0) as u64
            }
        }
    }
}

/// A factorisation `A = B C` of a workload over at most `horizon` blocks.
///
/// `B` is the power series of `A(z)^(1/2)`, cut off: `((1 - z^m) / (1 - z))^(1/2)` after `2 m` terms for sliding
/// sums of m blocks, `(1 - decay z)^(-1/2)` for decayed sums. The noise in a released sum has standard deviation
/// `|b| |c| sigma_1`, where `sigma_1` is what one block alone would need: 2.70 at m = 64 and 3.84 at 1024, where no
/// factorisation reaches less than 2.675 and 3.799 on a stream without end.
///
/// References: the square-root factorisation of Henzinger, Upadhyay & Upadhyay (2023)
/// and Fichtenberger, Henzinger & Upadhyay (2023), there for prefix sums. Proof: `docs/proofs/sliding-window.md`.
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
    /// Factorises a workload for streams of at most `horizon` blocks.
    ///
    /// # Errors
    /// [`Error::Core`] for an empty window, a horizon outside `[1, 2^24]`, a decay outside `(0, 1)`, or a window
    /// whose noise at this horizon takes more than 2e9 products or loses its digits.
    pub fn new(workload: Workload, horizon: u64) -> Result<Self> {
        match workload {
            Workload::Sliding { blocks: 0 } => {
                return Err(Error::invalid("window blocks", 0, "[1, inf)"));
            }
            Workload::Decayed { decay } if !(decay > 0.0 && decay < 1.0) => {
                return Err(Error::invalid("decay", decay, "(0, 1)"));
            }
            _ => {}
        }
        if !(1..=MOST_BLOCKS).contains(&horizon) {
            return Err(Error::invalid("horizon", horizon, "[1, 2^24]"));
        }
        let taps = workload.taps().min(horizon);
        if taps.saturating_mul(horizon) > MOST_WORK {
            let allowed = format!("at most {} with {taps} noise matrices a sum", MOST_WORK / taps);
            return Err(Error::invalid("horizon", horizon, allowed));
        }
        let noise_taps = square_root(workload, taps as usize);
        let terms = horizon as usize;
        let (strategy, inverse) = rayon::join(
            || divide(|lag| workload.weight(lag), &noise_taps, terms),
            || divide(|lag| f64::from(u8::from(lag == 0)), &noise_taps, terms),
        );
        let l1 = |c: &[f64]| c.iter().map(|x| x.abs()).sum::<f64>() * (1.0 + 1e-9);
        // What rounding can have moved in both quotients, relative to their norms.
        let error = (taps as f64 + 4.0) * f64::EPSILON * l1(&noise_taps) * l1(&inverse);
        if error.is_nan() || error > 1e-4 {
            return Err(Error::invalid("window blocks", taps.div_ceil(2), "fewer of them"));
        }
        let room = 1.0 + 2.0 * error + 1e-9;
        let column_norm = strategy.iter().map(|c| c * c).sum::<f64>().sqrt() * room;
        let (strategy_l1, inverse_l1) = (l1(&strategy) * room, l1(&inverse) * room);
        Ok(Self { workload, horizon, noise_taps, column_norm, strategy_l1, inverse_l1 })
    }

    /// As [`Factorisation::new`]; the last one is kept, since it does not depend on the budget: a curve asks for one and
    /// the same many times.
    pub(super) fn kept(workload: Workload, horizon: u64) -> Result<Self> {
        static LAST: Mutex<Option<Factorisation>> = Mutex::new(None);
        let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |f: &&Self| f.workload == workload && f.horizon == horizon;
        let kept = last().as_ref().filter(same).cloned();
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let made = Self::new(workload, horizon)?;
        if horizon <= MOST_KEPT {
            *last() = Some(made.clone());
        }
        Ok(made)
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
        let taps_l1: f64 = self.noise_taps.iter().map(|b| b.abs()).sum();
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

/// The first coefficients of the workload's generating function to the power 1/2.
fn square_root(workload: Workload, taps: usize) -> Vec<f64> {
    // (1 - base z)^(-1/2), for sliding sums times (1 - z^m)^(1/2).
    let (base, blocks) = match workload {
        Workload::Sliding { blocks } => (1.0, usize::try_from(blocks).unwrap_or(usize::MAX)),
        Workload::Decayed { decay } => (decay, usize::MAX),
    };
    let mut coefficient = 1.0;
    let series = |(k, slope): (usize, f64)| {
        if k > 0 {
            coefficient *= slope;
        }
        coefficient
    };
    let mut root: Vec<f64> =
        (0..taps).map(|k| (k, base * (1.0 - 0.5 / k.max(1) as f64))).map(series).collect();
    // Fewer than two windows: 1 - z^m / 2 is all of the second series.
    for k in (blocks..taps).rev() {
        root[k] -= 0.5 * root[k - blocks];
    }
    root
}

/// The first `terms` coefficients of `A(z) / B(z)`, `A` given by its coefficients.
fn divide(a: impl Fn(u64) -> f64, b: &[f64], terms: usize) -> Vec<f64> {
    let mut quotient: Vec<f64> = Vec::with_capacity(terms);
    for k in 0..terms {
        let reach = b.len().min(k + 1);
        // Several sums side by side: an addition need not wait for the one before.
        let (near, far) =
            (b[1..reach].chunks_exact(LANES), quotient[k + 1 - reach..].rchunks_exact(LANES));
        let rest = near.remainder().iter().zip(far.remainder().iter().rev());
        let mut sums = [0.0; LANES];
        for (near, far) in near.zip(far) {
            for i in 0..LANES {
                sums[i] += near[i] * far[LANES - 1 - i];
            }
        }
        let known = sums.iter().sum::<f64>() + rest.map(|(b, q)| b * q).sum::<f64>();
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
            let f = Factorisation::new(workload, 60).expect("valid");
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

    /// Within two windows the taps are those of the square root itself: they square to the workload.
    #[test]
    fn the_taps_square_to_the_workload() {
        for workload in [Workload::Sliding { blocks: 9 }, Workload::Decayed { decay: 0.8 }] {
            let f = Factorisation::new(workload, 1000).expect("valid");
            let b = f.noise_taps();
            for lag in 0..b.len() {
                let square: f64 = (0..=lag).map(|j| b[j] * b[lag - j]).sum();
                assert!((square - workload.weight(lag as u64)).abs() < 1e-12, "{workload:?} {lag}");
            }
        }
    }

    /// What is kept is what is asked for, whatever was asked before.
    #[test]
    fn what_is_kept_is_what_is_asked_for() {
        let sliding = |blocks| Workload::Sliding { blocks };
        let asked = [(sliding(4), 50), (sliding(4), 51), (sliding(5), 51), (sliding(5), 51)];
        for (workload, horizon) in asked.into_iter().chain([(Workload::Decayed { decay: 0.9 }, 51)])
        {
            let kept = Factorisation::kept(workload, horizon).expect("valid");
            assert_eq!(kept, Factorisation::new(workload, horizon).expect("valid"));
        }
        assert!(Factorisation::kept(sliding(0), 51).is_err());
    }

    /// Numbers by SciPy's filters; the second is the least that any factorisation reaches on a stream without end
    /// (the mean of `|sin(m t/2) / sin(t/2)|`).
    #[test]
    fn noise_of_sliding_sums_is_near_the_least() {
        for (m, noise, least) in
            [(4, 1.5584, 1.54), (16, 2.1271, 2.11), (64, 2.6967, 2.675), (1024, 3.8361, 3.799)]
        {
            let f = Factorisation::new(Workload::Sliding { blocks: m }, 200 * m).expect("valid");
            assert!((f.noise_factor() - noise).abs() < 1e-4, "{m}: {}", f.noise_factor());
            assert!(f.noise_factor() > least && f.noise_factor() < 1.015 * least, "{m}");
        }
        // The optimum of decay 0.99 is 2.137.
        let f = Factorisation::new(Workload::Decayed { decay: 0.99 }, 20_000).expect("valid");
        assert!((2.137..2.15).contains(&f.noise_factor()), "{}", f.noise_factor());
    }

    #[test]
    fn refuses_what_it_cannot_do() {
        let sliding = Workload::Sliding { blocks: 4 };
        for (workload, horizon) in [
            (Workload::Sliding { blocks: 0 }, 1),
            (Workload::Decayed { decay: 1.0 }, 1),
            (Workload::Decayed { decay: f64::NAN }, 1),
            (sliding, 0),
            (sliding, u64::MAX),
            (Workload::Sliding { blocks: u64::MAX }, 1 << 24),
        ] {
            let refused = Factorisation::new(workload, horizon);
            assert!(matches!(refused, Err(Error::Core(_))), "{workload:?}");
        }
    }
}
