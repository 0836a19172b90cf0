//! Occupancy bits: whether a bin holds any item, and what noisy ones say of two sets.

use super::estimate::{Z95, check_keep, from_arms, not_rejected};
use super::items::ItemSet;
use super::one_permutation::{EMPTY_BIN, OnePermutation};
use super::signature::SetSketch;
use super::symbols::{Coding, PrivateSymbols, SymbolFacts};
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Interval, upper_quantile};
use dp_core::Probability;

/// What a row says of a bin: empty or occupied.
const STATES: [usize; 2] = [EMPTY, OCCUPIED];
const EMPTY: usize = 0;
const OCCUPIED: usize = 1;

impl PrivateSymbols {
    /// Whether these are occupancy bits: bins with one value, so that a bin shows only whether it holds any item.
    #[must_use]
    pub fn is_occupancy(&self) -> bool {
        self.coding() == Coding::Bins && self.alphabet() == 2
    }

    /// Occupancy bits of sets that were never released, without noise, by the hash function of a release: queries held by
    /// whoever asks, for [`SetIndex`](crate::search::SetIndex). Nothing of them is published.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] for a release of other symbols.
    pub fn exact(release: &Self, sets: &[ItemSet]) -> Result<Self> {
        release.check_occupancy()?;
        let sketch = OnePermutation::new(release.scheme().slots, release.scheme().seed)?;
        let bins = sketch.sketch(sets);
        let bits = bins.slots().iter().map(|&least| u16::from(least != EMPTY_BIN)).collect();
        let facts = SymbolFacts { keep: Probability::new(1.0)?, ..release.facts().clone() };
        Ok(Self::new(facts, bits))
    }

    pub(crate) fn check_occupancy(&self) -> Result<()> {
        if self.is_occupancy() {
            return Ok(());
        }
        let held = format!("{} with {} symbols", self.scheme().sketch, self.alphabet());
        Err(Error::invalid("coding of the release", held, "occupancy bits (bins of one value)"))
    }

    /// What an empty and an occupied bit say of "the bin is occupied": unbiased, so below zero and above one.
    pub(crate) fn unbiased_bits(&self) -> [f64; 2] {
        let says = OccupancyLaw { bins: 1, keep: self.keep().get() }.says();
        says.map(|empty| 1.0 - empty)
    }
}

/// The law of noisy occupancy bits of two sets. Proof: `docs/proofs/one-permutation.md`.
#[derive(Debug, Clone, Copy)]
pub(super) struct OccupancyLaw {
    bins: usize,
    keep: f64,
}

/// Shares of the bins by what two rows show (or what is true): the left one's state, then the right one's.
type Shares = [[f64; 2]; 2];

impl OccupancyLaw {
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless `bins >= 1` and `keep > 1/2`.
    pub(super) fn new(bins: usize, keep: Probability) -> Result<Self> {
        if bins == 0 {
            return Err(Error::invalid("bins", bins, "[1, inf)"));
        }
        check_keep(2, keep)?;
        Ok(Self { bins, keep: keep.get() })
    }

    /// What a bit of each state says of "the bin is empty": unbiased.
    fn says(&self) -> [f64; 2] {
        let gap = 2.0 * self.keep - 1.0;
        [self.keep / gap, -(1.0 - self.keep) / gap]
    }

    /// Shares of what two rows show.
    pub(super) fn shares(x: &[u16], y: &[u16]) -> Shares {
        let mut counts = [[0u32; 2]; 2];
        for (&a, &b) in x.iter().zip(y) {
            counts[usize::from(a)][usize::from(b)] += 1;
        }
        counts.map(|row| row.map(|count| f64::from(count) / x.len() as f64))
    }

    fn sum(shares: &Shares, of: impl Fn(usize, usize) -> f64) -> f64 {
        let row = |a: usize| STATES.iter().map(move |&b| (a, b));
        STATES.iter().flat_map(|&a| row(a)).map(|(a, b)| shares[a][b] * of(a, b)).sum()
    }

    /// The estimated shares of bins empty on the left, on the right, in both: unbiased.
    fn empty(&self, seen: &Shares) -> [f64; 3] {
        let says = self.says();
        [
            Self::sum(seen, |a, _| says[a]),
            Self::sum(seen, |_, b| says[b]),
            Self::sum(seen, |a, b| says[a] * says[b]),
        ]
    }

    /// The shares that sets can have, near the estimated ones: a set has an item, and what lies below half a bin cannot be seen.
    fn possible(&self, [left, right, _]: [f64; 3]) -> [f64; 2] {
        let bins = self.bins as f64;
        [left, right].map(|share| share.clamp(0.5 / bins, 1.0 - 1.0 / bins))
    }

