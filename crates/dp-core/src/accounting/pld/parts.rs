//! From events to independent loss laws, with everything merged that merges exactly.

use super::envelope::Envelope;
use super::law::{ChiKind, ChiLoss, Law};
use crate::accounting::event::Event;
use crate::profile::{CoordinateProfile, Profile, RowChange, covariance_sensitivity};
use crate::quantity::Probability;

/// A law, or a profile of which only an upper bound is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    Law(Law),
    Envelope(Envelope),
}

/// Independent losses: each source with its number of runs.
pub(super) type Parts = Vec<(Source, u64)>;

/// Adds `n` runs of `source`, to an equal one where there is one.
fn push(parts: &mut Parts, source: Source, n: u64) {
    match parts.iter_mut().find(|(s, _)| *s == source) {
        Some((_, count)) => *count += n,
        None => parts.push((source, n)),
    }
}

/// Adds to the weight of an equal key.
fn gather<K: PartialEq, V: core::ops::AddAssign>(list: &mut Vec<(K, V)>, key: K, value: V) {
    match list.iter_mut().find(|(k, _)| *k == key) {
        Some((_, v)) => *v += value,
        None => list.push((key, value)),
    }
}

/// What merges exactly, before it becomes laws.
#[derive(Default)]
struct Merged {
    /// Sum of mu^2 over all Gaussian losses.
    square: f64,
    /// Chi mixtures: entry shift over sigma, with their degrees of freedom.
    mixtures: Vec<(f64, f64)>,
    /// JL, one direction each: (lambda, rows).
    down: Vec<(f64, f64)>,
    up: Vec<(f64, f64)>,
    /// Bits: (high, low) and their number.
    bits: Vec<((f64, f64), u64)>,
    parts: Parts,
}

impl Merged {
    fn add(&mut self, event: &Event) {
        let n = event.count();
        let runs = n as f64;
        match *event.profile() {
            Profile::Gaussian { sensitivity, sigma } => {
                self.square += runs * (sensitivity.get() / sigma.get()).powi(2);
            }
            Profile::GaussianComposition { ref steps } => {
                for s in steps {
                    let mu = s.sensitivity.get() / s.sigma.get();
                    self.square += runs * s.times as f64 * mu * mu;
                }
            }
            Profile::SymmetricGaussian { bound, sigma, change } => {
                let mu = covariance_sensitivity(bound, change) / sigma.get();
                self.square += runs * mu * mu;
            }
            Profile::ChiMixtureGaussian { k, entry_shift, sigma, later_mu } => {
                if k == 0 || !later_mu.is_finite() || later_mu < 0.0 {
                    return self.law(Law::Certain, 1);
                }
                let scale = entry_shift.get() / sigma.get();
                gather(&mut self.mixtures, scale, runs * k as f64);
                self.square += runs * later_mu * later_mu;
            }
            Profile::Laplace { sensitivity, scale } => {
                self.law(Law::Laplace { mu: sensitivity.get() / scale.get() }, n);
            }
            Profile::PureDp { epsilon } => {
                let low = 1.0 / (1.0 + epsilon.get().exp());
                gather(&mut self.bits, (1.0 / (1.0 + (-epsilon.get()).exp()), low), n);
            }
            Profile::RandomizedResponse { bits, keep } => {
                if bits > 0 {
                    gather(&mut self.bits, ordered(keep), bits.saturating_mul(n));
                }
            }
            Profile::KaryResponse { responses, alphabet, keep } => match letter(alphabet, keep) {
                Some((high, low)) if responses > 0 => {
                    self.law(Law::Response { high, low }, responses.saturating_mul(n));
                }
                Some(_) => {}
                None => self.law(Law::Certain, 1),
            },
            Profile::JlMechanism { rows, bound, lift, change } => {
                let lambda = (bound.get() / lift.get()).powi(2);
                let rows = runs * rows as f64;
                if rows > 0.0 {
                    gather(&mut self.down, lambda, rows);
                    if change == RowChange::Replace {
                        gather(&mut self.up, lambda, rows);
                    }
                }
            }
            Profile::Wishart { dim, dof, bound, scale, change } => {
                if dim == 0 || dof <= dim.saturating_add(1) {
                    return self.law(Law::Certain, 1);
                }
                if change == RowChange::Replace {
                    return self.envelope(event);
                }
                let t = bound.get() * bound.get() / scale.get();
                let a = 0.5 * (dof - dim - 1) as f64;
                let kind = ChiKind::WishartRemoved { a, t };
                self.law(Law::Chi(ChiLoss { k: (dof - dim + 1) as f64, kind }), n);
            }
            Profile::Repeated { ref profile, times } => {
                // No runs, or too many: the safe answer.
                match Event::new(Profile::clone(profile), n.saturating_mul(times)) {
                    Ok(event) => self.add(&event),
                    Err(_) => self.law(Law::Certain, 1),
                }
            }
            Profile::BinomialMixture { trials, probability, coordinate } => {
                let p = probability.get();
                let n = n.saturating_mul(trials);
                if p == 0.0 || trials == 0 {
                    return;
                }
                match coordinate {
                    CoordinateProfile::RandomizedResponse { keep } => {
                        let (high, low) = ordered(keep);
                        self.law(Law::Response { high: p * high, low: p * low }, n);
                    }
                    CoordinateProfile::KaryResponse { alphabet, keep } => {
                        match letter(alphabet, keep) {
                            Some((high, low)) => {
                                self.law(Law::Response { high: p * high, low: p * low }, n);
                            }
                            None => self.law(Law::Certain, 1),
                        }
                    }
                    CoordinateProfile::Gaussian { shift, sigma } => {
                        self.law(Law::SparseGaussian { p, mu: shift.get() / sigma.get() }, n);
                    }
                    CoordinateProfile::Laplace { .. } => self.envelope(event),
                }
            }
        }
    }

