//! From an error to an epsilon.

use dp_core::Epsilon;

/// The epsilons that are searched.
const RANGE: (f64, f64) = (1.0 / 64.0, 64.0);

/// The least epsilon, to a per cent and at least 1/64, at which a prediction is good enough; `None` where 64 is not enough. A
/// prediction that is good must stay so as epsilon grows.
///
/// ```
/// use dp_core::Budget;
/// use sketch::Error;
/// use sketch::plan::least_epsilon;
///
/// // A standard deviation of 2 or less for a value that moves by one.
/// let good = |epsilon| {
///     let budget = Budget { epsilon, ..Budget::new(1.0, 1e-6)? };
///     Ok::<_, Error>(dp_core::calibrate::gaussian(budget, 1.0.try_into()?)?.get() <= 2.0)
/// };
/// assert!((least_epsilon(good)?.unwrap().get() / 2.26 - 1.0).abs() < 0.02);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// As the prediction's.
pub fn least_epsilon<E: From<dp_core::Error>>(
    good: impl Fn(Epsilon) -> Result<bool, E>,
) -> Result<Option<Epsilon>, E> {
    least_epsilon_by(|epsilon| Ok(if good(epsilon)? { -1.0 } else { 1.0 }))
}

/// As [`least_epsilon`], for a prediction that also says by how much it misses what is asked: above zero where it is not good enough,
/// and the less the nearer; infinite where it cannot say. It is asked a few times where that falls smoothly with ln epsilon, and
/// never more than twice as often.
///
/// # Errors
/// As the prediction's.
pub fn least_epsilon_by<E: From<dp_core::Error>>(
    missing: impl Fn(Epsilon) -> Result<f64, E>,
) -> Result<Option<Epsilon>, E> {
    let missing = |epsilon: f64| -> Result<f64, E> {
        let value = missing(Epsilon::new(epsilon)?)?;
        // What is no number is not good enough.
        Ok(if value.is_nan() { f64::INFINITY } else { value })
    };
    let (mut low, mut high) = RANGE;
    let mut below = missing(high)?;
    if below > 0.0 {
        return Ok(None);
    }
    let mut above = missing(low)?;
    if above <= 0.0 {
        return Ok(Some(Epsilon::new(low)?));
    }
    // Where a line through both ends says, and in the middle after a step that did not halve what is left.
    let mut halved = true;
    while high > 1.01 * low {
        let width = (high / low).ln();
        let line = above / (above - below);
        let part = if halved && line.is_finite() { beside(line, width) } else { 0.5 };
        let middle = low * (part * width).exp();
        let value = missing(middle)?;
        if value > 0.0 {
            (low, above) = (middle, value);
        } else {
            (high, below) = (middle, value);
        }
        halved = (high / low).ln() <= 0.5 * width;
    }
    Ok(Some(Epsilon::new(high)?))
}

/// A part of the range just beyond where a line crosses zero, as seen from the nearer end, so that both ends come to lie a per cent
/// apart around it.
fn beside(line: f64, width: f64) -> f64 {
    if line == 0.5 {
        return line;
    }
    let step = 0.004 / width;
    (if line < 0.5 { line + step } else { line - step }).clamp(step.min(0.5), 1.0 - step.min(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The epsilon that halving alone finds, to a per cent, and with fewer questions; however a prediction bends or jumps it is
    /// good there and not a per cent below.
    #[test]
    fn lines_find_what_halving_finds() {
        type Missing = fn(f64) -> f64;
        let bends: [(Missing, u32); 6] = [
            (|e| (3.0 / e).ln(), 6),
            (|e| (0.02 / e.powf(1.5)).ln(), 7),
            (|e| 0.7 - e / (e + 9.0), 9),
            (|e| if e < 5.0 { f64::NAN } else { -e }, 24),
            (|e| if e < 0.3 { 1e-9 } else { -1e9 }, 24),
            (|e| (40.0 / e).powi(3) - 1.0, 24),
        ];
        for (i, (missing, most)) in bends.into_iter().enumerate() {
            let asked = Cell::new(0);
            let counted = |epsilon: Epsilon| {
                asked.set(asked.get() + 1);
                Ok::<_, crate::Error>(missing(epsilon.get()))
            };
            let found = least_epsilon_by(counted).expect("no error").expect("found").get();
            let good = |e: Epsilon| Ok::<_, crate::Error>(missing(e.get()) <= 0.0);
            let halving = least_epsilon(good).expect("no error").expect("found").get();
            assert!((found / halving).ln().abs() < 0.0101, "{i}: {found} {halving}");
            let met = [found, found / 1.0101].map(|e| missing(e) <= 0.0);
            assert_eq!(met, [true, false], "{i}: {found}");
            assert!(asked.get() <= most, "{i}: asked {} times", asked.get());
        }
        let never = least_epsilon_by(|_| Ok::<_, crate::Error>(1.0)).expect("no error");
        let always = least_epsilon_by(|_| Ok::<_, crate::Error>(-1.0)).expect("no error");
        assert!(never.is_none() && always.is_some_and(|e| e.get() == 1.0 / 64.0));
    }
}
