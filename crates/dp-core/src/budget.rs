//! Epsilon, delta and their pair.

use crate::error::{Error, Result};
use crate::quantity::quantity;
use serde::{Deserialize, Serialize};

quantity!(
    /// The epsilon of differential privacy, in nats.
    ///
    /// Zero is not a budget; profiles can still be evaluated there through
    /// [`Epsilon::ZERO`] (total variation distance).
    Epsilon, "epsilon", "(0, inf)", |x| x.is_finite() && x > 0.0
);
quantity!(
    /// The delta of differential privacy. Zero means pure differential privacy.
    Delta, "delta", "[0, 1)", |x| (0.0..1.0).contains(&x)
);

impl Epsilon {
    /// Epsilon zero, for evaluating a profile; no mechanism is calibrated to it.
    pub const ZERO: Self = Self(0.0);
}

impl Delta {
    /// Pure differential privacy.
    pub const ZERO: Self = Self(0.0);

    /// The natural logarithm; negative infinity for zero.
    #[must_use]
    pub fn ln(self) -> LogDelta {
        LogDelta(self.0.ln())
    }
}

/// Natural logarithm of a delta: `[-inf, 0]`. Keeps values far below the least positive `f64`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct LogDelta(f64);

impl LogDelta {
    /// Delta zero.
    pub const ZERO_DELTA: Self = Self(f64::NEG_INFINITY);

    /// Wraps a logarithm; values above zero (rounding) become zero.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for NaN.
    pub fn new(ln_delta: f64) -> Result<Self> {
        if ln_delta.is_nan() {
            return Err(Error::invalid("ln delta", ln_delta, "[-inf, 0]"));
        }
        Ok(Self(ln_delta.min(0.0)))
    }

    /// As [`LogDelta::new`] for values computed inside the library: NaN, which
    /// would be a bug, becomes the safe answer delta = 1.
    #[must_use]
    pub fn saturating(ln_delta: f64) -> Self {
        Self(if ln_delta.is_nan() { 0.0 } else { ln_delta.min(0.0) })
    }

    /// The logarithm.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Delta itself, in `[0, 1]`; may underflow to zero.
    #[must_use]
    pub fn delta(self) -> f64 {
        self.0.exp()
    }
}

impl core::fmt::Display for LogDelta {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.0 > -690.0 {
            write!(f, "{:.6e}", self.delta())
        } else {
            write!(f, "exp({:.6})", self.0)
        }
    }
}

/// What may be spent: epsilon and delta together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Epsilon.
    pub epsilon: Epsilon,
    /// Delta; zero for pure differential privacy.
    pub delta: Delta,
}

impl Budget {
    /// Approximate differential privacy from bare numbers.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless epsilon is in `(0, inf)` and delta in `[0, 1)`.
    pub fn new(epsilon: f64, delta: f64) -> Result<Self> {
        Ok(Self { epsilon: Epsilon::new(epsilon)?, delta: Delta::new(delta)? })
    }

    /// Pure differential privacy.
    #[must_use]
    pub const fn pure(epsilon: Epsilon) -> Self {
        Self { epsilon, delta: Delta::ZERO }
    }
}

impl core::fmt::Display for Budget {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "(epsilon = {}, delta = {:e})", self.epsilon, self.delta.get())
    }
}
