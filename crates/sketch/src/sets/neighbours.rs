//! How similar two neighbouring sets must be.

use super::items::ItemSet;
use crate::error::{Error, Result};
use dp_core::{Adjacency, Probability};

/// Neighbouring sets: both of at least `min_size` items, symmetric difference at most `alpha`.
///
/// Adding or removing an item is `alpha = 1`; replacing one is `alpha = 2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetNeighbours {
    alpha: u64,
    min_size: u64,
}

impl SetNeighbours {
    /// Neighbours that differ in at most `alpha` items.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] unless `alpha` and `min_size` are in `[1, 2^32]`.
    pub fn new(alpha: u64, min_size: u64) -> Result<Self> {
        for (name, value) in [("alpha", alpha), ("minimum set size", min_size)] {
            if !(1..=1 << 32).contains(&value) {
                return Err(Error::invalid(name, value, "[1, 4294967296]"));
            }
        }
        Ok(Self { alpha, min_size })
    }

    /// Largest symmetric difference.
    #[must_use]
    pub fn alpha(&self) -> u64 {
        self.alpha
    }

    /// Least size of a set.
    #[must_use]
    pub fn min_size(&self) -> u64 {
        self.min_size
    }

    /// Refuses sets below the minimum size.
    ///
    /// # Errors
    /// [`Error::SetTooSmall`] naming the first such set, not its size.
    pub fn check(&self, sets: &[ItemSet]) -> Result<()> {
        match sets.iter().position(|set| (set.len() as u64) < self.min_size) {
            None => Ok(()),
            Some(row) => Err(Error::SetTooSmall { row, min_size: self.min_size }),
        }
    }

    /// The adjacency, for certificates.
    #[must_use]
    pub fn adjacency(&self) -> Adjacency {
        Adjacency::SetItems { alpha: self.alpha, min_size: self.min_size }
    }

    /// Intersection and union of the least similar neighbours:
    /// `tau - floor(alpha/2)` and `tau + ceil(alpha/2)` items.
    ///
    /// With `d` differing items the smaller set holds at most `floor(d/2)` of them, so at least
    /// `tau - floor(d/2)` are common; the similarity `c/(c + d)` falls as `c` falls and as `d` grows.
    #[must_use]
    pub(crate) fn extreme_pair(&self) -> (u64, u64) {
        let common = self.min_size.saturating_sub(self.alpha / 2);
        (common, common + self.alpha)
    }

    /// The least Jaccard similarity of neighbours.
    #[cfg(test)]
    pub(crate) fn least_similarity(&self) -> f64 {
        let (common, union) = self.extreme_pair();
        common as f64 / union as f64
    }

    /// The published `J' = 1 - alpha/tau` (Bourgeat & Schmurr, eq. 6.6), not below zero.
    ///
    /// It is never above the least similarity of neighbours when `alpha` counts the symmetric
    /// difference. Read as "`alpha` items are replaced" (symmetric difference `2 alpha`) it is
    /// too large: the true value is `(tau - alpha)/(tau + alpha)`.
    #[must_use]
    pub(crate) fn published_similarity(&self) -> f64 {
        (1.0 - self.alpha as f64 / self.min_size as f64).max(0.0)
    }

