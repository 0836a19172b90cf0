//! Basic and advanced composition.

use crate::budget::{Delta, Epsilon};
use crate::error::Result;
use crate::profile::Event;
use crate::profile::pld::Pld;
use rayon::prelude::*;

/// More events than these are asked quickly: what is exact and slow is wider then.
const FEW: usize = 4;

/// Runs of one event as (epsilon, delta) guarantees.
pub(super) struct Split {
    /// Epsilon of one run.
    pub(super) epsilon: f64,
    /// Number of runs.
    pub(super) runs: f64,
}

/// What of delta the runs that are not pure get together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Share {
    All,
    Half,
}

impl Share {
    fn of(self, delta: Delta) -> f64 {
        match self {
            Self::All => delta.get(),
            Self::Half => 0.5 * delta.get(),
        }
    }
}

/// Cuts a share of `delta` evenly among the runs that need one; the pure runs take none, and an
/// event of many bits or letters is that many pure runs. Returns what is left of `delta`.
///
/// With `whole`, such an event needs a share too, as one run with its own profile.
pub(super) fn split(
    events: &[Event],
    delta: Delta,
    share: Share,
    whole: bool,
) -> Result<(Vec<Split>, f64)> {
    let pure: Vec<_> =
        events.iter().map(|e| pure_runs(e).filter(|runs| !whole || is_one(runs))).collect();
    let needy = events.iter().zip(&pure).filter(|(_, p)| p.is_none());
    let needy: f64 = needy.map(|(e, _)| e.count() as f64).sum();
    let budget = if needy > 0.0 { share.of(delta) } else { 0.0 };
    // Both shares at once: the other methods ask for the other one.
    let each = |share: Share| Delta::new(share.of(delta) / needy.max(1.0) * (1.0 - 1e-12));
    let both = [each(Share::All)?, each(Share::Half)?];
    let parts = events.par_iter().zip(pure).map(|(event, pure)| {
        let count = event.count() as f64;
        let Some(runs) = pure else {
            let [all, half] = event.epsilons(both, events.len() > FEW);
            let epsilon = if share == Share::All { all? } else { half? }.get();
            return Ok(vec![Split { epsilon, runs: count }]);
        };
        let several = |(epsilon, runs)| Split { epsilon, runs: runs * count };
        Ok(runs.into_iter().map(several).collect())
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    Ok((parts.into_iter().flatten().collect(), delta.get() - budget))
}

/// One run of an event as independent runs of pure mechanisms, where it is that: the epsilon,
/// rounded up, and the number of each.
pub(super) fn pure_runs(event: &Event) -> Option<Vec<(f64, f64)>> {
    let once = Event::once(event.profile().clone());
    let runs = Pld::new([&once]).pure_runs()?;
    Some(runs.into_iter().map(|(loss, n)| (loss * (1.0 + 1e-13), n)).collect())
}

/// Whether these are a single run.
fn is_one(runs: &[(f64, f64)]) -> bool {
    runs.iter().map(|(_, n)| n).sum::<f64>() <= 1.0
}

/// Epsilons add up, deltas add up: with events of many bits at their pure epsilon, or at a share
/// of delta, whichever costs less.
pub(super) fn basic(events: &[Event], delta: Delta) -> Result<Epsilon> {
    let sum = |whole| -> Result<Epsilon> {
        let (parts, _) = split(events, delta, Share::All, whole)?;
        up(parts.iter().map(|p| p.runs * p.epsilon).sum())
    };
    let pure = sum(false);
    let several = |e: &Event| pure_runs(e).is_some_and(|runs| !is_one(&runs));
    if delta == Delta::ZERO || !events.iter().any(several) {
        return pure;
    }
    match (pure, sum(true)) {
        (Ok(a), Ok(b)) => Ok(if a < b { a } else { b }),
        (pure, whole) => pure.or(whole),
    }
}

/// Dwork, Rothblum, Vadhan 2010, theorem III.3, for runs of different epsilon:
/// `sqrt(2 ln(1/delta') sum eps_i^2) + sum eps_i (e^(eps_i) - 1)`.
///
/// Half of delta goes to the runs that are not pure, if there are any.
pub(super) fn advanced(events: &[Event], delta: Delta) -> Result<Epsilon> {
    let (parts, slack) = split(events, delta, Share::Half, false)?;
    if parts.is_empty() {
        return Ok(Epsilon::ZERO);
    }
    let squares: f64 = parts.iter().map(|p| p.runs * p.epsilon * p.epsilon).sum();
    let means: f64 = parts.iter().map(|p| p.runs * p.epsilon * p.epsilon.exp_m1()).sum();
    up((-2.0 * slack.ln() * squares.max(f64::MIN_POSITIVE)).sqrt() + means)
}

/// Rounds up past the sums' own error.
pub(super) fn up(value: f64) -> Result<Epsilon> {
    if value == 0.0 { Ok(Epsilon::ZERO) } else { Epsilon::new(value * (1.0 + 1e-12)) }
}