    /// The statistic `T(j)`, of mean zero at the true similarity, and its standard deviation there.
    fn test(&self, empty: [f64; 3], near: [f64; 2], j: f64) -> (f64, f64) {
        let tangent = Tangent::at(near, j);
        let [left, right] = tangent.slopes;
        let statistic =
            empty[2] - tangent.both - left * (empty[0] - near[0]) - right * (empty[1] - near[1]);
        (statistic, self.variance(near, j).sqrt())
    }

    /// Variance of `T(j)` where the empty shares of the two sets are `near` and j is true.
    fn variance(&self, near: [f64; 2], j: f64) -> f64 {
        let (tangent, says) = (Tangent::at(near, j), self.says());
        let weight = |a: usize, b: usize| {
            says[a] * says[b] - tangent.slopes[0] * says[a] - tangent.slopes[1] * says[b]
        };
        let [left, right] = near;
        let both = tangent.both.clamp((left + right - 1.0).max(0.0), left.min(right));
        let truth = [[both, left - both], [right - both, 1.0 - left - right + both]];
        let shown = |from: usize, to: usize| if from == to { self.keep } else { 1.0 - self.keep };
        let seen = STATES
            .map(|a| STATES.map(|b| Self::sum(&truth, |x, y| shown(x, a) * shown(y, b)).max(0.0)));
        let mean = Self::sum(&seen, weight);
        let square = Self::sum(&seen, |a, b| (weight(a, b) - mean).powi(2));
        // Sets of given sizes fill bins more evenly than independent bins would.
        let even =
            tangent.both * tangent.both * -tangent.both.ln() * j * (1.0 - j) / (1.0 + j).powi(2);
        let bins = self.bins as f64;
        // One bin more, of the rarest kind: the estimated shares may have none of it.
        let worst = STATES.iter().flat_map(|&a| STATES.map(|b| weight(a, b).powi(2)));
        ((square - even).max(0.0) + worst.fold(0.0, f64::max) / bins) / bins
    }

    /// Estimate of the similarity; its standard error is the longer arm of the 95 % interval, over 1.96.
    pub(super) fn jaccard(&self, seen: &Shares) -> Estimate {
        let Interval { low, high } = self.accepted(seen, Z95);
        from_arms(self.score(seen), low, high)
    }

    /// The similarities in `[0, 1]` that a test does not reject.
    pub(super) fn interval(&self, seen: &Shares, level: Probability) -> Interval {
        self.accepted(seen, upper_quantile(0.5 * (1.0 - level.get())))
    }

    /// The j in `[0, 1]` where `T(j)` is nearest to zero; it falls with j.
    fn score(&self, seen: &Shares) -> f64 {
        if self.bins == 1 {
            return 0.5;
        }
        let empty = self.empty(seen);
        let near = self.possible(empty);
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let mid = 0.5 * (low + high);
            if self.test(empty, near, mid).0 > 0.0 { low = mid } else { high = mid }
        }
        0.5 * (low + high)
    }

    fn accepted(&self, seen: &Shares, z: f64) -> Interval {
        // One bin is occupied by every set.
        if self.bins == 1 {
            return Interval { low: 0.0, high: 1.0 };
        }
        let (empty, says) = (self.empty(seen), self.says());
        let near = self.possible(empty);
        let keeps = |j: f64| {
            let [left, right] = Tangent::at(near, j).slopes;
            let weight = |a: usize, b: usize| says[a] * says[b] - left * says[a] - right * says[b];
            let all = STATES.iter().flat_map(|&a| STATES.map(|b| weight(a, b)));
            let (least, most) =
                all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), w| (l.min(w), m.max(w)));
            let (statistic, deviation) = self.test(empty, near, j);
            let half = 0.5 * (most - least) / self.bins as f64;
            (statistic.abs() - half).max(0.0) <= z * deviation
        };
        not_rejected(self.score(seen), keeps)
    }

    /// Standard error of the estimate for two sets of `size` items and similarity `j`, to first order.
    pub(super) fn standard_error_at(&self, size: f64, j: f64) -> f64 {
        if self.bins == 1 {
            return 0.5;
        }
        let bins = self.bins as f64;
        let empty = (size * (-1.0 / bins).ln_1p()).exp();
        let near = self.possible([empty, empty, 0.0]);
        let both = Tangent::at(near, j).both;
        // d both / dj, for both = (left right)^(1/(1+j)).
        let slope = both * -(near[0] * near[1]).ln() / (1.0 + j).powi(2);
        self.variance(near, j).sqrt() / slope
    }
}

/// The share of bins empty in both of two sets, as a function of the shares empty in each, and its tangent plane.
struct Tangent {
    both: f64,
    slopes: [f64; 2],
}

impl Tangent {
    /// `(left right)^(1/(1+j))`: the union holds `(|A| + |B|)/(1 + j)` items.
    fn at([left, right]: [f64; 2], j: f64) -> Self {
        let power = 1.0 / (1.0 + j);
        let both = (left * right).powf(power);
        Self { both, slopes: [left, right].map(|share| power * both / share) }
    }
}