    /// Largest probability that one position of a signature differs, over fresh hash functions:
    /// `(1 - J^K)(1 - 1/B)` for `K` concatenated minima hashed to `B` symbols; rounded up.
    ///
    /// From the exact counts, as `-expm1(K ln1p(-alpha/union))`: a rounded J is wrong by up to
    /// `2^-53`, far more than the rounding below where J is close to one. Every step has a condition
    /// number of at most one, so the result errs by less than 8 units in the last place; it is raised by 16.
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] for `concatenation = 0` or `alphabet < 2`.
    pub fn differ_probability(&self, concatenation: usize, alphabet: u64) -> Result<Probability> {
        if concatenation == 0 {
            return Err(Error::invalid("concatenation", concatenation, "[1, inf)"));
        }
        if alphabet < 2 {
            return Err(Error::invalid("alphabet", alphabet, "[2, inf)"));
        }
        let (common, union) = self.extreme_pair();
        let differing = (union - common) as f64 / union as f64;
        let some_minimum_differs = -(concatenation as f64 * (-differing).ln_1p()).exp_m1();
        let p = some_minimum_differs * (1.0 - 1.0 / alphabet as f64) * (1.0 + 16.0 * f64::EPSILON);
        Ok(Probability::new(p.min(1.0))?)
    }

    /// How many bins differ over fresh hash functions: at most as many as this number of trials of this probability say
    /// (`docs/proofs/one-permutation.md`, theorem 2).
    ///
    /// # Errors
    /// [`dp_core::Error::InvalidParameter`] for a minimum size below `bins + floor(alpha/2)`.
    pub(crate) fn seen_in_bins(&self, bins: u64) -> Result<(u64, Probability)> {
        let (common, union) = self.extreme_pair();
        if common < bins {
            let least = bins + self.alpha / 2;
            let allowed = format!(
                "[{least}, 4294967296], from the bins and half of alpha: below, a fresh seed hides nothing; take fewer bins, or bins without it"
            );
            return Err(Error::invalid("minimum set size", self.min_size, allowed));
        }
        let (few, many) = (self.alpha.min(bins), self.alpha.max(bins));
        // Both are whole and below 2^34.
        let p = many as f64 / (union - few + 1) as f64 * (1.0 + 4.0 * f64::EPSILON);
        Ok((few, Probability::new(p)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pairs of subsets of 7 items.
    #[test]
    fn least_similarity_is_attained_and_never_beaten() {
        for alpha in 1..=4u64 {
            for min_size in 1..=4u64 {
                let n = SetNeighbours::new(alpha, min_size).expect("neighbours");
                let mut least = 1.0f64;
                for a in 0u32..128 {
                    for b in 0u32..128 {
                        let sizes = u64::from(a.count_ones().min(b.count_ones()));
                        if sizes >= min_size && u64::from((a ^ b).count_ones()) <= alpha {
                            let j =
                                f64::from((a & b).count_ones()) / f64::from((a | b).count_ones());
                            least = least.min(j);
                        }
                    }
                }
                assert_eq!(n.least_similarity(), least, "alpha {alpha}, tau {min_size}");
                assert!(n.published_similarity() <= least);
            }
        }
    }

    /// The replacement reading of the published similarity is unsafe.
    #[test]
    fn published_similarity_is_too_large_for_replacements() {
        let replace_one = SetNeighbours::new(2, 100).expect("neighbours");
        let published_with_alpha_one =
            SetNeighbours::new(1, 100).expect("neighbours").published_similarity();
        assert!(published_with_alpha_one > replace_one.least_similarity());
    }

    /// One minimum: the probability is the rational `alpha (B - 1)/(union B)`, compared in integers.
    #[test]
    fn differ_probability_is_never_below_the_rational() {
        for min_size in [1u64, 3, 1_000, 999_983, (1 << 31) - 1, (1 << 32) - 5, 1 << 32] {
            for alpha in [1u64, 2, 3, 1_000, 1 << 32] {
                for alphabet in [2u64, 3, 7, 65_535] {
                    let n = SetNeighbours::new(alpha, min_size).expect("neighbours");
                    let p = n.differ_probability(1, alphabet).expect("p").get();
                    let (bits, union) = (p.to_bits(), u128::from(n.extreme_pair().1));
                    // p = mantissa 2^-shift.
                    let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
                    let shift = 1075 - (bits >> 52);
                    let stated = mantissa * union * u128::from(alphabet);
                    let exact = (u128::from(alpha) * u128::from(alphabet - 1)) << shift;
                    assert!(stated >= exact, "{alpha} of {min_size}, B = {alphabet}: {p}");
                    let most = exact + (exact >> 47);
                    assert!(stated <= most, "{alpha} of {min_size}, B = {alphabet}: {p} wastes");
                }
            }
        }
    }

    #[test]
    fn disjoint_neighbours_are_allowed() {
        let n = SetNeighbours::new(6, 2).expect("neighbours");
        assert_eq!(n.least_similarity(), 0.0);
        assert_eq!(n.differ_probability(3, 2).expect("p").get(), 0.5 * (1.0 + 16.0 * f64::EPSILON));
        assert!(SetNeighbours::new(0, 2).is_err_and(|e| e.to_string().contains("alpha = 0")));
    }
}
