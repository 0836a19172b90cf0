//! The one error type of this crate.

/// Result of a fallible operation of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What a caller can get wrong, or what the arithmetic could not deliver.
///
/// Messages never contain private data.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter, a calibration or a guarantee was refused.
    #[error(transparent)]
    Core(#[from] dp_core::Error),
    /// The sketch crate refused rows, a projection or a release.
    #[error("{0}")]
    Sketch(String),
    /// Two shapes that must agree do not.
    #[error("{what} has {found}, expected {expected}")]
    Shape {
        /// What has the wrong shape.
        what: &'static str,
        /// The shape found.
        found: String,
        /// The shape needed.
        expected: String,
    },
    /// An input holds NaN or an infinity (where is private).
    #[error("{what} holds a value that is not finite")]
    NotFinite {
        /// Which input.
        what: &'static str,
    },
    /// A factorisation failed or left too large a residual.
    #[error("{what} is not reliable: {reason}")]
    Numerical {
        /// Which computation.
        what: &'static str,
        /// What was seen.
        reason: String,
    },
    /// A structure does not have the property it promises.
    #[error("checkpoint {index}: {what}")]
    Property {
        /// Which checkpoint.
        index: usize,
        /// What does not hold.
        what: &'static str,
    },
    /// The operation cannot be done now.
    #[error("the {what} cannot be used: {reason}")]
    Unusable {
        /// What.
        what: &'static str,
        /// Why, and what to do.
        reason: &'static str,
    },
    /// A file could not be read or written.
    #[error("{what}: {reason}")]
    Io {
        /// Which file.
        what: &'static str,
        /// What the system said.
        reason: String,
    },
    /// A file is truncated, altered, of another version, or does not fit.
    #[error("the journal is not usable: {reason}")]
    Corrupt {
        /// What is wrong.
        reason: String,
    },
    /// No proof covers this mechanism under this adjacency.
    #[error("{mechanism} is not proven when {adjacency}: {instead}")]
    NotProven {
        /// The mechanism.
        mechanism: &'static str,
        /// The adjacency asked for.
        adjacency: String,
        /// What to use instead.
        instead: &'static str,
    },
}

impl From<sketch::Error> for Error {
    fn from(error: sketch::Error) -> Self {
        match error {
            sketch::Error::Core(error) => Self::Core(error),
            other => Self::Sketch(other.to_string()),
        }
    }
}

impl Error {
    /// Shorthand for a refused parameter.
    pub(crate) fn invalid(
        name: &'static str,
        value: impl ToString,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Core(dp_core::Error::invalid(name, value, allowed))
    }

    /// Shorthand for a part of a release file that does not fit.
    pub(crate) fn rejected(part: &'static str, reason: &str) -> Self {
        Self::Core(dp_core::Error::file(part, reason))
    }

    /// Shorthand for a file that cannot be used.
    pub(crate) fn corrupt(reason: impl ToString) -> Self {
        Self::Corrupt { reason: reason.to_string() }
    }

    /// Shorthand for a journal that the system refuses.
    pub(crate) fn journal(error: std::io::Error) -> Self {
        Self::Io { what: "journal", reason: error.to_string() }
    }

    /// Shorthand for a shape that does not fit.
    pub(crate) fn shape(
        what: &'static str,
        found: impl core::fmt::Display,
        expected: impl core::fmt::Display,
    ) -> Self {
        Self::Shape { what, found: found.to_string(), expected: expected.to_string() }
    }
}