    fn law(&mut self, law: Law, n: u64) {
        push(&mut self.parts, Source::Law(law), n);
    }

    fn envelope(&mut self, event: &Event) {
        let envelope = Envelope::new(event.profile().clone());
        push(&mut self.parts, Source::Envelope(envelope), event.count());
    }

    fn finish(mut self) -> Parts {
        let mut mixtures = core::mem::take(&mut self.mixtures).into_iter();
        // One mixture takes in all Gaussians: mu^2 = scale^2 q + square, exactly.
        if let Some((scale, k)) = mixtures.next() {
            self.law(Law::GaussianMixture { k, scale, square: self.square }, 1);
        } else if self.square > 0.0 {
            self.law(Law::Gaussian { mu: self.square.sqrt() }, 1);
        }
        for (scale, k) in mixtures {
            self.law(Law::GaussianMixture { k, scale, square: 0.0 }, 1);
        }
        for (lambda, k) in core::mem::take(&mut self.down) {
            self.law(Law::Chi(ChiLoss { k, kind: ChiKind::JlDown { lambda } }), 1);
        }
        for (lambda, k) in core::mem::take(&mut self.up) {
            self.law(Law::Chi(ChiLoss { k, kind: ChiKind::JlUp { lambda } }), 1);
        }
        for ((high, low), bits) in core::mem::take(&mut self.bits) {
            if high > low {
                self.law(Law::Bits { bits, high, low }, 1);
            }
        }
        self.parts
    }
}

/// The independent losses of some events.
pub(super) fn merge<'a>(events: impl IntoIterator<Item = &'a Event>) -> Parts {
    let mut merged = Merged::default();
    events.into_iter().for_each(|event| merged.add(event));
    merged.finish()
}

/// As [`merge`], but every run its own law: for tests of the convolution.
#[cfg(test)]
pub(super) fn unmerged(events: &[Event]) -> Parts {
    let single = |e: &Event| {
        let mut merged = Merged::default();
        merged.add(&Event::once(e.profile().clone()));
        merged.finish().into_iter().map(|(s, n)| (s, n * e.count())).collect::<Parts>()
    };
    events.iter().flat_map(single).collect()
}

/// The two probabilities of a bit, the larger first.
fn ordered(keep: Probability) -> (f64, f64) {
    let (p, q) = (keep.get(), 1.0 - keep.get());
    (p.max(q), p.min(q))
}

/// Probabilities of the kept letter and of one other, the larger first.
fn letter(alphabet: u64, keep: Probability) -> Option<(f64, f64)> {
    let p = keep.get();
    (alphabet >= 2).then(|| {
        let other = (1.0 - p) / (alphabet - 1) as f64;
        (p.max(other), p.min(other))
    })
}
