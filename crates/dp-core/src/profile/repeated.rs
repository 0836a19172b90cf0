//! One mechanism run several times. Proof: `docs/proofs/composition-pld.md`, section 5.

use super::curve::{Curve, Near};
use super::event::Event;
use super::kind::{Kind, count};
use super::kinds::{GaussianStep, covariance_sensitivity};
use super::pld::Merged;
use super::pld::{Pld, Upper, Way, Width};
use super::rule::whole;
use super::solve::{least_scale_from, positive};
use super::wishart::wishart_scale;
use super::{Profile, RowChange};
use crate::adjacency::Adjacency;
use crate::budget::{Budget, Epsilon, LogDelta};
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::numeric::ln_sum_exp;
use crate::quantity::{L2Sensitivity, NoiseScale, NormBound};

/// All runs as one profile, where their losses add up to one of a known kind: squares of Gaussian losses, rows of
/// sketches, degrees of freedom of a mixture, responses, rhos.
fn as_one(profile: &Profile, times: u64) -> Option<Profile> {
    let many = |count: u64| count.checked_mul(times);
    let gaussian = |sensitivity, sigma| Profile::GaussianComposition {
        steps: vec![GaussianStep { sensitivity, sigma, times }],
    };
    let all = match *profile {
        Profile::Gaussian { sensitivity, sigma } => gaussian(sensitivity, sigma),
        Profile::SymmetricGaussian { bound, sigma, change } => {
            gaussian(L2Sensitivity::new(covariance_sensitivity(bound, change)).ok()?, sigma)
        }
        Profile::ChiMixtureGaussian { k, entry_shift, sigma, later_mu } => {
            // The safe side: a root and a product are an ulp off.
            let later_mu = later_mu * (times as f64).sqrt() * (1.0 + 4.0 * f64::EPSILON);
            Profile::ChiMixtureGaussian { k: many(k)?, entry_shift, sigma, later_mu }
        }
        Profile::JlMechanism { rows, bound, lift, change } => {
            Profile::JlMechanism { rows: many(rows)?, bound, lift, change }
        }
        Profile::RandomizedResponse { bits, keep } => {
            Profile::RandomizedResponse { bits: many(bits)?, keep }
        }
        Profile::KaryResponse { responses, alphabet, keep } => {
            Profile::KaryResponse { responses: many(responses)?, alphabet, keep }
        }
        // The safe side: a product is an ulp off.
        Profile::Zcdp { rho } => {
            Profile::Zcdp { rho: rho * times as f64 * (1.0 + 4.0 * f64::EPSILON) }
        }
        _ => return None,
    };
    all.check_limits().is_ok().then_some(all)
}

/// An upper bound on ln delta of `times` runs; zero (the safe answer) for none of them, which no
/// mechanism can be, and beyond 2^40. A bound that is `enough` is not bettered.
fn ln_delta(profile: &Profile, times: u64, epsilon: f64, enough: f64) -> f64 {
    if times > 1
        && let Some(all) = as_one(profile, times)
    {
        return all.ln_delta(epsilon);
    }
    match (times, profile) {
        (0, _) => 0.0,
        (1, _) => profile.ln_delta(epsilon),
        (_, &Profile::Wishart { dim, dof, bound, scale, change: RowChange::Replace }) => {
            let once = Profile::Wishart { dim, dof, bound, scale, change: RowChange::AddRemove };
            two_steps(once, times, epsilon, enough)
        }
        _ => {
            let (Ok(event), Ok(at)) = (Event::new(profile.clone(), times), Epsilon::new(epsilon))
            else {
                return 0.0;
            };
            let ways = composition(&event, false).upper_each_way(at);
            ways.iter().map(|way| way.ln_delta(epsilon)).fold(f64::NEG_INFINITY, f64::max)
        }
    }
}

/// A release recomputes its certificate, so some milliseconds: 5e-4 of epsilon.
const ONE: f64 = 5e-4;
/// A ledger asks for many: a fiftieth.
const MANY: f64 = 2e-2;

