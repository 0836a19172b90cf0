//! Release files: written block by block, read with every part checked.
//!
//! Layout, little-endian: magic `DPSKETCH`; format version (u32); element kind (u32: 0 = f64,
//! 1 = f32); the payload, row after row; the trailer (certificate, projection, noise, shape,
//! fingerprint); its length (u64); SHA-256 of everything before it (32 bytes). The trailer
//! comes last so that a stream of unknown length can be written in one pass.

mod codec;
mod reader;
mod writer;

pub use reader::{decode, read_release};
pub use writer::{Element, ReleaseWriter, Written, encode, write_release};

/// First bytes of a release file.
pub(crate) const MAGIC: [u8; 8] = *b"DPSKETCH";
/// Version written; older versions stay readable.
pub const FORMAT: u32 = 1;
/// Magic, version, element kind.
pub(crate) const PREFIX: usize = 16;
/// Length of the trailer, checksum.
pub(crate) const SUFFIX: usize = 8 + 32;
