//! Estimating similarity from noisy bins.

use super::symbols::{Coding, PrivateSymbols};
use crate::error::{Error, Result};
use crate::private::Estimate;
use dp_core::Probability;

/// What two rows show in a bin.
const BOTH_EMPTY: usize = 0;
const SAME_VALUE: usize = 1;
const OTHER_VALUE: usize = 2;
const ONE_EMPTY: usize = 3;

/// The law of what two noisy bins show, given what the true ones show, and its inverse.
///
/// Four outcomes: both empty, the same value, different values, exactly one empty. A response over
/// `A = values + 1` symbols mixes them by a 4 x 4 stochastic matrix; the inverse turns the
/// four observed counts into unbiased estimates of the four true counts.
#[derive(Debug, Clone)]
pub struct BinLaw {
    bins: usize,
    values: f64,
    forward: [[f64; 4]; 4],
    inverse: [[f64; 4]; 4],
}

impl BinLaw {
    /// The law of `bins` bins with `values` symbols besides "empty", kept with probability `keep`.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless `bins >= 1`, `values >= 2` and `keep > 1/(values + 1)`.
    pub fn new(bins: usize, values: u64, keep: Probability) -> Result<Self> {
        if bins == 0 || values < 2 {
            return Err(Error::invalid(
                "bins x values",
                format!("{bins} x {values}"),
                "[1, inf) x [2, inf)",
            ));
        }
        let (v, p) = (values as f64, keep.get());
        if p <= 1.0 / (v + 1.0) {
            return Err(Error::invalid("keep probability", p, "(1/alphabet, 1]"));
        }
        let q = (1.0 - p) / v;
        // Probability that the responses to x and y are (a, b), summed over each outcome.
        let outcome = |x: usize, y: usize| {
            let pr = |from: usize, to: usize| if from == to { p } else { q };
            // Representatives: 0 empty, 1 and 2 two values, 3 stands for the v - 2 others.
            let weight = |s: usize| if s == 3 { v - 2.0 } else { 1.0 };
            let mut row = [0.0; 4];
            for a in 0..4 {
                for b in 0..4 {
                    let base = pr(x, a) * pr(y, b) * weight(a);
                    match (a, b) {
                        (0, 0) => row[BOTH_EMPTY] += base,
                        (0, _) | (_, 0) => row[ONE_EMPTY] += base * weight(b),
                        (3, 3) => {
                            row[SAME_VALUE] += base;
                            row[OTHER_VALUE] += base * (v - 3.0);
                        }
                        _ if a == b => row[SAME_VALUE] += base,
                        _ => row[OTHER_VALUE] += base * weight(b),
                    }
                }
            }
            row
        };
        let forward = [outcome(0, 0), outcome(1, 1), outcome(1, 2), outcome(0, 1)];
        let inverse = invert(forward).ok_or_else(|| {
            Error::invalid("keep probability", p, "far enough above 1/alphabet to tell")
        })?;
        Ok(Self { bins, values: v, forward, inverse })
    }

    /// The law of a release.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] when the release does not hold bins, or has a single value symbol.
    pub fn of(symbols: &PrivateSymbols) -> Result<Self> {
        match symbols.coding() {
            Coding::Bins => {
                Self::new(symbols.scheme().slots, symbols.alphabet() - 1, symbols.keep())
            }
            Coding::Hashed { .. } => {
                Err(Error::invalid("coding of the release", "hashed minima", "bins"))
            }
        }
    }

    /// Observed outcomes of two rows: both empty, the same value, different values, one empty.
    ///
    /// # Errors
    /// When a row does not exist.
    pub fn observe(symbols: &PrivateSymbols, i: usize, j: usize) -> Result<[u32; 4]> {
        Ok(outcomes(symbols.row(i)?, symbols.row(j)?))
    }

    /// Unbiased estimates of the true counts from the observed ones.
    #[must_use]
    pub fn invert_counts(&self, observed: [u32; 4]) -> [f64; 4] {
        core::array::from_fn(|t| (0..4).map(|o| f64::from(observed[o]) * self.inverse[o][t]).sum())
    }

    /// Weights w, u on the observed counts with `E[w] = shared minima`, `E[u] = non-empty bins of the union`.
    fn weights(&self) -> [(f64, f64); 4] {
        core::array::from_fn(|o| {
            let t = self.inverse[o];
            (t[SAME_VALUE] - t[OTHER_VALUE] / (self.values - 1.0), 1.0 - t[BOTH_EMPTY])
        })
    }

