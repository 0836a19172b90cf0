//! Levels: how many steps a value is away from zero, exactly.

use crate::error::{Error, Result};

/// Levels are counted up to here; values farther out share this level.
const MOST: f64 = 1_048_576.0;

/// The step of the levels of one output: at least the largest change that one attribute
/// can make to the *computed* value, with 32 significant bits.
///
/// Then `L step` is exact in `f64` for every level counted, so `level` is exactly
/// `ceil(|x| / step)` of the number x that was computed, and two values within a step of
/// each other have signed levels that are equal, neighbours, or 1 and -1. Dividing by
/// the real-number change instead does not give this: computed values of adjacent rows lie
/// an error apart further, and one unit in the last place is a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LevelStep {
    step: f64,
    /// About one over the step.
    inverse: f64,
}

impl LevelStep {
    /// Rounds the largest change up to 32 significant bits.
    pub(crate) fn new(largest_change: f64) -> Result<Self> {
        if !(1e-200..=1e200).contains(&largest_change) {
            let allowed = "[1e-200, 1e200]";
            return Err(Error::invalid("largest change of an output", largest_change, allowed));
        }
        let unit = 2f64.powi(largest_change.log2().floor() as i32 - 31);
        let step = (largest_change / unit).ceil() * unit;
        Ok(Self { step, inverse: step.recip() })
    }

    pub(crate) fn get(self) -> f64 {
        self.step
    }

    /// `ceil(|x| / step)`, at most 2^20; zero only for zero.
    #[cfg(test)]
    pub(crate) fn level(self, x: f64) -> u32 {
        level(x, self.step, self.inverse) as u32
    }
}

/// `ceil(|x| / step)`, at most 2^20; zero only for zero. No branches: it vectorises.
#[inline(always)]
fn level(x: f64, step: f64, inverse: f64) -> f64 {
    let x = x.abs();
    let quotient = x * inverse;
    let near = if quotient < MOST { quotient.ceil() } else { MOST };
    // The rounded quotient is off by far less than one, so its ceiling by at most one; the
    // products are exact and tell.
    let one_if = |yes: bool| if yes { 1.0 } else { 0.0 };
    let level = near - one_if((near - 1.0) * step >= x) + one_if(near * step < x);
    if level < MOST { level } else { MOST }
}

/// The steps of all outputs.
#[derive(Debug, Clone)]
pub(crate) struct LevelSteps {
    steps: Vec<f64>,
    inverses: Vec<f64>,
}

impl LevelSteps {
    pub(crate) fn new(steps: impl IntoIterator<Item = LevelStep>) -> Self {
        let (steps, inverses) = steps.into_iter().map(|s| (s.step, s.inverse)).unzip();
        Self { steps, inverses }
    }

    /// The levels of the outputs of a row, at most `highest`.
    #[inline(always)]
    pub(crate) fn levels(&self, row: &[f64], highest: u16, out: &mut [u16]) {
        let steps = self.steps.iter().zip(&self.inverses);
        let highest = f64::from(highest);
        for ((out, &x), (&step, &inverse)) in out.iter_mut().zip(row).zip(steps) {
            let level = level(x, step, inverse);
            let level = if level < highest { level } else { highest };
            // Adding 2^52 puts the integer into the low bits.
            *out = (level + 4_503_599_627_370_496.0).to_bits() as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::OutputRange;
    use proptest::prelude::*;

    fn signed(step: LevelStep, x: f64) -> i64 {
        i64::from(step.level(x)) * if x < 0.0 { -1 } else { 1 }
    }

    fn neighbours(a: i64, b: i64) -> bool {
        (a - b).abs() <= 1 || (a.min(b), a.max(b)) == (-1, 1)
    }

    /// What a careless implementation does.
    fn naive(step: f64, x: f64) -> i64 {
        (x.abs() / step).ceil() as i64 * if x < 0.0 { -1 } else { 1 }
    }

    proptest! {
        #[test]
        fn values_within_a_step_have_neighbouring_levels(
            change in 1e-6f64..1e6, far in 0u32..5000, ulps in -6i64..6, side in -1.0f64..1.0,
        ) {
            let step = LevelStep::new(change).expect("in range");
            prop_assert!(step.get() >= change && step.get() <= change * (1.0 + 1e-9));
            // Start at a threshold, a few ulps off, and move by the whole change.
            let mut x = f64::from(far) * step.get();
            for _ in 0..ulps.abs() {
                x = if ulps > 0 { x.next_up() } else { x.next_down() };
            }
            let mut y = x - change * side.signum();
            while (x - y).abs() > change {
                y = if y < x { y.next_up() } else { y.next_down() };
            }
            prop_assert!(neighbours(signed(step, x), signed(step, y)), "{x} {y}");
        }
    }

    #[test]
    fn levels_are_exact_at_thresholds() {
        for change in [0.1, 1.0, 1.0 / 3.0, 7.3e5] {
            let step = LevelStep::new(change).expect("in range");
            assert_eq!(step.level(0.0), 0);
            assert_eq!(step.level(f64::MIN_POSITIVE), 1);
            for level in 1..3000u32 {
                let at = f64::from(level) * step.get();
                assert_eq!(step.level(at), level);
                assert_eq!(step.level(at.next_up()), level + 1);
                assert_eq!(step.level(-at.next_down()), level);
            }
        }
        assert_eq!(LevelStep::new(1.0).expect("in range").level(1e300), 1 << 20);
    }

    #[test]
    fn the_plain_quotient_jumps_two_levels() {
        // The mistake this module exists for, on two ordinary rows: (0.1, 0.2) and (0, 0.2)
        // differ by beta = 0.1 in one attribute, but their computed sums by one unit in the
        // last place more, and that unit is a level.
        let (beta, x, y) = (0.1, 0.1 + 0.2, 0.0 + 0.2);
        assert!(!neighbours(naive(beta, x), naive(beta, y)));
        let error = OutputRange::of_sum(2, 0, 2.0 * 0.2).error;
        let step = LevelStep::new(beta + 2.0 * error).expect("in range");
        assert!(neighbours(signed(step, x), signed(step, y)));
        assert_eq!((step.level(x), step.level(y)), (3, 2));
    }

    #[test]
    fn silly_steps_are_refused() {
        for change in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
            assert!(LevelStep::new(change).is_err());
        }
    }
}
