//! The only place that knows how the trailer is encoded.

use super::AnyCertificate;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What a release file says about its payload, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trailer {
    /// Rows of the payload.
    pub rows: u64,
    /// Entries of a row.
    pub columns: u64,
    /// Digest of the public parameters that make releases comparable.
    pub fingerprint: String,
    /// Public parameters of the kind, JSON.
    pub parameters: String,
    /// The noise law, JSON.
    pub noise: String,
    /// The certificate, JSON.
    pub certificate: String,
}

/// Longest trailer that is written or read.
pub(super) const LIMIT: usize = 1 << 20;

impl Trailer {
    /// The trailer of a release, with its public parameters as JSON ([`to_json`]).
    ///
    /// # Errors
    /// [`Error::File`] when the noise law cannot be written as JSON.
    pub fn new(
        (rows, columns): (usize, usize),
        fingerprint: String,
        parameters: String,
        certificate: &AnyCertificate,
    ) -> Result<Self> {
        Ok(Self {
            rows: rows as u64,
            columns: columns as u64,
            fingerprint,
            parameters,
            noise: to_json(&certificate.statement().noise)?,
            certificate: certificate.to_json(),
        })
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        let bytes = bincode::serde::encode_to_vec(self, bincode::config::legacy())
            .map_err(|e| Error::file("trailer", e.to_string()))?;
        if bytes.len() > LIMIT {
            return Err(Error::file("trailer", format!("longer than {LIMIT} bytes")));
        }
        Ok(bytes)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let config = bincode::config::legacy().with_limit::<LIMIT>();
        let (trailer, used) = bincode::serde::decode_from_slice(bytes, config)
            .map_err(|e| Error::file("trailer", e.to_string()))?;
        if used == bytes.len() {
            Ok(trailer)
        } else {
            Err(Error::file("trailer", "bytes follow its end"))
        }
    }
}

/// JSON text of public parameters, for trailers.
///
/// # Errors
/// [`Error::File`] when they have none.
pub fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::file("trailer", e.to_string()))
}
