//! How well an attack did, and how sure that is.

use dp_core::explain::TradeOff;
use dp_core::numeric::{ln_binomial_cdf, ln_binomial_sf};
use dp_core::{Adjacency, Guarantee, Probability};

/// Failure of an interval, over both ends.
const RARE: f64 = 0.05;

/// A number with its interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The number.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Independent cases behind a share; zero for what is no share.
    pub of: f64,
}

/// One attack and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Attack {
    /// What is sought, and how.
    pub name: &'static str,
    /// What the attacker has besides the release.
    pub knows: &'static str,
    /// What is measured.
    pub measure: &'static str,
    /// On the release.
    pub release: Measured,
    /// Without any release.
    pub without: f64,
    /// With the clean data in the release's place.
    pub clean: f64,
    /// No attack on releases of this kind does better, in expectation; `None` where the certificate does not speak
    /// of the secret.
    pub bound: Option<f64>,
    /// What the certificate says of the secret.
    pub says: String,
}

impl Measured {
    /// Of `hits` independent hits among `of` (Clopper, Pearson 1934); parts of hits are allowed where cases are not
    /// independent and count as fewer.
    pub(crate) fn share(hits: f64, of: f64) -> Self {
        let (hits, of) = (hits.clamp(0.0, of), of.max(1.0));
        let (n, k) = (of.floor().max(1.0), hits / of * of.floor().max(1.0));
        let end = |beyond: &dyn Fn(f64) -> f64, rising: bool| {
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..60 {
                let p = 0.5 * (low + high);
                if (beyond(p) > (0.5 * RARE).ln()) == rising { high = p } else { low = p }
            }
            0.5 * (low + high)
        };
        // P(X > k - 1) rises with p, P(X <= k) falls.
        let low = match k.floor() {
            0.0 => 0.0,
            k => end(&|p| ln_binomial_sf(n as u64, p, k as u64 - 1), true),
        };
        let high = match k.ceil() {
            k if k >= n => 1.0,
            k => end(&|p| ln_binomial_cdf(n as u64, p, k as u64), false),
        };
        Self { value: hits / of, low, high, of }
    }

    /// The probability of so many hits or more where each is one with probability `bound` at most: an upper bound.
    #[cfg(any(test, feature = "experiments"))]
    pub(crate) fn chance_under(&self, bound: f64) -> f64 {
        let hits = (self.value * self.of.floor()).floor();
        if hits < 1.0 || bound >= 1.0 {
            return 1.0;
        }
        ln_binomial_sf(self.of as u64, bound, hits as u64 - 1).exp()
    }

    /// One less the ratio of two sums over independent rows, each row a pair; the interval by linearisation.
    pub(super) fn one_less_ratio(rows: &[(f64, f64)]) -> Self {
        let n = rows.len() as f64;
        let (above, below) = rows.iter().fold((0.0, 0.0), |s, r| (s.0 + r.0, s.1 + r.1));
        if below <= 0.0 {
            // There was nothing to recover.
            return Self { value: 0.0, low: 0.0, high: 0.0, of: 0.0 };
        }
        let ratio = above / below;
        let spread: f64 = rows.iter().map(|r| (r.0 - ratio * r.1).powi(2)).sum();
        let error = 1.96 * (spread / (n * (n - 1.0)).max(1.0)).sqrt() / (below / n).max(1e-300);
        Self { value: 1.0 - ratio, low: 1.0 - ratio - error, high: 1.0 - ratio + error, of: 0.0 }
    }
}

/// What the certificate says of a secret.
pub(super) enum Secret {
    /// Two values that are equally likely and that the adjacency sets against each other.
    Inside,
    /// One of several values, the likeliest of this probability, that the adjacency sets against each other.
    AnyOf(f64),
    /// More than the adjacency covers: this many of its changes at once.
    Beyond(u64),
}

/// Whether a row may become any other.
pub(super) fn replaced(guarantee: &Guarantee) -> bool {
    let adjacency = guarantee.adjacency().each();
    matches!(adjacency, Adjacency::ReplaceRow { .. } | Adjacency::AnyInput)
}

/// The most frequent of some labels, the least of several.
pub(super) fn most_frequent(labels: impl Iterator<Item = u8>) -> u8 {
    let mut counts = [0usize; 256];
    labels.for_each(|label| counts[usize::from(label)] += 1);
    (0..=u8::MAX)
        .max_by_key(|&label| (counts[usize::from(label)], core::cmp::Reverse(label)))
        .unwrap_or(0)
}

/// Labels that are guessed, and labels that everybody has.
pub(super) struct Labels<'a> {
    pub(super) truth: &'a [u8],
    pub(super) known: &'a [u8],
}