fn composition(event: &Event, many: bool) -> Pld {
    let width = |width| Width::new(width).unwrap_or_default();
    match many {
        true => Pld::one_of_many(event, width(MANY)),
        false => Pld::new([event]).with_width(width(ONE)),
    }
}

/// Splits of epsilon tried with one pair of sums.
const SPLITS: u32 = 64;
/// Pairs of sums: for halves, then for the best split found. More change nothing visible.
const ROUNDS: u32 = 2;

/// The split of epsilon at which two steps lose the least, and ln delta there.
fn best_split(one: &Upper, two: &Upper, epsilon: f64) -> (f64, f64) {
    let bound = |e: f64| ln_sum_exp(one.ln_delta(e), e + two.ln_delta(epsilon - e)) + 1e-14;
    let splits = (0..=SPLITS).map(|i| epsilon * f64::from(i) / f64::from(SPLITS));
    let least = |m: (f64, f64), v: (f64, f64)| if v.1 < m.1 { v } else { m };
    splits.map(|e| (e, bound(e))).fold((0.5 * epsilon, f64::INFINITY), least)
}

/// Steps of a search for a split, to a hundredth of epsilon.
const STEPS: u32 = 10;

/// About the least bound of [`best_split`], in a quarter of its time: every split is a bound.
fn good_split(one: &Upper, two: &Upper, epsilon: f64) -> f64 {
    let bound = |e: f64| ln_sum_exp(one.ln_delta(e), e + two.ln_delta(epsilon - e)) + 1e-14;
    let (mut low, mut high) = (0.0, epsilon);
    let inner = |low: f64, high: f64| [low + 0.382 * (high - low), low + 0.618 * (high - low)];
    let [mut left, mut right] = inner(low, high).map(|e| (e, bound(e)));
    for _ in 0..STEPS {
        if left.1 < right.1 {
            (high, right) = (right.0, left);
            let e = inner(low, high)[0];
            left = (e, bound(e));
        } else {
            (low, left) = (left.0, right);
            let e = inner(low, high)[1];
            right = (e, bound(e));
        }
    }
    left.1.min(right.1)
}

/// Sums that are made once, for a delta: the bound they give at any epsilon; where a row is replaced, of two steps.
fn curve(profile: &Profile, times: u64, near: Near) -> Option<Curve> {
    let (once, steps) = match *profile {
        Profile::Wishart { dim, dof, bound, scale, change: RowChange::Replace } => {
            (Profile::Wishart { dim, dof, bound, scale, change: RowChange::AddRemove }, 2)
        }
        _ => (profile.clone(), 1),
    };
    let event = Event::new(once, times).ok()?;
    // Of many, a guess may be farther off before sums are made again.
    let good = if near.many { 0.5..2.0 } else { 0.9..1.1 };
    let pld = composition(&event, near.many);
    let both = [Way::Forwards, Way::Backwards];
    let ways = if pld.is_one_way() { &both[..1] } else { &both[..] };
    let ln_delta = near.delta.ln().get();
    // Of many, the first sums come from what the guess was made from.
    let (mut at, mut sums): (Vec<f64>, Vec<Upper>) = match near.many {
        true => ways.iter().map(|&way| pld.upper_about(way, ln_delta)).unzip(),
        false => (ways.iter().map(|&way| pld.about(way, ln_delta)).collect(), Vec::new()),
    };
    let mut made = None;
    for _ in 0..ROUNDS {
        if sums.is_empty() {
            sums = ways.iter().zip(&at).map(|(&way, &e)| pld.upper_one_way(way, e)).collect();
        }
        let (first, last) = (at[0], at[at.len() - 1]);
        let near_by = if steps == 1 { first.max(last) } else { first + last };
        let sums = core::mem::take(&mut sums);
        let bound: Box<dyn Fn(f64) -> f64> = match steps {
            1 => Box::new(move |e| {
                sums.iter().map(|sum| sum.ln_delta(e)).fold(f64::NEG_INFINITY, f64::max)
            }),
            _ => Box::new(move |e| {
                let (one, two) = (&sums[0], &sums[sums.len() - 1]);
                match near.many {
                    true => good_split(one, two, e).min(good_split(two, one, e)),
                    false => best_split(one, two, e).1.min(best_split(two, one, e).1),
                }
            }),
        };
        let curve = Curve { near: near_by, bound };
        let found = curve.epsilon(near.delta).map_or(near_by, Epsilon::get);
        made = Some(Curve { near: found, ..curve });
        // Sums are closest near the epsilon they were made for.
        let off = found / near_by;
        if good.contains(&off) {
            break;
        }
        at.iter_mut().for_each(|e| *e = if steps == 1 { found } else { *e * off });
    }
    made
}

