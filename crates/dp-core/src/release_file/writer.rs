//! Writing, at once or block by block.

use super::{FORMAT, Kind, MAGIC, Trailer};
use crate::atomic_file::{Access, AtomicFile};
use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes a release file to `out` and hashes it on the way.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    hash: Sha256,
    kind: Kind,
}

impl<W: Write> Writer<W> {
    /// Writes magic, version and kind.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn begin(out: W, kind: Kind) -> Result<Self> {
        let mut this = Self { out, hash: Sha256::new(), kind };
        this.payload(&MAGIC)?;
        this.payload(&FORMAT.to_le_bytes())?;
        this.payload(&kind.code().to_le_bytes())?;
        Ok(this)
    }

    /// Adds bytes to the payload.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn payload(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.out.write_all(bytes).map_err(failed)
    }

    /// Adds numbers to the payload, little-endian.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn payload_f64(&mut self, values: &[f64]) -> Result<()> {
        self.payload_words(values, |v, out| out.extend_from_slice(&v.to_le_bytes()))
    }

    /// Adds numbers to the payload, rounded to the nearest `f32`, little-endian.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn payload_f32(&mut self, values: &[f64]) -> Result<()> {
        self.payload_words(values, |v, out| out.extend_from_slice(&(v as f32).to_le_bytes()))
    }

    fn payload_words(&mut self, values: &[f64], put: impl Fn(f64, &mut Vec<u8>)) -> Result<()> {
        let mut bytes = Vec::with_capacity(values.len().min(CHUNK) * 8);
        for chunk in values.chunks(CHUNK) {
            bytes.clear();
            chunk.iter().for_each(|v| put(*v, &mut bytes));
            self.payload(&bytes)?;
        }
        Ok(())
    }

    /// Writes trailer and checksum, and gives back what was written to.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::File`] for a trailer over its limit.
    pub fn end(mut self, trailer: &Trailer) -> Result<W> {
        let bytes = trailer.to_bytes()?;
        self.payload(&bytes)?;
        self.payload(&(bytes.len() as u64).to_le_bytes())?;
        let checksum = self.hash.finalize();
        self.out.write_all(&checksum).map_err(failed)?;
        Ok(self.out)
    }

    /// The kind being written.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

/// Numbers converted at a time.
const CHUNK: usize = 1 << 16;

/// Writes a release file that appears at its path only when it is complete.
pub type FileWriter = Writer<BufWriter<AtomicFile>>;

impl FileWriter {
    /// Opens a temporary file beside `path` (see [`AtomicFile`]).
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path, kind: Kind) -> Result<Self> {
        let file = AtomicFile::create(path, Access::Shared)?;
        Self::begin(BufWriter::with_capacity(1 << 20, file), kind)
    }

    /// Writes trailer and checksum, and puts the file in its place.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::File`] for a trailer over its limit.
    pub fn commit(self, trailer: &Trailer) -> Result<()> {
        let out = self.end(trailer)?;
        out.into_inner().map_err(|e| failed(e.into_error()))?.commit()
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::io("release file", &error)
}
