//! The one error type of this crate.

use std::path::PathBuf;

/// Result of a fallible operation of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What can go wrong while data is read, an experiment runs or a report is written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what its format promises.
    #[error("{what}: {reason}")]
    Malformed {
        /// The file or the kind of data.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file of rows was refused.
    #[error(transparent)]
    File(#[from] readers::Error),
    /// A parameter is outside its allowed range.
    #[error("{name} = {value} is not allowed: must be {allowed}")]
    InvalidParameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its value, printed.
        value: String,
        /// The allowed range.
        allowed: String,
    },
    /// No experiment has this text in its id.
    #[error("no experiment matches {filter:?}; `--list` shows all ids")]
    NoSuchExperiment {
        /// The filter that matched nothing.
        filter: String,
    },
    /// A figure cannot be drawn.
    #[error("figure {figure}: {reason}")]
    Figure {
        /// Name of the figure.
        figure: String,
        /// Why.
        reason: String,
    },
    /// A budget, a calibration or a certificate was refused.
    #[error(transparent)]
    Privacy(#[from] dp_core::Error),
    /// A sketch, a projection or a search refused its input.
    #[error(transparent)]
    Sketch(#[from] sketch::Error),
    /// A matrix mechanism refused its input, or its arithmetic failed.
    #[error(transparent)]
    Matrix(#[from] linalg_dp::Error),
}

impl Error {
    /// Shorthand for [`Error::InvalidParameter`].
    pub fn invalid(name: &'static str, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self::InvalidParameter { name, value: value.to_string(), allowed: allowed.into() }
    }

    /// Shorthand for [`Error::Malformed`].
    pub fn malformed(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Malformed { what: what.into(), reason: reason.into() }
    }

    /// Shorthand for [`Error::Io`].
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}
