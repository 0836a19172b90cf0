//! Renyi and concentrated differential privacy.

use super::basic::{pure_runs, up};
use crate::budget::{Budget, Delta, Epsilon};
use crate::error::{Error, Result};
use crate::numeric::float::square_of;
use crate::profile::pld::{Aside, Pld};
use crate::profile::{Event, Profile};

/// Epsilon from a Renyi divergence `gamma` of order `1 + s` (Canonne, Kamath, Steinke
/// 2020, proposition 12): `gamma + ln(s/(1+s)) - (ln delta + ln(1+s))/s`.
pub(super) fn convert(gamma: f64, s: f64, ln_delta: f64) -> f64 {
    gamma - (1.0 / s).ln_1p() - (ln_delta + s.ln_1p()) / s
}

/// The least conversion over the orders; the divergence is a function of s.
pub(super) fn best(gamma: impl Fn(f64) -> f64, ln_delta: f64) -> f64 {
    let at = |ln_s: f64| {
        let s = ln_s.exp();
        convert(gamma(s), s, ln_delta)
    };
    // A grid, then golden sections around its best point: any order is sound.
    let grid = |i: i32| 0.2 * f64::from(i);
    let start = (-60..=70).map(grid).min_by(|a, b| at(*a).total_cmp(&at(*b))).unwrap_or(0.0);
    let (mut low, mut high) = (start - 0.2, start + 0.2);
    for _ in 0..40 {
        let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
        if at(a) < at(b) { high = b } else { low = a }
    }
    at(start).min(at(0.5 * (low + high))).max(0.0)
}

/// rho of zero-concentrated differential privacy of one run: `mu^2/2` for Gaussians
/// (exact), `eps^2/2` for pure mechanisms (Bun, Steinke 2016, proposition 1.4), each bit or
/// letter for itself.
pub(super) fn rho(event: &Event) -> Option<f64> {
    match *event.profile() {
        Profile::Zcdp { rho } => return Some(rho),
        // `integer-noise.md`, theorem 3.
        Profile::DiscreteGaussian { moves, sigma } => {
            return Some(0.5 * square_of(moves as f64 / sigma.get()));
        }
        _ => {}
    }
    let once = Event::once(event.profile().clone());
    let gaussian = Pld::new([&once]).gaussian_square().map(|square| 0.5 * square);
    let pure = |runs: Vec<(f64, f64)>| runs.iter().map(|(e, n)| n * 0.5 * square_of(*e)).sum();
    gaussian.or_else(|| pure_runs(event).map(pure))
}

/// By zCDP: rhos add up.
pub(super) fn zcdp(events: &[Event], delta: Delta) -> Result<Epsilon> {
    let total = events
        .iter()
        .map(|e| rho(e).map(|r| r * e.count() as f64))
        .sum::<Option<f64>>()
        .ok_or_else(|| unsupported("zCDP", delta))?;
    finite(zcdp_epsilon(total, delta), "zCDP", delta)
}

/// The epsilon of rho-zCDP at `delta`, for a sum of rhos that was rounded.
pub(super) fn zcdp_epsilon(rho: f64, delta: Delta) -> f64 {
    let rho = rho * (1.0 + 1e-12);
    if rho == 0.0 { 0.0 } else { best(|s| rho * (1.0 + s), delta.ln().get()) }
}

/// The orders that a limit fixes beforehand, and what they count.
#[derive(Debug)]
pub(super) struct FixedOrders {
    limit: Budget,
    s: [f64; 3],
    spent: [Aside<3>; 2],
}

/// Share of the limit's delta that outcomes set aside may take, over all runs.
const SHARE: f64 = 0.5;
/// Runs of one entry that need it set aside together this part of the limit's delta.
const ENTRY: f64 = 1.0 / 8192.0;

impl FixedOrders {
    /// One plus a third of, one plus, and one plus three times the `s` at which a Gaussian may spend the most.
    pub(super) fn new(limit: Budget) -> Self {
        let allowed = |s: &f64| -convert(-limit.epsilon.get(), *s, part(limit)) / (1.0 + s);
        let grid = (-40..=80).map(|i| (0.125 * f64::from(i)).exp2());
        let best = grid.max_by(|a, b| allowed(a).total_cmp(&allowed(b))).unwrap_or(1.0);
        Self { limit, s: [best / 3.0, best, 3.0 * best], spent: [Aside::NOTHING; 2] }
    }