impl Labels<'_> {
    /// The label of most of the public rows that were found, for every row.
    pub(super) fn vote(&self, found: &[Vec<usize>]) -> Vec<u8> {
        found.iter().map(|list| most_frequent(list.iter().map(|&i| self.known[i]))).collect()
    }

    fn right(&self, guess: &[u8]) -> f64 {
        guess.iter().zip(self.truth).filter(|(a, b)| a == b).count() as f64
    }

    /// The attack that guessed so from the release, and so from the clean data. Rows have `d` values.
    pub(super) fn attack(
        &self,
        name: &'static str,
        guess: &[u8],
        clean: &[u8],
        (guarantee, d): (&Guarantee, u64),
    ) -> Attack {
        let n = self.truth.len() as f64;
        let usual = most_frequent(self.known.iter().copied());
        let secret = if replaced(guarantee) {
            let likeliest = most_frequent(self.truth.iter().copied());
            Secret::AnyOf(self.truth.iter().filter(|&&l| l == likeliest).count() as f64 / n)
        } else {
            Secret::Beyond(d)
        };
        let (bound, says) = secret.bound(guarantee);
        Attack {
            name,
            knows: "public rows with labels",
            measure: SHARE,
            release: Measured::share(self.right(guess), n),
            without: self.truth.iter().filter(|&&label| label == usual).count() as f64 / n,
            clean: self.right(clean) / n,
            bound,
            says,
        }
    }
}

/// What guesses are measured by.
pub(super) const SHARE: &str = "right guesses";

/// Of two values that the adjacency sets against each other, which is the true one: guesses that are right count one, a
/// coin one half.
pub(super) fn between_two(
    name: &'static str,
    knows: &'static str,
    guarantee: &Guarantee,
    guesses: &[f64],
) -> Attack {
    let (bound, says) = Secret::Inside.bound(guarantee);
    let release = Measured::share(guesses.iter().sum(), guesses.len() as f64);
    Attack { name, knows, measure: SHARE, release, without: 0.5, clean: 1.0, bound, says }
}

impl Secret {
    /// The bound on right guesses, and the sentence.
    pub(super) fn bound(&self, guarantee: &Guarantee) -> (Option<f64>, String) {
        let best = |changes| TradeOff::of(guarantee, changes).ok();
        let inside = |bound: Option<f64>| match bound {
            Some(bound) => {
                (Some(bound), "inside the adjacency: no attack passes the bound".to_owned())
            }
            None => (None, "no profile is known: nothing is bounded".to_owned()),
        };
        match *self {
            Self::Inside => {
                let half = Probability::new(0.5).ok();
                inside(best(1).zip(half).map(|(best, half)| best.right_guesses(half)))
            }
            Self::AnyOf(likeliest) => {
                inside(best(1).map(|best| (likeliest + best.advantage()).min(1.0)))
            }
            Self::Beyond(changes) => {
                let gain = best(changes).map_or(1.0, |best| best.advantage());
                let group = match gain {
                    gain if gain > 1.0 - 1e-6 => "nothing".to_owned(),
                    gain => format!("an advantage of at most {gain:.6}"),
                };
                let said = format!(
                    "the certificate does not speak of this; group privacy over {changes} changes gives {group}"
                );
                (None, said)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against scipy.stats.beta.ppf (Clopper and Pearson at 95 %).
    #[test]
    fn intervals_are_the_known_ones() {
        for (hits, of, low, high) in [
            (0.0, 10.0, 0.0, 0.308_497),
            (10.0, 10.0, 0.691_503, 1.0),
            (3.0, 10.0, 0.066_740, 0.652_453),
            (500.0, 1000.0, 0.468_552, 0.531_448),
        ] {
            let found = Measured::share(hits, of);
            assert!(
                (found.low - low).abs() < 1e-5 && (found.high - high).abs() < 1e-5,
                "{found:?}"
            );
        }
    }

    /// Against scipy.stats.binom.sf.
    #[test]
    fn hits_above_a_bound_are_as_improbable_as_they_are() {
        for (hits, of, bound, known) in [
            (60.0, 100.0, 0.5, 0.028_443_966),
            (5.5, 10.0, 0.4, 0.366_896_742),
            (0.0, 9.0, 0.1, 1.0),
        ] {
            let found = Measured::share(hits, of).chance_under(bound);
            assert!((found / known - 1.0).abs() < 1e-6, "{found} {known}");
        }
        assert_eq!(Measured::share(9.0, 9.0).chance_under(1.0), 1.0);
    }

    #[test]
    fn nothing_is_recovered_of_rows_that_do_not_vary() {
        let found = Measured::one_less_ratio(&[(0.5, 0.0), (1e-300, 0.0)]);
        assert_eq!((found.value, found.low, found.high), (0.0, 0.0, 0.0));
    }

    #[test]
    fn ratios_have_their_linearised_error() {
        let rows: Vec<(f64, f64)> = (0..400).map(|i| (f64::from(i % 4), 2.0)).collect();
        let found = Measured::one_less_ratio(&rows);
        assert!((found.value - 0.25).abs() < 1e-12);
        // Standard deviation 1.118 of the numerators, over 20 and 2.
        assert!((found.high - found.value - 1.96 * 1.118 / 40.0).abs() < 1e-3, "{found:?}");
    }
}
