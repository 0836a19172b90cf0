//! Exact confidence limits of a rate, and the epsilon they prove.

use dp_core::Delta;
use dp_core::numeric::{ln_binomial_cdf, ln_binomial_sf};

/// How often an event was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    /// Times it was seen.
    pub(crate) hits: u64,
    /// Runs.
    pub(crate) runs: u64,
}

impl Count {
    /// Share of the runs.
    #[must_use]
    pub(crate) fn rate(self) -> f64 {
        self.hits as f64 / self.runs.max(1) as f64
    }

    /// Clopper-Pearson lower limit: below the true rate except with probability `e^ln_alarm`.
    ///
    /// The p with `Pr[Bin(n, p) >= hits] = e^ln_alarm`, rounded down; zero without hits.
    #[must_use]
    pub(crate) fn lower(self, ln_alarm: f64) -> f64 {
        if self.hits == 0 {
            return 0.0;
        }
        // Rises with p.
        bisect(|p| ln_binomial_sf(self.runs, p, self.hits - 1) > ln_alarm).0
    }

    /// Clopper-Pearson upper limit: above the true rate except with probability `e^ln_alarm`.
    ///
    /// The p with `Pr[Bin(n, p) <= hits] = e^ln_alarm`, rounded up; one when every run hit.
    #[must_use]
    pub(crate) fn upper(self, ln_alarm: f64) -> f64 {
        if self.hits >= self.runs {
            return 1.0;
        }
        // Falls with p.
        bisect(|p| ln_binomial_cdf(self.runs, p, self.hits) < ln_alarm).1
    }

    /// About the lower limit, from the normal law in the null's variance (Wilson): to choose
    /// thresholds with, never to conclude from.
    pub(super) fn rough_lower(self, z: f64) -> f64 {
        let (n, p) = (self.runs as f64, self.rate());
        let centre = p + z * z / (2.0 * n);
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        ((centre - half) / (1.0 + z * z / n)).max(0.0)
    }

    /// As [`Count::rough_lower`], from above.
    pub(super) fn rough_upper(self, z: f64) -> f64 {
        1.0 - Self { hits: self.runs - self.hits, runs: self.runs }.rough_lower(z)
    }
}

/// Bracket `(below, above)` of the point of `[0, 1]` from which `past` holds.
fn bisect(past: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..120 {
        let mid = 0.5 * (low + high);
        if past(mid) { high = mid } else { low = mid }
    }
    (low, high)
}

/// The largest epsilon that a mechanism with these rates cannot have at `delta`:
/// `ln((often - delta) / seldom)`, zero when the rates prove nothing.
///
/// An event of probability at least `often` under one input and at most `seldom` under an
/// adjacent one contradicts every (epsilon, delta) with `often > e^epsilon seldom + delta`.
#[must_use]
pub(crate) fn epsilon_bound(often: f64, seldom: f64, delta: Delta) -> f64 {
    let excess = often - delta.get();
    if excess <= seldom { 0.0 } else { (excess / seldom).ln() }
}

/// The least delta compatible with these rates at `epsilon`: `often - e^epsilon seldom`, at least zero.
#[must_use]
pub(crate) fn delta_bound(often: f64, seldom: f64, epsilon: dp_core::Epsilon) -> f64 {
    (often - epsilon.get().exp() * seldom).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(hits: u64, runs: u64) -> Count {
        Count { hits, runs }
    }

    #[test]
    fn limits_agree_with_beta_quantiles() {
        // scipy 1.17: stats.beta.ppf(alpha, k, n - k + 1) and stats.beta.isf(alpha, k + 1, n - k).
        let cases = include!("confidence_vectors.in");
        for (hits, runs, alarm, lower, upper) in cases {
            let c = count(hits, runs);
            let (l, u) = (c.lower(f64::ln(alarm)), c.upper(f64::ln(alarm)));
            assert!((l - lower).abs() <= 1e-9 * lower, "{hits}/{runs} {alarm}: {l} {lower}");
            assert!((u - upper).abs() <= 1e-9 * upper, "{hits}/{runs} {alarm}: {u} {upper}");
        }
    }

    #[test]
    fn limits_without_and_with_only_hits_are_roots_of_the_alarm() {
        for n in [1u64, 10, 1000, 1_000_000] {
            for alarm in [0.05f64, 1e-8, 1e-12] {
                let root = alarm.powf(1.0 / n as f64);
                assert!((count(n, n).lower(alarm.ln()) - root).abs() <= 1e-10 * root);
                let least = -(alarm.ln() / n as f64).exp_m1();
                assert!((count(0, n).upper(alarm.ln()) / least - 1.0).abs() <= 1e-7, "{n} {alarm}");
                assert_eq!(count(0, n).lower(alarm.ln()), 0.0);
                assert_eq!(count(n, n).upper(alarm.ln()), 1.0);
            }
        }
    }

    /// Summed over all outcomes, the limits miss the truth with at most the stated probability,
    /// and with nearly that much: they are not merely wide.
    #[test]
    fn coverage_is_exact() {
        for (n, p) in [(40u64, 0.1), (200, 0.37), (500, 0.02)] {
            for alarm in [0.1f64, 1e-3] {
                let (mut over, mut under) = (0.0, 0.0);
                for k in 0..=n {
                    let mass = dp_core::numeric::ln_binomial_pmf(n, p, k).exp();
                    over += if count(k, n).lower(alarm.ln()) > p { mass } else { 0.0 };
                    under += if count(k, n).upper(alarm.ln()) < p { mass } else { 0.0 };
                }
                assert!(over <= alarm && under <= alarm, "{n} {p} {alarm}: {over} {under}");
                assert!(over > 0.05 * alarm, "{n} {p} {alarm}: {over}");
            }
        }
    }

    #[test]
    fn rough_limits_are_near_the_exact_ones() {
        let z = 5.6;
        let alarm = dp_core::numeric::ln_normal_cdf(-z);
        for (hits, runs) in [(500, 10_000), (5_000, 10_000), (9_900, 10_000)] {
            let c = count(hits, runs);
            assert!((c.rough_lower(z) - c.lower(alarm)).abs() < 0.2 * (c.rate() - c.lower(alarm)));
            assert!((c.rough_upper(z) - c.upper(alarm)).abs() < 0.2 * (c.upper(alarm) - c.rate()));
        }
        assert!(count(0, 1000).rough_upper(z) > 0.02 && count(0, 1000).rough_lower(z) < 1e-12);
    }

    #[test]
    fn bounds_of_epsilon_and_delta_by_hand() {
        let delta = Delta::new(0.1).unwrap();
        assert!((epsilon_bound(0.6, 0.25, delta) - 2f64.ln()).abs() < 1e-15);
        assert_eq!(epsilon_bound(0.3, 0.25, delta), 0.0);
        assert_eq!(epsilon_bound(0.5, 0.0, delta), f64::INFINITY);
        let epsilon = dp_core::Epsilon::new(2f64.ln()).unwrap();
        assert!((delta_bound(0.6, 0.25, epsilon) - 0.1).abs() < 1e-15);
        assert_eq!(delta_bound(0.4, 0.25, epsilon), 0.0);
    }
}
