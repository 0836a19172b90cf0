//! Release files: one container for every kind of release.
//!
//! Layout, little-endian: magic `DPSKETCH`; format version (u32); kind (u32, [`Kind`]); the payload; the ids
//! of its rows, where they are kept ([`RowIds`]); the trailer (shape, fingerprint, public parameters, certificate: canonical JSON);
//! its length (u64);
//! a checksum (32 bytes): SHA-256 of the file with the SHA-256 of payload and ids in their place. The
//! trailer comes last so that a stream of unknown length can be written in one pass, and each byte is
//! hashed once. `docs/FORMAT.md` describes every field for readers in other languages.
//!
//! The container checks what all kinds share: magic, version, kind, checksum, trailer, that the
//! certificate holds together, is of the class the kind promises and of this very payload. The crate
//! that owns a kind defines its payload and checks payload, parameters and certificate against each
//! other.
//!
//! [`read_summary`] reads what every kind says about itself, in bounded memory.

mod codec;
mod kind;
mod payload;
mod reader;
mod writer;

pub use crate::certificate::{AnyCertificate, CertificateClass, ClassOfCertificate};
pub use crate::row_ids::RowIds;
pub use codec::{Trailer, to_json};
pub use kind::Kind;
pub(crate) use payload::parted;
pub use payload::{Payload, decode, encode, encode_as, load, write};
pub use reader::{InParts, Opened, Summary, numbers_f32, numbers_f64, open, read, read_summary};
pub use writer::Writer;

use crate::certificate::{PayloadHash, canonical, hex};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// First bytes of a release file.
pub const MAGIC: [u8; 8] = *b"DPSKETCH";
/// Version written and read.
pub const FORMAT: u32 = 2;
/// Length of magic, version and kind.
pub(crate) const PREFIX: usize = 16;
/// Length of the trailer's length and the checksum.
pub(crate) const SUFFIX: usize = 8 + 32;

/// A short digest of public parameters: two releases may be compared exactly when theirs are equal. The
/// first eight bytes of the SHA-256 of their canonical text.
///
/// # Panics
/// When the parameters cannot be written as JSON (maps with keys that are not strings).
#[must_use]
pub fn fingerprint(parameters: &impl Serialize) -> String {
    hex(&Sha256::digest(canonical(parameters))[..8])
}

/// The checksum of a file: of everything before it, with the payload's hash in its place.
fn checksum(prefix: &[u8; PREFIX], payload: PayloadHash, trailer: &[u8]) -> [u8; 32] {
    let hash = Sha256::new_with_prefix(prefix).chain_update(payload.bytes()).chain_update(trailer);
    hash.chain_update((trailer.len() as u64).to_le_bytes()).finalize().into()
}
