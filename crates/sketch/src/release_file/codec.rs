//! The only place that knows how the trailer is encoded.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// What a release file says about its payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Trailer {
    /// Rows.
    pub(super) rows: u64,
    /// Numbers in a row.
    pub(super) columns: u64,
    /// Digest of the projection.
    pub(super) fingerprint: String,
    /// The projection, JSON.
    pub(super) projection: String,
    /// The noise law, JSON.
    pub(super) noise: String,
    /// The certificate, JSON.
    pub(super) certificate: String,
}

/// Longest trailer that is read.
const LIMIT: usize = 1 << 20;

pub(super) fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>> {
    bincode::serde::encode_to_vec(value, bincode::config::legacy())
        .map_err(|e| rejected(e.to_string()))
}

pub(super) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let config = bincode::config::legacy().with_limit::<LIMIT>();
    let (value, used) =
        bincode::serde::decode_from_slice(bytes, config).map_err(|e| rejected(e.to_string()))?;
    if used == bytes.len() { Ok(value) } else { Err(rejected("bytes follow its end".into())) }
}

fn rejected(reason: String) -> Error {
    Error::File { part: "trailer", reason }
}