fn is_replaced(profile: &Profile) -> bool {
    matches!(profile, Profile::Wishart { change: RowChange::Replace, .. })
}

/// A row is removed in all runs, and another is added in all runs, in either order: the
/// least `delta_1(e) + e^e delta_2(epsilon - e)` over some splits. Every split is a bound; the
/// sums are closest where they were made for, and each order has its own best split. A bound that is `enough` is not
/// bettered.
fn two_steps(once: Profile, times: u64, epsilon: f64, enough: f64) -> f64 {
    let Ok(event) = Event::new(once, times) else { return 0.0 };
    let pld = composition(&event, false);
    let both = [Way::Forwards, Way::Backwards];
    let halves = both.map(|way| pld.upper_one_way(way, 0.5 * epsilon));
    let mut orders = [(0, 1), (1, 0)]
        .map(|(one, two)| ((one, two), best_split(&halves[one], &halves[two], epsilon)));
    // What looks better now is better in the end, as a rule.
    orders.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let mut best = orders[0].1.1.min(0.0);
    for ((one, two), (at, _)) in orders {
        if best <= enough {
            break;
        }
        if at != 0.5 * epsilon {
            let first = pld.upper_one_way(both[one], at);
            let second = pld.upper_one_way(both[two], epsilon - at);
            best = best.min(best_split(&first, &second, epsilon).1);
        }
    }
    best
}

/// [`Profile::Repeated`].
pub(super) struct Repeated<'a> {
    pub(super) profile: &'a Profile,
    pub(super) times: u64,
}

/// Most runs that are composed numerically.
const RUNS: u64 = 1 << 10;

impl Kind for Repeated<'_> {
    fn ln_delta(&self, epsilon: f64) -> f64 {
        ln_delta(self.profile, self.times, epsilon, f64::NEG_INFINITY)
    }

    fn holds(&self, epsilon: f64, most: f64) -> bool {
        LogDelta::saturating(ln_delta(self.profile, self.times, epsilon, most)).get() <= most
    }

    fn curve(&self, near: Near) -> Option<Curve> {
        if self.times == 1 && !is_replaced(self.profile) {
            return self.profile.curve(near);
        }
        match as_one(self.profile, self.times) {
            Some(all) => all.curve(near),
            None => curve(self.profile, self.times, near),
        }
    }

    fn check_limits(&self) -> Result<()> {
        count("times", self.times, RUNS)?;
        if matches!(self.profile, Profile::Repeated { .. } | Profile::Group { .. }) {
            let allowed = "a profile that is neither repeated nor a group's";
            return Err(Error::invalid("profile", self.profile.kind(), allowed));
        }
        self.profile.check_limits()
    }

    fn compose(&self, runs: u64, all: &mut Merged) {
        // One run takes milliseconds at every epsilon, all together no more.
        if self.times > 1 && is_replaced(self.profile) {
            let profile = Box::new(self.profile.clone());
            return all.envelope(Profile::Repeated { profile, times: self.times }, runs);
        }
        // No runs, or too many: the safe answer.
        match Event::new(self.profile.clone(), runs.saturating_mul(self.times)) {
            Ok(event) => self.profile.compose(event.count(), all),
            Err(_) => all.unknown(),
        }
    }

    fn given_by(&self, noise: &NoiseLaw, adjacency: Adjacency) -> Result<bool> {
        let NoiseLaw::Several { laws } = noise else { return Ok(false) };
        whole("noise.laws", laws.len() as u64, self.times)?;
        laws.iter().try_fold(true, |all, law| Ok(all && self.profile.given_by(law, adjacency)?))
    }
}

