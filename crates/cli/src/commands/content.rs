//! Files that commands read: releases and certificates, from a path or from a stream.

use crate::error::{Error, Result, shown};
use dp_core::release_file::{self, AnyCertificate, MAGIC, Summary, read_summary};
use readers::is_stream;
use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Most bytes of a certificate.
const LONGEST: u64 = 1 << 20;

/// Whether standard input was read: there is nothing left of it.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// A release or a certificate.
pub(crate) enum Content {
    /// A file that can be read as often as is needed.
    File(PathBuf),
    /// What came from standard input (`-`), a pipe or a device, by its name.
    Held(PathBuf, Vec<u8>),
}

impl Content {
    /// Finds a file, or reads a stream to its end.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if !is_stream(path) {
            return Ok(Self::File(path.to_owned()));
        }
        let failed = |e| Error::io(path, e);
        let mut source: Box<dyn Read> = if path.as_os_str() == "-" {
            if TAKEN.swap(true, Ordering::Relaxed) {
                return Err(Error::usage("standard input can be read once only: name a file"));
            }
            Box::new(std::io::stdin())
        } else {
            Box::new(File::open(path).map_err(failed)?)
        };
        let mut bytes = Vec::new();
        source.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
        // What is no release is a certificate, or nothing that is worth the memory.
        let limit = if bytes == MAGIC { u64::MAX } else { LONGEST };
        source.take(limit).read_to_end(&mut bytes).map_err(failed)?;
        Ok(Self::Held(path.to_owned(), bytes))
    }

    /// Its bytes, read once, so that all that is asked of it is about the same ones.
    pub(crate) fn held(self) -> Result<Self> {
        Ok(match self {
            Self::File(path) => {
                let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, e))?;
                Self::Held(path, bytes)
            }
            held => held,
        })
    }

    /// Its name, for people.
    pub(crate) fn name(&self) -> String {
        let (Self::File(path) | Self::Held(path, _)) = self;
        shown(path)
    }

    /// At most so many bytes of it.
    fn first(&self, count: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self {
            Self::File(path) => {
                let failed = |e| Error::io(path, e);
                let file = File::open(path).map_err(failed)?;
                file.take(count).read_to_end(&mut bytes).map_err(failed)?;
            }
            Self::Held(_, held) => {
                let count = usize::try_from(count).map_or(held.len(), |c| c.min(held.len()));
                bytes.extend_from_slice(&held[..count]);
            }
        }
        Ok(bytes)
    }

    /// Whether it begins as release files do.
    pub(crate) fn is_release(&self) -> Result<bool> {
        Ok(self.first(MAGIC.len() as u64)? == MAGIC)
    }

    /// The text of a certificate.
    pub(crate) fn text(&self) -> Result<String> {
        let neither =
            || Error::Refused(format!("{}: neither a release nor a certificate", self.name()));
        let bytes = self.first(LONGEST + 1)?;
        if bytes.len() as u64 > LONGEST {
            return Err(neither());
        }
        String::from_utf8(bytes).map_err(|_| neither())
    }

    /// What a release file says about itself, checked.
    pub(crate) fn summary(&self) -> Result<Summary> {
        if !self.is_release()? {
            return Err(Error::Refused(format!("{}: not a release file", self.name())));
        }
        Ok(match self {
            Self::File(path) => read_summary(path)?,
            Self::Held(_, bytes) => release_file::open(bytes)?.summary,
        })
    }

    /// The bytes of a release file.
    pub(crate) fn release(&self) -> Result<Cow<'_, [u8]>> {
        if !self.is_release()? {
            return Err(Error::Refused(format!("{}: not a release file", self.name())));
        }
        Ok(match self {
            Self::File(path) => release_file::read(path)?.into(),
            Self::Held(_, bytes) => bytes.into(),
        })
    }

    /// The verified certificate of a release file or of a JSON text.
    pub(crate) fn certificate(&self) -> Result<AnyCertificate> {
        if self.is_release()? {
            return Ok(self.summary()?.certificate);
        }
        AnyCertificate::from_json(&self.text()?).map_err(|error| match error {
            // Which file it is, where there may be several.
            rejected @ dp_core::Error::CertificateRejected { .. } => {
                Error::Refused(format!("{}: {rejected}", self.name()))
            }
            error => error.into(),
        })
    }
}
