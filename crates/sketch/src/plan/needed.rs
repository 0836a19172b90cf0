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
    let good = |epsilon: f64| good(Epsilon::new(epsilon)?);
    let (mut low, mut high) = RANGE;
    if !good(high)? {
        return Ok(None);
    }
    if good(low)? {
        return Ok(Some(Epsilon::new(low)?));
    }
    while high > 1.01 * low {
        let middle = f64::sqrt(low * high);
        *(if good(middle)? { &mut high } else { &mut low }) = middle;
    }
    Ok(Some(Epsilon::new(high)?))
}
