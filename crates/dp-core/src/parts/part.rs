//! Some blocks of a release, in a file that only its owner reads and that no reader of releases takes for one.

use super::content::Content;
use super::key::{Keyed, Purpose, ReleaseKey};
use super::manifest::Manifest;
use crate::certificate::canonical;
use crate::error::{Error, Result};
use crate::output::{Existing, Output};
use crate::text::json_fault;
use core::ops::Range;
use hmac::Mac;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// First bytes.
const MAGIC: [u8; 8] = *b"DPSPART1";
/// Length of the footer's length and the seal.
const END: usize = 8 + 32;
/// Longest footer.
const LONGEST: u64 = 1 << 30;

/// What a part says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Footer {
    manifest: String,
    pub(super) first: usize,
    /// The keyed digest of what each of its blocks holds.
    pub(super) contents: Vec<String>,
}

impl Footer {
    pub(super) fn blocks(&self) -> Range<usize> {
        self.first..self.first.saturating_add(self.contents.len())
    }
}

/// Writes a part: its blocks in order, each with its content.
///
/// The same part of the same rows has the same bytes. Where a file has the name already it must be this very part: work that
/// was done twice changes nothing, and work on other rows is refused.
#[derive(Debug)]
pub struct PartWriter {
    out: Output,
    path: PathBuf,
    keyed: Keyed,
    footer: Footer,
    end: usize,
}

impl PartWriter {
    /// Begins the part of these blocks.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::File`] for blocks that the manifest does not have.
    pub fn create(
        path: &Path,
        manifest: &Manifest,
        key: &ReleaseKey,
        blocks: Range<usize>,
    ) -> Result<Self> {
        if blocks.start > blocks.end || blocks.end > manifest.inputs().blocks.len() {
            return Err(Error::file("part", "names blocks that the manifest does not have"));
        }
        let out = Output::private(path, Existing::Replace)?;
        let footer = Footer {
            manifest: manifest.digest().to_owned(),
            first: blocks.start,
            contents: Vec::new(),
        };
        let keyed = key.begin(Purpose::Part);
        let mut this = Self { out, path: path.to_owned(), keyed, footer, end: blocks.end };
        this.put(&MAGIC)?;
        Ok(this)
    }

    /// The number of the block that comes next.
    #[must_use]
    pub fn next(&self) -> Option<usize> {
        let next = self.footer.blocks().end;
        (next < self.end).then_some(next)
    }

    /// Adds the next block: what it holds, and what was released of it (nothing where sums are to follow).
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::File`] when there is no next block.
    pub fn push(&mut self, content: &Content, released: &[u8]) -> Result<()> {
        if self.next().is_none() {
            return Err(Error::file("part", "has all its blocks"));
        }
        self.footer.contents.push(content.text());
        self.put(released)
    }

    /// Adds the exact sums of all its blocks: private data.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn sums(&mut self, bytes: &[u8]) -> Result<()> {
        self.put(bytes)
    }

    /// Seals the part and gives it its name.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::File`] where blocks are missing, or a file of this name is another part, or this part made of
    /// other rows.
    pub fn finish(mut self) -> Result<()> {
        if self.next().is_some() {
            return Err(Error::file("part", "lacks some of its blocks"));
        }
        let footer = canonical(&self.footer).into_bytes();
        self.put(&footer)?;
        self.put(&(footer.len() as u64).to_le_bytes())?;
        let seal: [u8; 32] = self.keyed.clone().finalize().into_bytes().into();
        if self.path.exists() {
            let mut there = [0; 32];
            let failed = |e: std::io::Error| Error::io(self.path.display(), &e);
            let mut file = File::open(&self.path).map_err(failed)?;
            let long = file.metadata().map_err(failed)?.len() >= 32;
            if long {
                let read = file.seek(SeekFrom::End(-32)).and_then(|_| file.read_exact(&mut there));
                read.map_err(failed)?;
            }
            if there != seal {
                let reason = format!(
                    "{} exists and is not this part of these rows: they changed, or it is another file; nothing was written",
                    self.path.display()
                );
                return Err(Error::file("part", reason));
            }
        }
        self.write(&seal)?;
        self.out.commit()
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.keyed.update(bytes);
        self.write(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| Error::io(self.path.display(), &e))
    }
}

/// A part that is read.
#[derive(Debug)]
pub(super) struct PartReader {
    path: PathBuf,
    file: File,
    payload: u64,
    pub(super) footer: Footer,
    tail: Vec<u8>,
}

impl PartReader {
    /// Reads the end of a file; its seal is checked when the rest was read.
    pub(super) fn open(path: &Path, manifest: &Manifest) -> Result<Self> {
        let failed = |e: std::io::Error| Error::io(path.display(), &e);
        let wrong = |reason: &str| Error::file("part", format!("{} {reason}", path.display()));
        let mut file = File::open(path).map_err(failed)?;
        let total = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let least = (MAGIC.len() + END) as u64;
        if total < least {
            return Err(wrong("is no part of a release"));
        }
        let mut at = |from: u64, place: &mut [u8]| {
            file.seek(SeekFrom::Start(from)).and_then(|_| file.read_exact(place)).map_err(failed)
        };
        let (mut magic, mut end) = ([0; 8], [0; END]);
        at(0, &mut magic)?;
        if magic != MAGIC {
            return Err(wrong("is no part of a release"));
        }
        at(total - END as u64, &mut end)?;
        let length = u64::from_le_bytes(*end.first_chunk().expect("eight bytes"));
        if length > total - least || length > LONGEST {
            return Err(wrong("is damaged: its footer is longer than the file"));
        }
        let payload = total - least - length;
        let mut tail = vec![0; usize::try_from(length).map_err(|_| wrong("is too long"))?];
        at(MAGIC.len() as u64 + payload, &mut tail)?;
        let footer: Footer =
            serde_json::from_slice(&tail).map_err(|e| wrong(&json_fault(&e).to_string()))?;
        if footer.manifest != manifest.digest() {
            return Err(wrong("is a part of another manifest"));
        }
        tail.extend_from_slice(&end);
        Ok(Self { path: path.to_owned(), file, payload, footer, tail })
    }

    /// Hands what it holds to `take`, piece by piece; an error afterwards says that it was not what was written.
    pub(super) fn each(
        &mut self,
        key: &ReleaseKey,
        take: &mut (dyn FnMut(&[u8]) -> Result<()> + Send),
    ) -> Result<u64> {
        let failed = |e: std::io::Error| Error::io(self.path.display(), &e);
        let mut keyed = key.begin(Purpose::Part);
        keyed.update(&MAGIC);
        self.file.seek(SeekFrom::Start(MAGIC.len() as u64)).map_err(failed)?;
        let mut buffer = vec![0; 1 << 18];
        let mut left = self.payload;
        while left > 0 {
            let piece = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            self.file.read_exact(&mut buffer[..piece]).map_err(failed)?;
            // Both are hashes, as a rule: neither waits for the other.
            let bytes = &buffer[..piece];
            rayon::join(|| keyed.update(bytes), || take(bytes)).1?;
            left -= piece as u64;
        }
        let (sealed, seal) = self.tail.split_at(self.tail.len() - 32);
        keyed.update(sealed);
        keyed.verify_slice(seal).map_err(|_| {
            let reason = format!("{} was damaged, altered or made elsewhere", self.path.display());
            Error::file("part", reason)
        })?;
        Ok(self.payload)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
