//! Writing, at once or block by block.

use super::codec::{self, Trailer};
use super::{FORMAT, MAGIC};
use crate::error::{Error, Result};
use crate::private::{PrivateProjection, PrivateSketch, SketchRelease, pass_rows};
use crate::rows::RowsView;
use dp_core::noise::AdditiveNoise;
use dp_core::{Certificate, NoiseRng};
use sha2::{Digest, Sha256};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// All bits of the release.
    F64,
    /// Rounded to the nearest `f32` after the noise was added (post-processing): half the size.
    F32,
}

impl Element {
    pub(super) fn code(self) -> u32 {
        match self {
            Self::F64 => 0,
            Self::F32 => 1,
        }
    }
}

/// Writes everything to `out` and hashes it on the way.
struct Hashing<W> {
    out: W,
    hash: Sha256,
}

impl<W: Write> Hashing<W> {
    fn begin(out: W, element: Element) -> Result<Self> {
        let mut this = Self { out, hash: Sha256::new() };
        this.put(&MAGIC)?;
        this.put(&FORMAT.to_le_bytes())?;
        this.put(&element.code().to_le_bytes())?;
        Ok(this)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        Ok(self.out.write_all(bytes)?)
    }

    fn put_values(&mut self, values: &[f64], element: Element) -> Result<()> {
        let mut bytes = Vec::with_capacity(values.len().min(1 << 16) * 8);
        for chunk in values.chunks(1 << 16) {
            bytes.clear();
            match element {
                Element::F64 => {
                    chunk.iter().for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()))
                }
                Element::F32 => {
                    chunk.iter().for_each(|v| bytes.extend_from_slice(&(*v as f32).to_le_bytes()));
                }
            }
            self.put(&bytes)?;
        }
        Ok(())
    }

    fn end(mut self, rows: usize, sketch: &PrivateSketch, certificate: &Certificate) -> Result<W> {
        let projection = sketch.projection();
        let json = |e: serde_json::Error| std::io::Error::other(e);
        let trailer = codec::to_bytes(&Trailer {
            rows: rows as u64,
            columns: projection.k() as u64,
            fingerprint: projection.fingerprint(),
            projection: serde_json::to_string(&projection).map_err(json)?,
            noise: serde_json::to_string(sketch.noise()).map_err(json)?,
            certificate: certificate.to_json(),
        })?;
        self.put(&trailer)?;
        self.put(&(trailer.len() as u64).to_le_bytes())?;
        let checksum = self.hash.finalize();
        self.out.write_all(&checksum)?;
        Ok(self.out)
    }
}

/// The bytes of a release file.
///
/// # Errors
/// None unless the certificate cannot be written as JSON.
pub fn encode(release: &SketchRelease, element: Element) -> Result<Vec<u8>> {
    let sketch = release.payload();
    let mut out = Hashing::begin(Vec::new(), element)?;
    out.put_values(sketch.values(), element)?;
    out.end(sketch.n(), sketch, release.certificate())
}

/// Writes a release to a file, all or nothing: a temporary file in the same folder is renamed
/// over `path` only when it is complete.
///
/// # Errors
/// [`Error::Io`].
pub fn write_release(path: &Path, release: &SketchRelease, element: Element) -> Result<()> {
    let mut file = temporary_beside(path)?;
    file.write_all(&encode(release, element)?)?;
    persist(file, path)
}

fn temporary_beside(path: &Path) -> Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    Ok(NamedTempFile::new_in(folder)?)
}

fn persist(file: NamedTempFile, path: &Path) -> Result<()> {
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// What a finished streaming release was.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Rows written.
    pub rows: usize,
    /// The certificate, also in the file.
    pub certificate: Certificate,
}

/// Releases rows to a file as they come: memory is bounded by one block of output
/// (at most 8 MiB plus one row batch), whatever the number of rows.
///
/// The numbers are those of [`PrivateProjection::release`] on all rows at once, bit for bit,
/// however the rows are cut into batches. The file appears only when [`ReleaseWriter::finish`]
/// succeeds. Dropping the writer discards everything; noise that was drawn stays used.
pub struct ReleaseWriter<'m, 'r> {
    mechanism: &'m PrivateProjection,
    rng: &'r mut NoiseRng,
    out: Hashing<BufWriter<NamedTempFile>>,
    path: PathBuf,
    element: Element,
    block: Vec<f64>,
    filled: usize,
    rows: usize,
    state: State,
}

/// Whether everything that was pushed has been taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Failed,
}

impl<'m, 'r> ReleaseWriter<'m, 'r> {
    /// Opens a temporary file beside `path`.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(
        path: &Path,
        mechanism: &'m PrivateProjection,
        element: Element,
        rng: &'r mut NoiseRng,
    ) -> Result<Self> {
        let out = BufWriter::with_capacity(1 << 20, temporary_beside(path)?);
        let k = mechanism.projection().spec().k();
        Ok(Self {
            mechanism,
            rng,
            out: Hashing::begin(out, element)?,
            path: path.to_owned(),
            element,
            block: vec![0.0; pass_rows(k) * k],
            filled: 0,
            rows: 0,
            state: State::Good,
        })
    }

    /// Adds rows. Errors name rows by their place in this batch.
    ///
    /// # Errors
    /// As [`PrivateProjection::release`], and [`Error::Io`]. After an error the writer
    /// can only be dropped: part of the batch may have been taken in.
    pub fn push(&mut self, rows: RowsView<'_>) -> Result<()> {
        self.check_state()?;
        self.state = State::Failed;
        let k = self.mechanism.projection().spec().k();
        let mut done = 0;
        while done < rows.n() {
            let room = (self.block.len() - self.filled) / k;
            let take = room.min(rows.n() - done);
            let part = rows.slice(done..done + take);
            let whole = take * k == self.block.len();
            let out = &mut self.block[self.filled..self.filled + take * k];
            if whole {
                self.mechanism.release_into(part, out, self.rng).map_err(|e| e.offset_row(done))?;
                self.write_block(take * k)?;
            } else {
                self.mechanism.project_block(part, out).map_err(|e| e.offset_row(done))?;
                self.filled += take * k;
                if self.filled == self.block.len() {
                    self.flush()?;
                }
            }
            done += take;
        }
        self.rows += rows.n();
        self.state = State::Good;
        Ok(())
    }

    fn check_state(&self) -> Result<()> {
        match self.state {
            State::Good => Ok(()),
            State::Failed => Err(Error::File {
                part: "writer",
                reason: "an earlier batch failed; nothing is written".into(),
            }),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let held = self.filled;
        self.mechanism.add_noise(&mut self.block[..held], self.rng);
        self.write_block(held)
    }

    fn write_block(&mut self, held: usize) -> Result<()> {
        self.out.put_values(&self.block[..held], self.element)?;
        self.filled = 0;
        Ok(())
    }

    /// Writes the certificate and puts the file in its place.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self) -> Result<Written> {
        self.check_state()?;
        if self.filled > 0 {
            self.flush()?;
        }
        let certificate = self.mechanism.certificate(self.rows, self.rng.kind());
        let spec = self.mechanism.projection().spec();
        let empty = PrivateSketch::new(spec, self.mechanism.noise().law(), Vec::new())?;
        let out = self.out.end(self.rows, &empty, &certificate)?;
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        persist(file, &self.path)?;
        Ok(Written { rows: self.rows, certificate })
    }
}
