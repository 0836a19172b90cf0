//! Release files: one container for every kind of release.
//!
//! Layout, little-endian: magic `DPSKETCH`; format version (u32); kind (u32, [`Kind`]); the payload;
//! the trailer (shape, fingerprint, public parameters, noise law, certificate); its length (u64);
//! SHA-256 of everything before it (32 bytes). The trailer comes last so that a stream of unknown
//! length can be written in one pass.
//!
//! The container checks what all kinds share: magic, version, kind, checksum, trailer, that the
//! certificate verifies and is of the class the kind promises, and that it states the noise law of
//! the trailer. The crate that owns a kind defines its payload and checks payload, parameters
//! and certificate against each other.
//!
//! [`read_summary`] reads what every kind says about itself, in bounded memory.

mod codec;
mod kind;
mod payload;
mod reader;
mod writer;

pub use codec::{Trailer, to_json};
pub use kind::{AnyCertificate, CertificateClass, Kind};
pub use payload::{ClassOfCertificate, Payload, decode, encode, encode_as, load, write, write_as};
pub use reader::{Opened, Summary, open, read, read_summary};
pub use writer::{FileWriter, Writer};

use serde::Serialize;
use sha2::{Digest, Sha256};

/// First bytes of a release file.
pub const MAGIC: [u8; 8] = *b"DPSKETCH";
/// Version written and read.
pub const FORMAT: u32 = 1;
/// Length of magic, version and kind.
pub(crate) const PREFIX: usize = 16;
/// Length of the trailer's length and the checksum.
pub(crate) const SUFFIX: usize = 8 + 32;

/// A short digest of public parameters: two releases may be compared exactly when theirs are equal.
///
/// # Panics
/// When the parameters cannot be written as JSON (maps with keys that are not strings).
#[must_use]
pub fn fingerprint(parameters: &impl Serialize) -> String {
    let text = serde_json::to_string(parameters).expect("parameters have string keys only");
    Sha256::digest(text.as_bytes())[..8].iter().map(|b| format!("{b:02x}")).collect()
}
