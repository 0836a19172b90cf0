//! Random projections, sign and set sketches, and their private releases.
//!
//! | to | see |
//! | --- | --- |
//! | hand in rows: dense, sparse, bytes or bits | [`RowsView`] |
//! | project without privacy | [`projection`] |
//! | release real-valued sketches, estimate distances | [`vectors`] |
//! | release signs, estimate angles | [`signs`] |
//! | release values of a declared range one by one, ask with exact queries | [`bounded`] |
//! | release whole rows as unit vectors, ask with exact queries | [`units`] |
//! | release signatures of item sets, estimate Jaccard similarity | [`sets`] |
//! | release all pairwise distances, or bits | [`distances`] |
//! | find the best rows of a release | [`search`] |
//! | choose a mechanism and its size | [`plan`] |
//! | check what a release states | [`mod@verify`] |
//!
//! # Files
//! The container is [`dp_core::release_file`]: its `write`, `load`, `encode` and `decode` take every
//! release of this crate. [`vectors::ReleaseWriter`], [`RowWriter`] (unit vectors, bounded values) and
//! [`sets::SetWriter`] release rows and sets to a file as they come, in bounded memory.
//!
//! | release | kind | payload | parameters |
//! | --- | --- | --- | --- |
//! | [`vectors::PrivateSketch`] | `Sketch64`, `Sketch32` | rows of k numbers | projection |
//! | the same | `SketchCompact` | blocks of packed numbers | projection, coarse grid |
//! | [`signs::SignCodes`] | `Signs` | rows of `ceil(bits/8)` bytes | projections |
//! | [`signs::SignCodes`] | `IndividualSigns` | the same | the same |
//! | signs without noise | `PlainSigns` | the same | the same |
//! | [`sets::PrivateSymbols`] | `Symbols` | rows of packed symbols | scheme, coding, response |
//! | [`sets::NoisyCounts`] | `GroupCounts` | rows of k numbers | groups, scale |
//! | noisy Secure MinHash | `NoisyMinHash` | rows of numbers | scheme, concatenation, scale |
//! | PrivMin | `PlainSignatures` | rows of `u32` | scheme |
//! | [`units::UnitVectors`] | `UnitVectors` | rows of k or k + 1 `f32` | projection, lengths |
//! | [`bounded::BoundedValues`] | `BoundedValues` | rows of d bytes | range, offsets |
//!
//! # Example
//! ```
//! use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Shift};
//! use sketch::RowsView;
//! use sketch::vectors::{Pairs, PrivateProjection};
//! use sketch::projection::{Family, ProjectionSpec};
//!
//! // Two rows of four values in [-1, 1]. What is protected is one value of one row: it may become
//! // any other in [-1, 1], a change of at most 2. Not protected: the row as a whole.
//! let rows = RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, 0.2, 0.1, 0.0, 0.7])?;
//! let (one, any_value) = (EntryBound::new(1.0)?, Adjacency::Attribute { beta: Shift::new(2.0)? });
//! let projection = ProjectionSpec::new(Family::Oporp, 4, 2, PublicSeed::new(7))?.build();
//! let budget = Budget::new(1.0, 1e-6)?;
//! let mechanism = PrivateProjection::gaussian(projection, any_value, one, budget)?;
//! let release = mechanism.release(rows, &mut NoiseRng::from_os()?)?;
//! let distance = Pairs::within(&release).squared_distance(0, 1)?;
//! assert!(distance.standard_error > 0.0);
//! # Ok::<(), sketch::Error>(())
//! ```

mod author;
pub mod bounded;
mod columns;
mod conversions;
pub mod distances;
pub mod error;
mod estimate;
mod incoming;
mod joined;
mod memory;
mod pieced;
pub mod pieces;
pub mod plan;
pub mod projection;
mod row_writer;
pub mod rows;
pub mod search;
pub mod sets;
pub mod signs;
mod trial;
pub mod units;
pub mod vectors;
pub mod verify;
mod written;

pub use conversions::row_major;
pub use error::{Error, Result};
pub use estimate::{Estimate, Interval};
pub use row_writer::RowWriter;
pub use rows::RowsView;
pub use verify::{verify, verify_consistency};
pub use written::Written;
