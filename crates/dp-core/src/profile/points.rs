//! An upper bound on a profile from its values at some points. Proof: `docs/proofs/composition-pld.md`, section 2.3.

use super::curve::{Curve, Near};
use super::kinds::{PrivacyProfile, Profile};
use crate::budget::{Delta, Epsilon};

/// (eps, delta), eps rising from zero: the chord between two (in `e^eps`) is an upper bound again, because the
/// true profile is convex.
#[derive(Debug)]
pub(super) struct Points(Vec<(f64, f64)>);

/// A profile that is itself a composition is made for this delta.
const NEAR: f64 = 1e-10;

/// An epsilon up to which the profile falls.
fn end(delta: impl Fn(f64) -> f64) -> f64 {
    let floor = delta(200.0) * (1.0 + 1e-9) + 1e-20;
    let mut end = LEAST;
    while end < 200.0 && delta(end) > floor {
        end *= 2.0;
    }
    let less = end / core::f64::consts::SQRT_2;
    if delta(less) > floor { end } else { less }
}

/// The least epsilon up to which points lie: what loses less is told from nothing by it.
const LEAST: f64 = 1e-6;

impl Points {
    /// So many pieces, closer together near zero.
    pub(super) fn new(profile: &Profile, pieces: u32, many: bool) -> Self {
        let exact = |eps: f64| profile.log_delta(Epsilon::new(eps).unwrap_or(Epsilon::ZERO));
        if let Some(curve) = Self::curve(profile, many) {
            return Self::of(|eps| curve.ln_delta(eps).exp(), pieces);
        }
        // Where each value takes long, another bound says how far they matter.
        match Self::curve(profile, true) {
            Some(quick) => {
                let end = end(|eps| quick.ln_delta(eps).exp());
                Self::up_to(end, |eps| exact(eps).delta(), pieces)
            }
            None => Self::of(|eps| exact(eps).delta(), pieces),
        }
    }

    /// The same of a profile that has a curve: what takes one is asked often.
    pub(super) fn of_curve(profile: &Profile, pieces: u32) -> Option<Self> {
        let curve = Self::curve(profile, true)?;
        Some(Self::of(|eps| curve.ln_delta(eps).exp(), pieces))
    }

    fn curve(profile: &Profile, many: bool) -> Option<Curve> {
        profile.curve(Near { delta: Delta::new(NEAR).ok()?, many })
    }

    fn of(delta: impl Fn(f64) -> f64, pieces: u32) -> Self {
        Self::up_to(end(&delta), delta, pieces)
    }

    fn up_to(end: f64, delta: impl Fn(f64) -> f64, pieces: u32) -> Self {
        let at = |i: u32| end * (f64::from(i) / f64::from(pieces)).powf(1.5);
        Self((0..=pieces).map(|i| (at(i), delta(at(i)))).collect())
    }

    /// Delta at an epsilon, from above.
    pub(super) fn delta(&self, eps: f64) -> f64 {
        let after = self.0.partition_point(|p| p.0 <= eps);
        match (self.0.get(after.wrapping_sub(1)), self.0.get(after)) {
            (Some(&(a, left)), Some(&(b, right))) => {
                let share = (eps - a).exp_m1() / (b - a).exp_m1();
                left + (right - left) * share
            }
            (Some(&(_, last)), None) => last,
            _ => 1.0,
        }
    }

    /// An epsilon at which delta is at most this; none where no point says so.
    pub(super) fn epsilon(&self, delta: f64) -> Option<f64> {
        let after = self.0.iter().position(|p| p.1 <= delta)?;
        let (b, right) = self.0[after];
        let Some(&(a, left)) = after.checked_sub(1).and_then(|before| self.0.get(before)) else {
            return Some(b);
        };
        // Where the chord is as low, a little on the safe side.
        let share = (left - delta) / (left - right) * (b - a).exp_m1();
        let found = (a + share.ln_1p()) * (1.0 + 1e-12);
        Some(if self.delta(found) <= delta { found.min(b) } else { b })
    }

    /// A loss beyond which the profile is at most `mass`, or the last point.
    pub(super) fn reach(&self, mass: f64) -> f64 {
        let found = self.0.iter().find(|p| p.1 <= mass).or(self.0.last());
        found.map_or(1.0, |p| p.0.max(0.5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// However little a profile loses.
    #[test]
    fn tiny_losses_have_points_of_their_own() {
        for scale in [1e3, 1e5, 1e7] {
            let once = json!({"kind": "wishart", "dim": 8, "dof": 200, "bound": 1.0, "scale": scale, "change": "add-remove"});
            let profile = json!({"kind": "repeated", "profile": once, "times": 12});
            let profile: Profile = serde_json::from_value(profile).unwrap();
            let points = Points::of_curve(&profile, 96).unwrap();
            for delta in [1e-4, 1e-8] {
                let found = points.epsilon(delta).unwrap();
                let least = profile.epsilon(Delta::new(delta).unwrap()).unwrap().get();
                assert!(found <= least * 1.05 + 1e-6, "{scale} {delta}: {found} {least}");
                assert!(found >= least * 0.98, "{scale} {delta}: {found} {least}");
            }
        }
    }

    /// Of a Gaussian: chords are above the profile, close to it, and their epsilon is that of the chords.
    #[test]
    fn chords_are_above_the_profile() {
        let profile = json!({"kind": "gaussian", "sensitivity": 1.0, "sigma": 3.0});
        let profile: Profile = serde_json::from_value(profile).unwrap();
        let exact = |eps: f64| profile.log_delta(Epsilon::new(eps).unwrap()).delta();
        let points = Points::new(&profile, 64, true);
        for i in 1..400 {
            let eps = 0.008 * f64::from(i);
            let (exact, chord) = (exact(eps), points.delta(eps));
            assert!(chord >= exact * (1.0 - 1e-12), "{eps}: {chord} below {exact}");
            assert!(chord <= exact * 1.1 + 1e-20, "{eps}: {chord} above {exact}");
        }
        for delta in [0.1, 1e-3, 1e-8, 1e-15] {
            let found = points.epsilon(delta).unwrap();
            let least = profile.epsilon(Delta::new(delta).unwrap()).unwrap().get();
            assert!(exact(found) <= delta && found <= least * 1.01, "{delta}: {found} {least}");
        }
        assert_eq!(points.epsilon(1.0), Some(0.0));
        assert_eq!(points.epsilon(1e-300), None);
        assert!(Points::of_curve(&profile, 64).is_none());
    }
}
