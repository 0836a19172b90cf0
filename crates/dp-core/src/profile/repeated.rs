//! One mechanism run several times. Proof: `docs/proofs/composition-pld.md`, section 5.

use super::{Profile, RowChange};
use crate::accounting::Event;
use crate::accounting::pld::Upper;
use crate::accounting::{Pld, Width};
use crate::budget::Epsilon;
use crate::special::ln_sum_exp;

/// An upper bound on ln delta of `times` runs; zero (the safe answer) for none of them, which no
/// mechanism can be, and beyond 2^40.
pub(super) fn ln_delta(profile: &Profile, times: u64, epsilon: f64) -> f64 {
    match (times, profile) {
        (0, _) => 0.0,
        (1, _) => profile.ln_delta(epsilon),
        (_, &Profile::Wishart { dim, dof, bound, scale, change: RowChange::Replace }) => {
            let once = Profile::Wishart { dim, dof, bound, scale, change: RowChange::AddRemove };
            two_steps(once, times, epsilon)
        }
        _ => {
            let (Ok(event), Ok(at)) = (Event::new(profile.clone(), times), Epsilon::new(epsilon))
            else {
                return 0.0;
            };
            let ways = composition(&event).upper_each_way(at);
            ways.iter().map(|way| way.ln_delta(epsilon)).fold(f64::NEG_INFINITY, f64::max)
        }
    }
}

/// A release recomputes its certificate, so some milliseconds: 5e-4 of epsilon.
fn composition(event: &Event) -> Pld {
    let pld = Pld::new([event]);
    match Width::new(5e-4) {
        Ok(width) => pld.with_width(width),
        Err(_) => pld,
    }
}

/// Splits of epsilon tried.
const SPLITS: u32 = 64;

/// A row is removed in all runs, and another is added in all runs, in either order: the
/// least `delta_1(e) + e^e delta_2(epsilon - e)` over some splits.
fn two_steps(once: Profile, times: u64, epsilon: f64) -> f64 {
    let (Ok(event), Ok(at)) = (Event::new(once, times), Epsilon::new(0.5 * epsilon)) else {
        return 0.0;
    };
    let ways = composition(&event).upper_each_way(at);
    let (Some(removed), Some(added)) = (ways.first(), ways.last()) else { return 0.0 };
    let bound = |first: &Upper, second: &Upper, e: f64| {
        ln_sum_exp(first.ln_delta(e), e + second.ln_delta(epsilon - e)) + 1e-14
    };
    (0..=SPLITS)
        .map(|i| epsilon * f64::from(i) / f64::from(SPLITS))
        .flat_map(|e| [bound(removed, added, e), bound(added, removed, e)])
        .fold(0.0, f64::min)
}