/// The least scale s of `times` runs of the Wishart mechanism on the same data, composed
/// numerically ([`Profile::Repeated`]).
///
/// # Errors
/// As [`wishart_scale`]; [`Error::InvalidParameter`] when `times` is zero.
pub fn wishart_scale_repeated(
    budget: Budget,
    dim: u64,
    dof: u64,
    bound: NormBound,
    change: RowChange,
    times: u64,
) -> Result<NoiseScale> {
    positive("times", times)?;
    // As many runs cost about as much as one at epsilon over the root.
    let each = budget.epsilon.get() / (times as f64).sqrt();
    let single = Budget { epsilon: Epsilon::new(each)?, delta: budget.delta };
    let guess = wishart_scale(single, dim, dof, bound, change)?;
    least_scale_from("repeated wishart", budget, guess.get(), |scale| {
        let once = Profile::Wishart { dim, dof, bound, scale, change };
        Profile::Repeated { profile: Box::new(once), times }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::PrivacyProfile;

    /// Two steps of bounded losses lose nothing from the sum of both bounds on, and else everything of one or the other.
    #[test]
    fn the_best_split_of_bounded_losses_is_that_of_their_sum() {
        let (one, two) = (Upper::Bounded(5.0), Upper::Bounded(4.0));
        let (at, ln) = best_split(&one, &two, 10.0);
        assert_eq!(ln, f64::NEG_INFINITY);
        assert!((5.0..=6.0).contains(&at), "{at}");
        // A delta of one and nothing: what is said is not below that.
        let two = Upper::Bounded(0.5);
        let (at, ln) = best_split(&one, &two, 3.0);
        assert!((0.0..1e-12).contains(&ln) && (0.0..=3.0).contains(&at), "{at} {ln:e}");
        assert!(good_split(&one, &two, 3.0) >= 0.0);
    }

    /// One run is the mechanism itself, to the last bit.
    #[test]
    fn one_run_is_the_mechanism() {
        let (shift, sigma) = (L2Sensitivity::new(1.0).unwrap(), NoiseScale::new(700.0).unwrap());
        for profile in [
            Profile::Gaussian { sensitivity: shift, sigma },
            Profile::ChiMixtureGaussian { k: 3, entry_shift: shift, sigma, later_mu: 0.001 },
            Profile::Zcdp { rho: 1e-6 },
        ] {
            let once = Profile::Repeated { profile: Box::new(profile.clone()), times: 1 };
            for epsilon in [0.1, 0.7, 3.0].map(|e| Epsilon::new(e).unwrap()) {
                assert_eq!(once.log_delta(epsilon), profile.log_delta(epsilon), "{profile:?}");
            }
        }
    }

    /// Rhos add up, rounded up.
    #[test]
    fn several_concentrated_runs_are_one_of_the_sum() {
        let Some(Profile::Zcdp { rho }) = as_one(&Profile::Zcdp { rho: 0.3 }, 7) else {
            panic!("one run of the sum")
        };
        assert!((2.1..2.1 * (1.0 + 1e-14)).contains(&rho), "{rho}");
    }

    /// A curve is closest where it was made for, so that its epsilon is hardly above that of the profile, composed anew for
    /// each epsilon.
    #[test]
    fn a_curve_is_made_where_its_answer_is() {
        let (bound, change) = (NormBound::new(1.0).unwrap(), RowChange::Replace);
        for (dim, dof, scale, times, delta) in [(3, 20, 1.0, 5, 1e-2), (2, 8, 5.0, 4, 1e-2)] {
            let scale = NoiseScale::new(scale).unwrap();
            let once = Profile::Wishart { dim, dof, bound, scale, change };
            let runs = Profile::Repeated { profile: Box::new(once.clone()), times };
            let delta = crate::budget::Delta::new(delta).unwrap();
            let made = curve(&once, times, Near { delta, many: false });
            let found = made.unwrap().epsilon(delta).unwrap().get();
            let anew = runs.epsilon(delta).unwrap().get();
            assert!(found < 1.02 * anew, "{dim} {dof} {times} {delta}: {found} {anew}");
        }
    }
}
