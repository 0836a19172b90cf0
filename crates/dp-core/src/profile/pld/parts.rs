//! From events to independent loss laws, with everything merged that merges exactly.

use super::chi::{ChiKind, ChiLoss};
use super::envelope::Envelope;
use super::law::Law;
use crate::numeric::float::{added, square_of};
use crate::profile::Profile;
use crate::profile::event::{Event, MOST_RUNS};

/// A law, or a profile of which only an upper bound is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    Law(Law),
    Envelope(Envelope),
}

/// Independent losses: each source with its number of runs.
pub(super) type Parts = Vec<(Source, u64)>;

/// Ratios of a length to a scale do not vanish by underflow.
pub(in crate::profile) const LEAST: f64 = 1e-300;
/// Largest loss, in expectation, of one run: beyond it nothing is composed.
const LARGEST_LOSS: f64 = 1e9;
/// The same for a mixture, whose nodes lie the closer the larger its losses.
const LARGEST_MIXTURE: f64 = 1e5;
/// Most degrees of freedom of one law: the range of the special functions' error bounds.
pub(in crate::profile) const FREEDOM: f64 = 1e7;
/// Most bits of one law; more are several runs of it.
const BITS: u128 = 1 << 16;

/// Adds to the weight of an equal key.
fn gather<K: PartialEq, V: core::ops::AddAssign>(list: &mut Vec<(K, V)>, key: K, value: V) {
    match list.iter_mut().find(|(k, _)| *k == key) {
        Some((_, v)) => *v += value,
        None => list.push((key, value)),
    }
}

/// What merges exactly, before it becomes laws.
#[derive(Default)]
pub(in crate::profile) struct Merged {
    /// Sum of mu^2 over all Gaussian losses, and the number of terms.
    square: f64,
    terms: usize,
    /// Chi mixtures: entry shift over sigma, with their degrees of freedom.
    mixtures: Vec<(f64, f64)>,
    /// JL, one direction each: (lambda, rows).
    down: Vec<(f64, f64)>,
    up: Vec<(f64, f64)>,
    /// Bits: (low, loss) and their number.
    bits: Vec<((f64, f64), u128)>,
    parts: Parts,
    /// Sum of the rhos of all that is concentrated, and the number of terms.
    rho: f64,
    rhos: usize,
    /// Profiles that are known from above, with their runs.
    envelopes: Vec<(Profile, u64)>,
    /// Some event is known from above only.
    above_only: bool,
    /// So many profiles are asked at least, of which some are composed elsewhere.
    of: usize,
}

impl Merged {
    /// Gaussian losses of this mu.
    pub(in crate::profile) fn gaussian(&mut self, mu: f64, runs: f64) {
        self.square += runs * square_of(mu);
        self.terms += 1;
    }

    /// Bits, of which `-loss` has probability `low`.
    pub(in crate::profile) fn bits(&mut self, low: f64, loss: f64, n: u128) {
        if loss > 0.0 && n > 0 {
            gather(&mut self.bits, (low, loss), n);
        }
    }

    /// Adds `n` runs of a law, to an equal one where there is one. Losses of about `size`, or
    /// counts, that are beyond what is composed count as a certain loss.
    pub(in crate::profile) fn law(&mut self, law: Law, n: u128, size: f64) {
        if size <= LARGEST_LOSS { self.push(Source::Law(law), n) } else { self.unknown() }
    }

    fn push(&mut self, source: Source, n: u128) {
        let found = self.parts.iter_mut().find(|(s, _)| *s == source);
        let total = n + found.as_ref().map_or(0, |(_, count)| u128::from(*count));
        match (u64::try_from(total).ok().filter(|&n| n <= MOST_RUNS), found) {
            (Some(total), Some((_, count))) => *count = total,
            (Some(total), None) => self.parts.push((source, total)),
            (None, _) => self.unknown(),
        }
    }

    /// A loss that is not computed: certain, from above.
    pub(in crate::profile) fn unknown(&mut self) {
        self.above_only = true;
        let certain = Source::Law(Law::Certain);
        if !self.parts.iter().any(|(s, _)| *s == certain) {
            self.parts.push((certain, 1));
        }
    }

    /// A profile of which only an upper bound is known.
    pub(in crate::profile) fn envelope(&mut self, profile: Profile, runs: u64) {
        self.above_only = true;
        self.envelopes.push((profile, runs));
    }

    /// Runs of a concentrated mechanism: all of them together are one.
    pub(in crate::profile) fn concentrated(&mut self, rho: f64, runs: f64) {
        self.above_only = true;
        self.rho += runs * rho;
        self.rhos += 1;
    }

    /// What follows is known from above only.
    pub(in crate::profile) fn only_from_above(&mut self) {
        self.above_only = true;
    }

