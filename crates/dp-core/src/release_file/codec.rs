//! The only place that knows how the trailer is written.

use super::{Kind, RowIds};
use crate::adjacency::Adjacency;
use crate::certificate::preprocessing::Preprocessing;
use crate::certificate::{AnyCertificate, PayloadHash, canonical};
use crate::error::{Error, Result};
use crate::text::json_fault;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a release file says about its payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Trailer {
    shape: (u64, u64),
    fingerprint: String,
    parameters: Value,
    certificate: AnyCertificate,
}

/// As it is stored: canonical text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    pub(super) rows: u64,
    pub(super) columns: u64,
    pub(super) fingerprint: String,
    pub(super) parameters: Value,
    pub(super) certificate: Value,
    /// Bytes of the ids between payload and trailer, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ids: Option<u64>,
}

/// Longest trailer that is written or read.
pub(super) const LIMIT: usize = 1 << 20;

impl Trailer {
    /// The trailer of a release, with its public parameters as JSON ([`to_json`]).
    ///
    /// # Errors
    /// [`Error::File`] when the parameters are not JSON.
    pub fn new(
        (rows, columns): (usize, usize),
        fingerprint: String,
        parameters: &str,
        certificate: impl Into<AnyCertificate>,
    ) -> Result<Self> {
        let parameters = serde_json::from_str(parameters)
            .map_err(|e| Error::file("parameters", json_fault(&e)))?;
        let shape = (rows as u64, columns as u64);
        Ok(Self { shape, fingerprint, parameters, certificate: certificate.into() })
    }

    /// Checks that these are ids of its rows.
    pub(super) fn check_ids(&self, kind: Kind, ids: &RowIds) -> Result<()> {
        check_ids(ids, kind, self.shape.0, &self.certificate)
    }

    /// The same of rows that were mapped first.
    pub(super) fn of_mapped(self, preprocessing: Option<&Preprocessing>) -> Result<Self> {
        let Some(preprocessing) = preprocessing else { return Ok(self) };
        let AnyCertificate::Private(certificate) = self.certificate else {
            return Err(Error::file("preprocessing", "only private releases state one"));
        };
        Ok(Self { certificate: certificate.of_mapped(preprocessing)?.into(), ..self })
    }

    /// As it is stored, with so many bytes of ids.
    pub(super) fn written(self, ids: Option<u64>) -> Written {
        let Self { shape: (rows, columns), fingerprint, parameters, certificate } = self;
        let certificate = serde_json::to_value(&certificate).expect("string keys only");
        Written { rows, columns, fingerprint, parameters, certificate, ids }
    }

    /// The bytes behind a payload with so many bytes of ids, of this hash, and the certificate in them.
    pub(super) fn bind(
        self,
        payload: PayloadHash,
        ids: Option<u64>,
    ) -> Result<(Vec<u8>, AnyCertificate)> {
        let certificate = self.certificate.bound_to(payload)?;
        let text = canonical(&Self { certificate: certificate.clone(), ..self }.written(ids));
        if text.len() > LIMIT {
            return Err(Error::file("trailer", format!("longer than {LIMIT} bytes")));
        }
        Ok((text.into_bytes(), certificate))
    }
}

impl Written {
    /// Reads a trailer; only canonical text is one, so that there is one file for one content.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let written: Self =
            serde_json::from_slice(bytes).map_err(|e| Error::file("trailer", json_fault(&e)))?;
        if canonical(&written).as_bytes() == bytes {
            Ok(written)
        } else {
            Err(Error::file("trailer", "not in canonical form"))
        }
    }
}

/// Canonical text of public parameters, for trailers.
///
/// # Errors
/// [`Error::File`] when they have none.
pub fn to_json(value: &impl Serialize) -> Result<String> {
    let value =
        serde_json::to_value(value).map_err(|e| Error::file("parameters", e.to_string()))?;
    Ok(canonical(&value))
}

/// Checks that they name the rows of a release of this kind, under this certificate.
pub(super) fn check_ids(
    ids: &RowIds,
    kind: Kind,
    rows: u64,
    certificate: &AnyCertificate,
) -> Result<()> {
    if !kind.has_rows() {
        let reason = format!("{} has no rows that could be named", kind.name());
        return Err(Error::file("ids", reason));
    }
    let adjacency = match certificate {
        AnyCertificate::Private(c) => Some(c.guarantee().adjacency().each()),
        AnyCertificate::Individual(c) => Some(c.adjacency.each()),
        AnyCertificate::None(_) => None,
    };
    if matches!(adjacency, Some(Adjacency::AddRemoveRow { .. })) {
        let reason = "would tell who is in the release, which is what it protects";
        return Err(Error::file("ids", reason));
    }
    if ids.rows() as u64 != rows {
        let reason = format!("there are {} of them for {rows} rows", ids.rows());
        return Err(Error::file("ids", reason));
    }
    match ids.repeated() {
        Some(_) => Err(Error::file("ids", "two rows have one id")),
        None => Ok(()),
    }
}