    /// Counts an event that a limit was asked for.
    pub(super) fn add(&mut self, event: &Event, times: f64) -> Option<()> {
        let aside = (ENTRY * self.limit.delta.get()).max(1e-300);
        let [a, b] = Pld::new([event]).set_aside(self.s, aside)?;
        self.spent = [self.spent[0].plus(a, times), self.spent[1].plus(b, times)];
        Some(())
    }

    /// The least epsilon at the limit's delta, and the delta that is set aside.
    pub(super) fn epsilon(&self) -> (f64, f64) {
        let room = 1.0 + 1e-12;
        let mass = self.spent[0].mass.max(self.spent[1].mass) * room;
        let at = |i: usize| {
            let most = self.spent[0].divergence[i].max(self.spent[1].divergence[i]) * room;
            if most == 0.0 { 0.0 } else { convert(most, self.s[i], part(self.limit)).max(0.0) }
        };
        ((0..3).map(at).fold(f64::INFINITY, f64::min), mass)
    }

    /// What may be set aside in all.
    pub(super) fn most_aside(&self) -> f64 {
        SHARE * self.limit.delta.get()
    }
}

/// ln of what each of the three orders has of the limit's delta.
fn part(limit: Budget) -> f64 {
    limit.delta.ln().get() + ((1.0 - SHARE) / 3.0).ln()
}

/// By Renyi divergences of all orders, exact for each mechanism.
pub(super) fn rdp(events: &[Event], delta: Delta) -> Result<Epsilon> {
    let pld = Pld::new(events);
    finite(best(|s| pld.renyi(s), delta.ln().get()), "RDP", delta)
}

/// The value, or the reason why there is none.
pub(super) fn finite(value: f64, method: &'static str, delta: Delta) -> Result<Epsilon> {
    if value.is_finite() { up(value) } else { Err(unsupported(method, delta)) }
}

/// Some event has no finite parameter of this kind.
pub(super) fn unsupported(method: &'static str, delta: Delta) -> Error {
    Error::Calibration {
        family: method,
        budget: Budget { epsilon: Epsilon::ZERO, delta },
        reason: "some event has no finite parameter of this kind (use PLD), or delta is zero"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::RowChange;
    use crate::{L2Sensitivity, NoiseScale, NormBound};

    /// Divergences and what is set aside, of one run and of a thousand, are rounded up.
    #[test]
    fn fixed_orders_count_from_above() {
        let limit = Budget::new(1.0, 1e-6).unwrap();
        let (bound, scale) = (NormBound::new(1.0).unwrap(), NoiseScale::new(1.5).unwrap());
        let wishart =
            Profile::Wishart { dim: 5, dof: 400, bound, scale, change: RowChange::AddRemove };
        let sensitivity = L2Sensitivity::new(40.0).unwrap();
        let gaussian = Profile::Gaussian { sensitivity, sigma: NoiseScale::new(1.0).unwrap() };
        for times in [1.0, 1000.0] {
            let mut orders = FixedOrders::new(limit);
            orders.add(&Event::once(wishart.clone()), times).unwrap();
            let aside = orders.epsilon().1 / orders.spent[0].mass.max(orders.spent[1].mass) - 1.0;
            assert!(aside > 0.9e-12 && aside < 1e-11, "{aside:e}");
            let mut orders = FixedOrders::new(limit);
            orders.add(&Event::once(gaussian.clone()), times).unwrap();
            let exactly = |s: &f64| convert(800.0 * times * (1.0 + s), *s, part(limit));
            let exactly = orders.s.iter().map(exactly).fold(f64::INFINITY, f64::min);
            let above = orders.epsilon().0 / exactly - 1.0;
            assert!(above > 0.5e-12 && above < 1e-10, "{above:e}");
            assert_eq!(orders.epsilon().1, 0.0);
        }
    }
}