    /// Gaussian losses after a fresh projection: `mu^2 = scale^2 chi2_k`.
    pub(in crate::profile) fn mixture(&mut self, scale: f64, k: f64) {
        gather(&mut self.mixtures, scale, k);
    }

    /// Rows of a sketch over a lift; `both` when a row is replaced.
    pub(in crate::profile) fn sketch(&mut self, lambda: f64, rows: f64, both: bool) {
        gather(&mut self.down, lambda, rows);
        if both {
            gather(&mut self.up, lambda, rows);
        }
    }

    /// Chi-square losses of `k` degrees of freedom, in equal pieces.
    fn chi(&mut self, k: f64, size: f64, law: impl Fn(f64) -> Law) {
        let pieces = (k / FREEDOM).ceil();
        if pieces <= MOST_RUNS as f64 {
            self.law(law(k / pieces), pieces as u128, size);
        } else {
            self.unknown();
        }
    }

    fn finish(mut self) -> (Parts, bool) {
        let mut square = added(self.square, self.terms);
        for (scale, k) in core::mem::take(&mut self.mixtures) {
            // One mixture takes in all Gaussians: mu^2 = scale^2 q + square, exactly.
            let later = if k <= FREEDOM { core::mem::take(&mut square) } else { 0.0 };
            let size = scale * scale * (k.min(FREEDOM) + 1500.0) + later;
            if size <= LARGEST_MIXTURE {
                self.chi(k, size, |k| Law::GaussianMixture { k, scale, square: later });
            } else {
                self.unknown();
            }
        }
        if square > 0.0 {
            self.law(Law::Gaussian { mu: square.sqrt() }, 1, square);
        }
        for (lambda, k) in core::mem::take(&mut self.down) {
            self.chi(k, lambda, |k| Law::Chi(ChiLoss { k, kind: ChiKind::JlDown { lambda } }));
        }
        for (lambda, k) in core::mem::take(&mut self.up) {
            self.chi(k, lambda, |k| Law::Chi(ChiLoss { k, kind: ChiKind::JlUp { lambda } }));
        }
        for ((low, loss), bits) in core::mem::take(&mut self.bits) {
            let (runs, rest) = (bits / BITS, bits % BITS);
            for (bits, runs) in [(BITS, runs), (rest, 1)] {
                if bits > 0 && runs > 0 {
                    self.law(Law::Bits { bits: bits as u64, low, loss }, runs, loss);
                }
            }
        }
        if self.rho > 0.0 {
            let rho = added(self.rho, self.rhos);
            self.envelopes.push((Profile::Zcdp { rho }, 1));
        }
        let envelopes = core::mem::take(&mut self.envelopes);
        let of = envelopes.len().max(self.of);
        for (profile, runs) in envelopes {
            self.push(Source::Envelope(Envelope::new(profile, of)), runs.into());
        }
        (self.parts, self.above_only)
    }
}

/// The independent losses of some events, and whether some are known from above only. At least `of` events are asked
/// in all: those that are known from above only take fewer points the more they are.
pub(super) fn merge<'a>(events: impl IntoIterator<Item = &'a Event>, of: usize) -> (Parts, bool) {
    let mut merged = Merged { of, ..Merged::default() };
    events.into_iter().for_each(|event| event.profile().compose(event.count(), &mut merged));
    merged.finish()
}

/// The largest loss of this direction, rounded up, when it is finite.
pub(super) fn ceiling(parts: &Parts) -> Option<f64> {
    parts.iter().try_fold(0.0, |sum, (source, n)| match source {
        Source::Law(law) => law.ceiling().map(|x| (sum + *n as f64 * x) * (1.0 + 1e-13)),
        Source::Envelope(_) => None,
    })
}

/// As [`merge`], but every run its own law: for tests of the convolution.
#[cfg(test)]
pub(super) fn unmerged(events: &[Event]) -> Parts {
    let single = |e: &Event| {
        let (parts, _) = merge([&Event::once(e.profile().clone())], 1);
        parts.into_iter().map(|(s, n)| (s, n * e.count())).collect::<Parts>()
    };
    events.iter().flat_map(single).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However often something is not known, one certain loss stands for it, beside the rest.
    #[test]
    fn what_is_unknown_is_a_certain_loss_once() {
        let mut merged = Merged::default();
        merged.law(Law::Laplace { mu: 1.0 }, 2, 1.0);
        merged.unknown();
        merged.unknown();
        // Beyond what is composed.
        merged.law(Law::Laplace { mu: 1e300 }, 1, f64::INFINITY);
        let certain = Source::Law(Law::Certain);
        assert_eq!(merged.parts, [(Source::Law(Law::Laplace { mu: 1.0 }), 2), (certain, 1)]);
        assert!(merged.above_only);
    }
}
