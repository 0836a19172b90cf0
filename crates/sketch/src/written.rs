//! What the writers of releases share.

use crate::error::Result;
use dp_core::Certificate;

/// What a finished streaming release was.
#[derive(Debug, Clone, PartialEq)]
pub struct Written<C = Certificate> {
    /// Rows written.
    pub rows: usize,
    /// The certificate, also in the file.
    pub certificate: C,
}

/// Whether everything that was pushed has been taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    Good,
    Failed,
}

impl Health {
    /// Marks an operation as failed until it has succeeded; refuses one after a failure.
    pub(crate) fn begin(&mut self) -> Result<()> {
        match core::mem::replace(self, Self::Failed) {
            Self::Good => Ok(()),
            Self::Failed => {
                let reason = "an earlier batch failed; nothing is written";
                Err(dp_core::Error::file("writer", reason).into())
            }
        }
    }
}
