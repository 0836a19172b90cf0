//! A loss law from nothing but an upper bound on the profile.
//!
//! Soundness: `docs/proofs/composition-pld.md`, section 2.3.

use super::cut::Cut;
use super::discretise::Measure;
use crate::budget::{Delta, Epsilon};
use crate::profile::curve::Near;
use crate::profile::{PrivacyProfile, Profile};
use std::sync::{Arc, OnceLock};

/// A profile known from above only, the same in both directions.
///
/// Evaluated once on a few points, where it is asked; between them the chord (in `e^eps`) is an
/// upper bound again, because the true profile is convex.
#[derive(Debug, Clone)]
pub(super) struct Envelope {
    profile: Profile,
    pieces: u32,
    many: bool,
    /// (eps, delta), eps rising from zero; copies share them.
    points: Arc<OnceLock<Vec<(f64, f64)>>>,
}

impl PartialEq for Envelope {
    fn eq(&self, other: &Self) -> bool {
        self.profile == other.profile
    }
}

/// Fewest and most evaluations, closer together near zero, and about how many of all profiles together: where more
/// than twenty are composed their chords are longer, and the answer is wider.
const POINTS: (u32, u32) = (64, 320);
const ALL: u32 = 6400;
/// More profiles than these are evaluated quickly: what is exact and slow is wider then.
const FEW: u32 = 4;
/// A profile that is itself a composition is made for this delta.
const NEAR: f64 = 1e-10;

impl Envelope {
    /// One of `of` envelopes that are composed.
    pub(super) fn new(profile: Profile, of: usize) -> Self {
        let of = u32::try_from(of).unwrap_or(u32::MAX).max(1);
        // Each point takes milliseconds.
        let slow = matches!(profile, Profile::Wishart { .. });
        let pieces = if slow { POINTS.0 } else { (ALL / of).clamp(POINTS.0, POINTS.1) };
        let many = of > FEW;
        Self { profile, pieces, many, points: Arc::default() }
    }

    fn points(&self) -> &[(f64, f64)] {
        self.points.get_or_init(|| self.evaluated())
    }

    fn evaluated(&self) -> Vec<(f64, f64)> {
        let many = self.many;
        let near = Delta::new(NEAR).ok().map(|delta| Near { delta, many });
        let curve = near.and_then(|near| self.profile.curve(near));
        let delta = |eps: f64| match &curve {
            Some(curve) => curve.ln_delta(eps).exp(),
            None => self.profile.log_delta(Epsilon::new(eps).unwrap_or(Epsilon::ZERO)).delta(),
        };
        // Points lie where the profile still falls.
        let floor = delta(200.0) * (1.0 + 1e-9) + 1e-20;
        let mut end = 0.5;
        while end < 200.0 && delta(end) > floor {
            end *= 1.3;
        }
        let at = |i: u32| end * (f64::from(i) / f64::from(self.pieces)).powf(1.5);
        (0..=self.pieces).map(|i| (at(i), delta(at(i)))).collect()
    }

    /// A bound on `ln E_P e^(s L)`, where one is stated.
    pub(super) fn ln_moment(&self, s: f64) -> f64 {
        match self.profile {
            Profile::Zcdp { rho } => s * (1.0 + s) * rho,
            _ => f64::INFINITY,
        }
    }

    fn delta(&self, eps: f64) -> f64 {
        let points = self.points();
        let after = points.partition_point(|p| p.0 <= eps);
        match (points.get(after.wrapping_sub(1)), points.get(after)) {
            (Some(&(a, left)), Some(&(b, right))) => {
                let share = (eps - a).exp_m1() / (b - a).exp_m1();
                left + (right - left) * share
            }
            (Some(&(_, last)), None) => last,
            _ => 1.0,
        }
    }

    /// delta(eps) less `(1 - e^eps)_+`, for any sign of eps.
    fn excess(&self, eps: f64) -> f64 {
        let delta = self.delta(eps.abs());
        if eps < 0.0 { eps.exp() * delta } else { delta }
    }

    /// A loss beyond which the profile is at most `mass`, or the last point.
    pub(super) fn reach(&self, mass: f64) -> f64 {
        let found = self.points().iter().find(|p| p.1 <= mass).or(self.points().last());
        found.map_or(1.0, |p| p.0.max(0.5))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The last point is the first of a geometric row at which nothing is left to fall.
    #[test]
    fn points_end_where_the_profile_ends() {
        for pure in [0.2, 0.6, 1.5, 7.0, 40.0] {
            let profile = Profile::PureDp { epsilon: Epsilon::new(pure).unwrap() };
            let envelope = Envelope::new(profile, 1);
            let &(end, left) = envelope.points().last().unwrap();
            let near = pure.max(0.5)..=1.3 * f64::max(pure, 0.5);
            assert!(near.contains(&end) && left == 0.0, "{pure}: {end} {left}");
        }
    }
}
