//! Release files of this crate: real-valued sketches, signs, set signatures.
//!
//! The container is [`dp_core::release_file`]: its `write`, `load`, `encode` and `decode` take every
//! release of this crate. Here is what each kind stores, and the writers that release rows to a
//! file as they come, in bounded memory.
//!
//! | release | kind | payload | parameters |
//! | --- | --- | --- | --- |
//! | [`crate::private::SketchRelease`] | `Sketch64`, `Sketch32` | rows of k numbers | projection |
//! | [`crate::sign::SignRelease`] | `Signs` | rows of `ceil(bits/8)` bytes | projections |
//! | [`crate::sign::IndividualRelease`] | `IndividualSigns` | the same | the same |
//! | signs without noise | `PlainSigns` | the same | the same |
//! | [`crate::minhash::SymbolRelease`] | `Symbols` | rows of packed symbols | scheme, coding, response |
//! | noisy Secure MinHash | `NoisyMinHash` | rows of numbers | scheme, concatenation, scale |
//! | PrivMin | `PlainSignatures` | rows of `u32` | scheme |

mod set_writer;
mod sets;
mod signs;
mod sketches;
mod writer;

pub(crate) use set_writer::SetSource;
pub use set_writer::SetWriter;
pub(crate) use sets::noisy_parameters;
pub use writer::{Element, ReleaseWriter, Written};
