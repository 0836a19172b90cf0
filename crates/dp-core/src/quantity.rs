//! Numbers with a unit: sensitivities, bounds, noise scales, probabilities.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Defines a validated `f64` newtype whose serde form is the bare number,
/// re-validated on the way in.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $label:literal, $range:literal, |$x:ident| $ok:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            #[doc = concat!("Validates the value: must be in `", $range, "`.")]
            ///
            /// # Errors
            /// [`Error::InvalidParameter`] when it is not (NaN included).
            pub fn new(value: f64) -> Result<Self> {
                let $x = value;
                // Minus zero becomes zero: a number is written in one way.
                if $ok { Ok(Self(value + 0.0)) } else { Err(Error::invalid($label, value, $range)) }
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = Error;
            fn try_from(value: f64) -> Result<Self> {
                Self::new(value)
            }
        }

        impl From<$name> for f64 {
            fn from(value: $name) -> f64 {
                value.0
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.0, f)
            }
        }
    };
}
pub(crate) use quantity;

quantity!(
    /// A public bound on the data (a norm, or a largest absolute value).
    Bound, "bound", "(0, inf)", |x| x.is_finite() && x > 0.0
);
quantity!(
    /// Largest l1 distance between the outputs of adjacent inputs.
    L1Sensitivity, "l1 sensitivity", "(0, inf)", |x| x.is_finite() && x > 0.0
);
quantity!(
    /// Largest l2 (or Frobenius) distance between the outputs of adjacent inputs.
    L2Sensitivity, "l2 sensitivity", "(0, inf)", |x| x.is_finite() && x > 0.0
);
quantity!(
    /// Scale of a noise law: the standard deviation of a Gaussian, a lift, the scale of a Wishart matrix.
    NoiseScale, "noise scale", "(0, inf)", |x| x.is_finite() && x > 0.0
);
quantity!(
    /// Scale b of a Laplace law. It is no standard deviation, which is `sqrt 2` times larger, and
    /// pays for another norm: a type of its own.
    LaplaceScale, "Laplace scale", "(0, inf)", |x| x.is_finite() && x > 0.0
);

/// A scale of additive noise: [`NoiseScale`] or [`LaplaceScale`].
pub trait Scale: Copy + core::fmt::Display + Into<f64> {}

impl Scale for NoiseScale {}
impl Scale for LaplaceScale {}

quantity!(
    /// A probability.
    Probability, "probability", "[0, 1]", |x| (0.0..=1.0).contains(&x)
);
