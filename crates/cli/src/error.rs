//! What can go wrong, and the exit status it gives.

use crate::output::Record;
use std::path::PathBuf;

/// Result of a command.
pub(crate) type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A parameter, a calibration or a certificate was refused.
    #[error(transparent)]
    Core(#[from] dp_core::Error),
    /// A file could not be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The options do not go together.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// Exit status: 2 for options that do not go together, 1 for everything else.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            _ => 1,
        }
    }

    /// The error as a record, with the true delta where a published rule missed its claim.
    pub(crate) fn record(&self) -> Record {
        let record = Record::new().text("error", self.to_string());
        match self {
            Self::Core(dp_core::Error::RuleMissesBudget { rule, true_delta, .. }) => {
                record.text("rule", *rule).number("true_delta", true_delta.delta())
            }
            _ => record,
        }
    }
}
