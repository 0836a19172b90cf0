//! Reading: nothing is believed before it is checked.

use super::codec::{LIMIT, Written, check_ids};
use super::{AnyCertificate, FORMAT, Kind, MAGIC, PREFIX, RowIds, SUFFIX, checksum};
use crate::certificate::{PayloadHash, PublicParameters, canonical, other_version};
use crate::error::{Error, Result};
use crate::noise::NoiseLaw;
use crate::text::json_fault;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a release file says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// What it holds.
    pub kind: Kind,
    /// Rows of the payload.
    pub rows: u64,
    /// Entries of a row.
    pub columns: u64,
    /// Digest of the public parameters that make releases comparable.
    pub fingerprint: String,
    /// Public parameters of the kind, canonical JSON.
    pub parameters: String,
    /// The certificate: it holds together, and is of this payload where it was read from a file.
    pub certificate: AnyCertificate,
    /// Bytes that the ids of its rows take, where they are kept: public, and not protected.
    pub ids: Option<u64>,
}

impl Summary {
    /// The kind, when it is one of these.
    ///
    /// # Errors
    /// [`Error::File`] when it is another.
    pub fn expect(&self, kinds: &[Kind]) -> Result<Kind> {
        let kind = self.kind;
        if kinds.contains(&kind) {
            return Ok(kind);
        }
        let wanted: Vec<&str> = kinds.iter().map(|k| k.name()).collect();
        let reason = format!("the file holds {}, not {}", kind.name(), wanted.join(" or "));
        Err(Error::file("kind", reason))
    }

    /// Rows and columns as sizes.
    ///
    /// # Errors
    /// [`Error::File`] when they do not fit.
    pub fn shape(&self) -> Result<(usize, usize)> {
        Ok((size(self.rows)?, size(self.columns)?))
    }

    /// The public parameters of the kind, as they would be written.
    ///
    /// # Errors
    /// [`Error::File`] when they are not.
    pub fn parameters<T: DeserializeOwned + Serialize>(&self) -> Result<T> {
        let found: T = serde_json::from_str(&self.parameters)
            .map_err(|e| Error::file("parameters", json_fault(&e)))?;
        if canonical(&found) == self.parameters {
            return Ok(found);
        }
        Err(Error::file("parameters", "a field, or a number, is not as it would be written"))
    }

    /// Checks that the fingerprint belongs to the parameters.
    ///
    /// # Errors
    /// [`Error::File`] when it does not.
    pub fn check_fingerprint(&self, expected: &str) -> Result<()> {
        if self.fingerprint == expected {
            Ok(())
        } else {
            Err(Error::file("fingerprint", "does not belong to the stated parameters"))
        }
    }

    /// Checks that the certificate states these public parameters.
    ///
    /// # Errors
    /// [`Error::File`] naming the first that it does not.
    pub fn check_public(&self, public: &PublicParameters) -> Result<()> {
        let stated = &self.certificate.statement().public;
        match public.iter().find(|(name, value)| stated.get(*name) != Some(value)) {
            None => Ok(()),
            Some((name, _)) => {
                Err(Error::file("certificate", format!("states another {name} than the file")))
            }
        }
    }

    /// Checks that the certificate states this noise law.
    ///
    /// # Errors
    /// [`Error::File`] when it states another.
    pub fn check_noise(&self, noise: &NoiseLaw) -> Result<()> {
        if self.certificate.statement().noise == *noise {
            Ok(())
        } else {
            Err(Error::file("noise law", "differs from the certificate's"))
        }
    }
}

/// A release file whose container holds together; its payload is still to be understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened<'a> {
    /// What the file says about itself.
    pub summary: Summary,
    /// The payload.
    pub payload: &'a [u8],
    /// What its rows are called, where that is kept.
    pub ids: Option<Arc<RowIds>>,
}

impl Opened<'_> {
    /// Checks the length of the payload: a product of factors, in bytes.
    ///
    /// # Errors
    /// [`Error::File`] for another length.
    pub fn check_length(&self, expected: Option<usize>) -> Result<()> {
        if expected == Some(self.payload.len()) {
            Ok(())
        } else {
            Err(Error::file("shape", "the payload does not have the stated size"))
        }
    }
}

/// Bytes as finite little-endian numbers; a remainder of less than eight bytes is left out, so
/// [check the length](Opened::check_length) of a payload first.
///
/// # Errors
/// [`Error::File`] for NaN or infinity.
pub fn numbers_f64(bytes: &[u8]) -> Result<Vec<f64>> {
    finite(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)))
}

/// As [`numbers_f64`] for numbers stored as `f32`.
///
/// # Errors
/// As [`numbers_f64`].
pub fn numbers_f32(bytes: &[u8]) -> Result<Vec<f64>> {
    finite(bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))))
}

