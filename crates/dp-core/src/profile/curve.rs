//! A profile that is asked at many epsilons. Proof: `docs/proofs/composition-pld.md`, section 5.

use super::{PrivacyProfile, Profile};
use crate::budget::{Budget, Delta, Epsilon, LogDelta};
use crate::error::Result;
use crate::numeric::root;

/// An upper bound on a profile, made once and quick to ask: closest where delta is about what it was made for.
pub(crate) struct Curve {
    /// About the epsilon there.
    pub(super) near: f64,
    pub(super) bound: Box<dyn Fn(f64) -> f64>,
}

/// What a curve is made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Near {
    /// Closest near this delta.
    pub(super) delta: Delta,
    /// One of many: quicker, and wider.
    pub(super) many: bool,
}

/// The least epsilon that is told from zero.
const LEAST: f64 = 1e-12;

impl Curve {
    /// ln delta at `epsilon`, from above.
    pub(super) fn ln_delta(&self, epsilon: f64) -> f64 {
        LogDelta::saturating((self.bound)(epsilon)).get()
    }

    /// An epsilon at which delta is at most `delta`.
    pub(super) fn epsilon(&self, delta: Delta) -> Result<Epsilon> {
        if self.ln_delta(LEAST) <= delta.ln().get() {
            return Epsilon::new(LEAST);
        }
        let budget = Budget { epsilon: Epsilon::ZERO, delta };
        let guess = self.near.clamp(LEAST, 1e6);
        let name = "epsilon of a profile";
        Epsilon::new(root::least(name, budget, guess, |e| self.ln_delta(e))?)
    }
}

