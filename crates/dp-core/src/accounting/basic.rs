//! Basic and advanced composition.

use super::event::Event;
use super::pld::Pld;
use crate::budget::{Delta, Epsilon};
use crate::error::Result;
use crate::profile::PrivacyProfile;

/// One event as an (epsilon, delta) guarantee of each run.
pub(super) struct Split {
    /// Epsilon of one run.
    pub(super) epsilon: f64,
    /// Number of runs.
    pub(super) runs: f64,
    /// The whole number.
    pub(super) count: u64,
}

/// Cuts `delta` evenly among the runs that need one; the pure runs take none.
/// Returns what is left of `delta` after a share `spent` of it.
pub(super) fn split(events: &[Event], delta: Delta, spent: f64) -> Result<(Vec<Split>, f64)> {
    let pure: Vec<Option<f64>> = events.iter().map(pure).collect();
    let runs = |keep: bool| -> f64 {
        let all = events.iter().zip(&pure).filter(|(_, p)| p.is_none() == keep);
        all.map(|(e, _)| e.count() as f64).sum()
    };
    let needy = runs(true);
    let budget = if needy > 0.0 { spent * delta.get() } else { 0.0 };
    let each = if needy > 0.0 { budget / needy * (1.0 - 1e-12) } else { 0.0 };
    let mut out = Vec::with_capacity(events.len());
    for (event, pure) in events.iter().zip(pure) {
        let epsilon = match pure {
            Some(epsilon) => epsilon,
            None => event.profile().epsilon(Delta::new(each)?)?.get(),
        };
        out.push(Split { epsilon, runs: event.count() as f64, count: event.count() });
    }
    Ok((out, delta.get() - budget))
}

/// The pure epsilon of one run, where there is one.
pub(super) fn pure(event: &Event) -> Option<f64> {
    let once = Event::once(event.profile().clone());
    Pld::new([&once]).pure_bound().map(|x| x * (1.0 + 1e-13))
}

/// Epsilons add up, deltas add up.
pub(super) fn basic(events: &[Event], delta: Delta) -> Result<Epsilon> {
    let (parts, _) = split(events, delta, 1.0)?;
    up(parts.iter().map(|p| p.runs * p.epsilon).sum())
}

/// Dwork, Rothblum, Vadhan 2010, theorem III.3, for runs of different epsilon:
/// `sqrt(2 ln(1/delta') sum eps_i^2) + sum eps_i (e^(eps_i) - 1)`.
///
/// Half of delta goes to the runs that are not pure, if there are any.
pub(super) fn advanced(events: &[Event], delta: Delta) -> Result<Epsilon> {
    let (parts, slack) = split(events, delta, 0.5)?;
    let squares: f64 = parts.iter().map(|p| p.runs * p.epsilon * p.epsilon).sum();
    let means: f64 = parts.iter().map(|p| p.runs * p.epsilon * p.epsilon.exp_m1()).sum();
    up((-2.0 * slack.ln() * squares).sqrt() + means)
}

/// Rounds up past the sums' own error.
pub(super) fn up(value: f64) -> Result<Epsilon> {
    if value == 0.0 { Ok(Epsilon::ZERO) } else { Epsilon::new(value * (1.0 + 1e-12)) }
}
