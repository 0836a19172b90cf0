//! Estimating similarity from noisy bins.

use super::estimate::{Z95, check_keep, from_arms, not_rejected};
use super::likelihood::{Law, fit};
use super::signature::COUNTED;
use super::symbols::{Coding, PrivateSymbols};
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval, upper_quantile};
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
    /// Row: what is true; column: what is seen.
    forward: [[f64; 4]; 4],
    /// Row: what is seen; column: what is true.
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
        let v = values as f64;
        let (p, q) = check_keep(values + 1, keep)?;
        // What a bin's symbol says of "true symbol is s": f(hit) when it is s, f(miss) when not.
        let gap = p.mul_add(v + 1.0, -1.0) / v;
        let (hit, miss) = ((1.0 - q) / gap, -q / gap);
        let agree = |seen: f64| (seen - 2.0 * q + (v + 1.0) * q * q) / (gap * gap);
        let says = |both: f64, one: f64, equal: f64| {
            let same = agree(equal) - both;
            [both, same, 1.0 - both - same - one, one]
        };
        let none = says(miss * miss, 2.0 * miss * (1.0 - miss), 0.0);
        let inverse = [
            says(hit * hit, 2.0 * hit * (1.0 - hit), 1.0),
            says(miss * miss, 2.0 * miss * (1.0 - miss), 1.0),
            none,
            says(hit * miss, hit * (1.0 - miss) + miss * (1.0 - hit), 0.0),
        ];
        Ok(Self { bins, values: v, forward: forward(v, p, q), inverse })
    }

    /// The law of a release.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] when the release does not hold bins, or holds occupancy bits, of which
    /// [`SetPairs`](super::SetPairs) estimates.
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

    /// Unbiased estimates of the true counts from the observed ones.
    #[must_use]
    pub(crate) fn invert_counts(&self, observed: [u32; 4]) -> [f64; 4] {
        core::array::from_fn(|t| (0..4).map(|o| f64::from(observed[o]) * self.inverse[o][t]).sum())
    }

    /// Weights w, u on the observed counts with `E[w] = shared minima`, `E[u] = non-empty bins of the union`.
    fn weights(&self) -> [(f64, f64); 4] {
        core::array::from_fn(|o| {
            let t = self.inverse[o];
            (t[SAME_VALUE] - t[OTHER_VALUE] / (self.values - 1.0), 1.0 - t[BOTH_EMPTY])
        })
    }

    /// Unbiased estimates of the bins with a shared minimum, and of the bins that are not empty in the union.
    fn shared_and_union(&self, counts: [u32; 4]) -> (f64, f64) {
        let mut sums = (0.0, 0.0);
        for (count, (w, u)) in counts.iter().zip(self.weights()) {
            sums.0 += f64::from(*count) * w;
            sums.1 += f64::from(*count) * u;
        }
        sums
    }

    /// The ratio of the two unbiased counts, not clamped: a score for rankings.
    pub(crate) fn score(&self, observed: [u32; 4]) -> f64 {
        let (shared, union) = self.shared_and_union(observed);
        // At least one bin of the union is full.
        shared / union.max(1.0)
    }

    /// The likeliest similarity: that of the shares of the four truths, each at least zero, that make the observed counts most
    /// likely. Where the unbiased counts are all positive it is their ratio (Li, Owen & Zhang 2012 with the noise taken out).
    /// Zero where the likeliest bins are all empty.
    #[must_use]
    pub fn likeliest(&self, observed: [u32; 4]) -> f64 {
        let shares = fit(observed.map(f64::from), &self.truths().map(|t| self.seen(t)));
        (shares[SAME_VALUE] / (1.0 - shares[BOTH_EMPTY]).max(1e-12)).clamp(0.0, 1.0)
    }

    /// What the four kinds of bins truly show: empty in both sets, a shared least item, different ones, empty in one.
    fn truths(&self) -> [Law; 4] {
        let same = 1.0 / self.values;
        [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, same, 1.0 - same, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    }

    fn seen(&self, truth: Law) -> Law {
        core::array::from_fn(|o| (0..4).map(|t| truth[t] * self.forward[t][o]).sum())
    }

    /// Estimate of the similarity: [`BinLaw::likeliest`]. The standard error is the longer arm of
    /// [`BinLaw::interval`] at 95 %, over 1.96: where the law is close to normal the usual one; never
    /// zero, and never more than the whole range.
    ///
    /// Biased towards the middle where noise hides much, as every estimate in `[0, 1]`.
    #[must_use]
    pub fn jaccard(&self, observed: [u32; 4]) -> Estimate {
        let Interval { low, high } = self.accepted(observed, Z95);
        from_arms(self.likeliest(observed), low, high)
    }

    /// Confidence interval in `[0, 1]`: the similarities that a test does not reject.
    ///
    /// At the true J, `T = shared - J union` has mean zero, whatever the sets; its variance is that of
    /// the outcomes at J (the empty bins estimated) less what sampling without repetition saves. J is kept while
    /// `|T|`, less half a step of one bin, is within the normal law's quantile. Where the noise hides
    /// everything this is the whole range.
    #[must_use]
    pub fn interval(&self, observed: [u32; 4], level: Probability) -> Interval {
        self.accepted(observed, upper_quantile(0.5 * (1.0 - level.get())))
    }

    fn accepted(&self, observed: [u32; 4], z: f64) -> Interval {
        let (shared, union) = self.shared_and_union(observed);
        let truth = self.invert_counts(observed).map(|count| count / self.bins as f64);
        let weights = self.weights();
        let most = weights.iter().fold(f64::NEG_INFINITY, |m, w| m.max(w.0));
        let least = weights.iter().fold(f64::INFINITY, |m, w| m.min(w.0));
        let variance = self.variances(truth);
        let keeps = |j: f64| {
            let distance = ((shared - j * union).abs() - 0.5 * (most - least)).max(0.0);
            distance * distance <= z * z * variance(j)
        };
        not_rejected(self.score(observed).clamp(0.0, 1.0), keeps)
    }

    /// Variance of `shared - j union` at similarity j, for the shares of bins empty in both rows and in one.
    fn variances(&self, [empty, _, _, one]: [f64; 4]) -> impl Fn(f64) -> f64 {
        let n = self.bins as f64;
        let empty = empty.clamp(0.0, 1.0 - 1.0 / n);
        let weights = self.weights();
        // Full bins hold distinct items of the union: sampling without repetition from as many
        // items as explain the share of full bins.
        let full = (n * (1.0 - empty)).max(1.0).min(n - 0.5);
        let items = ((-full / n).ln_1p() / (-1.0 / n).ln_1p()).max(full);
        let repeated = (full - 1.0).max(0.0) / (items - 1.0).max(1.0);
        move |j| {
            let one = one.clamp(0.0, (1.0 - j) * (1.0 - empty));
            let seen = self.outcomes_of(empty, one, j);
            let second: f64 =
                seen.iter().zip(weights).map(|(p, w)| p * (w.0 - j * w.1).powi(2)).sum();
            (n * second - repeated * j * (1.0 - j) * full).max(0.0)
        }
    }

    /// Standard error of the ratio for two sets of `size` items and similarity `j`, to first order.
    #[must_use]
    pub(crate) fn standard_error_at(&self, size: f64, j: f64) -> f64 {
        let (both, one) = self.empty_shares(size, j);
        self.variances([both, 0.0, 0.0, one])(j).sqrt() / (self.bins as f64 * (1.0 - both)).max(1.0)
    }

    /// Shares of the bins empty in both of two sets of `size` items and similarity `j`, and in one of them.
    fn empty_shares(&self, size: f64, j: f64) -> (f64, f64) {
        if self.bins == 1 {
            return (0.0, 0.0);
        }
        let empty = |items: f64| (items * (-1.0 / self.bins as f64).ln_1p()).exp();
        let both = empty(2.0 * size / (1.0 + j));
        (both, 2.0 * (empty(size) - both))
    }

    /// Probabilities of the four observed outcomes at similarity j.
    fn outcomes_of(&self, both: f64, one: f64, j: f64) -> [f64; 4] {
        let shared = j * (1.0 - both);
        let distinct = (1.0 - both - one - shared).max(0.0);
        let same = shared + distinct / self.values;
        self.seen([both, same, distinct - distinct / self.values, one])
    }

    /// Probabilities of the four observed outcomes for two sets of `size` items and similarity `j`.
    #[must_use]
    pub(crate) fn outcome_probabilities(&self, size: f64, j: f64) -> [f64; 4] {
        let (both, one) = self.empty_shares(size, j);
        self.outcomes_of(both, one, j)
    }

    /// Log-likelihood ratio of each outcome: similarity `near` against `far`, sets of `size` items.
    #[must_use]
    pub(crate) fn likelihood_weights(&self, size: f64, near: f64, far: f64) -> [f64; 4] {
        let (a, b) =
            (self.outcome_probabilities(size, near), self.outcome_probabilities(size, far));
        core::array::from_fn(|o| (a[o].max(1e-300) / b[o].max(1e-300)).ln())
    }
}

