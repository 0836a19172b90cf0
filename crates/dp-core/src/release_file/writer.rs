//! Writing, at once or block by block.

use super::{FORMAT, Kind, MAGIC, PREFIX, RowIds, Trailer, checksum};
use crate::certificate::{AnyCertificate, PayloadHash};
use crate::error::{Error, Result};
use crate::output::{Destination, Output};
use sha2::{Digest, Sha256};
use std::io::Write;

/// Writes a release file to `out` and hashes the payload on the way.
#[derive(Debug)]
pub struct Writer<W = Output> {
    out: W,
    hash: Sha256,
    kind: Kind,
    /// What is neither hashed nor written yet.
    held: Vec<u8>,
    /// Most that is held.
    most: usize,
}

/// Bytes that are hashed and written at a time, while they are in the cache.
const HELD: usize = 1 << 18;
/// Numbers put into bytes at a time.
const CHUNK: usize = 1 << 12;

impl<W: Write> Writer<W> {
    /// Begins with magic, version and kind.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn begin(out: W, kind: Kind) -> Result<Self> {
        let mut this = Self { out, hash: Sha256::new(), kind, held: Vec::new(), most: HELD };
        this.out.write_all(&prefix(kind)).map_err(failed)?;
        Ok(this)
    }

    /// Adds bytes to the payload.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn payload(&mut self, bytes: &[u8]) -> Result<()> {
        for part in bytes.chunks(HELD) {
            self.make_room(part.len())?;
            self.held.extend_from_slice(part);
        }
        Ok(())
    }

    /// Adds numbers to the payload, little-endian.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn payload_f64(&mut self, values: &[f64]) -> Result<()> {
        self.payload_words(values, f64::to_le_bytes)
    }

    /// Adds numbers to the payload, rounded to the nearest `f32`, little-endian.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn payload_f32(&mut self, values: &[f64]) -> Result<()> {
        self.payload_words(values, |v| (v as f32).to_le_bytes())
    }

    fn payload_words<const N: usize>(
        &mut self,
        values: &[f64],
        bytes: impl Fn(f64) -> [u8; N],
    ) -> Result<()> {
        for chunk in values.chunks(CHUNK) {
            self.make_room(chunk.len() * N)?;
            let from = self.held.len();
            self.held.resize(from + chunk.len() * N, 0);
            let (places, _) = self.held[from..].as_chunks_mut();
            places.iter_mut().zip(chunk).for_each(|(place, &v)| *place = bytes(v));
        }
        Ok(())
    }

    /// Hashes and writes what is held when this many bytes more would be too many.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        if self.held.len() + bytes > self.most {
            self.put()?;
        }
        Ok(())
    }

    fn put(&mut self) -> Result<()> {
        self.hash.update(&self.held);
        self.out.write_all(&self.held).map_err(failed)?;
        self.held.clear();
        Ok(())
    }

    /// Writes trailer and checksum; gives back what was written to, and the certificate as it stands
    /// there: of this payload.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::File`] for a trailer over its limit, or a certificate of another payload.
    pub fn end(self, trailer: Trailer) -> Result<(W, AnyCertificate)> {
        self.end_with(trailer, None)
    }

    /// As [`Writer::end`], with the ids of the rows, if there are any, behind the payload.
    pub(super) fn end_with(
        mut self,
        trailer: Trailer,
        ids: Option<&RowIds>,
    ) -> Result<(W, AnyCertificate)> {
        let ids = ids.filter(|ids| ids.rows() > 0);
        if let Some(ids) = ids {
            trailer.check_ids(self.kind, ids)?;
            self.payload(ids.bytes())?;
        }
        self.put()?;
        let payload = PayloadHash::finish(self.hash);
        let length = ids.map(|ids| ids.bytes().len() as u64);
        let (bytes, certificate) = trailer.bind(payload, length)?;
        let sum = checksum(&prefix(self.kind), payload, &bytes);
        for part in [bytes.as_slice(), &(bytes.len() as u64).to_le_bytes(), &sum] {
            self.out.write_all(part).map_err(failed)?;
        }
        Ok((self.out, certificate))
    }

    /// The kind being written.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl Writer<Vec<u8>> {
    /// Begins a file of which the payload alone is wanted: it is never hashed.
    pub(super) fn of_payload(kind: Kind) -> Result<Self> {
        Ok(Self { most: usize::MAX, ..Self::begin(Vec::new(), kind)? })
    }

    /// The payload.
    pub(super) fn into_payload(self) -> Vec<u8> {
        self.held
    }
}

impl Writer<Output> {
    /// Opens a path, or begins an [`Output`] that was opened before.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(to: impl Destination, kind: Kind) -> Result<Self> {
        Self::begin(to.open()?, kind)
    }

    /// Writes trailer and checksum, pays where a ledger is to, and puts the file in its place; gives back the certificate as it
    /// stands there.
    ///
    /// # Errors
    /// As [`Writer::end`] and [`Output::finish`]; [`Error::File`] where the output [names](Output::name_rows) other rows.
    pub fn commit(self, trailer: Trailer) -> Result<AnyCertificate> {
        self.commit_with(trailer, None)
    }

    /// As [`Writer::commit`], with these ids where the output names no rows.
    pub(super) fn commit_with(
        self,
        trailer: Trailer,
        ids: Option<&RowIds>,
    ) -> Result<AnyCertificate> {
        let named = self.out.ids();
        let trailer = trailer.of_mapped(self.out.preprocessing())?;
        let (output, certificate) = self.end_with(trailer, named.as_ref().or(ids))?;
        output.finish(&certificate)?;
        Ok(certificate)
    }
}

fn prefix(kind: Kind) -> [u8; PREFIX] {
    let mut prefix = [0; PREFIX];
    prefix[..8].copy_from_slice(&MAGIC);
    prefix[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    prefix[12..].copy_from_slice(&kind.code().to_le_bytes());
    prefix
}

fn failed(error: std::io::Error) -> Error {
    Error::io("release file", &error)
}
