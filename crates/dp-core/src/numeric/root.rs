//! One bracketed solver for every monotone family, and one bisection for what only says yes or no.

use crate::budget::Budget;
use crate::error::{Error, Result};

/// Relative width of the last bracket: the answer is that close to the least value that holds.
const WIDTH: f64 = 4e-12;
/// Values searched: beyond these no parameter makes sense.
const RANGE: (f64, f64) = (1e-250, 1e250);

/// The least `x > 0` at which `ln_delta(x)` is at most the budget's, for a function that
/// falls as x grows; within 4e-12 relative, on the side that holds.
///
/// Chandrupatla's method on `ln x`: superlinear, and never worse than a bounded
/// number of bisections.
pub(crate) fn least(
    name: &'static str,
    budget: Budget,
    guess: f64,
    ln_delta: impl Fn(f64) -> f64,
) -> Result<f64> {
    let target = budget.delta.ln().get();
    let fails = |reason: &str| Error::Calibration { family: name, budget, reason: reason.into() };
    // Positive where the budget is missed; ln(-ln delta) is nearly linear in ln x.
    let level = (-target).ln();
    let excess = |t: f64| {
        let ln = ln_delta(guess * t.exp());
        let sign = if ln <= target { -1.0 } else { 1.0 };
        let size = (level - (-ln).ln()).abs();
        // NaN or infinite only when a delta is zero or one: there the sign alone is used.
        sign * if size.is_finite() { size.max(1e-300) } else { 1e3 }
    };
    let (floor, ceiling) = ((RANGE.0 / guess).ln(), (RANGE.1 / guess).ln());
    let (mut miss, mut hold);
    let first = excess(0.0);
    let mut step = 0.02;
    if first <= 0.0 {
        (hold, miss) = ((0.0, first), (0.0, first));
        while miss.1 <= 0.0 {
            if miss.0 <= floor {
                return Err(fails("every parameter meets it, down to the least considered"));
            }
            hold = miss;
            let t = (hold.0 - step).max(floor);
            miss = (t, excess(t));
            step *= 4.0;
        }
    } else {
        (hold, miss) = ((0.0, first), (0.0, first));
        while hold.1 > 0.0 {
            if hold.0 >= ceiling {
                return Err(fails("no parameter meets it, up to the largest considered"));
            }
            miss = hold;
            let t = (miss.0 + step).min(ceiling);
            hold = (t, excess(t));
            step *= 4.0;
        }
    }
    // Chandrupatla: a is the newest point, b its opposite, c the one before.
    let (mut a, mut b) = (hold, miss);
    let mut fraction = 0.5;
    for _ in 0..120 {
        let width = (b.0 - a.0).abs();
        if width <= WIDTH {
            break;
        }
        let least_step = (0.25 * WIDTH / width).min(0.5);
        let t = a.0 + f64::clamp(fraction, least_step, 1.0 - least_step) * (b.0 - a.0);
        if t == a.0 || t == b.0 {
            break;
        }
        let new = (t, excess(t));
        if new.1 <= 0.0 {
            hold = new
        } else {
            miss = new
        }
        let c;
        if (new.1 <= 0.0) == (a.1 <= 0.0) {
            c = a;
        } else {
            c = b;
            b = a;
        }
        a = new;
        let xi = (a.0 - b.0) / (c.0 - b.0);
        let phi = (a.1 - b.1) / (c.1 - b.1);
        fraction = if phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi {
            a.1 / (b.1 - a.1) * (c.1 / (b.1 - c.1))
                + (c.0 - a.0) / (b.0 - a.0) * (a.1 / (c.1 - a.1)) * (b.1 / (c.1 - b.1))
        } else {
            0.5
        };
        // Land past the root, so that the bracket closes from both sides.
        let nudge = 0.5 * WIDTH / (b.0 - a.0).abs();
        fraction += nudge;
        if !fraction.is_finite() {
            fraction = 0.5;
        }
    }
    if (hold.0 - miss.0).abs() > 2.0 * WIDTH {
        return Err(fails("the solver did not converge"));
    }
    // exp and the product round: step up until it holds again.
    let mut x = guess * hold.0.exp();
    for _ in 0..8 {
        if ln_delta(x) <= target {
            return Ok(x);
        }
        x *= 1.0 + 4.0 * f64::EPSILON;
    }
    Err(fails("the profile is not monotone at the last digits"))
}

/// How a bracket is divided.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Middle {
    /// At `(low + high) / 2`.
    Arithmetic,
    /// At `sqrt(low high)`: for what may be of any order of magnitude.
    Geometric,
}

/// Narrows `(low, high)` around a place from which `holds` is true on, in at most `steps` halvings or until it is
/// shorter than `width`. Whoever needs a safe side takes that end: `holds` was seen false at the first, unless it is
/// `low` as given, and true at the second, unless it is `high` as given.
pub(crate) fn bisect(
    (mut low, mut high): (f64, f64),
    middle: Middle,
    (steps, width): (u32, f64),
    holds: impl Fn(f64) -> bool,
) -> (f64, f64) {
    for _ in 0..steps {
        let mid = match middle {
            Middle::Arithmetic => 0.5 * (low + high),
            Middle::Geometric => (low * high).sqrt(),
        };
        if mid <= low || mid >= high {
            break;
        }
        if holds(mid) {
            high = mid
        } else {
            low = mid
        }
        if high - low < width {
            break;
        }
    }
    (low, high)
}

/// The least whole number in `[low, high]` that holds, for a test that stays true once it is.
pub(crate) fn least_integer(low: u64, high: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut miss, mut hold) = (low.checked_sub(1), low);
    let mut step = 1;
    while !holds(hold) {
        if hold >= high {
            return None;
        }
        miss = Some(hold);
        hold = hold.saturating_add(step).min(high);
        step = step.saturating_mul(2);
    }
    let mut miss = miss.unwrap_or(hold);
    while hold > miss + 1 {
        let mid = miss + (hold - miss) / 2;
        if holds(mid) { hold = mid } else { miss = mid }
    }
    Some(hold)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place where the cube of x passes 2, to the last bit, on both sides of it.
    #[test]
    fn both_ends_are_on_their_sides() {
        let root = 2f64.cbrt();
        for middle in [Middle::Arithmetic, Middle::Geometric] {
            let (low, high) = bisect((1e-3, 1e3), middle, (200, 0.0), |x| x * x * x >= 2.0);
            assert!(low * low * low < 2.0 && high * high * high >= 2.0);
            assert!(high <= low.next_up() && (high - root).abs() < 1e-15, "{low} {high}");
            let (low, high) = bisect((1e-3, 1e3), middle, (200, 0.1), |x| x * x * x >= 2.0);
            assert!(low < root && root <= high && high - low < 0.1);
        }
    }
}