/// What two noisy bins show, for each of the four truths.
fn forward(v: f64, p: f64, q: f64) -> [[f64; 4]; 4] {
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
    [outcome(0, 0), outcome(1, 1), outcome(1, 2), outcome(0, 1)]
}

/// Outcomes of all bins of two rows.
#[must_use]
pub(crate) fn outcomes(x: &[u16], y: &[u16]) -> [u32; 4] {
    // Compiled again for wider registers.
    pulp::Arch::new().dispatch(|| counts(x, y))
}

#[inline(always)]
fn counts(x: &[u16], y: &[u16]) -> [u32; 4] {
    let (mut equal, mut both, mut some) = (0u32, 0u32, 0u32);
    for (x, y) in x.chunks(COUNTED).zip(y.chunks(COUNTED)) {
        let mut counts = [0u16; 3];
        for (&a, &b) in x.iter().zip(y) {
            counts[0] += u16::from(a == b);
            counts[1] += u16::from(a | b == 0);
            counts[2] += u16::from((a == 0) | (b == 0));
        }
        let [e, b, s] = counts.map(u32::from);
        (equal, both, some) = (equal + e, both + b, some + s);
    }
    let one = some - both;
    [both, equal - both, x.len() as u32 - equal - one, one]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::signature::matches;

    /// At every length up to several wide registers, and around the end of a 16-bit count.
    #[test]
    fn bins_are_counted_however_many_there_are() {
        let around = [COUNTED - 1, COUNTED, COUNTED + 1, 3 * COUNTED + 5];
        for length in (0..300).chain(around) {
            let (x, y): (Vec<u16>, Vec<u16>) =
                (0..length).map(|i| ((i * i % 7 % 3) as u16, (i % 5 % 3) as u16)).unzip();
            let mut seen = [0; 4];
            for (a, b) in x.iter().zip(&y) {
                let outcome = match (a, b) {
                    (0, 0) => BOTH_EMPTY,
                    (0, _) | (_, 0) => ONE_EMPTY,
                    (a, b) if a == b => SAME_VALUE,
                    _ => OTHER_VALUE,
                };
                seen[outcome] += 1;
            }
            assert_eq!(outcomes(&x, &y), seen, "{length}");
            assert_eq!(matches(&x, &y), seen[BOTH_EMPTY] + seen[SAME_VALUE], "{length}");
            let all = vec![1u16; length];
            assert_eq!(matches(&all, &all), length as u32);
            assert_eq!(outcomes(&all, &all)[SAME_VALUE], length as u32);
        }
    }
}
