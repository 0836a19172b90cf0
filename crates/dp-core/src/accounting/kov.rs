//! Optimal composition of pure mechanisms (Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan 2016).

use super::basic::{Share, split};
use crate::budget::{Delta, Epsilon};
use crate::error::Result;
use crate::profile::Event;
use crate::profile::Profile;
use crate::profile::pld::Bracket;
use crate::profile::pld::{Pld, Width};

/// The best answer that follows from each run's epsilon (and delta) alone: every run
/// becomes the randomised response of its epsilon, and those are composed numerically
/// (runs of one epsilon merge into an exact binomial sum).
pub(super) fn optimal(events: &[Event], delta: Delta) -> Result<Bracket<Epsilon>> {
    let (parts, slack) = split(events, delta, Share::Half, false)?;
    let responses = parts
        .iter()
        .filter(|p| p.epsilon > 0.0)
        .map(|p| Event::new(Profile::PureDp { epsilon: Epsilon::new(p.epsilon)? }, p.runs as u64))
        .collect::<Result<Vec<_>>>()?;
    // Different epsilons share one grid, which is finer the narrower the answer: a wider one takes a
    // tenth of a second. The deltas of the runs add at most their sum, which `split` set aside.
    Pld::new(&responses).with_width(Width::new(2e-4)?).epsilon(Delta::new(slack)?)
}
