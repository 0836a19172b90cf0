//! Numbers with a unit (sensitivities, bounds, noise scales, probabilities, epsilon, delta), and the one
//! error type of this crate: each number refuses what is outside its range, and errors name budgets.

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

        impl core::str::FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                let number = text.parse().map_err(|_| Error::invalid($label, text, $range))?;
                Self::new(number)
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
    /// Largest absolute value of an entry: of a row, or of the numbers that a statistic returns.
    EntryBound, "bound on entries", "(0, inf)", |x| x.is_finite() && x > 0.0
);
quantity!(
    /// Public bound on the l2 norm of a row: the largest norm or, where a parameter is called a floor,
    /// the least.
    NormBound, "bound on norms", "(0, inf)", |x| x.is_finite() && x > 0.0
);
quantity!(
    /// How far a row may move: the largest change of one attribute, or the largest l2 norm of a change of
    /// the whole row.
    Shift, "shift", "(0, inf)", |x| x.is_finite() && x > 0.0
);
quantity!(
    /// A squared l2 norm: of the distance of two rows, or of all rows together (the trace of `A^T A`).
    SquaredNorm, "squared norm", "(0, inf)", |x| x.is_finite() && x > 0.0
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

impl NormBound {
    /// The bound on entries that it implies: no entry of a row exceeds the row's norm.
    #[must_use]
    pub const fn of_entries(self) -> EntryBound {
        EntryBound(self.0)
    }
}

/// A scale of additive noise: [`NoiseScale`], [`LaplaceScale`] or a staircase's.
pub trait Scale: Copy + core::fmt::Display + Into<f64> {}

impl Scale for NoiseScale {}
impl Scale for LaplaceScale {}

quantity!(
    /// A probability.
    Probability, "probability", "[0, 1]", |x| (0.0..=1.0).contains(&x)
);

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
    pub(crate) fn saturating(ln_delta: f64) -> Self {
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

    /// One of so many equal parts: spent as often, they add up to at most the whole.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for no parts, or so many that nothing is left of epsilon.
    pub fn split(self, parts: u32) -> Result<Self> {
        if parts == 0 {
            return Err(Error::invalid("parts of a budget", parts, "[1, 2^32)"));
        }
        let parts = f64::from(parts);
        let part = |whole: f64| {
            let near = whole / parts;
            // Exact: the product is not rounded before the difference.
            if near.mul_add(parts, -whole) > 0.0 { near.next_down() } else { near }
        };
        Self::new(part(self.epsilon.get()), part(self.delta.get()))
    }
}

impl core::fmt::Display for Budget {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "(epsilon = {}, delta = {:e})", self.epsilon, self.delta.get())
    }
}

/// Result of a fallible operation of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What a caller can get wrong, or what the arithmetic could not deliver.
///
/// Messages name the parameter, its value and the allowed range. They never
/// contain private data.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A public parameter is outside its allowed range.
    #[error("{name} = {value} is not allowed: must be in {allowed}")]
    InvalidParameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its value, printed.
        value: String,
        /// The allowed range, as an interval or a sentence.
        allowed: String,
    },
    /// The solver did not reach its target.
    #[error("calibration of {family} for {budget} failed: {reason}")]
    Calibration {
        /// Name of the profile family.
        family: &'static str,
        /// The budget that was asked for.
        budget: Budget,
        /// Why it failed.
        reason: String,
    },
    /// A published rule does not give what it claims at this budget.
    #[error(
        "rule {rule} claims {claimed} but its true delta at that epsilon is {true_delta}; accept it by name to use it all the same"
    )]
    RuleMissesBudget {
        /// The rule's name.
        rule: &'static str,
        /// What the rule claims.
        claimed: Budget,
        /// What it gives.
        true_delta: LogDelta,
    },
    /// A certificate does not hold together.
    #[error("certificate rejected: {field}: {reason}")]
    CertificateRejected {
        /// The field that does not agree.
        field: &'static str,
        /// How it disagrees.
        reason: String,
    },
    /// What must be taken by name ([`Exception`](crate::certificate::Exception)) was not.
    #[error(
        "not accepted: {fault}. What it states of itself holds together; whoever takes {name} by name lets it pass"
    )]
    NotAccepted {
        /// The name.
        name: &'static str,
        /// What is wrong.
        fault: String,
    },
    /// A guarantee does not promise what is demanded.
    #[error("{requirement} is demanded, but what is promised is {found}")]
    Unmet {
        /// The demand.
        requirement: String,
        /// What is promised.
        found: String,
    },
    /// A ledger's limit would be passed.
    #[error("refused: the event would spend {would_spend}, over the limit {limit}")]
    BudgetExceeded {
        /// Total after the event.
        would_spend: Budget,
        /// The ledger's limit.
        limit: Budget,
    },
    /// Two things that must agree (adjacency, fingerprint, shape) do not.
    #[error("{what} do not agree: {left} against {right}")]
    Mismatch {
        /// What does not agree.
        what: &'static str,
        /// One side.
        left: String,
        /// The other side.
        right: String,
    },
    /// A release file does not hold together.
    #[error("release file rejected: {part}: {reason}")]
    File {
        /// Part of the file.
        part: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{what} could not be read or written: {reason}")]
    Io {
        /// Which file.
        what: String,
        /// What kind of failure.
        kind: std::io::ErrorKind,
        /// What the system said.
        reason: String,
    },
    /// A ledger's file does not hold together, or is not what was asked for.
    #[error("{path}: {reason}")]
    Ledger {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The caller's hook stopped a release.
    #[error("stopped by the caller after {done} of {total} parts: nothing is published")]
    Stopped {
        /// Parts done.
        done: u64,
        /// Parts in all.
        total: u64,
    },
    /// The operating system gave no randomness.
    #[error("the operating system's random generator failed: {0}")]
    Entropy(String),
}

impl Error {
    /// Shorthand for [`Error::InvalidParameter`].
    pub fn invalid(name: &'static str, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self::InvalidParameter { name, value: value.to_string(), allowed: allowed.into() }
    }

    /// Shorthand for [`Error::File`].
    pub fn file(part: &'static str, reason: impl Into<String>) -> Self {
        Self::File { part, reason: reason.into() }
    }

    /// Shorthand for [`Error::Io`]: which file, and what went wrong with it.
    pub fn io(what: impl core::fmt::Display, error: &std::io::Error) -> Self {
        Self::Io { what: what.to_string(), kind: error.kind(), reason: error.to_string() }
    }
}

/// Shorthand for [`Error::CertificateRejected`].
pub(crate) fn rejected(field: &'static str, reason: impl Into<String>) -> Error {
    Error::CertificateRejected { field, reason: reason.into() }
}

/// How far ln delta may move between two machines' elementary functions.
pub(crate) fn log_slack(ln_delta: f64) -> f64 {
    if ln_delta.is_finite() { 1e-11 * ln_delta.abs().max(1.0) } else { 0.0 }
}
