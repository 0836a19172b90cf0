//! Sizes counted between public thresholds, and the quantile that noisy counts show.

/// Thresholds in an octave.
const OCTAVE: f64 = 4.0;

/// Public thresholds of sizes, rising by a fourth of an octave.
#[derive(Debug, Clone)]
pub(crate) struct Sizes {
    thresholds: Vec<f64>,
}

impl Sizes {
    /// At most `most` thresholds, the last of which is `largest`; none below `least` but that one.
    pub(crate) fn new(largest: f64, most: usize, least: f64) -> Self {
        let of = |i: usize| largest * (-(i as f64) / OCTAVE).exp2();
        let count = (1..most).take_while(|i| of(*i) >= least).count() + 1;
        Self { thresholds: (0..count).rev().map(of).collect() }
    }

    /// The thresholds, rising.
    pub(crate) fn thresholds(&self) -> &[f64] {
        &self.thresholds
    }

    /// How many sizes lie at most at each threshold and above the one before, and last how many above all. Where a size
    /// is counted depends on that size alone; what is no number is counted first.
    pub(crate) fn counts(&self, sizes: impl Iterator<Item = f64>) -> Vec<u64> {
        let mut counts = vec![0; self.thresholds.len() + 1];
        sizes.for_each(|size| counts[self.thresholds.partition_point(|t| *t < size)] += 1);
        counts
    }

    /// The place of the threshold that noisy counts say this share of all sizes is within: downwards from the largest,
    /// the last before more lie beyond, or could for noise of standard deviation `sigma` a count.
    pub(crate) fn quantile(&self, counts: &[f64], share: f64, sigma: f64) -> usize {
        let total: f64 = counts.iter().sum::<f64>().max(1.0);
        let (last, most) = (self.thresholds.len() - 1, total - share * total);
        let (mut beyond, mut bins) = (0.0, 0.0);
        let few = |place: &usize| {
            beyond += counts[place + 1];
            bins += 1.0;
            beyond + sigma * f64::sqrt(bins) <= most
        };
        (0..=last).rev().take_while(few).last().unwrap_or(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_found() {
        let sizes = Sizes::new(1.0, 24, 0.0);
        let mut counts = vec![0.0; 25];
        (counts[3], counts[9]) = (900.0, 100.0);
        assert_eq!(sizes.quantile(&counts, 0.9, 0.0), 3);
        counts[3] = 899.0;
        assert_eq!(sizes.quantile(&counts, 0.9, 0.0), 9);
        // With noise that could hide more beyond the bound rises; where it could hide all, it is the largest.
        assert_eq!(sizes.quantile(&counts, 0.9, 25.0), 9);
        assert_eq!(sizes.quantile(&counts, 0.9, 30.0), 13);
        assert_eq!(sizes.quantile(&counts, 0.9, 101.0), 23);
        assert_eq!(sizes.quantile(&[5.0; 25], 0.9, 1e3), 23);
        counts[24] = 1e6;
        assert_eq!(sizes.quantile(&counts, 0.9, 0.0), 23);
    }

    #[test]
    fn thresholds_end_where_they_must() {
        let sizes = Sizes::new(1.0, 24, 0.0);
        assert_eq!((sizes.thresholds().len(), sizes.thresholds()[23]), (24, 1.0));
        assert!((sizes.thresholds()[0] - 2f64.powf(-5.75)).abs() < 1e-12);
        assert_eq!(Sizes::new(1.0, 24, 0.5).thresholds().len(), 5);
        assert_eq!(Sizes::new(1.0, 24, 3.0).thresholds(), [1.0]);
        assert_eq!(sizes.counts([0.0, f64::NAN, 1.0, 1.1, f64::INFINITY].into_iter())[0], 2);
        assert_eq!(sizes.counts([0.0, 1.0, 1.1].into_iter())[23..], [1, 1]);
    }
}