fn finite(values: impl Iterator<Item = f64>) -> Result<Vec<f64>> {
    let values: Vec<f64> = values.collect();
    if values.iter().all(|v| v.is_finite()) {
        Ok(values)
    } else {
        Err(Error::file("payload", "holds a value that is not finite"))
    }
}

fn size(value: u64) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::file("shape", "does not fit in memory"))
}

/// Opens the bytes of a release file. Arbitrary bytes give an error, never a panic; nothing larger than
/// the bytes is allocated.
///
/// # Errors
/// [`Error::File`] or [`Error::CertificateRejected`] naming the part that does not hold.
pub fn open(bytes: &[u8]) -> Result<Opened<'_>> {
    check_least(bytes.len() as u64)?;
    let (prefix, body) = bytes.split_first_chunk().expect("a prefix");
    let kind = check_prefix(prefix)?;
    let (body, suffix) = body.split_last_chunk().expect("a suffix");
    let length = trailer_length(suffix, body.len() as u64)?;
    let (payload, trailer) = body.split_at(body.len() - length);
    let summary = summarise((prefix, kind), PayloadHash::of(payload), trailer, suffix)?;
    let Some(ids) = summary.ids else { return Ok(Opened { summary, payload, ids: None }) };
    let outside = || Error::file("ids", "longer than the file");
    let start = payload.len().checked_sub(size(ids)?).ok_or_else(outside)?;
    let (payload, ids) = payload.split_at(start);
    let ids = RowIds::from_bytes(ids)?;
    check_ids(&ids, kind, summary.rows, &summary.certificate)?;
    Ok(Opened { summary, payload, ids: Some(Arc::new(ids)) })
}

/// Reads a whole file for [`open`].
///
/// # Errors
/// [`Error::Io`].
pub fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::io(path.display(), &e))
}

/// Reads kind, shape and certificate of any release file and checks all that [`open`] checks, but for the ids of rows, which
/// are hashed only, in memory bounded by the trailer.
///
/// # Errors
/// [`Error::Io`], and as [`open`].
pub fn read_summary(path: &Path) -> Result<Summary> {
    Unread::open(path)?.end()
}

/// A release file whose ends were read, and its payload as far as it was asked for.
#[derive(Debug)]
struct Unread {
    file: File,
    name: PathBuf,
    prefix: [u8; PREFIX],
    kind: Kind,
    trailer: Vec<u8>,
    suffix: [u8; SUFFIX],
    hash: Sha256,
    /// Bytes of payload and ids that are still to be read.
    left: u64,
}

impl Unread {
    fn open(path: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| Error::io(path.display(), &e);
        let mut file = File::open(path).map_err(failed)?;
        let total = file.seek(SeekFrom::End(0)).map_err(failed)?;
        check_least(total)?;
        let mut at = |from: u64, place: &mut [u8]| {
            file.seek(SeekFrom::Start(from)).and_then(|_| file.read_exact(place)).map_err(failed)
        };
        let (mut prefix, mut suffix) = ([0; PREFIX], [0; SUFFIX]);
        at(0, &mut prefix)?;
        let kind = check_prefix(&prefix)?;
        let end = total - SUFFIX as u64;
        at(end, &mut suffix)?;
        let length = trailer_length(&suffix, end - PREFIX as u64)?;
        let mut trailer = vec![0; length];
        at(end - length as u64, &mut trailer)?;
        at(0, &mut prefix)?;
        let (name, hash, left) = (path.to_owned(), Sha256::new(), end - (PREFIX + length) as u64);
        Ok(Self { file, name, prefix, kind, trailer, suffix, hash, left })
    }

    /// Reads and hashes the next bytes: of those that are left.
    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact(bytes).map_err(|e| Error::io(self.name.display(), &e))?;
        self.hash.update(&bytes);
        self.left -= bytes.len() as u64;
        Ok(())
    }

    /// Hashes what is left, and checks that all of it is what the certificate was written for.
    fn end(mut self) -> Result<Summary> {
        let mut buffer = vec![0; 1 << 16];
        while self.left > 0 {
            let take = usize::try_from(self.left).map_or(buffer.len(), |n| n.min(buffer.len()));
            self.read(&mut buffer[..take])?;
        }
        let payload = PayloadHash::finish(self.hash);
        summarise((&self.prefix, self.kind), payload, &self.trailer, &self.suffix)
    }
}

/// A release file whose payload is read a few bytes at a time. What it says of itself holds together; whether the payload is that
/// of the certificate is known at the end: whatever was computed from it counts only when [`InParts::end`] succeeds.
#[derive(Debug)]
pub struct InParts {
    unread: Unread,
    summary: Summary,
}

