//! Parts put together: every block exactly once.

use super::key::{Purpose, ReleaseKey};
use super::key_file::KeyFile;
use super::manifest::Manifest;
use super::part::PartReader;
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::noise::NoiseRng;
use crate::output::Output;
use crate::release_file::Writer;
use std::path::Path;
use zeroize::Zeroizing;

/// All parts of a release, in order: each block of the manifest is in one of them, and in no other.
#[derive(Debug)]
pub struct Parts<'m> {
    manifest: &'m Manifest,
    parts: Vec<PartReader>,
}

impl<'m> Parts<'m> {
    /// Opens parts, in whatever order they are given.
    ///
    /// # Errors
    /// [`Error::File`] for a file that is no part, a part of another manifest, a block that is there twice, or not at all.
    pub fn open<P: AsRef<Path>>(manifest: &'m Manifest, paths: &[P]) -> Result<Self> {
        let parts = paths.iter().map(|path| PartReader::open(path.as_ref(), manifest));
        let mut parts: Vec<PartReader> = parts.collect::<Result<_>>()?;
        parts.sort_by_key(|part| (part.footer.first, part.footer.blocks().end));
        let (mut next, all) = (0, manifest.inputs().blocks.len());
        for part in &parts {
            let blocks = part.footer.blocks();
            let name = part.path().display();
            if blocks.start < next {
                let reason = format!("block {} is there twice: {name} repeats it", blocks.start);
                return Err(Error::file("parts", reason));
            }
            if blocks.start > next {
                let reason = format!("blocks {next} to {} are missing", blocks.start - 1);
                return Err(Error::file("parts", reason));
            }
            next = blocks.end;
        }
        if next != all {
            let reason = format!("blocks {next} to {} are missing", all.saturating_sub(1));
            return Err(Error::file("parts", reason));
        }
        Ok(Self { manifest, parts })
    }

    /// Puts released rows together and publishes them: an ordinary release.
    ///
    /// # Errors
    /// [`Error::File`] for other terms, a part that was altered, a key that was used; [`Error::Io`]. Then nothing is published.
    pub fn publish(mut self, key: KeyFile, to: Output) -> Result<Certificate> {
        let terms = self.manifest.terms();
        let mut out = Writer::begin(to, terms.kind())?;
        for part in &mut self.parts {
            part.each(key.key(), &mut |bytes| out.payload(bytes))?;
        }
        let trailer = terms.trailer(self.manifest.rows())?;
        key.finish(out, trailer)
    }

    /// The generator of the one noise that is added to the sums of all parts: a pure function of key, manifest and content.
    #[must_use]
    pub fn noise(&self, key: &ReleaseKey) -> NoiseRng {
        let contents = self.parts.iter().flat_map(|part| part.footer.contents.iter());
        let (digest, contents) = (self.manifest.digest(), contents.cloned().collect::<String>());
        key.noise(Purpose::Sums, &[digest.as_bytes(), contents.as_bytes()])
    }

    /// Hands the sums of every part to `add`, once each.
    ///
    /// # Errors
    /// [`Error::File`] for a part that was altered: nothing that was added counts then; what `add` refuses.
    pub fn sums<E: From<Error>>(
        mut self,
        key: &ReleaseKey,
        mut add: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for part in &mut self.parts {
            let mut held = Zeroizing::new(Vec::new());
            part.each(key, &mut |bytes| {
                held.extend_from_slice(bytes);
                Ok(())
            })?;
            add(&held)?;
        }
        Ok(())
    }
}