impl Profile {
    /// The epsilon at each of two deltas, from above, at the price of one: a profile that is a composition is
    /// composed for the second. Of `many` profiles each is asked quickly.
    pub(super) fn epsilons(&self, deltas: [Delta; 2], many: bool) -> [Result<Epsilon>; 2] {
        let near = Near { delta: deltas[1], many };
        let curve = match near.delta.get() > 0.0 {
            true => self.curve(near),
            false => None,
        };
        match curve {
            Some(curve) => deltas.map(|delta| curve.epsilon(delta)),
            None => deltas.map(|delta| self.epsilon(delta)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pld::Pld;
    use super::super::{Event, RowChange};
    use super::*;
    use crate::numeric::binomial::terms;
    use serde_json::{Value, json};

    fn profile(value: Value) -> Profile {
        serde_json::from_value(value).unwrap()
    }

    /// What takes a composition, or many evaluations.
    fn profiles() -> Vec<Profile> {
        let wishart = |change: RowChange| json!({"kind": "wishart", "dim": 8, "dof": 200, "bound": 1.0, "scale": 4.0, "change": change});
        let mixture = json!({"kind": "binomial-mixture", "trials": 20, "probability": 0.05,
            "coordinate": {"kind": "gaussian", "shift": 1.0, "sigma": 6.0}});
        let laplace = json!({"kind": "laplace", "sensitivity": 1.0, "scale": 9.0});
        let repeated =
            |profile: &Value| json!({"kind": "repeated", "profile": profile, "times": 6});
        let group = |profile: &Value| json!({"kind": "group", "profile": profile, "size": 3});
        let (added, replaced) = (wishart(RowChange::AddRemove), wishart(RowChange::Replace));
        let once = [&added, &replaced, &mixture, &laplace];
        let all = once.into_iter().flat_map(|p| [repeated(p), group(p), group(&repeated(p))]);
        all.map(profile).collect()
    }

    /// Each pair of epsilons costs few compositions, asked again none; it is above what is known from below, and
    /// hardly above what the profile itself says where it is composed for every epsilon anew.
    #[test]
    fn a_pair_of_epsilons_is_a_few_compositions() {
        for profile in profiles() {
            for delta in [1e-3, 1e-8] {
                let deltas = [delta, 0.5 * delta].map(|d| Delta::new(d).unwrap());
                let event = Event::once(profile.clone());
                let composed = matches!(profile, Profile::Repeated { .. });
                let (count, found) = terms::of(|| event.epsilons(deltas, false));
                // A law that is its own reverse is composed for one direction.
                let wishart = matches!(&profile, Profile::Repeated { profile, .. }
                    if matches!(**profile, Profile::Wishart { .. }));
                let most = if wishart { 4 } else { 2 };
                assert!(!composed || (1..=most).contains(&count), "{profile:?}: {count}");
                let (again, same) = terms::of(|| event.clone().epsilons(deltas, false));
                assert!(again == 0 && found == same, "{profile:?}: {again}");
                let Ok(slow) = profile.epsilon(deltas[0]) else { continue };
                let [found, smaller] = found.map(|e| e.unwrap());
                let most = slow.get() * 1.02 + 1e-9;
                // In two steps, each step of a group.
                let two_steps = matches!(&profile, Profile::Group { profile, .. }
                    if matches!(**profile, Profile::Wishart { change: RowChange::Replace, .. }));
                assert!(two_steps || found.get() <= most, "{profile:?} {delta}: {found}, {slow}");
                assert!(
                    found.get() >= slow.get() * 0.995 && smaller > found,
                    "{profile:?} {delta}"
                );
                if composed {
                    let least = Pld::new([&event]).epsilon(deltas[0]).unwrap().lower;
                    assert!(
                        least.is_none_or(|least| found >= least),
                        "{profile:?} {delta}: {found}"
                    );
                }
            }
        }
    }

    /// Among many each profile is bounded more quickly: never below what is known from below, and hardly wider.
    #[test]
    fn many_profiles_are_bounded_quickly() {
        for profile in profiles() {
            for delta in [1e-3, 1e-8] {
                let deltas = [delta, 0.5 * delta].map(|d| Delta::new(d).unwrap());
                let event = Event::once(profile.clone());
                let [few, many] = [false, true].map(|many| event.epsilons(deltas, many));
                let below = match profile {
                    Profile::Repeated { .. } => deltas.map(|d| Pld::new([&event]).epsilon(d)),
                    _ => deltas.map(|d| Pld::new([]).epsilon(d)),
                };
                for ((few, many), below) in few.into_iter().zip(many).zip(below) {
                    let (Ok(few), Ok(many)) = (few, many) else { continue };
                    let (few, many, below) = (few.get(), many.get(), below.unwrap().lower);
                    assert!(many <= few * 1.03, "{profile:?} {delta}: {many}, {few}");
                    assert!(many >= few * 0.98, "{profile:?} {delta}: {many} below {few}");
                    assert!(below.is_none_or(|e| many >= e.get()), "{profile:?} {delta}: {many}");
                }
            }
        }
    }

    /// A row replaced under Wishart noise, among many: not below the exact profile, and within what two steps cost.
    #[test]
    fn a_quick_curve_is_above_the_exact_one() {
        let replaced = Profile::Wishart {
            dim: 8,
            dof: 200,
            bound: crate::NormBound::new(1.0).unwrap(),
            scale: crate::NoiseScale::new(4.0).unwrap(),
            change: RowChange::Replace,
        };
        let curve = replaced.curve(Near { delta: Delta::new(1e-6).unwrap(), many: true }).unwrap();
        for epsilon in [1e-3, 0.05, 0.2, 0.5, 1.0, 2.0] {
            let exact = replaced.ln_delta(epsilon);
            let quick = curve.ln_delta(epsilon);
            assert!(quick >= exact - 1e-9, "{epsilon}: {quick} below {exact}");
        }
        let deltas = [1e-6, 5e-7].map(|d| Delta::new(d).unwrap());
        let [exact, quick] = [false, true].map(|many| replaced.epsilons(deltas, many));
        for (exact, quick) in exact.into_iter().zip(quick) {
            let ratio = quick.unwrap().get() / exact.unwrap().get();
            assert!((1.0..1.6).contains(&ratio), "{ratio}");
        }
    }
}