    /// Estimate of the similarity: unbiased estimate of the bins with a shared minimum, over that of the
    /// bins that are not empty in the union (Li, Owen & Zhang 2012 with the noise taken out).
    ///
    /// A ratio: its bias falls as `1/bins`. The standard error is that of the ratio to
    /// first order, less what sampling without repetition saves.
    #[must_use]
    pub fn jaccard(&self, observed: [u32; 4]) -> Estimate {
        self.ratio(observed.map(f64::from))
    }

    /// Standard error of [`BinLaw::jaccard`] for two sets of `size` items and similarity `j`.
    #[must_use]
    pub fn standard_error_at(&self, size: f64, j: f64) -> f64 {
        let expected = self.outcome_probabilities(size, j).map(|p| p * self.bins as f64);
        self.ratio(expected).standard_error
    }

    fn ratio(&self, counts: [f64; 4]) -> Estimate {
        let n = self.bins as f64;
        let weights = self.weights();
        let (mut shared, mut union) = (0.0, 0.0);
        for (o, (w, u)) in weights.iter().enumerate() {
            shared += counts[o] * w;
            union += counts[o] * u;
        }
        // At least one bin of the union is full.
        let union = union.max(1.0);
        let value = shared / union;
        let second: f64 =
            (0..4).map(|o| counts[o] * (weights[o].0 - value * weights[o].1).powi(2)).sum();
        let mean = (shared - value * union) / n;
        let variance = (second / n - mean * mean).max(0.0) * n / (union * union);
        // Full bins hold distinct items of the union: sampling without repetition from as many
        // items as explain the share of full bins.
        let full = union.min(n - 0.5);
        let items = ((-full / n).ln_1p() / (-1.0 / n).ln_1p()).max(full);
        let repeated = (full - 1.0).max(0.0) / (items - 1.0).max(1.0);
        let j = value.clamp(0.0, 1.0);
        let variance = (variance - repeated * j * (1.0 - j) / full).max(0.1 * variance);
        Estimate { value, standard_error: variance.sqrt() }
    }

    /// Probabilities of the four observed outcomes for two sets of `size` items and similarity `j`.
    #[must_use]
    pub fn outcome_probabilities(&self, size: f64, j: f64) -> [f64; 4] {
        let empty = |items: f64| (items * (-1.0 / self.bins as f64).ln_1p()).exp();
        let one_set_empty = if self.bins == 1 { 0.0 } else { empty(size) };
        let both = if self.bins == 1 { 0.0 } else { empty(2.0 * size / (1.0 + j)) };
        let shared = j * (1.0 - both);
        let distinct = (1.0 - 2.0 * one_set_empty + both - shared).max(0.0);
        let same = shared + distinct / self.values;
        let truth = [both, same, distinct - distinct / self.values, 2.0 * (one_set_empty - both)];
        core::array::from_fn(|o| (0..4).map(|t| truth[t] * self.forward[t][o]).sum())
    }

    /// Log-likelihood ratio of each outcome: similarity `near` against `far`, sets of `size` items.
    #[must_use]
    pub fn likelihood_weights(&self, size: f64, near: f64, far: f64) -> [f64; 4] {
        let (a, b) =
            (self.outcome_probabilities(size, near), self.outcome_probabilities(size, far));
        core::array::from_fn(|o| (a[o].max(1e-300) / b[o].max(1e-300)).ln())
    }
}

/// Outcomes of all bins of two rows.
#[must_use]
pub(super) fn outcomes(x: &[u16], y: &[u16]) -> [u32; 4] {
    let (mut equal, mut both, mut some) = (0u32, 0u32, 0u32);
    for (&a, &b) in x.iter().zip(y) {
        equal += u32::from(a == b);
        both += u32::from(a | b == 0);
        some += u32::from((a == 0) | (b == 0));
    }
    let one = some - both;
    [both, equal - both, x.len() as u32 - equal - one, one]
}

/// Inverse of a 4 x 4 matrix by elimination with pivoting.
fn invert(mut m: [[f64; 4]; 4]) -> Option<[[f64; 4]; 4]> {
    let mut out = [[0.0; 4]; 4];
    for (i, row) in out.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for col in 0..4 {
        let pivot = (col..4).max_by(|&a, &b| m[a][col].abs().total_cmp(&m[b][col].abs()))?;
        if m[pivot][col].abs() < 1e-13 {
            return None;
        }
        m.swap(col, pivot);
        out.swap(col, pivot);
        let scale = 1.0 / m[col][col];
        for k in 0..4 {
            m[col][k] *= scale;
            out[col][k] *= scale;
        }
        for row in (0..4).filter(|&r| r != col) {
            let factor = m[row][col];
            for k in 0..4 {
                m[row][k] -= factor * m[col][k];
                out[row][k] -= factor * out[col][k];
            }
        }
    }
    Some(out)
}
