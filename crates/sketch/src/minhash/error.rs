//! What can go wrong with set sketches.

/// Result of a fallible operation of this module.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What a caller can get wrong. Messages never contain private data.
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
        /// The allowed range.
        allowed: String,
    },
    /// Two sketches that are not comparable.
    #[error("{what} do not agree: {left} against {right}")]
    Incompatible {
        /// What does not agree.
        what: &'static str,
        /// One side.
        left: String,
        /// The other side.
        right: String,
    },
    /// From the privacy core.
    #[error(transparent)]
    Core(#[from] dp_core::Error),
}

impl Error {
    /// Shorthand for [`Error::InvalidParameter`].
    pub fn invalid(name: &'static str, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self::InvalidParameter { name, value: value.to_string(), allowed: allowed.into() }
    }
}
