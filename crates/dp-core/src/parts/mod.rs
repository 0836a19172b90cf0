//! Releases that are made in parts: by machines that do not share a memory, may be killed, and do the same work twice.
//!
//! A [`Manifest`] fixes, before any noise is drawn, which rows there are (blocks of files, never divided) and which mechanism
//! releases them. A [`ReleaseKey`] is drawn for one manifest and one published output. The noise of a block is a pure
//! function of key, manifest, number of the block and content of its rows: whoever makes a block again, on whatever
//! machine, makes the same bits, and other rows get independent noise. A [part](PartWriter) holds some blocks;
//! [`Parts`] takes every block exactly once, and [`KeyFile`] lets one output be published, and then destroys the key.
//!
//! Why it is private: `docs/proofs/parts.md`. Layouts: `docs/FORMAT.md`, section 12.

mod content;
mod key;
mod key_file;
mod manifest;
mod merge;
mod part;
mod terms;

pub use content::{Content, ContentHash};
pub use key::ReleaseKey;
pub use key_file::KeyFile;
pub use manifest::{Block, Inputs, Manifest, PinnedFile, Reserved};
pub use merge::Parts;
pub use part::PartWriter;
pub use terms::Terms;
