//! The journal of a stream: written before a block's noise is used, read to resume.

use super::config::StreamConfig;
use super::engine::State;
use super::inputs::InputsState;
use crate::error::{Error, Result};
use dp_core::Guarantee;
use dp_core::noise::GeneratorKind;
use dp_core::output::{self, Access};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

/// Magic of a journal file, with its format version.
const MAGIC: &[u8; 8] = b"DPWINDW5";

/// What a journal holds. JSON inside, so that the config and guarantee stay readable.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Journal {
    pub(super) config: StreamConfig,
    pub(super) guarantee: Guarantee,
    pub(super) blocks_closed: u64,
    pub(super) generator: Option<GeneratorKind>,
    /// The caller's words.
    pub(super) note: String,
    pub(super) inputs: InputsState,
    pub(super) state: State,
}

impl Journal {
    /// Magic, SHA-256 of the rest, JSON.
    fn encode(&self) -> Result<Vec<u8>> {
        let text = serde_json::to_vec(self).map_err(Error::corrupt)?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(Sha256::digest(&text));
        bytes.extend(text);
        Ok(bytes)
    }

    /// Reads it back; its sizes fit its configuration.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| Error::corrupt("not a journal of this version"))?;
        let (digest, text) =
            rest.split_at_checked(32).ok_or_else(|| Error::corrupt("the file is truncated"))?;
        if Sha256::digest(text).as_slice() != digest {
            return Err(Error::corrupt("its checksum does not match: truncated or altered"));
        }
        let journal: Self = serde_json::from_slice(text).map_err(Error::corrupt)?;
        journal.state.check_size(&journal.config)?;
        if journal.blocks_closed.checked_mul(journal.config.block).is_none() {
            return Err(Error::corrupt("it has closed more blocks than can be counted"));
        }
        Ok(journal)
    }
}

/// A journal file that no other stream can open.
pub(super) struct OpenJournal {
    path: PathBuf,
    /// Held as long as the stream lives; the system gives it back when the process ends.
    _lock: File,
}

impl OpenJournal {
    /// Locks `PATH.lock`. That file stays: one who opened it before its removal would hold another
    /// file's lock.
    pub(super) fn lock(path: &Path) -> Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(PathBuf::from(name))
            .map_err(Error::journal)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::Unusable {
                what: "journal",
                reason: "another stream holds it, and both would draw noise for the same block; \
                         end that stream first",
            }),
            Err(TryLockError::Error(e)) => Err(Error::journal(e)),
        }
    }

    /// Replaces the file, whole or not at all.
    pub(super) fn write(&self, journal: &Journal) -> Result<()> {
        output::write(&self.path, &journal.encode()?, Access::Owner)
            .map_err(|e| Error::Io { what: "journal", reason: e.to_string() })
    }
}