impl InParts {
    /// Reads what a file says of itself.
    ///
    /// # Errors
    /// [`Error::Io`], and as [`open`].
    pub fn open(path: &Path) -> Result<Self> {
        let unread = Unread::open(path)?;
        let stated = Written::from_bytes(&unread.trailer).and_then(|t| stated(unread.kind, t));
        match stated {
            Ok(summary) if summary.ids.is_none_or(|ids| ids <= unread.left) => {
                Ok(Self { unread, summary })
            }
            Ok(_) => Err(Error::file("ids", "longer than the file")),
            // A file that was damaged is said to be, whatever the damage did to the trailer.
            Err(fault) => unread.end().and(Err(fault)),
        }
    }

    /// What the file says of itself.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Bytes of the payload that were not read yet.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.unread.left - self.summary.ids.unwrap_or(0)
    }

    /// The next bytes of the payload, in place of what is there.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::File`] where the payload has fewer bytes left.
    pub fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        if bytes.len() as u64 > self.left() {
            return Err(Error::file("shape", "the payload does not have the stated size"));
        }
        self.unread.read(bytes)
    }

    /// That the file was damaged or altered, where it was: what else is found in its payload follows from that.
    #[must_use]
    pub fn damage(self) -> Option<Error> {
        self.unread.end().err()
    }

    /// Reads what is left, checks that all of it is what the certificate was written for, and gives back what the rows are
    /// called, where that is kept.
    ///
    /// # Errors
    /// As [`open`]; [`Error::File`] for a payload of which not all was read.
    pub fn end(mut self) -> Result<(Summary, Option<Arc<RowIds>>)> {
        let rest = self.left();
        let mut ids = vec![0; size(self.summary.ids.unwrap_or(0))?];
        if rest == 0 {
            self.unread.read(&mut ids)?;
        }
        let summary = self.unread.end()?;
        if rest > 0 {
            return Err(Error::file("shape", "the payload does not have the stated size"));
        }
        if summary.ids.is_none() {
            return Ok((summary, None));
        }
        let ids = RowIds::from_bytes(&ids)?;
        check_ids(&ids, summary.kind, summary.rows, &summary.certificate)?;
        Ok((summary, Some(Arc::new(ids))))
    }
}

fn check_least(length: u64) -> Result<()> {
    if length < (PREFIX + SUFFIX) as u64 {
        return Err(Error::file("length", "shorter than the smallest release file"));
    }
    Ok(())
}

fn check_prefix(prefix: &[u8; PREFIX]) -> Result<Kind> {
    if prefix[..8] != MAGIC {
        return Err(Error::file("magic", "not a release file"));
    }
    let word = |at: usize| u32::from_le_bytes(prefix[at..at + 4].try_into().expect("four bytes"));
    match other_version(Some(word(8).into()), FORMAT, "release again with this version") {
        None => Kind::from_code(word(12)),
        Some(reason) => Err(Error::file("version", reason)),
    }
}

fn trailer_length(suffix: &[u8; SUFFIX], body: u64) -> Result<usize> {
    let length = u64::from_le_bytes(*suffix.first_chunk().expect("eight bytes"));
    if length > body || length > LIMIT as u64 {
        return Err(Error::file("trailer", "longer than the file or its limit"));
    }
    size(length)
}

/// Checksum, trailer, certificate: what a file says of itself once its payload is hashed.
fn summarise(
    (prefix, kind): (&[u8; PREFIX], Kind),
    payload: PayloadHash,
    trailer: &[u8],
    suffix: &[u8; SUFFIX],
) -> Result<Summary> {
    if suffix[8..] != checksum(prefix, payload, trailer) {
        return Err(Error::file("checksum", "the file was damaged or altered"));
    }
    let summary = stated(kind, Written::from_bytes(trailer)?)?;
    if summary.certificate.payload_hash() != Some(payload) {
        let reason = "is not the payload that the certificate was written for";
        return Err(Error::file("payload", reason));
    }
    Ok(summary)
}

/// What a trailer says in a file of this kind.
pub(super) fn stated(kind: Kind, trailer: Written) -> Result<Summary> {
    let Written { rows, columns, fingerprint, parameters, certificate, ids } = trailer;
    let certificate = AnyCertificate::from_json(&canonical(&certificate))?;
    let (class, promised) = (certificate.class(), kind.certificate_class());
    if class != promised {
        let reason = format!("is {class}, and {} has one that is {promised}", kind.name());
        return Err(Error::file("certificate", reason));
    }
    kind.check_theorem(&certificate)?;
    let parameters = canonical(&parameters);
    Ok(Summary { kind, rows, columns, fingerprint, parameters, certificate, ids })
}
