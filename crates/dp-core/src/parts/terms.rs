//! What all blocks of a release have in common.

use crate::certificate::{Certificate, canonical};
use crate::error::{Error, Result};
use crate::noise::GeneratorKind;
use crate::release::Release;
use crate::release_file::{ClassOfCertificate, Kind, Payload, Summary, Trailer, open, parted};
use serde::{Deserialize, Serialize};

/// Public parameters that count what a release holds.
const COUNTS: [&str; 3] = ["n", "sets", "rows"];

/// Rows that stand one after the other, and sums.
const MADE_IN_PARTS: [Kind; 10] = [
    Kind::Sketch64,
    Kind::Sketch32,
    Kind::SketchCompact,
    Kind::Signs,
    Kind::UnitVectors,
    Kind::BoundedValues,
    Kind::Symbols,
    Kind::NoisyMinHash,
    Kind::GroupCounts,
    Kind::Covariance,
];

/// What a release states besides its numbers and their count: kind of file, projections, noise law, guarantee, version. Read from
/// a release of no rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub struct Terms {
    kind: Kind,
    columns: u64,
    fingerprint: String,
    parameters: String,
    certificate: Certificate,
    count: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    kind: u32,
    columns: u64,
    fingerprint: String,
    parameters: String,
    certificate: serde_json::Value,
}

impl From<Terms> for Raw {
    fn from(terms: Terms) -> Self {
        let Terms { kind, columns, fingerprint, parameters, certificate, .. } = terms;
        let certificate = serde_json::to_value(&certificate).expect("string keys only");
        Self { kind: kind.code(), columns, fingerprint, parameters, certificate }
    }
}

impl TryFrom<Raw> for Terms {
    type Error = Error;

    fn try_from(raw: Raw) -> Result<Self> {
        let Raw { kind, columns, fingerprint, parameters, certificate } = raw;
        let kind = Kind::from_code(kind)?;
        let certificate = Certificate::from_json(&canonical(&certificate))?;
        Self::stated(kind, columns, (fingerprint, parameters), certificate)
    }
}

impl Terms {
    /// The terms of a release file whose noise came from a release key.
    ///
    /// # Errors
    /// [`Error::File`] for any other file.
    pub fn of(release: &[u8]) -> Result<Self> {
        Self::summarised(open(release)?.summary)
    }

    fn summarised(summary: Summary) -> Result<Self> {
        let words = (summary.fingerprint, summary.parameters);
        Self::stated(summary.kind, summary.columns, words, summary.certificate.private()?)
    }

    fn stated(
        kind: Kind,
        columns: u64,
        (fingerprint, parameters): (String, String),
        certificate: Certificate,
    ) -> Result<Self> {
        if !MADE_IN_PARTS.contains(&kind) {
            return Err(Error::file("release", format!("{} is not made in parts", kind.name())));
        }
        let mut certificate = certificate.of_post_processing();
        if certificate.statement().generator != GeneratorKind::ReleaseKeyPart {
            return Err(Error::file("release", "its noise is not that of a release key"));
        }
        let stated = |name: &&&str| certificate.statement().public.contains_key(**name);
        let count = COUNTS.iter().find(stated).map(|name| (*name).to_owned());
        if let Some(name) = &count {
            certificate = certificate.with_count(name, 0);
        }
        Ok(Self { kind, columns, fingerprint, parameters, certificate, count })
    }

    /// The certificate of a release of no rows.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The numbers of the release of a block of this many rows.
    ///
    /// # Errors
    /// [`Error::File`] for a release on other terms, or of another number of rows.
    pub fn payload<'a>(&self, release: &'a [u8], rows: u64) -> Result<&'a [u8]> {
        let opened = open(release)?;
        self.check(opened.summary, rows)?;
        Ok(opened.payload)
    }

    /// As [`Terms::payload`] for a release that no file holds yet: what is made for a part needs none, nor the hash of one.
    ///
    /// # Errors
    /// As [`Terms::payload`], and for a release of a file, whose numbers this would not hold against its certificate, or whose rows
    /// have names.
    pub fn block<T: Payload, C: ClassOfCertificate>(
        &self,
        release: &Release<T, C>,
        rows: u64,
    ) -> Result<Vec<u8>, T::Error> {
        let (summary, payload) = parted(release)?;
        if summary.certificate.payload_hash().is_some() || release.ids().is_some() {
            let reason = "comes from a file, or its rows have names: a block is made for its part";
            return Err(Error::file("block", reason).into());
        }
        self.check(summary, rows)?;
        Ok(payload)
    }

    fn check(&self, block: Summary, rows: u64) -> Result<()> {
        let found = block.rows;
        if found != rows || Self::summarised(block)? != *self {
            let reason = format!("has {found} rows of {rows}, or other terms than the manifest's");
            return Err(Error::file("block", reason));
        }
        Ok(())
    }

    /// The kind of file that holds the release.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What follows the numbers of a release of this many rows.
    pub(super) fn trailer(&self, rows: u64) -> Result<Trailer> {
        let size = |value: u64| {
            usize::try_from(value).map_err(|_| Error::file("shape", "does not fit in memory"))
        };
        let certificate = match &self.count {
            Some(name) => self.certificate.clone().with_count(name, rows),
            None => self.certificate.clone(),
        }
        .of_output();
        let shape = (size(rows)?, size(self.columns)?);
        Trailer::new(shape, self.fingerprint.clone(), &self.parameters, certificate)
    }
}
