//! A loss law from nothing but an upper bound on the profile.
//!
//! Soundness: `docs/proofs/composition-pld.md`, section 2.3.

use super::cut::Cut;
use super::discretise::Measure;
use crate::profile::Profile;
use crate::profile::event::Event;
use crate::profile::points::Points;
use std::sync::{Arc, OnceLock};

/// A profile known from above only, the same in both directions.
///
/// Evaluated once on a few points, where it is asked.
#[derive(Debug, Clone)]
pub(super) struct Envelope {
    event: Event,
    pieces: u32,
    many: bool,
    /// Copies share them.
    points: Arc<OnceLock<Arc<Points>>>,
}

impl PartialEq for Envelope {
    fn eq(&self, other: &Self) -> bool {
        self.event.profile() == other.event.profile()
    }
}

/// Fewest and most evaluations, closer together near zero, and about how many of all profiles together: where more
/// than twenty are composed their chords are longer, and the answer is wider.
const POINTS: (u32, u32) = (Event::POINTS, 320);
const ALL: u32 = 6400;
/// Few whose every evaluation takes milliseconds.
const SLOW: u32 = 40;
/// More profiles than these are evaluated quickly: what is exact and slow is wider then.
const FEW: u32 = 4;

impl Envelope {
    /// One of `of` envelopes that are composed.
    pub(super) fn new(event: Event, of: usize) -> Self {
        let of = u32::try_from(of).unwrap_or(u32::MAX).max(1);
        let slow = matches!(event.profile(), Profile::Wishart { .. });
        let pieces = if slow && of <= FEW { SLOW } else { (ALL / of).clamp(POINTS.0, POINTS.1) };
        let many = of > FEW;
        Self { event, pieces, many, points: Arc::default() }
    }

    fn points(&self) -> &Points {
        self.points.get_or_init(|| {
            // The fewest points are those that a sum of epsilons asks.
            let fewest = self.many && self.pieces == POINTS.0;
            let known = if fewest { self.event.points() } else { None };
            let new = || Arc::new(Points::new(self.event.profile(), self.pieces, self.many));
            known.unwrap_or_else(new)
        })
    }

    /// A bound on `ln E_P e^(s L)`, where one is stated.
    pub(super) fn ln_moment(&self, s: f64) -> f64 {
        match *self.event.profile() {
            Profile::Zcdp { rho } => s * (1.0 + s) * rho,
            _ => f64::INFINITY,
        }
    }

    /// delta(eps) less `(1 - e^eps)_+`, for any sign of eps.
    fn excess(&self, eps: f64) -> f64 {
        let delta = self.points().delta(eps.abs());
        if eps < 0.0 { eps.exp() * delta } else { delta }
    }

    /// A loss beyond which the profile is at most `mass`, or the last point.
    pub(super) fn reach(&self, mass: f64) -> f64 {
        self.points().reach(mass)
    }

    /// From above: the greatest convex function below the values on the grid. The true
    /// profile is convex and below those values, so it is below that function too.
    pub(super) fn above(&self, h: f64, cut: Cut) -> Measure {
        let hi = (self.reach(cut.high) / h).ceil() as i64 + 1;
        let lo = -(self.reach(cut.low) / h).ceil() as i64 - 1;
        let values: Vec<f64> = (lo..=hi).map(|i| self.excess(i as f64 * h)).collect();
        from_above(lo, h, &values)
    }
}

/// The measure whose profile is the greatest convex function below `values`, which are delta(eps) less
/// `(1 - e^eps)_+` at `lo h`, `(lo + 1) h` and so on.
pub(super) fn from_above(lo: i64, h: f64, values: &[f64]) -> Measure {
    let hi = lo + values.len() as i64 - 1;
    let alpha = |i: i64| (i as f64 * h).exp();
    // Slopes of the chords, the first from alpha = 0 (where the profile is one).
    let first = (values[0] / alpha(lo) - 1.0, alpha(lo), lo);
    let chords = (lo..hi).map(|i| {
        let j = (i - lo) as usize;
        let width = alpha(i + 1) - alpha(i);
        let tilt = if i < 0 { 1.0 } else { 0.0 };
        ((values[j + 1] - values[j]) / width - tilt, width, i + 1)
    });
    // Pool adjacent violators: slopes must rise.
    let mut pooled: Vec<(f64, f64, i64)> = vec![first];
    for chord in chords {
        let mut next = chord;
        while pooled.len() > 1 && pooled.last().is_some_and(|p| p.0 >= next.0) {
            let (slope, width, _) = pooled.pop().expect("just seen");
            let total = width + next.1;
            next = ((slope * width + next.0 * next.1) / total, total, next.2);
        }
        pooled.push(next);
    }
    let mut p = vec![0.0; (hi - lo + 1) as usize];
    for i in 0..pooled.len() {
        let (slope, _, end) = pooled[i];
        let after = pooled.get(i + 1).map_or(0.0, |next| next.0);
        p[(end - lo) as usize] = ((after - slope) * alpha(end)).max(0.0);
    }
    let last = values.last().copied().unwrap_or(1.0);
    Measure { first: lo, p, p_infinite: last }
}
