//! What releases of every kind share when they are written.

use crate::error::Result;
use dp_core::Certificate;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::NoiseLaw;

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

/// Checks that a statement is about a payload with these public facts, and with this noise.
pub(crate) fn check_stated(
    statement: &Statement,
    public: &PublicParameters,
    noise: impl Fn(&NoiseLaw) -> bool,
) -> Result<()> {
    if !noise(&statement.noise) {
        return Err(dp_core::Error::file("noise law", "differs from the certificate's").into());
    }
    match public.iter().find(|(name, value)| statement.public.get(*name) != Some(value)) {
        None => Ok(()),
        Some((name, _)) => {
            let reason = format!("states another {name} than the release");
            Err(dp_core::Error::file("certificate", reason).into())
        }
    }
}
