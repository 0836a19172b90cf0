//! The one error type of this crate.

use crate::budget::{Budget, LogDelta};

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
