//! Gaussian differential privacy (Dong, Roth, Su 2022).

use super::basic::pure_runs;
use super::renyi::unsupported;
use crate::budget::{Delta, Epsilon};
use crate::error::Result;
use crate::numeric::ln_normal_cdf;
use crate::numeric::root::{Middle, bisect};
use crate::profile::Event;
use crate::profile::pld::Bracket;
use crate::profile::pld::Pld;
use crate::profile::{PrivacyProfile, Profile};
use crate::quantity::{L2Sensitivity, NoiseScale};

/// mu^2 of one run: exact for Gaussians; that of each pure run, where it is made of such.
pub(super) fn square(event: &Event) -> Option<f64> {
    let once = Event::once(event.profile().clone());
    let pure = |runs: Vec<(f64, f64)>| -> Option<f64> {
        runs.iter().map(|(e, n)| Some(n * pure_mu(*e)?.powi(2).max(f64::MIN_POSITIVE))).sum()
    };
    let exact = Pld::new([&once]).gaussian_square();
    exact.or_else(|| pure_runs(event).and_then(pure))
}

/// `2 Phi^-1(e^eps/(1 + e^eps))` from above: the trade-off curve of this mu is convex through the
/// three corners of the pure one, so it lies below it. At most `sqrt(pi/2) eps`.
fn pure_mu(epsilon: f64) -> Option<f64> {
    let line = core::f64::consts::FRAC_PI_2.sqrt() * epsilon;
    // Below this the line is as good, and the equation is lost in rounding.
    if epsilon < 1e-5 {
        return Some(line * (1.0 + 1e-12));
    }
    // Phi(-mu/2) = 1/(1 + e^eps), solved for mu from above.
    let target = -epsilon - (-epsilon).exp().ln_1p();
    let holds = |mu: f64| ln_normal_cdf(-0.5 * mu) <= target;
    let most = line.min(80.0);
    if !holds(most) {
        return None;
    }
    let (_, mu) = bisect((0.0, most), Middle::Arithmetic, (100, 0.0), holds);
    Some(mu * (1.0 + 1e-10))
}

/// The sum of the runs' mu^2, and whether it is exact.
pub(super) fn total(events: &[Event]) -> Option<(f64, bool)> {
    let exact = Pld::new(events).gaussian_square();
    let sum = || events.iter().map(|e| square(e).map(|q| q * e.count() as f64)).sum();
    exact.map(|q| (q, true)).or_else(|| Option::map(sum(), |q| (q, false)))
}

/// The profile of mu-GDP.
pub(super) fn profile(square: f64) -> Result<Profile> {
    let sensitivity = L2Sensitivity::new(square.sqrt())?;
    Ok(Profile::Gaussian { sensitivity, sigma: NoiseScale::new(1.0)? })
}

/// By GDP: exact when every event is Gaussian.
pub(super) fn gdp(events: &[Event], delta: Delta) -> Result<Bracket<Epsilon>> {
    let (square, exact) = total(events).ok_or_else(|| unsupported("GDP", delta))?;
    if square == 0.0 {
        return Ok(Bracket { lower: Some(Epsilon::ZERO), upper: Epsilon::ZERO });
    }
    let upper = profile(square * (1.0 + 1e-12))?.epsilon(delta)?;
    let lower = if exact { Epsilon::new(upper.get() * (1.0 - 1e-9)).ok() } else { None };
    Ok(Bracket { lower, upper })
}
